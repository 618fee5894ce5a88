"""Django app ``lumihost.metering``."""

from __future__ import annotations

from django.apps import AppConfig


class MeteringConfig(AppConfig):
    """The room `metering`."""

    name = "lumihost.metering"
    label = "metering"
