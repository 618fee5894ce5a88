"""Sessions end after 12 hours however busy they are, and after 3 idle hours."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from lumihost.core import clock

STARTED_AT = "started_at"
SEEN_AT = "seen_at"


class AbsoluteSessionAge:
    """Flush a session past its absolute age; extend an active one, at most every ``SESSION_IDLE_REFRESH_S``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            now_s = clock.now().timestamp()
            if now_s - float(request.session.setdefault(STARTED_AT, now_s)) > settings.SESSION_ABSOLUTE_AGE_S:
                request.session.flush()
            elif now_s - float(request.session.get(SEEN_AT, 0)) > settings.SESSION_IDLE_REFRESH_S:
                request.session[SEEN_AT] = now_s
        return self.get_response(request)
