"""Old events and sent messages go; what is young, open or owed stays."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lumihost.core import clock
from lumihost.core.models import Outbox
from lumihost.live import retention
from lumihost.live.models import LiveSession, SessionEvent
from tenants.context import scope
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import start

pytestmark = [pytest.mark.services, pytest.mark.django_db]


def test_only_events_of_shows_long_over_and_messages_long_sent_go(two_tenants: TwoTenants) -> None:
    now = clock.now()
    with scope(two_tenants.a.tenant):
        sessions = {name: start() for name in ("old", "young", "open")}
        for name, days in (("old", 31), ("young", 29)):
            LiveSession.objects.filter(pk=sessions[name].pk).update(state="ended", ended_at=now - timedelta(days=days))
        for session in sessions.values():
            SessionEvent.objects.create(session=session, epoch=1, seq=1, kind="turn", at=now, data={})
    Outbox.objects.update(done_at=None)
    sent = Outbox.objects.order_by("id").first()
    assert sent is not None
    Outbox.objects.filter(pk=sent.pk).update(done_at=now - timedelta(days=3))
    waiting = Outbox.objects.count() - 1

    assert retention.sweep() == retention.Swept(events=1, messages=1)
    with scope(two_tenants.a.tenant):
        left = set(SessionEvent.objects.values_list("session_id", flat=True))
    assert left == {sessions["young"].pk, sessions["open"].pk}
    assert Outbox.objects.count() == waiting
    assert retention.sweep() == retention.Swept(0, 0)
