"""Messages that leave only after commit, at least once, in order per topic unless one fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from lumihost.core import clock
from lumihost.core.models import Outbox
from tenants.context import current_tenant_or_none

log = logging.getLogger(__name__)

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 300.0
MAX_ATTEMPTS = 40
"""Some two and a half hours; then the message is given up, with its error on the row and in the log."""
BUDGET_S = 2.0

Handler = Callable[[Outbox], None]


def emit(topic: str, payload: Mapping[str, Any], *, delay_s: float = 0.0) -> Outbox:
    """Queue a message in the caller's transaction; the active tenant, if any, is stamped on it.

    Raises:
        RuntimeError: there is no transaction, so the message could outlive a failed effect.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"outbox message '{topic}' outside a transaction: wrap the service in transaction.atomic()")
    tenant = current_tenant_or_none()
    now = clock.now()
    return Outbox.objects.create(
        tenant_id=tenant.pk if tenant else "",
        topic=topic,
        payload=dict(payload),
        created_at=now,
        available_at=now + timedelta(seconds=delay_s),
    )


def deliver(handlers: Mapping[str, Handler], *, limit: int = 100, budget_s: float = BUDGET_S) -> int:
    """Hand due messages of the topics in ``handlers`` to their handlers, each outside any transaction.

    A handler that raises is tried again after 1 s, 2 s, 4 s … up to 5 min; the error is kept on the row. No message is begun
    after ``budget_s``: the caller has other duties. One process calls
    this (the reconciler), and handlers must bear a repetition: a crash between handler and mark delivers again.

    Returns:
        How many were delivered.
    """
    due = Outbox.objects.filter(done_at=None, available_at__lte=clock.now(), topic__in=list(handlers)).order_by(
        "available_at", "id"
    )
    delivered, started_s = 0, time.monotonic()
    for message in list(due[:limit]):
        if time.monotonic() - started_s > budget_s:
            break
        try:
            handlers[message.topic](message)
        except Exception as error:
            attempts = message.attempts + 1
            wait_s = min(LONGEST_RETRY_S, FIRST_RETRY_S * 2 ** min(attempts - 1, 20))
            if attempts >= MAX_ATTEMPTS:
                log.error("outbox %s '%s' given up after %d attempts: %s", message.pk, message.topic, attempts, error)
                Outbox.objects.filter(pk=message.pk).update(
                    attempts=attempts, last_error=f"given up: {error}"[:2000], done_at=clock.now()
                )
                continue
            log.exception("outbox %s '%s' failed, attempt %d; next in %.0f s", message.pk, message.topic, attempts, wait_s)
            Outbox.objects.filter(pk=message.pk).update(
                attempts=attempts, last_error=str(error)[:2000], available_at=clock.now() + timedelta(seconds=wait_s)
            )
        else:
            Outbox.objects.filter(pk=message.pk).update(done_at=clock.now(), attempts=message.attempts + 1)
            delivered += 1
    return delivered


def forget_delivered(older_than: timedelta) -> int:
    """Delete messages delivered longer ago than ``older_than``; returns how many. Undelivered ones are never deleted."""
    return Outbox.objects.filter(done_at__lt=clock.now() - older_than).delete()[0]
