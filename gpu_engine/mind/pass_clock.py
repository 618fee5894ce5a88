"""How far the body may run in a virtual session, and when it has got there.

The body reports its playhead on the first frame that lies 200 ms or more after the last report. Passing it exactly to such a
frame makes that report the last message of the step, so the mind always acts at the same media times.
"""

from __future__ import annotations

from gpu_engine.session.clock import FrameGrid

PLAYHEAD_EVERY_MS = 200


class PassClock:
    """Turns 'nothing to add before …' into steps that end on a playhead."""

    def __init__(self, fps: int) -> None:
        self._grid = FrameGrid(fps)
        self._fps = fps
        self._last_ms: int | None = None
        self._waiting_ms = 0

    def attached(self, media_ms: int) -> int:
        """After connecting at ``media_ms``: how far to run to meet the body's next report."""
        self._last_ms = None
        start = self._grid.at(0).media_ms
        self._waiting_ms = start if media_ms <= start else media_ms
        return self._waiting_ms + (1 if media_ms <= start else PLAYHEAD_EVERY_MS + 2000 // self._fps)

    def arrived(self, media_ms: int) -> bool:
        """Whether this playhead ends the step."""
        if media_ms < self._waiting_ms:
            return False
        self._last_ms = media_ms
        return True

    def next(self, wanted_ms: float) -> int:
        """The ``until_ms`` of the next step: the first reporting frame at or before ``wanted_ms``, at least one step on."""
        assert self._last_ms is not None, "nothing has arrived yet"
        at = self._report_after(self._last_ms)
        while (further := self._report_after(at)) <= wanted_ms:
            at = further
        self._waiting_ms = at
        return at + 1

    def _report_after(self, media_ms: int) -> int:
        start = self._grid.at(0).media_ms
        index = max(0, (media_ms + PLAYHEAD_EVERY_MS - start) * self._fps // 1000 - 1)
        while self._grid.at(index).media_ms < media_ms + PLAYHEAD_EVERY_MS:
            index += 1
        return self._grid.at(index).media_ms
