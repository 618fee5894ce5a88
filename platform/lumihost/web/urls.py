"""Routes of the web front. Paths the console's own router knows all lead to its page."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, re_path

from lumihost.web.views import console, healthz

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    re_path(r"^(?!(?:api|static|media|nodes|internal|ws)(?:/|$))(?:[\w-]+(?:/[\w-]+)*/?)?$", console, name="console"),
]
