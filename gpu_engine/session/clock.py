"""The media clock: integer frame and sample counters, and when each frame is due.

Frame n of a session is due at ``t0 + n / fps`` on the monotonic clock. Media time starts at one second, so encoder delay
never makes a timestamp negative. Nothing here accumulates floating-point time, so there is no drift over days.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

SAMPLE_RATE_HZ = 48_000
VIDEO_CLOCK_HZ = 90_000
START_MS = 1_000
"""Media time of frame 0."""

MAX_CATCH_UP_S = 2.0
"""Behind by more (a suspended machine), the clock is shifted instead of rushing."""


@dataclass(frozen=True, slots=True)
class FrameTime:
    """Timestamps of frame ``index`` in every unit used."""

    index: int
    video_pts: int
    audio_pts: int
    media_ms: int


class Pacer(Protocol):
    """Says when a frame is due and how late we are."""

    def start(self) -> None:
        """Frame 0 is due now."""
        ...

    def seconds_until(self, frame: int) -> float:
        """Seconds until frame ``frame`` is due; negative when late."""
        ...

    def due_ns(self, frame: int) -> int:
        """time.monotonic_ns() at which the frame is (or was) due."""
        ...


class FrameGrid:
    """Exact timestamps for a frame rate that divides both clocks.

    Raises:
        ValueError: the rate does not divide 48,000 and 90,000.
    """

    def __init__(self, fps: int) -> None:
        if SAMPLE_RATE_HZ % fps or VIDEO_CLOCK_HZ % fps:
            raise ValueError(f"{fps} frames a second do not divide 48 kHz and 90 kHz: use 10, 12, 15, 20, 24, 25, 30, 50 or 60")
        self.fps = fps
        self.samples_per_frame = SAMPLE_RATE_HZ // fps
        self.ticks_per_frame = VIDEO_CLOCK_HZ // fps

    def at(self, index: int) -> FrameTime:
        """Timestamps of frame ``index``."""
        return FrameTime(
            index,
            VIDEO_CLOCK_HZ * START_MS // 1000 + index * self.ticks_per_frame,
            SAMPLE_RATE_HZ * START_MS // 1000 + index * self.samples_per_frame,
            START_MS + index * 1000 // self.fps,
        )


class RealPacer:
    """Wall time from the monotonic clock."""

    def __init__(self, fps: int) -> None:
        self._fps = fps
        self._t0_ns = 0
        self.shifted_s = 0.0

    def start(self) -> None:
        """Frame 0 is due now."""
        self._t0_ns = time.monotonic_ns()

    def due_ns(self, frame: int) -> int:
        """time.monotonic_ns() at which the frame is due."""
        return self._t0_ns + frame * 1_000_000_000 // self._fps

    def seconds_until(self, frame: int) -> float:
        """Seconds until the frame is due. Shifts the clock once more than ``MAX_CATCH_UP_S`` behind."""
        wait_s = (self.due_ns(frame) - time.monotonic_ns()) / 1e9
        if wait_s < -MAX_CATCH_UP_S:
            self._t0_ns += int(-wait_s * 1e9)
            self.shifted_s += -wait_s
            return 0.0
        return wait_s


class VirtualPacer:
    """Every frame is due as soon as it is asked for: renders as fast as the machine can."""

    def start(self) -> None:
        """Nothing to start."""

    def due_ns(self, frame: int) -> int:
        """The present: a virtual run has no wall schedule."""
        return time.monotonic_ns()

    def seconds_until(self, frame: int) -> float:
        """Always due."""
        return 0.0
