"""Cloth in texel space: weave, ribs, seams and stitches as a height field, shaded with the bake's own lights."""

from __future__ import annotations

from dataclasses import dataclass

import cage
import numpy as np
import surface
from scipy.ndimage import binary_erosion, distance_transform_edt, gaussian_filter

LIGHTS: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((-8.5, 6.0, 11.0), 1.0), ((9.0, 1.5, 10.5), 0.25), ((0.0, -4.0, 12.0), 0.07),
    ((7.0, 4.5, -11.0), 0.30), ((-7.0, 4.5, -11.0), 0.25),
)  # fmt: skip
"""Directions and relative strengths of the scene's lights as seen from the chest."""
AMBIENT = 0.22


def fill(image: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """Every texel outside ``hit`` takes the value of its nearest one inside."""
    index = distance_transform_edt(~hit, return_distances=False, return_indices=True)
    return image[index[0], index[1]]


@dataclass
class Texels:
    """What each texel of a piece is: a window of the atlas, row-major.

    Attributes:
        box: x0, y0, x1, y1 in the atlas.
        hit: bool[h, w].
        pos, normal, across, down: float32[h, w, 3]; ``across`` and ``down`` are unit tangents along u and v.
        uv: float32[h, w, 2], dm.
        arm: float32[h, w].
        density: texels per dm.
    """

    piece: cage.Piece
    box: tuple[int, int, int, int]
    hit: np.ndarray
    pos: np.ndarray
    normal: np.ndarray
    across: np.ndarray
    down: np.ndarray
    uv: np.ndarray
    arm: np.ndarray
    density: float

    def line(self, field: np.ndarray) -> np.ndarray:
        """Distance (dm) of each texel to the zero line of a smooth ``field``."""
        gy, gx = np.gradient(field)
        # At the border of the island the field stops: its slope there is the slope just inside.
        slope = fill(np.hypot(gx, gy), binary_erosion(self.hit, iterations=2))
        return np.abs(field) / np.maximum(slope * self.density, 1e-4)

    def inset(self) -> np.ndarray:
        """Distance (dm) to the border of the piece's island."""
        return distance_transform_edt(np.pad(self.hit, 1))[1:-1, 1:-1] / self.density


def texels(piece: cage.Piece, offset: tuple[float, float], density: float) -> Texels:
    """Rasterise a piece placed at ``offset`` (texels) with ``density`` texels per dm."""
    sheet = piece.high
    px = sheet.uv * density + np.asarray(offset)
    x0, y0 = np.floor(px.min(0)).astype(int) - 3
    x1, y1 = np.ceil(px.max(0)).astype(int) + 3
    w, h = int(x1 - x0), int(y1 - y0)
    normals = surface.vertex_normals(sheet.verts, sheet.tris)
    t = sheet.tris
    e1, e2 = sheet.verts[t[:, 1]] - sheet.verts[t[:, 0]], sheet.verts[t[:, 2]] - sheet.verts[t[:, 0]]
    d1, d2 = sheet.uv[t[:, 1]] - sheet.uv[t[:, 0]], sheet.uv[t[:, 2]] - sheet.uv[t[:, 0]]
    det = d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0]
    det = np.where(np.abs(det) < 1e-9, 1e-9, det)[:, None]
    tu, tv = (e1 * d2[:, 1:] - e2 * d1[:, 1:]) / det, (e2 * d1[:, :1] - e1 * d2[:, :1]) / det
    frames = np.zeros((len(sheet.verts), 6))
    for k in range(3):
        np.add.at(frames, t[:, k], np.concatenate([tu, tv], 1))
    for part in (frames[:, :3], frames[:, 3:]):
        part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
    arm = sheet.weights[:, 16:22].sum(1)
    values = np.concatenate([sheet.verts, normals, frames, sheet.uv, arm[:, None]], 1)[t]
    corner = (px[t] - [x0, y0]) / [w, h]
    out, hit = surface.texel_map(np.ascontiguousarray(corner), np.ascontiguousarray(values), w, h)
    # Outside the island every field goes on smoothly: gradients at the border stay small.
    out = fill(out, hit)
    return Texels(
        piece, (int(x0), int(y0), int(x1), int(y1)), hit, out[..., :3], out[..., 3:6], out[..., 6:9], out[..., 9:12],
        out[..., 12:14], out[..., 14], density,
    )  # fmt: skip


def noise(shape: tuple[int, int], cell: float, seed: int) -> np.ndarray:
    """Smooth noise of unit deviation, ``cell`` texels wide."""
    field = gaussian_filter(np.random.default_rng(seed).standard_normal(shape), cell, mode="wrap")
    return field / max(field.std(), 1e-9)


def groove(distance: np.ndarray, width: float, depth: float) -> np.ndarray:
    """Height of a seam: a sunk line with puffed sides."""
    return -depth * np.exp(-((distance / width) ** 2)) + 0.45 * depth * np.exp(
        -(((distance - 2.6 * width) / (1.8 * width)) ** 2)
    )


def stitches(distance: np.ndarray, run: np.ndarray, offset: float, pitch: float = 0.045, depth: float = 0.004) -> np.ndarray:
    """Height of a row of stitches ``offset`` dm beside a line; ``run`` is the length along it."""
    dash = np.clip(np.sin(2 * np.pi * run / pitch) * 2.0 + 0.8, 0, 1)
    return -depth * np.exp(-(((distance - offset) / 0.009) ** 2)) * dash


def weave(t: Texels, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Height (dm) and albedo factor of plain cloth of a ``kind``, float64[h, w] each."""
    u, v = t.uv[..., 0].astype(float), t.uv[..., 1].astype(float)
    shape = u.shape
    d = t.density
    fine, mid, wide = noise(shape, 0.7, seed), noise(shape, 0.035 * d, seed + 1), noise(shape, 0.22 * d, seed + 2)
    if kind == "twill":
        h = 0.0005 * np.sin(2 * np.pi * (u + v) / 0.022 + 0.9 * mid) + 0.0006 * fine + 0.0010 * mid + 0.012 * wide
        return h, 1 + 0.05 * fine + 0.02 * mid + 0.02 * np.sin(2 * np.pi * (u + v) / 0.022)
    if kind == "tweed":
        h = (
            0.0014 * np.sin(2 * np.pi * (u + 0.5 * np.abs((v / 0.16) % 2 - 1) * 0.16) / 0.030)
            + 0.0012 * fine
            + 0.0016 * mid
            + 0.011 * wide
        )
        return h, 1 + 0.10 * noise(shape, 0.9, seed + 5) + 0.02 * mid
    if kind == "rib":
        phase = 2 * np.pi * u / 0.044
        stitch = np.sin(2 * np.pi * v / 0.030 + np.where(np.sin(phase) > 0, 0.0, np.pi))
        h = 0.0042 * np.abs(np.sin(phase / 2)) ** 0.8 + 0.0010 * stitch + 0.0006 * fine + 0.008 * wide
        return h, 1 + 0.02 * fine - 0.10 * np.exp(-((np.sin(phase / 2) / 0.28) ** 2))
    if kind == "poplin":
        return 0.0005 * fine + 0.0008 * mid + 0.010 * wide, 1 + 0.012 * fine
    if kind == "silk":
        # Long soft falls of cloth instead of a grain.
        falls = gaussian_filter(np.random.default_rng(seed + 3).standard_normal(shape), (0.75 * d, 0.085 * d), mode="wrap")
        return 0.0002 * fine + 0.011 * falls / falls.std() + 0.005 * wide, 1 + 0.012 * np.sin(
            2 * np.pi * v / 0.014
        ) + 0.01 * wide
    if kind == "skin":
        lines = noise(shape, 0.012 * d, seed + 7)
        return 0.0010 * lines + 0.0012 * mid, 1 + 0.02 * lines + 0.03 * mid
    return 0.0003 * fine, np.ones(shape)


def shade(t: Texels, height: np.ndarray, gloss: float = 0.0) -> np.ndarray:
    """Light on the bumped surface over light on the smooth one, float64[h, w].

    ``gloss`` is how much a highlight outshines the cloth's own colour (silk), as seen by the camera in front.
    """
    gy, gx = np.gradient(fill(height, t.hit) * t.density)
    n = t.normal - (t.across * gx[..., None] + t.down * gy[..., None])
    n /= np.linalg.norm(n, axis=-1, keepdims=True)
    bumped, smooth = np.full(height.shape, AMBIENT), np.full(height.shape, AMBIENT)
    for where, power in LIGHTS:
        d = np.asarray(where) / np.linalg.norm(where)
        # Wrapped: cloth scatters, and a hard terminator would multiply noise.
        bumped += power * np.clip((n @ d + 0.25) / 1.25, 0, None)
        smooth += power * np.clip((t.normal @ d + 0.25) / 1.25, 0, None)
        if gloss:
            half = d + np.array([0.0, 0.05, 1.0])
            half /= np.linalg.norm(half)
            for target, facing in ((bumped, n), (smooth, t.normal)):
                target += gloss * power * np.clip(facing @ half, 0, None) ** 22
    return np.clip(bumped / smooth, 0.55 if not gloss else 0.4, 1.6 if not gloss else 2.6)
