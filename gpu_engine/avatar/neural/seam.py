"""Where a recorded loop may close: frames that fit each other, and frames whose mouth is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.renderer import AvatarError

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

MIN_LOOP_S = 3.0
SEAM_FACTOR = 2.5
"""A seam up to this many times as large as the usual step between frames is hidden by the cross-fade; else ping-pong."""
SEAM_GREY = 1.0
"""So is one of this many grey levels in the mean, however still the recording."""
_VELOCITY = 2


@dataclass(frozen=True, slots=True)
class Seam:
    """What the loop plays: frames ``first`` to ``last`` (included), cut with a cross-fade or there and back.

    Attributes:
        jump: difference at the seam over the median step between neighbours; 0 for ping-pong.
        open_frames: frames of the recording in which the mouth is open.
    """

    first: int
    last: int
    mode: Literal["cut", "pingpong"]
    fade_frames: int
    jump: float
    open_frames: tuple[int, ...]

    @property
    def period(self) -> int:
        """Frames until it starts again."""
        count = self.last - self.first + 1
        return count if self.mode == "cut" else max(1, 2 * (count - 1))

    def frame(self, index: int) -> int:
        """Frame of the recording, counted from ``first``, at step ``index`` of the show."""
        at = index % self.period
        return at if at <= self.last - self.first else self.period - at


def openness(crop: Image) -> float:
    """Share of a mouth crop's middle that is much darker than its skin: the inside of an open mouth."""
    h, w = crop.shape[:2]
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    middle = grey[int(0.3 * h) : int(0.75 * h), int(0.25 * w) : int(0.75 * w)]
    return float((middle < 0.45 * np.median(grey[: max(1, int(0.3 * h))])).mean())


def open_frames(values: Floats) -> tuple[int, ...]:
    """Frames whose ``openness`` stands out from the recording's closed mouth."""
    base = float(np.percentile(values, 15))
    return tuple(int(i) for i in np.nonzero(values > base + 0.035)[0])


def find_seam(thumbs: Floats, opened: tuple[int, ...], fps: float, fade_frames: int, longest_s: float = float("inf")) -> Seam:
    """The best in and out points.

    Args:
        thumbs: float32[n, d], small pictures of the frames.
        opened: frames with an open mouth; a loop without them is preferred.
        longest_s: no loop is longer than this.

    Two frames fit when they and their neighbours look alike, so that position and motion agree. When no pair at least
    ``MIN_LOOP_S`` apart does, the recording is played there and back.
    """
    n = len(thumbs)
    if n < 2:
        raise AvatarError(f"a loop of {n} frame(s) cannot be played: record some seconds")
    steps = np.abs(np.diff(thumbs, axis=0)).mean(axis=1)
    usual = max(float(np.median(steps)), 1e-6)
    shut = np.ones(n, np.float32)
    shut[list(opened)] = 0.0
    gone = np.concatenate([[0.0], np.cumsum(1.0 - shut)])
    margin = max(_VELOCITY, fade_frames)
    shortest = int(MIN_LOOP_S * fps)
    best: tuple[float, int, int, float] | None = None
    starts = range(margin, max(margin, n - shortest - _VELOCITY))
    for first in starts[:: max(1, len(starts) // 240)]:
        lasts = np.arange(first + shortest - 1, int(min(n - 1 - _VELOCITY, first + longest_s * fps)))
        if not len(lasts):
            break
        # The frame after `last` is `first`: compare it and its neighbours.
        offsets = range(-_VELOCITY, _VELOCITY + 1)
        distance = np.mean([np.abs(thumbs[lasts + 1 + o] - thumbs[first + o]).mean(axis=1) for o in offsets], axis=0)
        opening = (gone[lasts + 1] - gone[first]) / (lasts - first + 1)
        cost = distance / usual + 6.0 * opening - 0.6 * (lasts - first) / n
        at = int(np.argmin(cost))
        if best is None or cost[at] < best[0]:
            best = (float(cost[at]), first, int(lasts[at]), float(distance[at]) / usual)
    if best is not None and best[3] <= max(SEAM_FACTOR, SEAM_GREY / usual):
        return Seam(best[1], best[2], "cut", fade_frames, best[3], opened)
    first, last = _longest_shut(shut) if n > shortest else (0, n - 1)
    last = int(min(last, first + longest_s * fps))
    return Seam(first, last, "pingpong", 0, 0.0, opened)


def _longest_shut(shut: Floats) -> tuple[int, int]:
    """The longest run of closed frames, or everything when none is worth having."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0.0], shut, [0.0]])))
    runs = edges.reshape(-1, 2)
    if not len(runs):
        return 0, len(shut) - 1
    first, stop = runs[int(np.argmax(runs[:, 1] - runs[:, 0]))]
    return (int(first), int(stop) - 1) if stop - first >= max(2, len(shut) // 3) else (0, len(shut) - 1)
