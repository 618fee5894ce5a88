"""Reading live sessions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from lumihost.live.models import LiveSession, SessionEvent
from lumihost.metering import usage

EPOCH_STRIDE = 10**12
"""Console sequence number = epoch * stride + the event's own number, so that it grows across epochs (< 2^53 for JavaScript)."""

MAX_EVENTS = 500


def sessions() -> QuerySet[LiveSession]:
    """Sessions of the active tenant with what their JSON needs."""
    rows: QuerySet[LiveSession] = LiveSession.objects.select_related("show", "channel", "node", "tenant")
    return rows


def session_json(session: LiveSession) -> dict[str, Any]:
    """The session as the API and the console socket show it."""
    return session_list([session])[0]


def session_list(rows: Iterable[LiveSession]) -> list[dict[str, Any]]:
    """Several sessions, with one query for their charges."""
    rows = list(rows)
    charges = usage.charges([row.pk for row in rows]) if rows else {}
    return [
        {
            "id": row.pk,
            "state": row.state,
            "desired": row.desired,
            "epoch": row.epoch,
            "show": {"id": row.show_id, "title": row.show.title},
            "channel": {"id": row.channel.pk, "name": row.channel.name} if row.channel else None,
            "node": row.node.name if row.node else None,
            "cursor": row.cursor,
            "record": row.record,
            "requested_at": _iso(row.requested_at),
            "started_at": _iso(row.started_at),
            "ended_at": _iso(row.ended_at),
            "end_reason": row.end_reason,
            "media_s": row.media_s,
            "billable_s": charges[row.pk].billable_s,
            "cost_minor": charges[row.pk].cost_minor,
            "currency": charges[row.pk].currency,
        }
        for row in rows
    ]


def console_seq(epoch: int, seq: int) -> int:
    """The number under which the console knows an event."""
    return epoch * EPOCH_STRIDE + seq


def event_json(event: SessionEvent) -> dict[str, Any]:
    """An event as the API and the console socket show it."""
    return {
        "session": event.session_id,
        "seq": console_seq(event.epoch, event.seq),
        "kind": event.kind,
        "data": event.data,
        "at": int(event.at.timestamp() * 1000),
    }


def events_after(session_id: str, after_seq: int, limit: int = MAX_EVENTS) -> list[SessionEvent]:
    """Events with a console number above ``after_seq``, oldest first.

    From the very beginning (``after_seq`` 0) the newest ``limit`` are given: who just opened the page wants the present.
    """
    rows = SessionEvent.objects.filter(session_id=session_id)
    if after_seq <= 0:
        return list(rows.order_by("-epoch", "-seq")[:limit])[::-1]
    epoch, seq = divmod(after_seq, EPOCH_STRIDE)
    later = rows.filter(epoch=epoch, seq__gt=seq) | rows.filter(epoch__gt=epoch)
    return list(later.order_by("epoch", "seq")[:limit])


def recent_comments(session_id: str, limit: int = 100) -> list[dict[str, Any]]:
    """The last comments with what became of each, newest first: the events of one comment are merged in order."""
    events = SessionEvent.objects.filter(session_id=session_id, kind="comment").order_by("-epoch", "-seq")[: limit * 4]
    merged: dict[str, dict[str, Any]] = {}
    for event in reversed(list(events)):
        comment_id = str(event.data.get("id", event.pk))
        known = merged.pop(comment_id, {"at": int(event.at.timestamp() * 1000)})
        told = {key: value for key, value in event.data.items() if value not in ("", None) or key not in known}
        merged[comment_id] = {**known, **told, "id": comment_id}
    return list(merged.values())[::-1][:limit]


def _iso(at: Any) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at is not None else None
