"""Sprites and the kernel that lays them over a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from PIL import Image


@dataclass(frozen=True, slots=True)
class Sprite:
    """A picture with alpha, placed.

    Attributes:
        left, top: where its first pixel goes, px; the sprite must lie inside the frame.
        colour: uint8[h, 3 w], BGR premultiplied by alpha.
        keep: uint8[h, 3 w], share of the frame that stays (255 - alpha), once for each colour.
        rows: int32[h, 2], first and past-last entry of each row that is not fully transparent.
    """

    left: int
    top: int
    colour: NDArray[np.uint8]
    keep: NDArray[np.uint8]
    rows: NDArray[np.int32]


def sprite_from(image: Image.Image, left: int, top: int, frame_width: int, frame_height: int) -> Sprite:
    """Make a sprite of an RGBA image whose top left corner goes to (left, top); what lies outside the frame is cut off."""
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + image.width, frame_width), min(top + image.height, frame_height)
    rgba = np.asarray(image, dtype=np.uint8)[y0 - top : max(y1 - top, 0), x0 - left : max(x1 - left, 0)]
    alpha = rgba[..., 3]
    height, width = alpha.shape
    colour = rgba[..., 2::-1].astype(np.uint16)
    colour *= alpha[..., None]
    colour += 127
    colour //= 255
    rows = np.zeros((height, 2), dtype=np.int32)
    seen = alpha > 0
    if seen.size:
        any_seen = seen.any(axis=1)
        rows[:, 0] = np.where(any_seen, 3 * seen.argmax(axis=1), 0)
        rows[:, 1] = np.where(any_seen, 3 * (width - seen[:, ::-1].argmax(axis=1)), 0)
    keep = np.repeat(255 - alpha, 3, axis=1)
    return Sprite(x0, y0, colour.astype(np.uint8).reshape(height, 3 * width), keep, rows)


def blend(canvas: NDArray[np.uint8], sprite: Sprite, opacity: float = 1.0) -> None:
    """Lay ``sprite`` over ``canvas`` (uint8[h, w, 3], BGR, contiguous) in place; ``opacity`` in [0, 1]."""
    share = int(opacity * 256.0 + 0.5)
    if share <= 0 or not sprite.colour.size:
        return
    flat = canvas.reshape(canvas.shape[0], -1)
    if share >= 256:
        _lay(flat, sprite.colour, sprite.keep, sprite.rows, sprite.left, sprite.top)
    else:
        _lay_faded(flat, sprite.colour, sprite.keep, sprite.rows, sprite.left, sprite.top, share)


# Colour never exceeds alpha and what stays never exceeds 255 - alpha, so the sums below fit a byte.
@njit(nogil=True, cache=True)
def _lay(canvas, colour, keep, rows, left, top):  # type: ignore[no-untyped-def]
    for y in range(colour.shape[0]):
        first, last = rows[y, 0], rows[y, 1]
        target = canvas[top + y, 3 * left + first : 3 * left + last]
        add, stay = colour[y, first:last], keep[y, first:last]
        for i in range(last - first):
            below = np.uint32(target[i]) * np.uint32(stay[i]) + np.uint32(128)
            target[i] = np.uint8(np.uint32(add[i]) + ((below + (below >> np.uint32(8))) >> np.uint32(8)))


@njit(nogil=True, cache=True)
def _lay_faded(canvas, colour, keep, rows, left, top, share):  # type: ignore[no-untyped-def]
    part = np.uint32(share)
    for y in range(colour.shape[0]):
        first, last = rows[y, 0], rows[y, 1]
        target = canvas[top + y, 3 * left + first : 3 * left + last]
        add, stay = colour[y, first:last], keep[y, first:last]
        for i in range(last - first):
            alpha = ((np.uint32(255) - np.uint32(stay[i])) * part + np.uint32(255)) >> np.uint32(8)
            below = np.uint32(target[i]) * (np.uint32(255) - alpha) + np.uint32(128)
            over = (np.uint32(add[i]) * part) >> np.uint32(8)
            target[i] = np.uint8(over + ((below + (below >> np.uint32(8))) >> np.uint32(8)))
