"""Django app ``lumihost.fleet``."""

from __future__ import annotations

from django.apps import AppConfig


class FleetConfig(AppConfig):
    """The room `fleet`."""

    name = "lumihost.fleet"
    label = "fleet"
    global_models = {
        "Node": "machines serve every tenant; a tenant sees a node's name only through its own session",
        "Ingest": "which web processes take node messages now: the reconciler trusts leases only while one does",
    }
