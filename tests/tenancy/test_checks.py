"""The start-up check refuses models that would leave a way round tenancy."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.db import models
from django.test.utils import isolate_apps

from lumihost.accounts.models import User
from tenants.base import TenantModel
from tenants.checks import _check, global_models, our_apps
from tenants.drf import TenantViewSet
from tenants.managers import refuse_unsafe_kinds

pytestmark = pytest.mark.unit


def test_the_product_passes() -> None:
    assert run_checks(tags=["tenancy"]) == []


def test_every_global_model_gives_a_reason() -> None:
    reasons = {f"{app.label}.{name}": reason for app in our_apps() for name, reason in global_models(app).items()}
    assert {"tenants.Tenant", "tenants.Membership", "accounts.User", "core.Outbox"} <= reasons.keys()
    assert all(len(reason) > 20 for reason in reasons.values())


@isolate_apps("tenants")
def test_a_model_of_nobody_is_an_error() -> None:
    class Stray(models.Model):
        class Meta:
            app_label = "tenants"

    assert [e.id for e in _check(Stray, {})] == ["tenancy.E001"]
    assert [e.id for e in _check(Stray, {"Stray": "  "})] == ["tenancy.E001"]
    assert _check(Stray, {"Stray": "asked before any scope"}) == []


@isolate_apps("tenants", "lumihost.accounts")
def test_ways_round_are_named() -> None:
    class Base(TenantModel):
        id_prefix = "xxx"

        class Meta:
            app_label = "tenants"

    class Child(Base):
        class Meta:
            app_label = "tenants"

    class Loose(TenantModel):
        id_prefix = ""
        user = models.ForeignKey(User, on_delete=models.CASCADE)
        friends = models.ManyToManyField(Base)
        everything = models.Manager()

        class Meta:
            app_label = "tenants"
            base_manager_name = "everything"

    assert refuse_unsafe_kinds(Base) == []
    assert any("concrete model" in reason for reason in refuse_unsafe_kinds(Child))
    reasons = "\n".join(refuse_unsafe_kinds(Loose))
    for part in ("'everything' is not a TenantManager", "base_manager_name", "join table", "related_name='+'"):
        assert part in reasons
    assert "tenancy.E003" in {e.id for e in _check(Loose, {})}


@pytest.mark.parametrize("sealed", sorted(TenantViewSet.SEALED))
def test_a_view_cannot_override_what_holds_it_inside(sealed: str) -> None:
    with pytest.raises(TypeError, match=sealed):
        type("Broken", (TenantViewSet,), {sealed: lambda self: None})


def test_a_consumer_cannot_override_its_door() -> None:
    from tenants.channels import TenantConsumer

    for sealed in ("dispatch", "connect", "websocket_connect"):
        with pytest.raises(TypeError, match=sealed):
            type("Broken", (TenantConsumer,), {sealed: lambda self: None})
