"""The one question every door asks: may this user enter this tenant, and to do what."""

from __future__ import annotations

from tenants.models import Membership


def membership_of(user_id: str, tenant_id: str) -> Membership | None:
    """The user's membership of an active tenant, read from the database now (a revoked member is out at once).

    ``None`` for a stranger, an unknown tenant and a suspended one alike: a stranger learns nothing from the difference.
    """
    return (
        Membership.objects.select_related("tenant", "user")
        .filter(user_id=user_id, tenant_id=tenant_id, tenant__is_active=True, user__is_active=True)
        .first()
    )
