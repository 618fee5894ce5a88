"""Which outputs took each whole second of media: the outlet's half of metering.

An output has accepted a packet when it was written to a file, taken by an RTMP socket, or sent to at least one connected
viewer. A second is reported once, in order, ``GRACE_MS`` of media after its end, so that fragments and socket queues have
had their time. An outlet that joins in mid-second says nothing of that second.
"""

from __future__ import annotations

from collections.abc import Callable

from gpu_engine.outputs.hub import AccessUnit

GRACE_MS = 2_000


class AcceptedSeconds:
    """Counts for one outlet process. ``emit`` gets (incarnation, second, sorted output ids)."""

    def __init__(self, emit: Callable[[int, int, list[str]], None]) -> None:
        self._emit = emit
        self._incarnation = -1
        self._next_second = 0
        self._newest_ms = 0
        self._frame_ms = 0
        self._takers: dict[int, set[str]] = {}
        self.accepted_s = 0

    def produced(self, unit: AccessUnit) -> None:
        """A packet arrived from the body. Pictures tell the time."""
        if not unit.is_video:
            return
        if unit.info.incarnation != self._incarnation:
            self.finish()
            self._incarnation = unit.info.incarnation
            self._next_second = -(-unit.media_ms // 1000)
            self._takers.clear()
        # A picture lasts until the next one, so the second is over when a picture of a later second arrives.
        self._newest_ms = unit.media_ms
        self._frame_ms = 1000 // unit.info.fps
        while self._newest_ms >= (self._next_second + 1) * 1000 + GRACE_MS:
            self._report()

    def accepted(self, output_id: str, unit: AccessUnit) -> None:
        """An output took a packet."""
        second = unit.media_ms // 1000
        if unit.info.incarnation == self._incarnation and second >= self._next_second:
            self._takers.setdefault(second, set()).add(output_id)

    def finish(self) -> None:
        """No more packets of this incarnation: report the seconds that were whole, up to the end of the last picture."""
        while self._incarnation >= 0 and self._newest_ms + self._frame_ms >= (self._next_second + 1) * 1000:
            self._report()

    def _report(self) -> None:
        takers = sorted(self._takers.pop(self._next_second, ()))
        self.accepted_s += bool(takers)
        self._emit(self._incarnation, self._next_second, takers)
        self._next_second += 1
