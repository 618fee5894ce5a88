"""Django app ``lumihost.telemetry``."""

from __future__ import annotations

from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """The room `telemetry`."""

    name = "lumihost.telemetry"
    label = "telemetry"
