"""Writing the ledger."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction

from lumihost.live.models import LiveSession, SessionAssignment
from lumihost.metering import fold
from lumihost.metering.models import UsageBucket, UsageEvent
from lumihost.metering.tariffs import micros_per_second
from workers.contracts.node import UsageSegment

log = logging.getLogger(__name__)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_INSTANT_MS = 4_102_444_800_000
"""The year 2100."""


@transaction.atomic
def record_usage(*, session_id: str, epoch: int, segments: Sequence[UsageSegment]) -> int:
    """Put segments into the ledger and fold the hours they touch; runs in the tenant's scope.

    Idempotent by (session, epoch, seq). Segments of a past epoch are taken too: what it produced before its fence is owed.
    A segment that cannot be true (backwards, empty, over an hour) is logged and left out, and is acknowledged, because
    sending it again would not make it true.

    Returns:
        The highest sequence number that need not be sent again.

    Raises:
        LiveSession.DoesNotExist: no such session in this tenant.
    """
    session = LiveSession.objects.select_for_update().get(pk=session_id)
    if not segments:
        return 0
    known = set(
        UsageEvent.objects.filter(session=session, epoch=epoch, seq__in=[s.seq for s in segments]).values_list("seq", flat=True)
    )
    rows = []
    for segment in {s.seq: s for s in segments if s.seq not in known}.values():
        if not _can_be_true(segment):
            log.error("session %s epoch %d: usage segment %s cannot be true and is not charged", session_id, epoch, segment)
            continue
        rows.append(
            UsageEvent(
                session=session, epoch=epoch, seq=segment.seq, incarnation=segment.incarnation, from_s=segment.from_s,
                to_s=segment.to_s, seconds=segment.to_s - segment.from_s, started_at=_instant(segment.started_at_ms),
                height_px=segment.height_px, accepted_by=list(segment.accepted_by),
            )
        )  # fmt: skip
    if rows:
        UsageEvent.objects.bulk_create(rows)
        refold(session, _hours_of(rows))
    return max(s.seq for s in segments)


@transaction.atomic
def refold(session: LiveSession, hours: Iterable[datetime]) -> None:
    """Recompute the buckets of these hours from events. Also to be called when a fence was set after usage had come in."""
    currency = session.tenant.currency
    fences = _fences(session)
    for hour in sorted(set(hours)):
        totals = fold.billable_seconds(_segments_around(session, hour), fences)
        hour_ms = _milliseconds(hour)
        by_height = {height: seconds for (start_ms, height), seconds in totals.items() if start_ms == hour_ms}
        stored = {bucket.height_px: bucket for bucket in UsageBucket.objects.filter(session=session, hour=hour)}
        for height in stored.keys() | by_height.keys():
            seconds = by_height.get(height, 0)
            bucket = stored.get(height) or UsageBucket(session=session, hour=hour, height_px=height)
            if height not in stored or bucket.billable_s != seconds:
                bucket.billable_s = seconds
                bucket.cost_micros = seconds * _price(session, currency, height)
                bucket.currency = currency
                bucket.save()


def _can_be_true(segment: UsageSegment) -> bool:
    """One segment the database cannot hold would keep all later ones of its node from being acknowledged."""
    return (
        0 < segment.to_s - segment.from_s <= fold.MAX_SEGMENT_S
        and 0 <= segment.from_s < 2**31
        and 1 <= segment.seq < 2**63
        and 0 <= segment.incarnation < 2**31
        and 0 <= segment.height_px <= 16_384
        and 0 <= segment.started_at_ms < _LAST_INSTANT_MS
    )


def _price(session: LiveSession, currency: str, height_px: int) -> int:
    """A currency without a tariff must not lose the seconds: they are kept, priced nothing, and reported."""
    try:
        return micros_per_second(currency, height_px)
    except LookupError as error:
        log.error("session %s is not priced: %s", session.pk, error)
        return 0


def refold_epoch(session: LiveSession, epoch: int) -> None:
    """Recompute every hour an epoch reported usage for: its fence has moved."""
    rows = list(UsageEvent.objects.filter(session=session, epoch=epoch))
    if rows:
        refold(session, _hours_of(rows))


def _segments_around(session: LiveSession, hour: datetime) -> list[fold.Segment]:
    """Every segment that may touch the hour, or decide about a second in it."""
    since = hour - timedelta(seconds=fold.MAX_SEGMENT_S + 60)
    values = UsageEvent.objects.filter(
        session=session, started_at__gte=since, started_at__lt=hour + timedelta(hours=1, seconds=1)
    )
    columns = values.values_list("epoch", "incarnation", "from_s", "to_s", "started_at", "height_px")
    return [fold.Segment(e, i, f, t, _milliseconds(at), h) for e, i, f, t, at, h in columns]


def _fences(session: LiveSession) -> Mapping[int, int]:
    fenced = SessionAssignment.objects.filter(session=session).exclude(fenced_at=None)
    return {epoch: _milliseconds(at) for epoch, at in fenced.values_list("epoch", "fenced_at")}


def _hours_of(rows: Iterable[UsageEvent]) -> set[datetime]:
    hours = set()
    for row in rows:
        hour = row.started_at.replace(minute=0, second=0, microsecond=0)
        end = row.started_at + timedelta(seconds=row.seconds)
        while hour < end:
            hours.add(hour)
            hour += timedelta(hours=1)
    return hours


def _instant(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)
