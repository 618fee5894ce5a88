"""Django app ``lumihost.live``."""

from __future__ import annotations

from django.apps import AppConfig


class LiveConfig(AppConfig):
    """The room `live`."""

    name = "lumihost.live"
    label = "live"
    global_models = {"ReconcilerLease": "one reconciler serves every tenant"}
