"""Hair and clothes plates at output size: a grid that follows the joints bends each one."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar import raster
from gpu_engine.avatar.pack import Plate

F32 = NDArray[np.float32]


class PlateLayer:
    """A plate at output scale with its grid buffers."""

    def __init__(self, plate: Plate, scale: float, tx: float, ty: float) -> None:
        x0, y0, x1, y1 = plate.box
        width, height = max(2, round((x1 - x0) * scale)), max(2, round((y1 - y0) * scale))
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        image = (
            plate.image
            if (width, height) == (x1 - x0, y1 - y0)
            else cv2.resize(plate.image, (width, height), interpolation=how)
        )
        image[..., :3] = np.minimum(image[..., :3], image[..., 3:])
        # A transparent rim lets bilinear sampling fade to nothing at the border instead of stopping short.
        rimmed = np.ascontiguousarray(cv2.copyMakeBorder(image, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0)), np.uint8)
        self.image = rimmed.view(np.uint32)[..., 0]
        self.ox, self.oy = np.float32(tx + x0 * scale), np.float32(ty + y0 * scale)
        self.pitch = np.float32(plate.cell * scale)
        self.kx, self.ky = np.float32(width / ((x1 - x0) * scale)), np.float32(height / ((y1 - y0) * scale))
        rows, cols = plate.nodes.shape[:2]
        sx = self.ox + np.arange(cols, dtype=np.float32)[None, :] * self.pitch + np.zeros((rows, 1), np.float32)
        sy = self.oy + np.arange(rows, dtype=np.float32)[:, None] * self.pitch + np.zeros((1, cols), np.float32)
        self.nodes = np.ascontiguousarray(np.concatenate([plate.nodes, np.stack([sx, sy], -1)], -1), np.float32)
        self.joints = np.ascontiguousarray(plate.joints)
        self.weights = np.ascontiguousarray(plate.weights, np.float32)
        self.moved = np.zeros((rows, cols, 2), np.float32)
        self.source = np.zeros((rows, cols, 2), np.float32)
        busy = np.zeros((rows - 1, cols - 1), np.uint8)
        alpha = plate.image[..., 3]
        for r in range(rows - 1):
            for c in range(cols - 1):
                busy[r, c] = alpha[r * plate.cell : (r + 1) * plate.cell, c * plate.cell : (c + 1) * plate.cell].any()
        # Content may move up to two cells before a skipped cell would clip it.
        self.busy = np.ascontiguousarray(cv2.dilate(busy, np.ones((5, 5), np.uint8)))

    def draw(self, joints: F32, lens: F32, canvas: NDArray[np.uint8]) -> None:
        """Composite the plate, bent by ``joints`` f32[22, 3, 4], over ``canvas`` in place."""
        raster.grid_pose(self.nodes, self.joints, self.weights, joints, lens, self.moved, self.source)
        # Image has a one-pixel rim, so its origin sits one plate pixel earlier.
        shift_x, shift_y = np.float32(1.0) / self.kx, np.float32(1.0) / self.ky
        self.source[..., 0] += shift_x
        self.source[..., 1] += shift_y
        raster.warp_over(self.image, self.source, self.busy, self.ox, self.oy, self.pitch, self.pitch, self.kx, self.ky, canvas)
