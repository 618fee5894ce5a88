"""What one console is owed, without a socket."""

from __future__ import annotations

import pytest

from lumihost.realtime.conflate import Conflator
from lumihost.telemetry.snapshots import SnapshotStore

pytestmark = pytest.mark.unit


def test_an_older_snapshot_never_replaces_a_newer_one() -> None:
    waiting = Conflator()
    waiting.snapshot({"type": "snapshot", "session": "s", "seq": 5})
    waiting.snapshot({"type": "snapshot", "session": "s", "seq": 4})
    assert [m["seq"] for m in waiting.due(0.0)] == [5]


def test_each_session_has_its_own_half_second() -> None:
    waiting = Conflator()
    for session in ("a", "b"):
        waiting.snapshot({"type": "snapshot", "session": session, "seq": 1})
    assert len(waiting.due(0.0)) == 2
    waiting.snapshot({"type": "snapshot", "session": "a", "seq": 2})
    assert waiting.due(0.4) == []
    assert waiting.wait_s(0.4) == pytest.approx(0.1)
    assert [m["session"] for m in waiting.due(0.5)] == ["a"]
    assert waiting.wait_s(0.6) is None


def test_a_backlog_is_bounded_and_the_gap_is_named() -> None:
    waiting = Conflator(max_events=3)
    for seq in range(1, 8):
        waiting.event({"type": "event", "session": "s", "seq": seq})
    messages = waiting.due(0.0)
    assert messages[0] == {"type": "gap", "session": "s", "until_seq": 4}
    assert [m["seq"] for m in messages[1:]] == [5, 6, 7]
    assert waiting.due(0.0) == []


def test_the_store_forgets_what_changed_longest_ago_and_ignores_old_epochs() -> None:
    store = SnapshotStore(max_sessions=2)
    store.update("a", epoch=2, at_ms=1, metrics={"fps": 25})
    store.update("a", epoch=1, at_ms=2, metrics={"fps": 1})
    assert store.get("a").metrics == {"fps": 25}  # type: ignore[union-attr]
    store.update("b", epoch=1, at_ms=3)
    store.update("c", epoch=1, at_ms=4)
    assert store.get("a") is None
    assert len(store) == 2
