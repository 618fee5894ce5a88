"""The active tenant of the running code, kept in a context variable by django-scopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import django_scopes
from django_scopes import get_scope

from tenants.errors import ScopeError

if TYPE_CHECKING:
    from tenants.models import Tenant


@contextmanager
def scope(tenant: Tenant) -> Iterator[Tenant]:
    """Run the block as ``tenant``: every read is filtered to it and every write must belong to it.

    Raises:
        TypeError: ``tenant`` is not one saved tenant. ``None`` and lists mean "all" or "several" to django-scopes and
            would open what this package closes.
    """
    from tenants.models import Tenant

    if not isinstance(tenant, Tenant) or not tenant.pk:
        raise TypeError(f"scope() takes one saved Tenant, not {tenant!r}: load the tenant first")
    with django_scopes.scope(tenant=tenant):
        yield tenant


@contextmanager
def scopes_disabled(reason: str) -> Iterator[None]:
    """Run the block without a tenant: platform-wide work such as migrations, the reconciler and nightly sweeps.

    Args:
        reason: why all tenants' rows are needed; it is what a reviewer reads, so it may not be empty.
    """
    if not reason.strip():
        raise ValueError("scopes_disabled() needs a reason: say why every tenant's rows are needed here")
    with django_scopes.scopes_disabled():
        yield


def is_disabled() -> bool:
    """Whether the running code is inside :func:`scopes_disabled`."""
    return get_scope().get("_enabled", True) is False


def current_tenant_or_none() -> Tenant | None:
    """The active tenant; ``None`` outside any scope and inside :func:`scopes_disabled`."""
    state = get_scope()
    if not state.get("_enabled", True):
        return None
    tenant: Tenant | None = state.get("tenant")
    return tenant


def current_tenant() -> Tenant:
    """The active tenant.

    Raises:
        ScopeError: no tenant is active.
    """
    tenant = current_tenant_or_none()
    if tenant is None:
        raise ScopeError("no tenant is active: enter tenants.context.scope(tenant) first")
    return tenant
