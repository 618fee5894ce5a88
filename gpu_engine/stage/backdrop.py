"""The studio behind the host, painted once at start: plaster wall, lit arch, shelves out of focus. No picture files."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.float32]
Rgb = tuple[float, float, float]

_ITEM_COLOURS: tuple[Rgb, ...] = (
    (204, 92, 72), (232, 196, 168), (150, 168, 142), (245, 236, 222), (196, 160, 96), (108, 138, 142), (226, 142, 118),
)  # fmt: skip


class _Painting:
    """An RGB float picture in the coordinates of a frame, with the few strokes a studio needs."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.unit = min(width, height) / 720
        self.rgb = np.zeros((height, width, 3), dtype=np.float32)
        self.y, self.x = np.mgrid[0:height, 0:width].astype(np.float32)

    def mask(self) -> Mask:
        return np.zeros((self.height, self.width), dtype=np.float32)

    def box(self, left: float, top: float, right: float, bottom: float, radius: float = 0.0) -> Mask:
        """Anti-aliased rounded rectangle as a signed distance field."""
        cx, cy, hx, hy = (left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2
        dx, dy = np.abs(self.x - cx) - hx + radius, np.abs(self.y - cy) - hy + radius
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - radius
        edge: Mask = np.clip(0.5 - outside, 0, 1).astype(np.float32)
        return edge

    def lay(self, mask: Mask, colour: Rgb | NDArray[np.float32], strength: float = 1.0) -> None:
        share = (mask * strength)[..., None]
        self.rgb += share * (np.asarray(colour, dtype=np.float32) - self.rgb)

    def glow(self, mask: Mask, colour: Rgb, strength: float) -> None:
        """Screen-like addition: light never clips hard."""
        light = (mask * strength)[..., None] * (np.asarray(colour, dtype=np.float32) / 255.0)
        self.rgb += np.clip(light, 0, 1) * (255.0 - self.rgb)

    def shade(self, mask: Mask, strength: float) -> None:
        self.rgb *= 1.0 - (mask * strength)[..., None] * np.array([0.85, 0.95, 1.0], dtype=np.float32)

    def spot(self, cx: float, cy: float, rx: float, ry: float) -> Mask:
        """Gaussian pool of light."""
        pool: Mask = np.exp(-(((self.x - cx) / rx) ** 2) - ((self.y - cy) / ry) ** 2).astype(np.float32)
        return pool

    def blurred(self, mask: Mask, sigma: float) -> Mask:
        return np.asarray(cv2.GaussianBlur(mask, (0, 0), max(sigma, 0.3)), dtype=np.float32)

    def gradient(self, top: Rgb, bottom: Rgb, first: float, last: float) -> NDArray[np.float32]:
        t = np.clip((self.y - first) / max(last - first, 1.0), 0, 1)[..., None]
        return np.asarray(np.float32(1) * (np.array(top) * (1 - t) + np.array(bottom) * t), dtype=np.float32)


def backdrop(width: int, height: int, host_x: float) -> NDArray[np.uint8]:
    """Studio picture, uint8[height, width, 3] BGR; the arch stands behind the host at ``host_x`` (share of the width)."""
    p = _Painting(width, height)
    w, h, u = width, height, p.unit
    centre = host_x * w
    floor = h - 92 * u
    p.rgb[:] = p.gradient((240, 227, 214), (221, 198, 182), 0, h)
    p.glow(p.spot(0.22 * w, -0.05 * h, 0.55 * w, 0.8 * h), (255, 240, 214), 0.42)
    p.shade(p.spot(1.02 * w, 0.9 * h, 0.5 * w, 0.7 * h), 0.22)
    _slats(p, 0, centre - 330 * u, floor)
    _arch(p, centre, floor)
    if w > h:
        _shelves(p, centre + 330 * u, w + 40 * u, 20 * u, floor, rows=3, seed=11)
    else:
        _slats(p, centre + 335 * u, w + 60 * u, floor)
    _counter(p, floor)
    p.shade(1.0 - p.spot(centre, 0.42 * h, 0.95 * w, 1.15 * h), 0.30)
    rng = np.random.default_rng(5)
    dithered = p.rgb + rng.uniform(-0.6, 0.6, p.rgb.shape).astype(np.float32)
    return np.ascontiguousarray(np.clip(dithered[..., ::-1], 0, 255).astype(np.uint8))


def _slats(p: _Painting, left: float, right: float, floor: float) -> None:
    if right <= left + 20 * p.unit:
        return
    u = p.unit
    period = 26 * u
    area = p.blurred(p.box(left - 60 * u, -60 * u, right, floor), 1.2 * u)
    phase = ((p.x - left) / period) % 1.0
    ridge = 0.5 + 0.5 * np.cos((phase - 0.42) * 2 * np.pi)
    groove = np.clip(1.0 - np.abs(phase - 0.96) / 0.10, 0, 1)
    wood = np.array([186, 140, 104], dtype=np.float32) * (0.86 + 0.24 * ridge - 0.42 * groove)[..., None]
    p.lay(area, wood)
    p.glow(p.spot(left + 0.2 * (right - left), 0.1 * p.height, 200 * u, 330 * u) * area, (255, 214, 160), 0.35)
    p.shade(p.blurred(p.box(right, -60 * u, right + 16 * u, floor), 12 * u), 0.30)


def _arch(p: _Painting, centre: float, floor: float) -> None:
    u = p.unit
    half, top = 262 * u, 54 * u if p.width > p.height else 170 * u
    niche = p.box(centre - half, top, centre + half, floor + 2 * half, half)
    rim = p.box(centre - half - 9 * u, top - 9 * u, centre + half + 9 * u, floor + 2 * half, half + 9 * u)
    p.glow(p.blurred(rim, 46 * u), (255, 226, 186), 0.50)
    p.lay(rim, (252, 240, 222))
    p.lay(niche, p.gradient((172, 196, 186), (112, 146, 138), top, floor))
    inner = niche * (1.0 - p.blurred(niche, 30 * u))
    p.glow(inner, (255, 222, 176), 1.2)
    p.glow(p.spot(centre - 40 * u, top + 210 * u, 260 * u, 260 * u) * niche, (255, 240, 222), 0.42)


def _shelves(p: _Painting, left: float, right: float, top: float, floor: float, rows: int, seed: int) -> None:
    u = p.unit
    rng = np.random.default_rng(seed)
    blur = 4.5 * u
    recess = p.blurred(p.box(left, top, right, floor, 14 * u), blur)
    p.lay(recess, p.gradient((192, 158, 134), (158, 122, 100), top, floor))
    p.shade(recess * (1.0 - p.blurred(recess, 22 * u)), 0.5)
    pitch = (floor - top) / rows
    for row in range(rows):
        plank = top + (row + 1) * pitch - 6 * u
        x = left + (24 + 20 * rng.random()) * u
        while x < min(right, p.width) - 20 * u:
            x += _item(p, x, plank, pitch - 34 * u, rng, blur) + (14 + 26 * rng.random()) * u
        p.lay(p.blurred(p.box(left, plank, right, plank + 11 * u), blur * 0.6), (158, 112, 80))
        light = p.blurred(p.box(left + 10 * u, plank + 12 * u, right, plank + 18 * u), 9 * u)
        p.glow(light, (255, 222, 168), 1.3)
        wash = np.exp(-np.maximum(p.y - plank, 0) / (58 * u)) * (p.y > plank)
        p.glow((wash * recess).astype(np.float32), (255, 210, 150), 0.42)
    p.glow(p.blurred(p.box(left + 10 * u, top + 4 * u, right, top + 10 * u), 9 * u), (255, 222, 168), 1.2)
    wash = np.exp(-np.maximum(p.y - top, 0) / (70 * u)) * recess
    p.glow(wash.astype(np.float32), (255, 210, 150), 0.42)


def _item(p: _Painting, x: float, base: float, room: float, rng: np.random.Generator, blur: float) -> float:
    """One out-of-focus thing on a shelf; returns its width."""
    u = p.unit
    colour = np.array(_ITEM_COLOURS[int(rng.integers(len(_ITEM_COLOURS)))], dtype=np.float32)
    kind = int(rng.integers(4))
    width = (30 + 34 * rng.random()) * u
    height = min(room, (70 + 80 * rng.random()) * u)
    if kind == 0:
        shape = p.box(x, base - height, x + width, base, 5 * u)
    elif kind == 1:
        shape = np.maximum(
            p.box(x, base - 0.72 * height, x + width, base, 0.35 * width),
            p.box(x + 0.36 * width, base - height, x + 0.64 * width, base - 0.5 * height, 3 * u),
        )
    elif kind == 2:
        width *= 1.5
        shape = p.box(x, base - 0.55 * height, x + width, base, 0.27 * height)
    else:
        width *= 1.3
        shape = p.mask()
        for i in range(4):
            shape = np.maximum(
                shape, p.box(x + i * width / 4, base - height * (0.72 + 0.2 * rng.random()), x + (i + 0.9) * width / 4, base)
            )
    shape = p.blurred(shape.astype(np.float32), blur)
    lit = np.clip(
        1.14 - 0.40 * (p.x - x) / width + 0.10 * np.exp(-(((p.x - x - 0.25 * width) / (0.12 * width)) ** 2)), 0.7, 1.25
    )[..., None]
    p.shade(p.blurred(p.box(x + 4 * u, base - 10 * u, x + width + 14 * u, base), 8 * u), 0.25)
    p.lay(shape, colour * lit * 0.94, 0.95)
    return float(width)


def _counter(p: _Painting, floor: float) -> None:
    u = p.unit
    top = p.blurred(p.box(-60 * u, floor, p.width + 60 * u, p.height + 60 * u), 2.5 * u)
    p.lay(top, p.gradient((214, 172, 140), (150, 104, 78), floor, p.height))
    p.glow(p.blurred(p.box(-60 * u, floor, p.width + 60 * u, floor + 5 * u), 3 * u), (255, 236, 208), 0.7)
    p.glow(p.spot(0.42 * p.width, floor + 26 * u, 420 * u, 30 * u) * top, (255, 226, 190), 0.30)
