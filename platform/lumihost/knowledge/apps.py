"""Django app ``lumihost.knowledge``."""

from __future__ import annotations

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    """The room `knowledge`."""

    name = "lumihost.knowledge"
    label = "knowledge"
