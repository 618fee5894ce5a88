"""Django app ``lumihost.cli``."""

from __future__ import annotations

from django.apps import AppConfig


class CliConfig(AppConfig):
    """The room `cli`."""

    name = "lumihost.cli"
    label = "cli"
