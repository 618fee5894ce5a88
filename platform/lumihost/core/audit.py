"""Writing the audit trail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models, transaction

from lumihost.core.models import AuditEvent


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a signed-in user, or a part of the platform (``node:…``, ``system``)."""

    label: str
    user_id: str | None = None


SYSTEM = Actor("system")


def actor_of(user: Any) -> Actor:
    """The actor for a signed-in user."""
    return Actor(label=str(user.email), user_id=str(user.pk))


def record(
    *,
    actor: Actor,
    action: str,
    target: models.Model,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEvent:
    """Write one event in the caller's transaction, so that effect and trail stand or fall together.

    Args:
        action: ``noun.verbed``, e.g. ``product.updated``.
        before, after: JSON values of what changed; secrets never go in.

    Raises:
        RuntimeError: there is no transaction.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"audit event '{action}' outside a transaction: wrap the service in transaction.atomic()")
    return AuditEvent.objects.create(
        actor_id=actor.user_id,
        actor_label=actor.label,
        action=action,
        target_type=target._meta.label_lower,
        target_id=str(target.pk),
        before=before,
        after=after,
    )
