"""Django app ``lumihost.avatars``."""

from __future__ import annotations

from django.apps import AppConfig


class AvatarsConfig(AppConfig):
    """The room `avatars`."""

    name = "lumihost.avatars"
    label = "avatars"
