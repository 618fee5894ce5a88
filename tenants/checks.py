"""System checks: a model of ours is either a tenant's or says why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Error, register
from django.db import models

from tenants.base import TenantModel
from tenants.managers import refuse_unsafe_kinds

OUR_PACKAGES = ("tenants", "lumihost")


def our_apps() -> list[AppConfig]:
    """The installed apps whose code is ours."""
    return [app for app in apps.get_app_configs() if app.name.split(".")[0] in OUR_PACKAGES]


def global_models(app: AppConfig) -> dict[str, str]:
    """Model name → reason why it belongs to the platform, as the app's config declares in ``global_models``."""
    return dict(getattr(app, "global_models", {}))


@register("tenancy")
def every_model_has_an_owner(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Errors ``tenancy.E001`` … ``E004``: models neither a tenant's nor declared global, or that leave a way round."""
    errors: list[CheckMessage] = []
    for app in our_apps():
        declared = global_models(app)
        names = set()
        for model in app.get_models(include_auto_created=True):
            names.add(model.__name__)
            errors += _check(model, declared)
        for name in sorted(declared.keys() - names):
            errors.append(Error(f"{app.label}: global_models names '{name}', which is no model of the app", id="tenancy.E004"))
    return errors


def _check(model: type[models.Model], declared: dict[str, str]) -> list[CheckMessage]:
    label = model._meta.label
    if not issubclass(model, TenantModel):
        if declared.get(model.__name__, "").strip():
            return []
        hint = "Derive it from tenants.base.TenantModel, or name it with a reason in global_models of its AppConfig."
        return [Error(f"{label} belongs to no tenant and gives no reason", hint=hint, obj=model, id="tenancy.E001")]
    errors: list[CheckMessage] = []
    if model.__name__ in declared:
        errors.append(Error(f"{label} is a TenantModel and is also named in global_models", obj=model, id="tenancy.E002"))
    if not model.id_prefix:
        errors.append(Error(f"{label} has no id_prefix", obj=model, id="tenancy.E003"))
    errors += [Error(f"{label}: {reason}", obj=model, id="tenancy.E002") for reason in refuse_unsafe_kinds(model)]
    return errors
