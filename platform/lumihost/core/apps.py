"""Django app ``lumihost.core``."""

from __future__ import annotations

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The room `core`."""

    name = "lumihost.core"
    label = "core"
    global_models = {"Outbox": "drained for all tenants by one dispatcher; the payload holds ids and names its tenant"}
