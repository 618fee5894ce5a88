"""The console's page, and health."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from lumihost.web.isolation import isolate_page

log = logging.getLogger(__name__)

BUNDLE = Path(__file__).parent / "static" / "app"
CONSOLE_ENTRY = "src/console/main.tsx"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The built files of one entry, as URLs."""

    script: str
    styles: tuple[str, ...]
    preloads: tuple[str, ...]


def read_bundle(folder: Path, entry: str) -> Bundle | None:
    """Look ``entry`` up in Vite's manifest, with the chunks it imports statically; ``None`` when it was never built."""
    manifest = folder / ".vite" / "manifest.json"
    try:
        changed_ns = manifest.stat().st_mtime_ns
    except FileNotFoundError:
        return None
    return _parse(manifest, changed_ns, entry)


@lru_cache(maxsize=8)
def _parse(manifest: Path, changed_ns: int, entry: str) -> Bundle | None:
    chunks = json.loads(manifest.read_text(encoding="utf-8"))
    if entry not in chunks:
        log.error("%s has no entry '%s': build the front end again", manifest, entry)
        return None
    styles: list[str] = []
    preloads: list[str] = []
    waiting, seen = [entry], set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        chunk = chunks[name]
        styles += [file for file in chunk.get("css", []) if file not in styles]
        if name != entry:
            preloads.append(chunk["file"])
        waiting += chunk.get("imports", [])
    return Bundle(_url(chunks[entry]["file"]), tuple(map(_url, styles)), tuple(map(_url, preloads)))


def _url(file: str) -> str:
    return static(f"app/{file}")


@require_safe
@never_cache
@ensure_csrf_cookie
def console(request: HttpRequest) -> HttpResponse:
    """The page of the console; its own router does the rest. It holds no data, so anyone may load it.

    The page's ``#lumihost-config`` gives the app ``language``, ``nonce`` (for styles made at run time) and ``csrf_cookie``.
    """
    bundle = read_bundle(BUNDLE, CONSOLE_ENTRY)
    if bundle is None:
        return render(request, "web/bundle_missing.html", status=503)
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    config = {"language": language, "nonce": str(request.csp_nonce), "csrf_cookie": settings.CSRF_COOKIE_NAME}  # type: ignore[attr-defined]
    response = render(request, "web/console.html", {"bundle": bundle, "config": config, "language": language})
    isolate_page(request.path, response)
    return response


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when this process can answer and reach its database; says nothing else, since anyone may ask."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        log.exception("health: the database does not answer")
        return JsonResponse({"status": "no database"}, status=503)
    return JsonResponse({"status": "ok"})
