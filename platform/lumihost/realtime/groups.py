"""Names of channel groups, built here and nowhere else. Console groups need a scope, so none can name another tenant."""

from __future__ import annotations

from tenants.context import current_tenant


def tenant_group() -> str:
    """Everything that concerns the active tenant as a whole."""
    return f"t.{current_tenant().pk}"


def session_group(session_id: str) -> str:
    """One session of the active tenant."""
    return f"t.{current_tenant().pk}.s.{session_id}"


def node_group(node_id: str) -> str:
    """The connection of one node."""
    return f"node.{node_id}"
