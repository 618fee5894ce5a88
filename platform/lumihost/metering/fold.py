"""From reported segments to billable seconds: a pure function of the *set* of segments, whatever order they came in.

Within one run of an engine (epoch, incarnation) a media second counts once. Between runs wall time decides: a media second is
charged unless at least half of it lies in wall time that another run of the same session is already charged for, so that two
engines which overlapped (a node thought dead that was not) cost the merchant one. A fenced epoch earns nothing after its fence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

HOUR_MS = 3_600_000
SECOND_MS = 1000
MAX_SEGMENT_S = 3600
"""Longer segments are refused: the fold of an hour looks back this far."""


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """Media seconds ``from_s`` (included) to ``to_s`` (excluded); ``started_at_ms``: Unix time when ``from_s`` was produced."""

    epoch: int
    incarnation: int
    from_s: int
    to_s: int
    started_at_ms: int
    height_px: int


class _Charged:
    """Wall time already charged, as disjoint, sorted intervals in milliseconds."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def overlap_ms(self, start_ms: int, end_ms: int) -> int:
        """Milliseconds of [start, end) that are charged."""
        total = 0
        index = bisect_right(self._ends, start_ms)
        while index < len(self._starts) and self._starts[index] < end_ms:
            total += min(end_ms, self._ends[index]) - max(start_ms, self._starts[index])
            index += 1
        return total

    def add(self, start_ms: int, end_ms: int) -> None:
        """Mark [start, end) as charged, merging with what it touches."""
        first, last = bisect_left(self._ends, start_ms), bisect_right(self._starts, end_ms)
        if first < last:
            start_ms, end_ms = min(start_ms, self._starts[first]), max(end_ms, self._ends[last - 1])
        self._starts[first:last] = [start_ms]
        self._ends[first:last] = [end_ms]


def billable_seconds(segments: Iterable[Segment], fences_ms: Mapping[int, int] | None = None) -> dict[tuple[int, int], int]:
    """Seconds to charge by (start of the hour in Unix milliseconds, height in pixels).

    Args:
        fences_ms: epoch → Unix milliseconds from which on its seconds are not charged.
    """
    fences_ms = fences_ms or {}
    runs: dict[tuple[int, int], list[Segment]] = defaultdict(list)
    for segment in sorted(set(segments)):
        runs[segment.epoch, segment.incarnation].append(segment)
    result: dict[tuple[int, int], int] = defaultdict(int)
    charged = _Charged()
    for (epoch, _), run in sorted(runs.items()):
        taken: list[tuple[int, int]] = []
        for start_ms, seconds, height_px in _once_per_run(run, fences_ms.get(epoch)):
            for piece_ms, piece_s in _not_charged_yet(charged, start_ms, seconds):
                taken.append((piece_ms, piece_ms + piece_s * SECOND_MS))
                for hour_ms, count in _by_hour(piece_ms, piece_s):
                    result[hour_ms, height_px] += count
        # Only now: within a run, wall clocks may jitter by milliseconds while media seconds do not overlap.
        for start_ms, end_ms in taken:
            charged.add(start_ms, end_ms)
    return dict(result)


def _once_per_run(run: list[Segment], fence_ms: int | None) -> Iterator[tuple[int, int, int]]:
    """(wall start, seconds, height) of the media seconds of a run, each once; segments must be sorted."""
    covered_to_s = -1
    for segment in run:
        first_s = max(segment.from_s, covered_to_s)
        if first_s >= segment.to_s:
            continue
        covered_to_s = segment.to_s
        start_ms = segment.started_at_ms + (first_s - segment.from_s) * SECOND_MS
        seconds = segment.to_s - first_s
        if fence_ms is not None:
            seconds = min(seconds, max(0, -(-(fence_ms - start_ms) // SECOND_MS)))
        if seconds > 0:
            yield start_ms, seconds, segment.height_px


def _not_charged_yet(charged: _Charged, start_ms: int, seconds: int) -> Iterator[tuple[int, int]]:
    """Pieces (wall start, seconds) of a stretch that another run is not charged for already."""
    if not charged.overlap_ms(start_ms, start_ms + seconds * SECOND_MS):
        yield start_ms, seconds
        return
    piece_ms, piece_s = start_ms, 0
    for index in range(seconds):
        second_ms = start_ms + index * SECOND_MS
        if charged.overlap_ms(second_ms, second_ms + SECOND_MS) * 2 >= SECOND_MS:
            if piece_s:
                yield piece_ms, piece_s
            piece_ms, piece_s = second_ms + SECOND_MS, 0
        else:
            piece_s += 1
    if piece_s:
        yield piece_ms, piece_s


def _by_hour(start_ms: int, seconds: int) -> Iterator[tuple[int, int]]:
    """Split a stretch at full hours; a second belongs to the hour in which it starts."""
    while seconds > 0:
        hour_ms = start_ms - start_ms % HOUR_MS
        count = min(seconds, -(-(hour_ms + HOUR_MS - start_ms) // SECOND_MS))
        yield hour_ms, count
        start_ms += count * SECOND_MS
        seconds -= count
