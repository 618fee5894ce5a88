"""The newest snapshot of every live session, kept in this process. The database sees none of it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

MAX_SESSIONS = 10_000


@dataclass
class Snapshot:
    """What a session was like last. ``seq`` grows with every change, so a client can tell new from old."""

    epoch: int = 0
    seq: int = 0
    at_ms: int = 0
    state: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    cursor: dict[str, Any] | None = None
    billable_s: int = 0
    cost_minor: int = 0

    def as_dict(self, session_id: str) -> dict[str, Any]:
        """The console's ``snapshot`` message."""
        return {
            "type": "snapshot",
            "session": session_id,
            "seq": self.seq,
            "state": self.state,
            "metrics": {**self.metrics, "billable_s": self.billable_s, "cost_minor": self.cost_minor},
            "cursor": self.cursor,
            "at": self.at_ms,
        }


class SnapshotStore:
    """Bounded: the session that changed longest ago is forgotten first."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()

    def update(self, session_id: str, *, epoch: int, at_ms: int, **changes: Any) -> Snapshot:
        """Apply changes of ``epoch`` and return the snapshot; what an older epoch says is ignored."""
        snapshot = self._snapshots.setdefault(session_id, Snapshot())
        self._snapshots.move_to_end(session_id)
        if epoch < snapshot.epoch:
            return snapshot
        snapshot.epoch, snapshot.at_ms = epoch, at_ms
        snapshot.seq += 1
        for name, value in changes.items():
            setattr(snapshot, name, value)
        while len(self._snapshots) > self._max_sessions:
            self._snapshots.popitem(last=False)
        return snapshot

    def get(self, session_id: str) -> Snapshot | None:
        """The snapshot, if this process has one."""
        return self._snapshots.get(session_id)

    def forget(self, session_id: str) -> None:
        """The session is over."""
        self._snapshots.pop(session_id, None)

    def __len__(self) -> int:
        return len(self._snapshots)


snapshots = SnapshotStore()
"""This process's store."""
