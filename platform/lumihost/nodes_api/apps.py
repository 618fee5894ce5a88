"""Django app ``lumihost.nodes_api``."""

from __future__ import annotations

from django.apps import AppConfig


class NodesApiConfig(AppConfig):
    """The room `nodes_api`."""

    name = "lumihost.nodes_api"
    label = "nodes_api"
