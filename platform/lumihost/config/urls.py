"""Every URL of the product. What the OpenAPI schema does not describe is listed in tests/isolation as public or guarded."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from lumihost.config import checks as checks

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("lumihost.api.v1.urls")),
    path("", include("lumihost.nodes_api.urls")),
    path("", include("lumihost.web.urls")),
]

handler400 = "lumihost.api.problems.handler400"
handler403 = "lumihost.api.problems.handler403"
handler404 = "lumihost.api.problems.handler404"
handler500 = "lumihost.api.problems.handler500"
