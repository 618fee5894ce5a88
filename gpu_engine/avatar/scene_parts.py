"""What of a pack is drawn together: triangle runs by texture, their outlines, and textures at output size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.pack import AvatarPack, Part

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]

RIM = 2
"""Border texels copied around every texture, so that bilinear sampling needs no clamping."""
TEXELS_PER_PX = 1.3
"""Textures are shrunk once to about this density, so that sampling neither shimmers nor blurs."""
NO_TRIANGLE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Run:
    """Triangles of one texture drawn in one call; ``facing`` is their slice of the pass's facing flags."""

    tris: U32
    facing: U8
    texture: U32
    cull: bool
    shaded: bool
    mode: int


def shrink(image: U8, ratio: float) -> tuple[U32, float, float]:
    """``image`` uint8[h, w, 4] scaled by ``ratio`` (only down) with a rim, as uint32[h, w]; and its size without the rim."""
    small: NDArray[Any] = image
    if ratio < 0.95:
        size = (max(1, round(image.shape[1] * ratio)), max(1, round(image.shape[0] * ratio)))
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    rimmed = np.ascontiguousarray(cv2.copyMakeBorder(small, RIM, RIM, RIM, RIM, cv2.BORDER_REPLICATE), np.uint8)
    return rimmed.view(np.uint32)[..., 0], float(small.shape[1]), float(small.shape[0])


def texel_density(pack: AvatarPack, parts: list[Part], image: U8, px_per_dm: float) -> float:
    """Texels per output pixel along a side: median over the triangles of ``parts``, weighted by their area."""
    tris = np.concatenate([pack.tris[slice(*p.tris)] for p in parts])
    corner, flat = pack.rest[tris].astype(np.float64), pack.uv[tris] * [image.shape[1], image.shape[0]]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    e, f = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    texels = np.abs(e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0])
    keep = (area > 1e-9) & (texels > 1e-3)
    if not keep.any():
        return 1.0
    ratio = np.sqrt(texels[keep] / area[keep]) / px_per_dm
    order = np.argsort(ratio)
    total = np.cumsum(area[keep][order])
    return float(ratio[order][np.searchsorted(total, total[-1] / 2)])


def outlines(rest: F32, tris: U32) -> U32:
    """Edges uint32[e, 6] of triangles uint32[t, 3] as ``raster.smooth_outline`` takes them; seams (vertices at one place)
    count as joined, edges with more than two triangles are left out."""
    _, place = np.unique(np.round(rest, 4), axis=0, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    count = len(tris)
    a, b = tris[:, [0, 1, 2]].reshape(-1), tris[:, [1, 2, 0]].reshape(-1)
    third = tris[:, [2, 0, 1]].reshape(-1)
    owner = np.repeat(np.arange(count, dtype=np.uint32), 3)
    low, high = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
    key = low * (int(place.max()) + 1) + high
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    start = np.nonzero(np.concatenate([[True], sorted_key[1:] != sorted_key[:-1]]))[0]
    size = np.diff(np.concatenate([start, [len(order)]]))
    single, double = order[start[size == 1]], order[start[size == 2]]
    mate = order[start[size == 2] + 1]
    none = np.full(len(single), NO_TRIANGLE)
    edges = np.concatenate(
        [
            np.stack([a[single], b[single], owner[single], third[single], none, none], 1),
            np.stack([a[double], b[double], owner[double], third[double], owner[mate], third[mate]], 1),
        ]
    )
    lone = low[np.concatenate([single, double])] != high[np.concatenate([single, double])]
    return np.ascontiguousarray(edges[lone], np.uint32)
