"""One id per request, in the answer's header, in problems and in logs."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from lumihost.core.ids import new_id

HEADER = "X-Request-Id"
ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestId:
    """Take the proxy's ``X-Request-Id`` when it is harmless, else make one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request.request_id = given if ACCEPTABLE.fullmatch(given) else new_id("req")  # type: ignore[attr-defined]
        response = self.get_response(request)
        response.headers[HEADER] = request.request_id  # type: ignore[attr-defined]
        return response
