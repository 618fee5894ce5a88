"""What one session still owes the platform. Bounded: metrics keep the newest, events keep the last 2,000 unacknowledged
and count what was pushed out, usage stays in the engine's journal on disk until it is acknowledged."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import structlog

from workers.contracts import node as wire
from workers.node.journal import RunDirectory, RunRecord

log = structlog.get_logger(__name__)

MAX_EVENTS = 2000
MAX_EVENT_BYTES = 256 * 1024
_EVENTS_PER_TURN = 100
_METRICS_INTERVAL_S = 0.5
_RESEND_USAGE_S = 10.0


class UsageTail:
    """Follows ``usage.jsonl`` and yields whole segments after a sequence number, a batch at a time."""

    def __init__(self, path: Path, after_seq: int) -> None:
        self._path = path
        self._offset = 0
        self._after_seq = after_seq

    def rewind(self, after_seq: int) -> None:
        """Read again from the start, yielding what lies above ``after_seq``."""
        self._offset = 0
        self._after_seq = after_seq

    def take(self, limit: int) -> tuple[wire.UsageSegment, ...]:
        """Up to ``limit`` segments not yielded yet; a torn last line waits until it is whole."""
        try:
            if self._path.stat().st_size <= self._offset:
                return ()
            file = self._path.open("rb")
        except FileNotFoundError:
            return ()
        segments: list[wire.UsageSegment] = []
        with file:
            file.seek(self._offset)
            while len(segments) < limit:
                line = file.readline()
                if not line.endswith(b"\n"):
                    break
                try:
                    segment = msgspec.json.decode(line, type=wire.UsageSegment)
                except msgspec.DecodeError:
                    if not file.readline().endswith(b"\n"):
                        # A torn line: the engine cuts it off and writes a whole one in its place when it restarts.
                        break
                    # Whole lines follow, so this one is damaged for good; those after it are still owed.
                    log.error("usage line unreadable, left out", file=str(self._path), offset=self._offset)
                    self._offset += len(line)
                    file.seek(self._offset)
                    continue
                self._offset += len(line)
                if segment.seq > self._after_seq:
                    segments.append(segment)
                    self._after_seq = segment.seq
        return tuple(segments)


class Outgoing:
    """Messages of one session on their way up. ``due`` is called by the uplink whenever it may send."""

    def __init__(
        self, run: RunDirectory, record: RunRecord, *, clock_s: Callable[[], float] = time.monotonic, wake: Callable[[], None]
    ) -> None:
        self._run = run
        self._record = record
        self._clock_s = clock_s
        self._wake = wake
        self._events: deque[wire.Event] = deque()
        self._events_seen = record.event_acked
        self._events_sent = 0
        self._metrics: dict[str, Any] | None = None
        self._metrics_sent_s = float("-inf")
        self._state_unsent = record.is_final and not record.final_acked
        self._usage = UsageTail(run.usage, record.usage_acked)
        self._usage_in_flight: tuple[int, float] | None = None
        self.dropped_events = 0

    def event(self, seq: int, kind: str, data: dict[str, Any], at_ms: int) -> None:
        """Queue an event (``at_ms`` Unix time). One that was queued before is ignored: an engine tells its last 2,000
        again on every connection. The oldest is given up when the platform has been away for too long."""
        if seq <= self._events_seen:
            return
        self._events_seen = seq
        if len(msgspec.json.encode(data)) > MAX_EVENT_BYTES:
            # The platform closes a connection that sends too long a message, and would again with every repetition.
            log.error("event too large, its data is left out", session=self._record.session, kind=kind, seq=seq)
            data = {"left_out": "too large"}
        if len(self._events) >= MAX_EVENTS:
            self._events.popleft()
            self.dropped_events += 1
        self._events.append(wire.Event(self._record.session, self._record.epoch, seq, kind, data, at_ms))
        self._wake()

    def metrics(self, snapshot: dict[str, Any]) -> None:
        """Replace the snapshot to send."""
        self._metrics = snapshot

    def state_changed(self) -> None:
        """The record's state is to be told."""
        self._state_unsent = True
        self._wake()

    def reconnected(self) -> None:
        """A new connection: whatever was not acknowledged goes out again."""
        self._events_sent = 0
        self._state_unsent = not self._record.final_acked
        self._rewind_usage()

    def due(self) -> list[wire.NodeMessage]:
        """Messages to send now, in an order that keeps cause before effect."""
        session, epoch = self._record.session, self._record.epoch
        messages: list[wire.NodeMessage] = []
        for event in self._events:
            if event.seq > self._events_sent:
                messages.append(event)
                if len(messages) >= _EVENTS_PER_TURN:
                    break
        if messages and isinstance(messages[-1], wire.Event):
            self._events_sent = messages[-1].seq
        segments = self._usage_due()
        if segments:
            messages.append(wire.Usage(session, epoch, segments))
        if self._state_unsent:
            self._state_unsent = False
            messages.append(wire.State(session, epoch, self._record.state, self._record.reason, self._record.cursor))
        now_s = self._clock_s()
        if self._metrics is not None and now_s - self._metrics_sent_s >= _METRICS_INTERVAL_S:
            messages.append(wire.Metrics(session, epoch, self._metrics))
            self._metrics = None
            self._metrics_sent_s = now_s
        return messages

    def event_acked(self, seq: int) -> None:
        """Events up to ``seq`` are stored."""
        while self._events and self._events[0].seq <= seq:
            self._events.popleft()
        self._record.event_acked = max(self._record.event_acked, seq)

    def usage_acked(self, seq: int) -> None:
        """Segments up to ``seq`` are in the ledger."""
        if self._usage_in_flight is not None and seq >= self._usage_in_flight[0]:
            self._usage_in_flight = None
        if seq > self._record.usage_acked:
            self._record.usage_acked = seq
            self._run.save(self._record)
        self._wake()

    def state_acked(self, state: wire.NodeSessionState) -> None:
        """The platform has stored ``state``."""
        if self._record.is_final and state == self._record.state:
            self._record.final_acked = True
            self._run.save(self._record)

    def unacked_usage(self, limit: int = wire.MAX_SEGMENTS_PER_MESSAGE) -> tuple[wire.UsageSegment, ...]:
        """Segments not acknowledged yet, read afresh: for the HTTP fallback."""
        return UsageTail(self._run.usage, self._record.usage_acked).take(limit)

    @property
    def settled(self) -> bool:
        """Final state told and acknowledged, every usage segment in the ledger."""
        return self._record.is_final and self._record.final_acked and not self.unacked_usage(1)

    def _usage_due(self) -> tuple[wire.UsageSegment, ...]:
        # One message at a time: the acknowledgement is the window, so an outage leaves the rest on disk.
        if self._usage_in_flight is not None:
            if self._clock_s() - self._usage_in_flight[1] < _RESEND_USAGE_S:
                return ()
            self._rewind_usage()
        segments = self._usage.take(wire.MAX_SEGMENTS_PER_MESSAGE)
        if segments:
            self._usage_in_flight = (segments[-1].seq, self._clock_s())
        return segments

    def _rewind_usage(self) -> None:
        self._usage_in_flight = None
        self._usage.rewind(self._record.usage_acked)
