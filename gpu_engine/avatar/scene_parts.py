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
TEXELS_PER_PX = 1.1
"""Textures are shrunk once to about this density, so that sampling neither shimmers nor blurs."""
LEVELS = 4
"""Sizes kept of each texture: atlases magnify faces, so one size fits no whole picture."""
JOINED_DM = 0.10
"""A sleeve's rim lies this close to the armhole it is sewn into."""
NO_TRIANGLE = np.uint32(0xFFFFFFFF)


Stretch = tuple[np.float32, np.float32, np.float32, np.float32]


@dataclass(frozen=True, slots=True)
class Run:
    """Triangles of one texture drawn in one call; ``facing`` is their slice of the pass's facing flags."""

    tris: U32
    facing: U8
    texture: U32
    stretch: Stretch
    cull: bool
    shaded: bool
    mode: int


class Texture:
    """A picture at the sizes at which it is drawn, each half of the one before.

    Attributes:
        levels: uint32[h, w] with a rim; stretches: from UV in 0..1 to texels of each level, for ``raster.fill``.
        sizes: width and height of each level without the rim.
    """

    def __init__(self, image: U8, ratio: float) -> None:
        self.levels: list[U32] = []
        self.stretches: list[Stretch] = []
        self.sizes: list[tuple[int, int]] = []
        small: NDArray[Any] = image
        for level in range(LEVELS):
            if level or ratio < 0.95:
                factor = 0.5 if level else ratio
                size = (max(1, round(small.shape[1] * factor)), max(1, round(small.shape[0] * factor)))
                small = cv2.resize(small, size, interpolation=cv2.INTER_AREA)
            rimmed = cv2.copyMakeBorder(small, RIM, RIM, RIM, RIM, cv2.BORDER_REPLICATE)
            self.levels.append(np.ascontiguousarray(rimmed, np.uint8).view(np.uint32)[..., 0])
            h, w = small.shape[:2]
            offset = np.float32(RIM - 0.5)
            self.stretches.append((np.float32(w), offset, np.float32(h), offset))
            self.sizes.append((w, h))
            if min(h, w) < 64:
                break


def densities(rest: F32, uv: F32, tris: U32, size: tuple[int, int], px_per_dm: float) -> tuple[F32, F32]:
    """Texels per output pixel along a side, and area (dm²), of triangles: float32[t] each; 0 texels where UVs stand still."""
    corner, flat = rest[tris].astype(np.float64), uv[tris].astype(np.float64) * [size[0], size[1]]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1) / 2
    e, f = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    texels = np.abs(e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]) / 2
    return (np.sqrt(texels / np.maximum(area, 1e-9)) / px_per_dm).astype(np.float32), area.astype(np.float32)


def base_ratio(pack: AvatarPack, parts: list[Part], size: tuple[int, int], px_per_dm: float) -> float:
    """How far a texture may be shrunk before the coarsest tenth of the surface it covers falls below ``TEXELS_PER_PX``."""
    tris = np.concatenate([pack.tris[slice(*p.tris)] for p in parts]).astype(np.uint32)
    density, area = densities(pack.rest, pack.uv, tris, size, px_per_dm)
    used = (density > 1e-3) & (area > 1e-9)
    if not used.any():
        return 1.0
    order = np.argsort(density[used])
    total = np.cumsum(area[used][order])
    return min(1.0, TEXELS_PER_PX / float(density[used][order][np.searchsorted(total, total[-1] * 0.1)]))


def by_level(density: F32, count: int) -> list[NDArray[np.bool_]]:
    """Which triangles are drawn from each of ``count`` levels: the coarsest with about a texel per pixel."""
    level = np.clip(np.floor(np.log2(np.maximum(density, 1e-3)) + 0.5), 0, count - 1).astype(int)
    return [level == k for k in range(count)]


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


def apart(rest: F32, edges: U32, others: list[U32]) -> U32:
    """Those of ``edges`` (as from :func:`outlines`) that do not lie within ``JOINED_DM`` of a vertex of ``others`` at rest."""
    if not len(edges) or not others:
        return edges
    near = rest[np.unique(np.concatenate([t.reshape(-1) for t in others]))]
    ends = np.unique(edges[:, :2])
    close = np.zeros(len(rest), bool)
    for chunk in np.array_split(ends, max(1, len(ends) // 512)):
        square = ((rest[chunk][:, None, :] - near[None, :, :]) ** 2).sum(2)
        close[chunk] = square.min(1) < JOINED_DM**2
    return np.ascontiguousarray(edges[~(close[edges[:, 0]] & close[edges[:, 1]])], np.uint32)
