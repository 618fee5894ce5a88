"""Lays the network's mouth back into the picture: softly at the border, and with the recording's own grain."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.crops import bounds, inverse
from gpu_engine.avatar.neural.manifest import Head

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

_CHANGED = 10.0
"""Grey levels of change from which the recording's detail gives way to the network's."""


def feather_mask(width: int, height: int, box: tuple[float, float, float, float], feather: float) -> Floats:
    """float32[height, width] in 0..1: one inside a superellipse within ``box`` (shares of the crop), zero outside it.

    ``feather`` is the share of the box' half sides over which it falls. The crop's own border is always zero.
    """
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
    cx, cy = (box[0] + box[2]) / 2 * width, (box[1] + box[3]) / 2 * height
    hx, hy = (box[2] - box[0]) / 2 * width, (box[3] - box[1]) / 2 * height
    # A superellipse of degree 3 has no corners that an eye could catch on a cheek.
    radius = (np.abs((x - cx) / hx) ** 3 + np.abs((y - cy) / hy) ** 3) ** (1 / 3)
    t = np.clip((1.0 - radius) / (2 * feather), 0.0, 1.0)
    mask = (t * t * (3 - 2 * t)).astype(np.float32)
    mask[0], mask[-1], mask[:, 0], mask[:, -1] = 0.0, 0.0, 0.0, 0.0
    return np.asarray(mask, np.float32)


class Paster:
    """Knows a head's mask; works in place."""

    def __init__(self, head: Head) -> None:
        self._size = (head.image.width, head.image.height)
        self._mask = feather_mask(head.image.width, head.image.height, head.paste.box, head.paste.feather)
        self._detail = head.paste.detail

    def paste(self, canvas: Image, matrix: Floats, crop: Image, mouth: Image, strength: float = 1.0) -> None:
        """Change ``canvas`` where the mask reaches.

        Args:
            canvas: uint8[h, w, 3] BGR, the recorded frame.
            matrix: float32[2, 3], canvas to crop.
            crop, mouth: uint8[ch, cw, 3] BGR, what was recorded and what the network draws.
            strength: 0 recorded, 1 drawn.
        """
        height, width = canvas.shape[:2]
        x0, y0, x1, y1 = bounds(matrix, *self._size, width, height)
        if x1 - x0 < 2 or y1 - y0 < 2 or strength <= 0.0:
            return
        back = inverse(matrix)
        back[:, 2] -= np.array([x0, y0], np.float32)
        size = (x1 - x0, y1 - y0)
        region = canvas[y0:y1, x0:x1]
        recorded = region.astype(np.float32)
        share = self._mask * np.float32(strength)
        if not self._detail:
            layer = np.dstack([mouth.astype(np.float32) * share[..., None], share])
            warped = cv2.warpAffine(layer, back, size, flags=cv2.INTER_LINEAR)
            recorded += warped[..., :3] - recorded * warped[..., 3:]
        else:
            change = mouth.astype(np.float32) - crop
            amount = cv2.blur(np.abs(change).max(axis=2), (5, 5))
            gone = np.clip(amount / _CHANGED, 0.0, 1.0) * share
            layer = np.dstack([change * share[..., None], gone])
            warped = cv2.warpAffine(layer, back, size, flags=cv2.INTER_CUBIC)
            coarse = cv2.warpAffine(crop, back, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
            recorded += warped[..., :3] - np.clip(warped[..., 3:], 0.0, 1.0) * (recorded - coarse)
        np.clip(recorded + 0.5, 0.0, 255.0, out=recorded)
        region[:] = recorded.astype(np.uint8)
