"""Reads pictures back without stalling the GPU: each goes to a pixel buffer now and is mapped some frames later."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.renderer import AvatarError

if TYPE_CHECKING:
    import moderngl


class ReadBack:
    """A ring of pixel buffers; what is taken out is ``delay`` pictures older than what went in."""

    def __init__(self, context: moderngl.Context, nbytes: int, delay: int = 2) -> None:
        """``nbytes`` a picture; ``delay`` 0 (wait for this very picture) to 8."""
        if not 0 <= delay <= 8:
            raise ValueError(f"read-back delay of {delay} pictures: 0 to 8")
        self.delay = delay
        self._free = deque(context.buffer(reserve=nbytes, dynamic=True) for _ in range(delay + 1))
        self._waiting: deque[moderngl.Buffer] = deque()
        self._host = np.empty(nbytes, np.uint8)

    def push_framebuffer(self, framebuffer: moderngl.Framebuffer) -> None:
        """Queue the colour of ``framebuffer`` (RGBA8)."""
        buffer = self._take()
        framebuffer.read_into(buffer, components=4)
        self._waiting.append(buffer)

    def push_buffer(self, source: moderngl.Buffer, context: moderngl.Context) -> None:
        """Queue a copy of a buffer of the ring's size."""
        buffer = self._take()
        context.copy_buffer(buffer, source)
        self._waiting.append(buffer)

    def _take(self) -> moderngl.Buffer:
        if not self._free:
            raise AvatarError(f"read-back ring of {self.delay + 1} pictures is full: pull one after each that is pushed")
        return self._free.popleft()

    def pull(self) -> NDArray[np.uint8] | None:
        """The oldest picture's bytes (valid until the next call), or ``None`` while the ring fills."""
        if len(self._waiting) <= self.delay:
            return None
        buffer = self._waiting.popleft()
        buffer.read_into(self._host)
        self._free.append(buffer)
        return self._host

    def release(self) -> None:
        """Free the buffers."""
        for buffer in (*self._free, *self._waiting):
            buffer.release()
