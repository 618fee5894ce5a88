"""What the body asks of any avatar renderer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import MotionFrame


class AvatarError(RuntimeError):
    """The avatar pack is missing, damaged or of a version this engine does not read; the message names file and way out."""


class AvatarRenderer(Protocol):
    """Draws the host over a canvas. Not thread-safe; one instance per session."""

    width: int
    height: int

    def render(self, frame: MotionFrame, canvas: NDArray[np.uint8]) -> None:
        """Composite the host over ``canvas`` (uint8[height, width, 3], BGR, sRGB) in place, without allocating per frame."""
        ...
