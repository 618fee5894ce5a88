"""From accepted seconds to journal segments.

The outlet reports each whole media second and the outputs that took it; consecutive seconds become one segment, written
to the journal every ``FLUSH_SECONDS`` or at the first hole. A second is taken once per incarnation, in order.
"""

from __future__ import annotations

import time
from pathlib import Path

from gpu_engine.session.usage import UsageJournal, UsageSegment

FLUSH_SECONDS = 5


class UsageAccount:
    """Collects accepted seconds of one engine run."""

    def __init__(self, journal_path: Path, height_px: int) -> None:
        self._journal = UsageJournal(journal_path)
        self._height_px = height_px
        self._incarnation = 0
        self._from_s = 0
        self._to_s = 0
        self._started_at_ms = 0
        self._outputs: set[str] = set()
        self._last_s: dict[int, int] = {}
        self.accepted_s = 0

    def accept(self, incarnation: int, second: int, outputs: list[str]) -> UsageSegment | None:
        """One media second was taken by ``outputs`` (none: not billable). Returns the segment this completed, if any."""
        if second <= self._last_s.get(incarnation, -1) or not outputs:
            return None
        self._last_s[incarnation] = second
        self.accepted_s += 1
        done = None
        if self._to_s > self._from_s and (incarnation != self._incarnation or second != self._to_s):
            done = self.flush()
        if self._to_s == self._from_s:
            self._incarnation = incarnation
            self._from_s = self._to_s = second
            self._started_at_ms = int(time.time() * 1000) - 1000
        self._to_s = second + 1
        self._outputs.update(outputs)
        if self._to_s - self._from_s >= FLUSH_SECONDS:
            return self.flush() or done
        return done

    def flush(self) -> UsageSegment | None:
        """Write what is open; None when nothing is."""
        if self._to_s == self._from_s:
            return None
        segment = self._journal.append(
            incarnation=self._incarnation, from_s=self._from_s, to_s=self._to_s, started_at_ms=self._started_at_ms,
            height_px=self._height_px, accepted_by=tuple(sorted(self._outputs)),
        )  # fmt: skip
        self._from_s = self._to_s = 0
        self._outputs.clear()
        return segment

    def close(self) -> None:
        """Write what is open and close the journal."""
        self.flush()
        self._journal.close()
