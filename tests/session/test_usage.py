"""The usage journal and the account: a second is written once, whatever is killed when."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.session.accounting import FLUSH_SECONDS, UsageAccount
from gpu_engine.session.usage import UsageJournal, read_journal

pytestmark = pytest.mark.unit


def test_consecutive_seconds_become_one_segment(tmp_path: Path) -> None:
    account = UsageAccount(tmp_path / "usage.jsonl", 720)
    for second in range(1, 1 + FLUSH_SECONDS):
        account.accept(1, second, ["recording"])
    account.close()

    (segment,) = read_journal(tmp_path / "usage.jsonl")
    assert (segment.seq, segment.incarnation, segment.from_s, segment.to_s) == (1, 1, 1, 1 + FLUSH_SECONDS)
    assert segment.seconds == FLUSH_SECONDS and segment.accepted_by == ("recording",)


def test_a_second_nobody_took_is_a_hole(tmp_path: Path) -> None:
    account = UsageAccount(tmp_path / "usage.jsonl", 720)
    for second, outputs in ((1, ["a"]), (2, []), (3, ["a"])):
        account.accept(1, second, outputs)
    account.close()

    assert [(s.from_s, s.to_s) for s in read_journal(tmp_path / "usage.jsonl")] == [(1, 2), (3, 4)]


def test_sequence_goes_on_after_a_restart_and_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    first = UsageAccount(path, 720)
    first.accept(1, 1, ["a"])
    first.close()
    with path.open("ab") as file:
        file.write(b'{"seq":2,"incarn')

    second = UsageJournal(path)
    assert (second.last_seq, second.last_incarnation) == (1, 1)
    second.append(incarnation=2, from_s=1, to_s=2, started_at_ms=0, height_px=720, accepted_by=("a",))
    second.close()

    assert [s.seq for s in read_journal(path)] == [1, 2]
    assert [s.seq for s in read_journal(path, after_seq=1)] == [2]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 30), st.booleans()), max_size=120))
def test_no_second_is_ever_written_twice(
    tmp_path_factory: pytest.TempPathFactory, reports: list[tuple[int, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("usage") / "usage.jsonl"
    account = UsageAccount(path, 720)
    for incarnation, second, taken in sorted(reports, key=lambda r: r[0]):
        account.accept(incarnation, second, ["a"] if taken else [])
    account.close()

    written = [(s.incarnation, second) for s in read_journal(path) for second in range(s.from_s, s.to_s)]
    assert len(written) == len(set(written)) == account.accepted_s
    assert set(written) <= {(i, s) for i, s, taken in reports if taken}


def test_a_full_disk_delays_segments_and_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "usage.jsonl"
    account = UsageAccount(path, 720)
    for second in range(1, 1 + 2 * FLUSH_SECONDS):
        account.accept(1, second, ["a"])
    real_write = os.write

    def half_then_full(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return real_write(descriptor, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", half_then_full)
        with pytest.raises(OSError, match="No space"):
            account.write()
    assert (path.read_bytes(), account.waiting) == (b"", 2)

    account.close()

    assert [(s.seq, s.from_s, s.to_s) for s in read_journal(path)] == [(1, 1, 6), (2, 6, 11)]


def test_a_damaged_line_hides_neither_those_before_nor_those_after_it(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    account = UsageAccount(path, 720)
    for second in (1, 3, 5):
        account.accept(1, second, ["a"])
    account.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\x00" * 20 + b"\n" + lines[2])

    again = UsageJournal(path)
    again.append(incarnation=2, from_s=1, to_s=2, started_at_ms=0, height_px=720, accepted_by=("a",))
    again.close()

    assert [s.seq for s in read_journal(path)] == [1, 3, 4]
