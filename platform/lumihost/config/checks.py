"""System checks of how the product is put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from lumihost.config.settings.base import PACKAGE


@register()
def platform_folder_is_no_package(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """``config.E001``: an ``__init__.py`` beside ``lumihost`` would hide the standard library's ``platform``."""
    marker = PACKAGE.parent / "__init__.py"
    if PACKAGE.parent.name == "platform" and marker.exists():
        return [Error(f"{marker} hides the standard library's 'platform': delete it", id="config.E001")]
    return []


@register()
def in_memory_layer_means_one_process(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """``config.E002``: with PostgreSQL there may be many daphnes, and the in-memory layer reaches only one."""
    memory = settings.CHANNEL_LAYERS["default"]["BACKEND"].endswith("InMemoryChannelLayer")
    if memory and "sqlite" not in settings.DATABASES["default"]["ENGINE"]:
        return [
            Error(
                "the in-memory channel layer reaches one process only: set LUMIHOST_REDIS_URL (production settings)",
                id="config.E002",
            )
        ]
    return []
