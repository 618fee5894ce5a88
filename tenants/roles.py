"""Who may do what: one table from role to permissions, read like a page."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a member is to a tenant."""

    OWNER = "owner"
    ADMIN = "admin"
    OPERATOR = "operator"
    ANALYST = "analyst"
    BILLING = "billing"


class Permission(StrEnum):
    """What a view may demand. ``view`` reads, ``write`` creates, changes and deletes."""

    PRODUCTS_VIEW = "products:view"
    PRODUCTS_WRITE = "products:write"
    SHOP_VIEW = "shop:view"
    SHOP_WRITE = "shop:write"
    AVATARS_VIEW = "avatars:view"
    AVATARS_WRITE = "avatars:write"
    CHANNELS_VIEW = "channels:view"
    CHANNELS_WRITE = "channels:write"
    SHOWS_VIEW = "shows:view"
    SHOWS_WRITE = "shows:write"
    SESSIONS_VIEW = "sessions:view"
    SESSIONS_START = "sessions:start"
    SESSIONS_STOP = "sessions:stop"
    SESSIONS_SAY = "sessions:say"
    USAGE_VIEW = "usage:view"
    MEMBERS_VIEW = "members:view"
    MEMBERS_WRITE = "members:write"
    AUDIT_VIEW = "audit:view"


P = Permission

_SEES_THE_SHOP = frozenset({P.PRODUCTS_VIEW, P.SHOP_VIEW, P.AVATARS_VIEW, P.CHANNELS_VIEW, P.SHOWS_VIEW, P.SESSIONS_VIEW})
_RUNS_SHOWS = frozenset({P.SESSIONS_START, P.SESSIONS_STOP, P.SESSIONS_SAY})
_WRITES_THE_SHOP = frozenset({P.PRODUCTS_WRITE, P.SHOP_WRITE, P.AVATARS_WRITE, P.CHANNELS_WRITE, P.SHOWS_WRITE})
_RUNS_THE_ACCOUNT = frozenset({P.USAGE_VIEW, P.MEMBERS_VIEW, P.MEMBERS_WRITE, P.AUDIT_VIEW})

PERMISSIONS: Final[dict[Role, frozenset[Permission]]] = {
    Role.OWNER: _SEES_THE_SHOP | _RUNS_SHOWS | _WRITES_THE_SHOP | _RUNS_THE_ACCOUNT,
    Role.ADMIN: _SEES_THE_SHOP | _RUNS_SHOWS | _WRITES_THE_SHOP | _RUNS_THE_ACCOUNT,
    Role.OPERATOR: _SEES_THE_SHOP | _RUNS_SHOWS | {P.PRODUCTS_WRITE, P.SHOWS_WRITE},
    Role.ANALYST: _SEES_THE_SHOP | {P.USAGE_VIEW},
    Role.BILLING: frozenset({P.SHOP_VIEW, P.SESSIONS_VIEW, P.USAGE_VIEW}),
}
"""Stream keys are credentials, so only owner and admin write channels; only they manage members."""


def permissions_of(role: str) -> frozenset[Permission]:
    """The permissions of ``role``.

    Raises:
        ValueError: there is no such role.
    """
    return PERMISSIONS[Role(role)]
