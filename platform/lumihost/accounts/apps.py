"""Django app ``lumihost.accounts``."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The room `accounts`."""

    name = "lumihost.accounts"
    label = "accounts"
    global_models = {"User": "a person, who may be a member of several tenants"}
