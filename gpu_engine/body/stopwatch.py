"""Where the frame's milliseconds go: exponentially smoothed times by stage, and frames a second."""

from __future__ import annotations

import time
from collections import deque

_SMOOTHING = 0.05


class Stopwatch:
    """``lap(stage)`` charges the time since the last call to ``stage``."""

    def __init__(self) -> None:
        self.stage_ms: dict[str, float] = {}
        self._last_ns = time.perf_counter_ns()

    def start(self) -> None:
        """Begin a frame."""
        self._last_ns = time.perf_counter_ns()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now_ns = time.perf_counter_ns()
        spent_ms = (now_ns - self._last_ns) / 1e6
        self._last_ns = now_ns
        old = self.stage_ms.get(stage, spent_ms)
        self.stage_ms[stage] = old + _SMOOTHING * (spent_ms - old)

    @property
    def frame_ms(self) -> float:
        """Sum of the stages."""
        return sum(self.stage_ms.values())


class FrameRate:
    """Frames a second over the last two seconds of the clock given."""

    def __init__(self) -> None:
        self._times_s: deque[float] = deque()

    def tick(self, now_s: float) -> None:
        """A frame was encoded."""
        self._times_s.append(now_s)
        while self._times_s and now_s - self._times_s[0] > 2.0:
            self._times_s.popleft()

    def value(self) -> float:
        """Frames a second, 0 until two frames were seen."""
        if len(self._times_s) < 2:
            return 0.0
        return (len(self._times_s) - 1) / max(1e-6, self._times_s[-1] - self._times_s[0])
