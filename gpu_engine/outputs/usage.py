"""Which outputs took each whole second of media: the outlet's half of metering.

An output has accepted a packet when it was written to a file, taken by an RTMP socket, or sent to at least one connected
viewer. A second is reported once, in order, ``GRACE_MS`` of media after its end, so that fragments and socket queues have
had their time (on a virtual clock media time runs ahead of the disk: there it is more). Of a second that was not seen whole
(the outlet joined in its middle, or packets are missing) nothing is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from gpu_engine.outputs.hub import AccessUnit

GRACE_MS = 2_000
VIRTUAL_GRACE_MS = 30_000
GAP_MS = 500


class AcceptedSeconds:
    """Counts for one outlet process. ``emit`` gets (incarnation, second, sorted output ids)."""

    def __init__(self, emit: Callable[[int, int, list[str]], None], *, grace_ms: int = GRACE_MS) -> None:
        self._emit = emit
        self._grace_ms = grace_ms
        self._incarnation = -1
        self._covered_from_ms: int | None = None
        self._newest_end_ms = 0
        self._next_second = 0
        self._whole: deque[int] = deque()
        self._takers: dict[int, set[str]] = {}
        self.accepted_s = 0

    def produced(self, unit: AccessUnit) -> None:
        """A packet arrived from the body.

        Sound shows what is missing, for the body never skips it, while it may skip pictures under load. Nothing counts as
        seen before the first picture.
        """
        start_ms = unit.media_ms
        if unit.info.incarnation != self._incarnation:
            self.finish()
            self._incarnation = unit.info.incarnation
            self._covered_from_ms = None
            self._newest_end_ms = start_ms
            self._next_second = start_ms // 1000
            self._takers.clear()
        elif start_ms - self._newest_end_ms > GAP_MS:
            self._note_whole_seconds(self._newest_end_ms)
            self._covered_from_ms = None
        self._newest_end_ms = max(self._newest_end_ms, start_ms + (1000 // unit.info.fps if unit.is_video else 20))
        if not unit.is_video:
            return
        if self._covered_from_ms is None:
            self._covered_from_ms = start_ms
        # A picture lasts until the next one, so a second is over when a picture of a later second arrives.
        self._note_whole_seconds(start_ms)
        while self._whole and start_ms >= (self._whole[0] + 1) * 1000 + self._grace_ms:
            self._report(self._whole.popleft())

    def accepted(self, output_id: str, unit: AccessUnit) -> None:
        """An output took a packet."""
        second = unit.media_ms // 1000
        if unit.info.incarnation == self._incarnation and (second >= self._next_second or second in self._whole):
            self._takers.setdefault(second, set()).add(output_id)

    def finish(self) -> None:
        """No more packets of this incarnation: report the seconds that were whole, up to the end of the last picture."""
        if self._incarnation >= 0:
            self._note_whole_seconds(self._newest_end_ms)
        while self._whole:
            self._report(self._whole.popleft())

    def _note_whole_seconds(self, until_ms: int) -> None:
        while (self._next_second + 1) * 1000 <= until_ms:
            if self._covered_from_ms is not None and self._covered_from_ms <= self._next_second * 1000:
                self._whole.append(self._next_second)
            else:
                self._takers.pop(self._next_second, None)
            self._next_second += 1

    def _report(self, second: int) -> None:
        takers = sorted(self._takers.pop(second, ()))
        self.accepted_s += bool(takers)
        self._emit(self._incarnation, second, takers)
