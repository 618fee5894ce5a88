"""What is thrown away, and when: events of shows long over, and outbox messages that have left. Usage and audit are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from lumihost.core import clock
from lumihost.core.models import Outbox
from lumihost.live import state
from lumihost.live.models import SessionEvent
from tenants.context import scopes_disabled

EVENTS_KEPT_DAYS = 30
OUTBOX_KEPT_DAYS = 2
_BATCH = 2000


@dataclass(frozen=True)
class Swept:
    """How many rows went."""

    events: int
    messages: int


def sweep() -> Swept:
    """One batch of each kind; called hourly, a backlog takes several rounds so that no transaction is long."""
    now = clock.now()
    kept = timedelta(days=getattr(settings, "LIVE_EVENTS_KEPT_DAYS", EVENTS_KEPT_DAYS))
    with scopes_disabled("the sweep serves every tenant"):
        old = SessionEvent.objects.filter(session__state__in=state.FINAL, session__ended_at__lt=now - kept)
        ids = list(old.order_by("session__ended_at").values_list("pk", flat=True)[:_BATCH])
        SessionEvent.objects.filter(pk__in=ids).delete()
    sent = Outbox.objects.filter(done_at__lt=now - timedelta(days=OUTBOX_KEPT_DAYS))
    numbers = list(sent.order_by("id").values_list("pk", flat=True)[:_BATCH])
    Outbox.objects.filter(pk__in=numbers).delete()
    return Swept(len(ids), len(numbers))
