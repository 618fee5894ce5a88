"""What a renderer that draws from sound asks of the show, and the show of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Pcm = NDArray[np.int16]


class Sound(Protocol):
    """A clip while it plays. All counts are samples at 48 kHz from the clip's first."""

    @property
    def serial(self) -> int:
        """Which clip: grows with every clip."""
        ...

    @property
    def at(self) -> int:
        """The middle of the frame to draw."""
        ...

    @property
    def stop(self) -> int:
        """How far the sound exists now; it grows while the clip is made, and shrinks when the clip is cut."""
        ...

    def read(self, start: int, stop: int) -> Pcm:
        """int16[stop - start]; silence outside ``0..stop``."""
        ...


@runtime_checkable
class Hearing(Protocol):
    """A renderer that wants the sound of each frame before it draws it.

    Attributes:
        on_event: called with a state and a reason when what it shows changes, for the session's event log.
    """

    on_event: Callable[[str, str], None] | None

    def hear(self, sound: Sound | None, media_ms: float) -> None:
        """The sound of the frame at ``media_ms``, or ``None`` in silence."""
        ...
