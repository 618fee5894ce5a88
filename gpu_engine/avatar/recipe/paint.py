"""Paints the skin's albedo in atlas space: complexion, lips, brows, lids; and lays the baked light over it.

Everything is painted procedurally; only region masks of the base mesh's own UV layout are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import source
import surface
from groom import hairline
from scipy.ndimage import gaussian_filter

PLAIN = np.array([0.72, 0.50, 0.40])
"""Linear albedo the light was baked on (the skin material's base colour)."""


SKIN_HALF_WIDTH = 1.05
"""Skin farther out than this (dm) lies under clothes and would poke through sleeves."""


@dataclass
class Skin:
    """The refined skin patch: coarse vertex ids ``used``, refinement, corner UVs (atlas and mesh layout)."""

    used: np.ndarray
    step: surface.Refined
    uv: np.ndarray
    mesh_uv: np.ndarray
    verts: np.ndarray


def skin_patch(mesh: source.BaseMesh) -> Skin:
    """Head, neck and upper chest of the base mesh, refined once."""
    body = mesh.group("body")
    centre = mesh.verts[mesh.faces[body]].mean(1)
    body = body[(centre[:, 1] > 3.3) & (np.abs(centre[:, 0]) < SKIN_HALF_WIDTH)]
    used, compact = np.unique(mesh.faces[body], return_inverse=True)
    step = surface.catmull_clark(compact.reshape(-1, 4), len(used))
    corner = mesh.uvs[mesh.face_uvs[body]]
    return Skin(
        used,
        step,
        surface.refine_corners(surface.atlas(corner)),
        surface.refine_corners(corner),
        step.matrix @ mesh.verts[used],
    )


def srgb(r: float, g: float, b: float) -> np.ndarray:
    """Linear colour of 8-bit sRGB."""
    c = np.array([r, g, b]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _smooth(x: np.ndarray, a: float, b: float) -> np.ndarray:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def _noise(pos: np.ndarray, freq: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    total = np.zeros(pos.shape[:2])
    for _ in range(5):
        k = rng.normal(0, 1, 3)
        k *= freq * rng.uniform(0.7, 1.4) / np.linalg.norm(k)
        total += np.sin(pos @ k + rng.uniform(0, 6.28))
    return total / 5


class FrontCanvas:
    """A 2-D drawing over the face seen from the front; sampled back at texel positions."""

    X0, X1, SIZE = -0.85, 0.85, 3072

    def __init__(self, eye_y: float) -> None:
        self.y1 = eye_y + 0.85
        self.image = np.zeros((self.SIZE, self.SIZE), np.float32)
        self.k = self.SIZE / (self.X1 - self.X0)

    def stroke(self, points: np.ndarray, width: float, alpha: float) -> None:
        """Tapered polyline, dm."""
        p = np.stack([(points[:, 0] - self.X0) * self.k, (self.y1 - points[:, 1]) * self.k], 1)
        layer = self.image
        n = len(p) - 1
        for i in range(n):
            t = 1 - 0.75 * (i / n) ** 1.5
            a, b = np.int32(p[i] * 16), np.int32(p[i + 1] * 16)
            cv2.line(layer, tuple(map(int, a)), tuple(map(int, b)), alpha, max(1, round(width * self.k * t)), cv2.LINE_AA, 4)

    def sample(self, pos: np.ndarray) -> np.ndarray:
        """Value at every texel position f32[h, w, 3]; zero on the back of the head."""
        u = ((pos[..., 0] - self.X0) * self.k).astype(np.float32)
        v = ((self.y1 - pos[..., 1]) * self.k).astype(np.float32)
        return cv2.remap(cv2.GaussianBlur(self.image, (0, 0), 1.6), u, v, cv2.INTER_LINEAR) * (pos[..., 2] > 0.5)


def _brows(eye: np.ndarray) -> tuple[np.ndarray, FrontCanvas]:
    """Soft under-painting polygon parameters and the hair strokes of both brows."""
    rng = np.random.default_rng(11)
    canvas, soft = FrontCanvas(eye[1]), FrontCanvas(eye[1])
    t = np.linspace(0, 1, 40)
    # Straight start, gentle arch at two thirds, tail level with the start: open and friendly.
    cx = eye[0] - 0.165 + 0.375 * t
    cy = eye[1] + 0.205 + 0.058 * np.sin(np.pi * 0.62 * t) ** 1.2 - 0.055 * np.clip((t - 0.62) / 0.38, 0, 1) ** 1.6
    half = 0.031 * np.clip(t / 0.16, 0.30, 1) * (1 - 0.80 * np.clip((t - 0.50) / 0.50, 0, 1) ** 1.1)
    for sign in (1, -1):
        for i in range(39):
            soft.stroke(
                np.array([[sign * cx[i], cy[i]], [sign * cx[i + 1], cy[i + 1]]]),
                2.1 * half[i],
                0.62 * np.clip(t[i] * 3.2 + 0.12, 0, 1),
            )
        for _ in range(560):
            s = rng.random() ** 0.9
            lane = rng.uniform(-1, 1)
            x, y, h = np.interp(s, t, cx), np.interp(s, t, cy), np.interp(s, t, half)
            along = np.degrees(np.arctan2(np.interp(min(s + 0.05, 1), t, cy) - y, 0.05 * 0.375))
            lean = (48 * (1 - s) ** 2.0 + 10) * (1 if lane < 0.2 else -0.35) + rng.normal(0, 6)
            angle = np.radians(along + lean)
            length = 0.056 * (1 - 0.35 * s) * rng.uniform(0.7, 1.15)
            root = np.array([x, y + lane * h * 0.85])
            bend = np.radians(along + lean * 0.2)
            k = np.linspace(0, 1, 5)[:, None]
            d0, d1 = np.array([np.cos(angle), np.sin(angle)]), np.array([np.cos(bend), np.sin(bend)])
            pts = root + length * (k * d0 * (1 - k / 2) + k**2 / 2 * d1)
            pts[:, 0] *= sign
            canvas.stroke(pts, 0.0040, float(rng.uniform(0.40, 0.85) * np.clip(s * 5 + 0.45, 0, 1)))
    soft.image = cv2.GaussianBlur(soft.image, (0, 0), 0.010 * soft.k)
    return soft, canvas


def paint(mesh: source.BaseMesh, data: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Albedo f32[H, W, 3] (linear), coverage bool[H, W] and mouth lining f32[H, W] of the skin atlas."""
    patch = skin_patch(mesh)
    tris = surface.triangles(patch.step.faces)
    two = lambda c: np.concatenate([c[:, [0, 1, 2]], c[:, [0, 2, 3]]])  # noqa: E731
    values = np.concatenate([patch.verts[tris], two(patch.mesh_uv)], -1)
    out, hit = surface.texel_map(two(patch.uv), values, surface.ATLAS_W, surface.ATLAS_H)
    pos, muv = out[..., :3], out[..., 3:]
    masks = {}
    for name in ("lips", "eyelids", "inside-mouth"):
        grey = cv2.imread(str(data / "mpfb2/textures" / f"mpfb_{name}.jpg"), cv2.IMREAD_GRAYSCALE).astype(np.float32) / 255
        h, w = grey.shape
        masks[name] = cv2.remap(
            grey, (muv[..., 0] * w).astype(np.float32), ((1 - muv[..., 1]) * h).astype(np.float32), cv2.INTER_LINEAR
        )
        masks[name] = gaussian_filter(masks[name], 2.0)
    eye = (mesh.joint("l-eye") * [1, 1, 1] + mesh.joint("r-eye") * [-1, 1, 1]) / 2
    x, y, z = pos[..., 0].astype(float), pos[..., 1].astype(float) - eye[1], pos[..., 2].astype(float)
    ax = np.abs(x)
    base = srgb(240, 189, 159)
    col = np.ones((*hit.shape, 3)) * base
    mottle = (
        0.5 * _noise(pos.astype(float), 7, 1) + 0.3 * _noise(pos.astype(float), 19, 2) + 0.25 * _noise(pos.astype(float), 47, 3)
    )
    col *= 1 + mottle[..., None] * np.array([0.010, 0.020, 0.024])
    grain = gaussian_filter(np.random.default_rng(3).normal(0, 1, hit.shape), 1.1) * 2.2
    col *= 1 + grain[..., None] * 0.010

    def mix(colour: np.ndarray, amount: np.ndarray) -> None:
        a = np.clip(amount, 0, 1)[..., None]
        col[...] = col * (1 - a) + colour * a

    def spot(cx: float, cy: float, rx: float, ry: float) -> np.ndarray:
        return np.exp(-(((ax - cx) / rx) ** 2) - ((y - cy) / ry) ** 2) * (z > 0.3)

    mix(srgb(226, 138, 122), 0.38 * spot(0.44, -0.28, 0.20, 0.15))
    mix(srgb(222, 140, 124), 0.16 * spot(0.0, -0.40, 0.10, 0.08))
    mix(srgb(214, 150, 134), 0.14 * spot(0.0, -0.95, 0.16, 0.10))
    # Eye make-up: warm shade in the crease, liner at the lash roots (liner is drawn on the lid geometry itself).
    lid = spot(eye[0] + 0.01, 0.075, 0.165, 0.065)
    mix(srgb(168, 108, 90), 0.42 * lid)
    mix(srgb(190, 132, 116), 0.22 * spot(eye[0], -0.09, 0.13, 0.035))
    lips = _smooth(masks["lips"], 0.30, 0.75)
    mix(srgb(186, 78, 86), 0.80 * lips)
    lip_line = lips * (0.10 * _noise(pos.astype(float) * [5.0, 0.6, 0.6], 26, 8) + 0.06 * grain)
    col *= 1 + lip_line[..., None] * np.array([0.35, 0.7, 0.7])
    ys = y[(lips > 0.6) & (masks["inside-mouth"] < 0.2) & (ax < 0.05)]
    low, high = float(ys.min()), float(ys.max())
    seam = low + 0.54 * (high - low)
    # Shape the lips with paint: lit centre of the lower lip, darker towards seam and corners.
    lower = np.exp(-((x / 0.13) ** 2) - ((y - (low + 0.32 * (high - low))) / 0.034) ** 2) * lips
    mix(srgb(246, 178, 174), 0.34 * lower)
    bow = np.exp(-(((ax - 0.045) / 0.04) ** 2) - ((y - (high - 0.012)) / 0.010) ** 2)
    mix(srgb(244, 200, 184), 0.30 * bow * (z > 1.0))
    dark = np.exp(-(((y - seam) / 0.022) ** 2)) * lips + 0.8 * np.clip((ax - 0.20) / 0.08, 0, 1) * lips
    mix(srgb(120, 50, 50), 0.42 * np.clip(dark, 0, 1))
    mouth = _smooth(masks["inside-mouth"], 0.3, 0.8)
    mix(srgb(120, 44, 44), mouth)
    azimuth = np.degrees(np.arctan2(x, z - 0.28))
    edge = y - hairline(azimuth)
    scalp = _smooth(edge, -0.02, 0.12) * (y > -0.7)
    mix(srgb(58, 42, 36), 0.80 * scalp)
    soft, hairs = _brows(eye)
    brow = srgb(52, 36, 30)
    mix(brow, 0.95 * soft.sample(pos))
    mix(brow * 0.7, 0.95 * hairs.sample(pos))
    return col.astype(np.float32), hit, np.maximum(mouth, lips).astype(np.float32)


def light_over(albedo: np.ndarray, hit: np.ndarray, mouth: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Baked light on plain skin, denoised edge-aware, times painted albedo; f32[H, W, 3] linear."""
    light = np.nan_to_num(light.astype(np.float32), posinf=8, neginf=0)
    side = light.shape[0]
    lit = cv2.erode(
        (cv2.resize(hit.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA) > 0.999).astype(np.uint8),
        np.ones((3, 3)),
    )
    # Half-covered texels at island rims are dark; grow the light outwards from sound ones before enlarging.
    logl = np.log(np.clip(light, 2e-3, 8)) * lit[..., None]
    known = lit.astype(np.float32)
    for sigma in (1.5, 4.0, 12.0):
        blur = cv2.GaussianBlur(known, (0, 0), sigma)
        grown = cv2.GaussianBlur(logl, (0, 0), sigma) / np.maximum(blur, 1e-4)[..., None]
        take = (known == 0) & (blur > 0.02)
        logl[take] = grown[take]
        known[take] = 1
    for _ in range(2):
        logl = cv2.bilateralFilter(logl, 7, 0.25, 2.2)
    # The chest is seen small and moves under the collar: keep its broad shading, drop hard shadows.
    chest = surface.CHEST_ROWS * side // surface.ATLAS_H
    broad = cv2.GaussianBlur(np.ascontiguousarray(logl[:chest]), (0, 0), side / 64)
    logl[:chest] = np.maximum(logl[:chest], broad)
    logl[:chest] = cv2.GaussianBlur(np.ascontiguousarray(logl[:chest]), (0, 0), side / 110)
    logl = cv2.resize(logl, (surface.ATLAS_W, surface.ATLAS_H), interpolation=cv2.INTER_CUBIC)
    out = np.exp(logl) * (albedo / PLAIN.astype(np.float32))
    # Lip corners stay a deep red instead of holes.
    out = np.maximum(out, albedo * (0.14 * mouth)[..., None])
    bad = ~hit
    fill = (
        np.stack([gaussian_filter(out[..., c] * hit, 6) for c in range(3)], -1)
        / np.maximum(gaussian_filter(hit.astype(np.float32), 6), 1e-4)[..., None]
    )
    out[bad] = fill[bad]
    return out
