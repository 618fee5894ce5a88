"""Django app ``lumihost.web``."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    """The room `web`."""

    name = "lumihost.web"
    label = "web"
