"""The usage journal: which seconds of media the body made and at least one output took.

One JSON object a line in ``<run_dir>/usage.jsonl``, flushed and fsynced before it is reported. ``seq`` counts from 1 within
(session, epoch) and goes on across restarts of the engine, so a line is charged once whoever reads it how often.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec


class UsageSegment(msgspec.Struct, frozen=True):
    """Seconds ``from_s`` (included) to ``to_s`` (excluded) of one incarnation's media, all produced and accepted.

    ``started_at_ms`` is wall time (Unix, milliseconds) when ``from_s`` was produced; ``accepted_by`` names outputs that took
    any of them; ``height_px`` is the rendition.
    """

    seq: int
    incarnation: int
    from_s: int
    to_s: int
    started_at_ms: int
    height_px: int
    accepted_by: tuple[str, ...]

    @property
    def seconds(self) -> int:
        """Billable seconds."""
        return self.to_s - self.from_s


class UsageJournal:
    """Append-only, crash-safe: a torn last line is cut off on opening."""

    def __init__(self, path: Path) -> None:
        self._path = path
        segments, good_bytes = _read(path)
        if path.exists() and path.stat().st_size != good_bytes:
            with path.open("r+b") as file:
                file.truncate(good_bytes)
        self.last_seq = max((s.seq for s in segments), default=0)
        self.last_incarnation = max((s.incarnation for s in segments), default=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._good_bytes = good_bytes

    def append(
        self,
        *,
        incarnation: int,
        from_s: int,
        to_s: int,
        started_at_ms: int,
        height_px: int,
        accepted_by: tuple[str, ...],
    ) -> UsageSegment:
        """Write one segment with the next sequence number and return it once it is on disk.

        Raises:
            OSError: the disk is full or fails; nothing of the segment stays, and the same call may be made again.
        """
        segment = UsageSegment(self.last_seq + 1, incarnation, from_s, to_s, started_at_ms, height_px, accepted_by)
        line = memoryview(msgspec.json.encode(segment) + b"\n")
        size = len(line)
        try:
            while line:
                line = line[os.write(self._file.fileno(), line) :]
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), self._good_bytes)
            raise
        self._good_bytes += size
        self.last_seq = segment.seq
        return segment

    def close(self) -> None:
        """Close the file; what was appended is already on disk."""
        self._file.close()


def read_journal(path: Path, *, after_seq: int = 0) -> list[UsageSegment]:
    """Whole segments with a sequence number above ``after_seq``, in order; a torn last line is ignored."""
    return [s for s in _read(path)[0] if s.seq > after_seq]


def _read(path: Path) -> tuple[list[UsageSegment], int]:
    if not path.exists():
        return [], 0
    segments: list[UsageSegment] = []
    good_bytes = 0
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        good_bytes += len(line)
        # A line that a failing disk has damaged hides neither those before nor those after it.
        with contextlib.suppress(msgspec.DecodeError):
            segments.append(msgspec.json.decode(line, type=UsageSegment))
    return segments, good_bytes
