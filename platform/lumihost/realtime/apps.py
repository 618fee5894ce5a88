"""Django app ``lumihost.realtime``."""

from __future__ import annotations

from django.apps import AppConfig


class RealtimeConfig(AppConfig):
    """The room `realtime`."""

    name = "lumihost.realtime"
    label = "realtime"
