"""The shared-memory ring: whole records, counted losses, no waiting."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.motion.ring import (
    MOTION_RECORD,
    VISEME_RECORD,
    RingError,
    RingReader,
    RingWriter,
    viseme_name,
    viseme_record,
)

pytestmark = pytest.mark.unit


def test_records_arrive_in_order(tmp_path: Path) -> None:
    writer = RingWriter(tmp_path / "ring", VISEME_RECORD, 8)
    reader = RingReader(tmp_path / "ring", VISEME_RECORD)
    writer.write(viseme_record(1_000, "aa", 0.92))
    writer.write(viseme_record(2_000, "PP", 0.5))
    batch = reader.read()
    assert [(int(r["timestamp_ns"]), viseme_name(r)) for r in batch.records] == [(1_000, "aa"), (2_000, "PP")]
    assert float(batch.records[0]["confidence"]) == pytest.approx(0.92)
    assert batch.lost == 0
    assert len(reader.read().records) == 0


def test_a_slow_reader_gets_the_newest_and_the_number_it_lost(tmp_path: Path) -> None:
    writer = RingWriter(tmp_path / "ring", VISEME_RECORD, 8)
    reader = RingReader(tmp_path / "ring", VISEME_RECORD)
    for i in range(30):
        writer.write(viseme_record(i, "sil", 1.0))
    batch = reader.read()
    assert [int(r["timestamp_ns"]) for r in batch.records] == list(range(22, 30))
    assert batch.lost == 22


def test_latest_does_not_move_the_reader(tmp_path: Path) -> None:
    writer = RingWriter(tmp_path / "ring", VISEME_RECORD, 4)
    reader = RingReader(tmp_path / "ring", VISEME_RECORD)
    assert reader.latest() is None
    for i in range(3):
        writer.write(viseme_record(i, "ou", 1.0))
    newest = reader.latest()
    assert newest is not None
    assert int(newest["timestamp_ns"]) == 2
    assert len(reader.read().records) == 3


def test_a_restarted_writer_is_followed(tmp_path: Path) -> None:
    first = RingWriter(tmp_path / "ring", VISEME_RECORD, 4)
    reader = RingReader(tmp_path / "ring", VISEME_RECORD)
    for i in range(3):
        first.write(viseme_record(i, "ou", 1.0))
    second = RingWriter(tmp_path / "ring", VISEME_RECORD, 4)
    second.write(viseme_record(77, "E", 1.0))
    batch = reader.read()
    assert [int(r["timestamp_ns"]) for r in batch.records] == [0, 1, 2, 77]
    assert batch.lost == 0


def test_a_ring_of_another_size_replaces_the_file_under_its_readers(tmp_path: Path) -> None:
    RingWriter(tmp_path / "ring", VISEME_RECORD, 4).write(viseme_record(5, "ou", 1.0))
    reader = RingReader(tmp_path / "ring", VISEME_RECORD)
    RingWriter(tmp_path / "ring", VISEME_RECORD, 900).write(viseme_record(6, "ou", 1.0))
    old, new = reader.latest(), RingReader(tmp_path / "ring", VISEME_RECORD).latest()
    assert old is not None
    assert new is not None
    assert (int(old["timestamp_ns"]), int(new["timestamp_ns"])) == (5, 6)


@pytest.mark.parametrize("damage", ["missing", "empty", "foreign", "other records", "cut"])
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ring"
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"x" * 4096)
    elif damage == "other records":
        RingWriter(path, MOTION_RECORD, 4)
    elif damage == "cut":
        RingWriter(path, VISEME_RECORD, 64)
        path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(RingError, match="ring"):
        RingReader(path, VISEME_RECORD)


def _hammer(path: Path, count: int) -> None:
    writer = RingWriter(path, MOTION_RECORD, 16)
    record = np.zeros((), dtype=MOTION_RECORD)
    for i in range(count):
        record["timestamp_ns"] = i
        record["weights"] = i
        record["joints"] = i
        writer.write(record)


@pytest.mark.process
def test_no_reader_ever_sees_a_torn_record(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    RingWriter(path, MOTION_RECORD, 16)
    count = 30_000
    process = multiprocessing.get_context("spawn").Process(target=_hammer, args=(path, count))
    process.start()
    seen, last, deadline = 0, -1, time.monotonic() + 60
    reader = RingReader(path, MOTION_RECORD)
    while last < count - 1 and time.monotonic() < deadline:
        newest = reader.latest()
        if newest is None or int(newest["timestamp_ns"]) == last:
            continue
        number = int(newest["timestamp_ns"])
        assert np.all(newest["weights"] == np.float32(number))
        assert np.all(newest["joints"] == np.float32(number))
        seen, last = seen + 1, number
    process.join()
    assert process.exitcode == 0
    assert last == count - 1
    assert seen > 10
