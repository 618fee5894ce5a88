"""Flat layers at output size: a grid that follows the joints bends each one (hair, and clothes of packs without a mesh)."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_engine.avatar.pack import Plate
from gpu_engine.avatar.raster import EXACT, FAR, LAID, LAID_UNDER, NEAREST, fill

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
RIM = 2
CLEAR_DM = np.float32(0.03)
"""A plate lies at least this far before the surface it covers at rest, and moves with it."""
PRESS_DM = np.float32(0.12)
"""How far a surface may come forward (a raised brow, a puffed cheek) before it shows through a front plate."""
AS_IS = (np.float32(1), np.float32(0), np.float32(1), np.float32(0))
NO_FACING, NO_TILES = np.zeros(0, np.uint8), np.zeros((0, 0), np.float32)

_PLACE = "void(float32[:,:,::1], uint8[:,:,::1], float32[:,:,::1], float32[:,:,::1], float32[::1], float32, float32[:,::1])"


@njit(_PLACE, cache=True, nogil=True, fastmath=EXACT)
def place_nodes(nodes: F32, joint_index: U8, weights: F32, joints: F32, lens: F32, lift: Any, vertices: F32) -> None:
    """Skin and project grid nodes f32[r, c, 3] into x, y, z of ``vertices`` f32[r * c, 8]; ``lift`` is added to z."""
    rows, cols = nodes.shape[0], nodes.shape[1]
    for r in range(rows):
        for c in range(cols):
            x, y, z = nodes[r, c, 0], nodes[r, c, 1], nodes[r, c, 2]
            px, py, pz = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(4):
                w = weights[r, c, k]
                if w > np.float32(0.0):
                    j = np.uint64(joint_index[r, c, k])
                    px += w * (joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3])
                    py += w * (joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3])
                    pz += w * (joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3])
            f = lens[0] / max(lens[3] - pz, NEAREST)
            i = r * cols + c
            vertices[i, 0] = lens[4] + (px - lens[1]) * f
            vertices[i, 1] = lens[5] - (py - lens[2]) * f
            vertices[i, 2] = pz + lift


class PlateLayer:
    """A plate at output scale: cells that show something as triangles over its picture."""

    def __init__(self, plate: Plate, scale: float, lens: F32, surface: F32, before: list[PlateLayer]) -> None:
        """
        Args:
            scale: output pixels per canvas pixel.
            lens: as for ``raster.pose``.
            surface: float32[height, width], depth of the mesh at rest; FAR where there is none.
            before: the front plates, for a plate that lies under the mesh.
        """
        self.under = plate.layer == "under"
        x0, y0, x1, y1 = plate.box
        width, height = max(2, round((x1 - x0) * scale)), max(2, round((y1 - y0) * scale))
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        image: NDArray[Any] = plate.image
        if (width, height) != (x1 - x0, y1 - y0):
            image = cv2.resize(image, (width, height), interpolation=how)
        image[..., :3] = np.minimum(image[..., :3], image[..., 3:])
        # A transparent rim lets bilinear sampling fade to nothing at the border instead of stopping short.
        rimmed = cv2.copyMakeBorder(image, RIM, RIM, RIM, RIM, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0))
        self.image: U32 = np.ascontiguousarray(rimmed, np.uint8).view(np.uint32)[..., 0]
        rows, cols = plate.nodes.shape[:2]
        self.nodes, self.joints, self.weights = plate.nodes, plate.joints, plate.weights
        self.vertices = np.zeros((rows * cols, 8), np.float32)
        self.vertices[:, 3] = np.tile(np.arange(cols) * (width / (cols - 1)), rows) + (RIM - 0.5)
        self.vertices[:, 4] = np.repeat(np.arange(rows) * (height / (rows - 1)), cols) + (RIM - 0.5)
        self.tris = self._cells(plate)
        self.box, self.cell = plate.box, plate.cell
        cell = plate.cell
        alpha = cv2.copyMakeBorder(plate.image[..., 3], cell, cell, cell, cell, cv2.BORDER_CONSTANT, value=0)
        local = cv2.blur(alpha, (cell, cell))[cell::cell, cell::cell]
        self.covers = local[:rows, :cols] > 96
        if self.under:
            self.nodes = self._behind(lens, before)
        else:
            self.nodes = self._before(plate, lens, surface, image[..., 3])

    @staticmethod
    def _cells(plate: Plate) -> U32:
        rows, cols = plate.nodes.shape[:2]
        seen = (plate.image[..., 3] > 0).reshape(rows - 1, plate.cell, cols - 1, plate.cell).any((1, 3))
        node = np.arange(rows * cols, dtype=np.uint32).reshape(rows, cols)
        quads = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], -1)[seen]
        return np.ascontiguousarray(np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], 1).reshape(-1, 3))

    def _before(self, plate: Plate, lens: F32, surface: F32, alpha: U8) -> F32:
        """The nodes moved along their sight lines to before the surface they lie on: what covers skin turns with it."""
        nodes = plate.nodes.copy()
        rows, cols = nodes.shape[:2]
        f = lens[0] / (lens[3] - nodes[..., 2])
        x, y = lens[4] + (nodes[..., 0] - lens[1]) * f, lens[5] - (nodes[..., 1] - lens[2]) * f
        left, top = round(float(x[0, 0])), round(float(y[0, 0]))
        height, width = alpha.shape
        covered = np.full((height, width), FAR, np.float32)
        y0, x0 = max(0, top), max(0, left)
        y1, x1 = min(surface.shape[0], top + height), min(surface.shape[1], left + width)
        if y1 > y0 and x1 > x0:
            covered[y0 - top : y1 - top, x0 - left : x1 - left] = surface[y0:y1, x0:x1]
        covered[alpha < 64] = FAR
        reach = max(3, round(0.8 * height / (rows - 1)) | 1)
        nearest = cv2.dilate(covered, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
        iy = np.clip(np.round(np.arange(rows) * height / (rows - 1)).astype(int), 0, height - 1)
        ix = np.clip(np.round(np.arange(cols) * width / (cols - 1)).astype(int), 0, width - 1)
        lift = np.maximum(nearest[np.ix_(iy, ix)] + CLEAR_DM - nodes[..., 2], 0)
        # What hangs beside the face follows a little, or locks would kink where they leave it.
        eased = cv2.GaussianBlur(cv2.dilate(lift, np.ones((3, 3), np.uint8)), (0, 0), 1.6)
        return self._at_depth(nodes, lens, nodes[..., 2] + np.maximum(lift, eased))

    def _behind(self, lens: F32, before: list[PlateLayer]) -> F32:
        """The nodes at the depth of a front plate that covers them: both outlines move alike, and none peeks out."""
        z = self.nodes[..., 2].copy()
        rows, cols = z.shape
        for front in before:
            if front.cell != self.cell or (front.box[0] - self.box[0]) % self.cell or (front.box[1] - self.box[1]) % self.cell:
                continue
            dr, dc = (front.box[1] - self.box[1]) // self.cell, (front.box[0] - self.box[0]) // self.cell
            r0, c0 = max(0, dr), max(0, dc)
            r1, c1 = min(rows, dr + front.covers.shape[0]), min(cols, dc + front.covers.shape[1])
            if r1 > r0 and c1 > c0:
                there = front.covers[r0 - dr : r1 - dr, c0 - dc : c1 - dc]
                depth = front.nodes[r0 - dr : r1 - dr, c0 - dc : c1 - dc, 2]
                z[r0:r1, c0:c1] = np.where(there, depth, z[r0:r1, c0:c1])
        return self._at_depth(self.nodes.copy(), lens, z)

    @staticmethod
    def _at_depth(nodes: F32, lens: F32, z: F32) -> F32:
        """``nodes`` moved along their sight lines to depth ``z``."""
        grow = (lens[3] - z) / (lens[3] - nodes[..., 2])
        nodes[..., 0] = lens[1] + (nodes[..., 0] - lens[1]) * grow
        nodes[..., 1] = lens[2] + (nodes[..., 1] - lens[2]) * grow
        nodes[..., 2] = z
        return np.ascontiguousarray(nodes, np.float32)

    def draw(self, joints: F32, lens: F32, depth: F32, canvas: U8) -> None:
        """Composite the plate, bent by ``joints`` f32[22, 3, 4], over ``canvas`` in place: an ``under`` plate where ``depth``
        is FAR, a ``front`` plate where no surface lies clearly before it."""
        lift = np.float32(0) if self.under else PRESS_DM
        place_nodes(self.nodes, self.joints, self.weights, joints, lens, lift, self.vertices)
        zero = np.float32(0)
        fill(
            self.vertices, self.tris, NO_FACING, self.image, canvas, depth, NO_TILES, zero, zero, np.float32(1),
            canvas.shape[0], canvas.shape[1], True, False, LAID_UNDER if self.under else LAID, AS_IS,
        )  # fmt: skip
