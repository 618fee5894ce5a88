"""Django app of the tenancy package."""

from __future__ import annotations

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Registers the models and the system checks of tenancy."""

    name = "tenants"
    label = "tenants"
    verbose_name = "Tenancy"
    global_models = {
        "Tenant": "the tenant itself: what every other row points at",
        "Membership": "answers 'which tenants may this user enter', which is asked before any scope exists",
    }

    def ready(self) -> None:
        """Register the checks; models are complete by now."""
        from tenants import checks  # noqa: F401
