"""What one console is still to be sent.

Snapshots: the newest of each session, at most twice a second. Events: all of them, up to a bound, beyond which the oldest go
and the client is told to fetch the gap.
"""

from __future__ import annotations

from collections import deque
from typing import Any

SNAPSHOT_INTERVAL_S = 0.5
MAX_EVENTS = 500


class Conflator:
    """Collects for one slow or fast reader; memory does not grow with the reader's slowness."""

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._events: deque[dict[str, Any]] = deque()
        self._max_events = max_events
        self._snapshots: dict[str, dict[str, Any]] = {}
        self._sent_s: dict[str, float] = {}
        self._lost_before: dict[str, int] = {}

    def snapshot(self, message: dict[str, Any]) -> None:
        """Keep it in place of an older one of its session."""
        known = self._snapshots.get(message["session"])
        if known is None or message["seq"] >= known["seq"]:
            self._snapshots[message["session"]] = message

    def event(self, message: dict[str, Any]) -> None:
        """Queue it; the oldest goes when the bound is reached."""
        if len(self._events) >= self._max_events:
            lost = self._events.popleft()
            if "seq" in lost:
                self._lost_before[lost["session"]] = lost["seq"]
        self._events.append(message)

    def due(self, now_s: float) -> list[dict[str, Any]]:
        """Messages to send now, gaps named first."""
        messages: list[dict[str, Any]] = [
            {"type": "gap", "session": session, "until_seq": seq} for session, seq in self._lost_before.items()
        ]
        self._lost_before.clear()
        messages += self._events
        self._events.clear()
        for session in list(self._snapshots):
            if now_s - self._sent_s.get(session, float("-inf")) >= SNAPSHOT_INTERVAL_S:
                self._sent_s[session] = now_s
                messages.append(self._snapshots.pop(session))
        return messages

    def wait_s(self, now_s: float) -> float | None:
        """Seconds until something is due; None when nothing waits."""
        if self._events or self._lost_before:
            return 0.0
        if not self._snapshots:
            return None
        return max(0.0, min(self._sent_s.get(s, float("-inf")) + SNAPSHOT_INTERVAL_S - now_s for s in self._snapshots))
