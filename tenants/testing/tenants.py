"""Two tenants with people in every role."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model

from tenants.models import Membership, Tenant
from tenants.roles import Role

CANARY = "CANARY-a-7f3e"
"""Stands in every text of tenant A; no answer given to anyone else may hold it."""

PASSWORD = "a long test password"


@dataclass(frozen=True)
class Party:
    """A tenant and one member for each role."""

    tenant: Tenant
    members: dict[Role, Any] = field(default_factory=dict)

    @property
    def owner(self) -> Any:
        """The owner's user."""
        return self.members[Role.OWNER]


@dataclass(frozen=True)
class TwoTenants:
    """``a`` is the one attacked (its texts hold :data:`CANARY`), ``b`` the one who tries."""

    a: Party
    b: Party


def make_party(slug: str, *, canary: str = "") -> Party:
    """A tenant ``slug`` with a member in each role (``owner@<slug>.test`` …)."""
    tenant = Tenant.objects.create(name=f"{slug} {canary}".strip(), slug=slug)
    members: dict[Role, Any] = {}
    for role in Role:
        user = get_user_model().objects.create_user(f"{role}@{slug}.test", PASSWORD, name=f"{role} {canary}".strip())
        Membership.objects.create(user=user, tenant=tenant, role=role)
        members[role] = user
    return Party(tenant, members)


def make_two_tenants() -> TwoTenants:
    """Tenants ``a`` and ``b``."""
    return TwoTenants(make_party("tenant-a", canary=CANARY), make_party("tenant-b"))
