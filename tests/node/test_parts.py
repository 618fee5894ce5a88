"""Lease, journal and outgoing queue: the pure parts of the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_engine.session.usage import UsageJournal
from workers.contracts import node as wire
from workers.node import journal
from workers.node.journal import RunDirectory, RunRecord, UnsafeSessionId
from workers.node.lease import Lease
from workers.node.outgoing import MAX_EVENTS, Outgoing, UsageTail

pytestmark = pytest.mark.unit


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


# --- lease --------------------------------------------------------------------------------------------------------------


def test_a_lease_counts_from_the_question_not_from_the_answer() -> None:
    clock = Clock()
    lease = Lease(clock_s=clock)
    assert not lease.may_open
    lease.asked()
    clock.now_s += 4
    lease.granted(6.0)
    assert lease.may_open
    clock.now_s += 1.9
    assert lease.may_open
    clock.now_s += 0.2
    assert not lease.may_open


def test_an_unanswered_question_does_not_stretch_the_next_answer() -> None:
    clock = Clock()
    lease = Lease(clock_s=clock)
    lease.asked()
    clock.now_s += 3
    lease.asked()
    lease.granted(6.0)
    clock.now_s += 3.1
    assert not lease.may_open


def test_a_refused_lease_never_opens_again() -> None:
    lease = Lease(clock_s=Clock())
    lease.refuse()
    lease.granted(6.0)
    assert not lease.may_open


# --- journal ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.of(tmp_path / "sessions", "ses_a", 1)
    made.create()
    return made


def test_a_record_survives_and_a_torn_one_is_no_record(run: RunDirectory) -> None:
    record = RunRecord("ses_a", 1, cursor={"loop": 3}, pid=42, usage_acked=7)
    run.save(record)
    assert run.load() == record
    assert [found for _, found in journal.known_runs(run.path.parent)] == [record]
    run.record.write_bytes(b'{"session": "ses_')
    assert run.load() is None
    assert [(r.session, r.epoch, r.pid, r.starts) for _, r in journal.known_runs(run.path.parent)] == [("ses_a", 1, 0, 0)]


@pytest.mark.parametrize("session", ["../x", "a/b", "", "ses.1", "x" * 65, "主播", "a\0b"])
def test_a_session_id_that_is_no_plain_name_makes_no_directory(tmp_path: Path, session: str) -> None:
    with pytest.raises(UnsafeSessionId):
        RunDirectory.of(tmp_path, session, 1)


def test_show_files_are_private_and_go_when_the_run_is_over(run: RunDirectory) -> None:
    journal.write_private(run.spec, b"{}")
    assert run.spec.stat().st_mode & 0o777 == 0o600
    run.forget_secrets()
    assert not run.spec.exists()


def test_settled_runs_are_purged_after_a_day_and_unsettled_ones_never(tmp_path: Path) -> None:
    for name, settled_at_s in (("old", 1000.0), ("young", 80_000.0), ("owing", 0.0)):
        made = RunDirectory.of(tmp_path, name, 1)
        made.create()
        made.save(RunRecord(name, 1, settled_at_s=settled_at_s))
    assert journal.purge_settled(tmp_path, now_s=90_000.0) == ["old.1"]
    assert {path.name for path in tmp_path.iterdir()} == {"young.1", "owing.1"}


# --- outgoing -----------------------------------------------------------------------------------------------------------


def make_outgoing(run: RunDirectory, clock: Clock | None = None, **fields: object) -> tuple[Outgoing, RunRecord]:
    record = RunRecord("ses_a", 1, **fields)  # type: ignore[arg-type]
    run.save(record)
    return Outgoing(run, record, clock_s=clock or Clock(), wake=lambda: None), record


def write_usage(run: RunDirectory, count: int) -> UsageJournal:
    usage = UsageJournal(run.usage)
    for n in range(count):
        usage.append(incarnation=1, from_s=n, to_s=n + 1, started_at_ms=n * 1000, height_px=720, accepted_by=("x",))
    return usage


def kinds(messages: list[wire.NodeMessage]) -> list[str]:
    return [type(message).__name__ for message in messages]


def test_events_go_out_once_and_again_after_a_reconnect_until_acknowledged(run: RunDirectory) -> None:
    owed, _ = make_outgoing(run)
    for seq in (1, 2, 3, 2):
        owed.event(seq, "turn", {"n": seq}, 0)
    assert [m.seq for m in owed.due() if isinstance(m, wire.Event)] == [1, 2, 3]
    assert owed.due() == []
    owed.event_acked(2)
    owed.reconnected()
    assert [m.seq for m in owed.due() if isinstance(m, wire.Event)] == [3]


def test_an_engines_ring_told_again_to_a_new_agent_is_not_sent_twice(run: RunDirectory) -> None:
    owed, _ = make_outgoing(run, event_acked=1_000_000_002)
    for seq in (1_000_000_001, 1_000_000_002, 1_000_000_003):
        owed.event(seq, "turn", {}, 0)
    assert [m.seq for m in owed.due() if isinstance(m, wire.Event)] == [1_000_000_003]


def test_a_long_outage_drops_the_oldest_events_and_counts_them(run: RunDirectory) -> None:
    owed, _ = make_outgoing(run)
    for seq in range(1, MAX_EVENTS + 51):
        owed.event(seq, "turn", {}, 0)
    sent = []
    while batch := [m.seq for m in owed.due() if isinstance(m, wire.Event)]:
        sent += batch
    assert owed.dropped_events == 50
    assert sent == list(range(51, MAX_EVENTS + 51))


def test_metrics_keep_the_newest_twice_a_second(run: RunDirectory) -> None:
    clock = Clock()
    owed, _ = make_outgoing(run, clock)
    sent = []
    for tick in range(20):
        owed.metrics({"n": tick})
        sent += [m.snapshot["n"] for m in owed.due() if isinstance(m, wire.Metrics)]
        clock.now_s += 0.1
    assert sent == [0, 5, 10, 15]


def test_usage_waits_for_each_acknowledgement_and_is_sent_again_after_a_reconnect(run: RunDirectory) -> None:
    clock = Clock()
    owed, record = make_outgoing(run, clock)
    write_usage(run, 150)
    first = owed.due()[0]
    assert isinstance(first, wire.Usage)
    assert [s.seq for s in first.segments] == list(range(1, 101))
    assert owed.due() == []
    owed.reconnected()
    again = owed.due()[0]
    assert again == first
    owed.usage_acked(100)
    rest = owed.due()[0]
    assert isinstance(rest, wire.Usage)
    assert [s.seq for s in rest.segments] == list(range(101, 151))
    clock.now_s += 11
    assert owed.due()[0] == rest
    owed.usage_acked(150)
    assert owed.due() == []
    assert run.load() == record
    assert record.usage_acked == 150


def test_a_torn_usage_line_waits_until_it_is_whole(run: RunDirectory) -> None:
    write_usage(run, 1).close()
    whole = run.usage.read_bytes()
    run.usage.write_bytes(whole + whole[:20])
    tail = UsageTail(run.usage, 0)
    assert [s.seq for s in tail.take(10)] == [1]
    assert tail.take(10) == ()
    run.usage.write_bytes(whole)
    write_usage(run, 1)
    assert [s.seq for s in tail.take(10)] == [2]


def test_a_run_is_settled_when_its_end_and_all_usage_are_acknowledged(run: RunDirectory) -> None:
    owed, record = make_outgoing(run)
    write_usage(run, 2)
    record.state = wire.NodeSessionState.ENDED
    owed.state_changed()
    assert kinds(owed.due()) == ["Usage", "State"]
    owed.state_acked(wire.NodeSessionState.LIVE)
    assert not owed.settled
    owed.state_acked(wire.NodeSessionState.ENDED)
    assert not owed.settled
    owed.usage_acked(2)
    assert owed.settled


def test_the_wire_refuses_what_is_not_a_message() -> None:
    for frame in ('{"type":"nobody"}', "[]", "{", '{"type":"renew","session":"s"}', b"\xff", "x" * (wire.MAX_FRAME_BYTES + 1)):
        with pytest.raises(wire.WireError):
            wire.decode_from_node(frame)
    usage = wire.Usage("s", 1, (wire.UsageSegment(1, 1, 0, 5, 99, 720, ("a",)),))
    assert wire.decode_from_node(wire.encode(usage)) == usage


def test_a_damaged_line_does_not_hide_the_usage_after_it(run: RunDirectory) -> None:
    journal_file = UsageJournal(run.usage)
    for number in range(3):
        journal_file.append(
            incarnation=1, from_s=number, to_s=number + 1, started_at_ms=0, height_px=720, accepted_by=("webrtc",)
        )  # fmt: skip
    lines = run.usage.read_bytes().splitlines(keepends=True)
    run.usage.write_bytes(lines[0] + b"\x00" * 40 + b"\n" + lines[2] + lines[1][:10])
    tail = UsageTail(run.usage, 0)
    assert [segment.seq for segment in tail.take(10)] == [1, 3]
    assert tail.take(10) == ()


def test_an_event_no_connection_would_carry_keeps_its_number_and_loses_its_data(run: RunDirectory) -> None:
    owed = Outgoing(run, RunRecord("ses_a", 1), wake=lambda: None)
    owed.event(1, "comment", {"text": "x" * 300_000}, 0)
    owed.event(2, "comment", {"text": "好"}, 0)
    events = [message for message in owed.due() if isinstance(message, wire.Event)]
    assert [(event.seq, event.data) for event in events] == [(1, {"left_out": "too large"}), (2, {"text": "好"})]
