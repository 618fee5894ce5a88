"""The ledger in the database: idempotent by (session, epoch, seq), append-only, folded by hour."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lumihost.live.models import LiveSession, SessionAssignment, Show
from lumihost.metering import usage
from lumihost.metering.models import UsageBucket, UsageEvent
from lumihost.metering.services import record_usage, refold_epoch
from lumihost.metering.tariffs import cost_minor, micros_per_second
from tenants.context import scope
from tenants.errors import TenancyError
from tenants.testing.tenants import TwoTenants
from workers.contracts.node import UsageSegment

pytestmark = [pytest.mark.services, pytest.mark.django_db]

START = datetime(2026, 12, 1, 9, 59, 30, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)


def make_session() -> LiveSession:
    show = Show.objects.create(title="demo", segments=[])
    session: LiveSession = LiveSession.objects.create(show=show, requested_by="test", epoch=1)
    SessionAssignment.objects.create(session=session, epoch=1, node=None, assigned_at=START)
    return session


def segment(seq: int, *, length: int = 5, incarnation: int = 1, offset_ms: int = 0) -> UsageSegment:
    from_s = (seq - 1) * length
    return UsageSegment(seq, incarnation, from_s, from_s + length, START_MS + from_s * 1000 + offset_ms, 720, ("webrtc",))


def test_the_same_message_twice_is_charged_once(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        message = [segment(1), segment(2)]
        assert record_usage(session_id=session.pk, epoch=1, segments=message) == 2
        assert record_usage(session_id=session.pk, epoch=1, segments=message) == 2
        assert UsageEvent.objects.count() == 2
        assert usage.charge_of(session.pk) == usage.Charge(10, cost_minor(10 * micros_per_second("CNY", 720), "CNY"), "CNY")


def test_a_show_over_midnight_of_an_hour_fills_both_buckets(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        record_usage(session_id=session.pk, epoch=1, segments=[segment(n) for n in range(1, 13)])
        hours = list(UsageBucket.objects.filter(session=session).values_list("hour", "billable_s"))
        assert hours == [(START.replace(minute=0, second=0), 30), (START.replace(hour=10, minute=0, second=0), 30)]


def test_a_segment_that_cannot_be_true_is_acknowledged_and_not_charged(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        backwards = UsageSegment(1, 1, 50, 40, START_MS, 720)
        endless = UsageSegment(2, 1, 0, 100_000, START_MS, 720)
        assert record_usage(session_id=session.pk, epoch=1, segments=[backwards, endless, segment(3)]) == 3
        assert usage.charge_of(session.pk).billable_s == 5


def test_late_usage_of_a_past_epoch_counts_up_to_its_fence(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        SessionAssignment.objects.filter(session=session, epoch=1).update(fenced_at=START + timedelta(seconds=12))
        record_usage(session_id=session.pk, epoch=1, segments=[segment(1), segment(2), segment(3), segment(4)])
        assert usage.charge_of(session.pk).billable_s == 12


def test_a_fence_set_later_takes_effect_when_the_epoch_is_folded_again(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        record_usage(session_id=session.pk, epoch=1, segments=[segment(1), segment(2), segment(3), segment(4)])
        SessionAssignment.objects.filter(session=session, epoch=1).update(fenced_at=START + timedelta(seconds=7))
        refold_epoch(session, 1)
        assert usage.charge_of(session.pk).billable_s == 7


def test_an_event_is_never_changed_or_deleted(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
        record_usage(session_id=session.pk, epoch=1, segments=[segment(1)])
        event = UsageEvent.objects.get()
        event.to_s = 500
        for attempt in (event.save, event.delete, UsageEvent.objects.all().delete, lambda: UsageEvent.objects.update(to_s=9)):
            with pytest.raises(TenancyError):
                attempt()
        assert UsageEvent.objects.get().to_s == 5


def test_another_tenants_session_takes_no_usage(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = make_session()
    with scope(two_tenants.b.tenant):
        with pytest.raises(LiveSession.DoesNotExist):
            record_usage(session_id=session.pk, epoch=1, segments=[segment(1)])
        assert usage.summary()["billable_seconds"] == 0
    with scope(two_tenants.a.tenant):
        assert UsageEvent.objects.count() == 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(range(1, 17)), sizes=st.lists(st.integers(1, 6), min_size=16, max_size=16), seed=st.integers(0, 10**6)
)
def test_shuffled_repeated_and_resent_batches_give_the_same_total(
    two_tenants: TwoTenants, order: list[int], sizes: list[int], seed: int
) -> None:
    """Sixteen segments in two incarnations; some batches are 'lost' before the ledger and sent again later."""
    rng = random.Random(seed)
    segments = {n: segment(n, incarnation=1 if n <= 8 else 2, offset_ms=0 if n <= 8 else 2000) for n in range(1, 17)}
    with scope(two_tenants.a.tenant):
        session = make_session()
        waiting = [segments[n] for n in order]
        for size in sizes:
            batch = waiting[:size] + rng.sample(list(segments.values()), 2)
            if rng.random() < 0.3:
                continue
            waiting = waiting[size:]
            record_usage(session_id=session.pk, epoch=1, segments=batch)
        for start in range(0, 16, 5):
            record_usage(session_id=session.pk, epoch=1, segments=list(segments.values())[start : start + 5])
        assert usage.charge_of(session.pk).billable_s == 80
        assert UsageEvent.objects.filter(session=session).count() == 16


def test_price_is_rounded_once_on_the_total() -> None:
    assert cost_minor(0, "CNY") == 0
    assert cost_minor(4_999, "CNY") == 0
    assert cost_minor(5_000, "CNY") == 1
    assert cost_minor(3_600 * micros_per_second("CNY", 720), "CNY") == 1296
    assert micros_per_second("CNY", 1080) == micros_per_second("CNY", 2160)
    with pytest.raises(LookupError, match="no tariff in XYZ"):
        micros_per_second("XYZ", 720)
