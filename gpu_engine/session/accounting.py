"""From accepted seconds to journal segments.

The outlet reports each whole media second and the outputs that took it; consecutive seconds become one segment, closed
every ``FLUSH_SECONDS`` or at the first hole. A second is taken once per incarnation, in order. Closed segments wait in
memory until :meth:`UsageAccount.write` has put them on the disk, which may be slow or full for a while.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from gpu_engine.session.usage import UsageJournal

FLUSH_SECONDS = 5


@dataclass(slots=True)
class _Stretch:
    """Consecutive accepted seconds of one incarnation, ``to_s`` excluded."""

    incarnation: int
    from_s: int
    to_s: int
    started_at_ms: int
    outputs: set[str] = field(default_factory=set)


class UsageAccount:
    """Collects accepted seconds of one engine run. ``accept`` never touches the disk; ``write`` may run in a thread."""

    def __init__(self, journal_path: Path, height_px: int) -> None:
        self._journal = UsageJournal(journal_path)
        self._height_px = height_px
        self._open: _Stretch | None = None
        self._closed: deque[_Stretch] = deque()
        self._writing = threading.Lock()
        self._last_s: dict[int, int] = {}
        self.accepted_s = 0

    @property
    def last_incarnation(self) -> int:
        """The highest incarnation of the engine that the journal holds, 0 when it is new."""
        return self._journal.last_incarnation

    @property
    def waiting(self) -> int:
        """Closed segments that are not on the disk yet."""
        return len(self._closed)

    def accept(self, incarnation: int, second: int, outputs: list[str]) -> None:
        """One media second was taken by ``outputs`` (none: not billable)."""
        if second <= self._last_s.get(incarnation, -1) or not outputs:
            return
        self._last_s[incarnation] = second
        self.accepted_s += 1
        current = self._open
        if current is None or current.incarnation != incarnation or current.to_s != second:
            self._end_stretch()
            current = self._open = _Stretch(incarnation, second, second, int(time.time() * 1000) - 1000)
        current.to_s = second + 1
        current.outputs.update(outputs)
        if current.to_s - current.from_s >= FLUSH_SECONDS:
            self._end_stretch()

    def _end_stretch(self) -> None:
        if self._open is not None:
            self._closed.append(self._open)
            self._open = None

    def write(self) -> None:
        """Put closed segments on the disk, in order.

        Raises:
            OSError: the disk is full or fails; what is not written yet waits for the next call.
        """
        with self._writing:
            while self._closed:
                stretch = self._closed[0]
                self._journal.append(
                    incarnation=stretch.incarnation, from_s=stretch.from_s, to_s=stretch.to_s,
                    started_at_ms=stretch.started_at_ms, height_px=self._height_px,
                    accepted_by=tuple(sorted(stretch.outputs)),
                )  # fmt: skip
                self._closed.popleft()

    def close(self) -> None:
        """Write everything and close the journal; OSError as of :meth:`write`."""
        self._end_stretch()
        try:
            self.write()
        finally:
            self._journal.close()
