"""Django app ``lumihost.api``."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The room `api`."""

    name = "lumihost.api"
    label = "api"

    def ready(self) -> None:
        """Register the OpenAPI extensions."""
        from lumihost.api import schema  # noqa: F401
