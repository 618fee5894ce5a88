"""Cross-origin isolation of the presenters' page, where a worker computes into memory that the page draws from.

``SharedArrayBuffer`` exists only in documents with COOP ``same-origin`` (every page of ours has it) and COEP ``require-corp``
(HTML §7.1.4), and a worker of such a document must bear COEP itself. What else the header changes there: nothing of another
origin loads unless that origin allows it by CORP or CORS, which the content policy forbids anyway.
"""

from __future__ import annotations

import re

from django.http import HttpResponseBase

PAGE = re.compile(r"/presenters(?:/|$)")
WORKER = re.compile(r"/app/assets/compute\.worker-[\w-]+\.js$")
_EMBEDDER = "Cross-Origin-Embedder-Policy"
_REQUIRE = "require-corp"


def isolate_page(path: str, response: HttpResponseBase) -> None:
    """Put the header on the presenters' page and on no other."""
    if PAGE.match(path):
        response.headers[_EMBEDDER] = _REQUIRE


def static_headers(headers: dict[str, str], path: str, url: str) -> None:
    """WhiteNoise's hook: the same for the worker's script."""
    if WORKER.search(url):
        headers[_EMBEDDER] = _REQUIRE
