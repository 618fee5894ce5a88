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
    body = body[(centre[:, 1] > 3.3) & (np.abs(centre[:, 0]) < 1.5)]
    used, compact = np.unique(mesh.faces[body], return_inverse=True)
    step = surface.catmull_clark(compact.reshape(-1, 4), len(used))
    corner = mesh.uvs[mesh.face_uvs[body]]
    return Skin(
        used, step, surface.refine_corners(surface.atlas(corner)), surface.refine_corners(corner), step.matrix @ mesh.verts[used]
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
    cy = eye[1] + 0.205 + 0.075 * np.sin(np.pi * 0.62 * t) ** 1.2 - 0.055 * np.clip((t - 0.62) / 0.38, 0, 1) ** 1.6
    half = 0.030 * np.clip(t / 0.10, 0.45, 1) * (1 - 0.80 * np.clip((t - 0.50) / 0.50, 0, 1) ** 1.1)
    for sign in (1, -1):
        for i in range(39):
            soft.stroke(np.array([[sign * cx[i], cy[i]], [sign * cx[i + 1], cy[i + 1]]]), 2.1 * half[i], 0.62 * np.clip(t[i] * 4 + 0.35, 0, 1))
        for _ in range(420):
            s = rng.random() ** 0.9
            lane = rng.uniform(-1, 1)
            x, y, h = np.interp(s, t, cx), np.interp(s, t, cy), np.interp(s, t, half)
            along = np.degrees(np.arctan2(np.interp(min(s + 0.05, 1), t, cy) - y, 0.05 * 0.375))
            lean = (60 * (1 - s) ** 2.0 + 14) * (1 if lane < 0.2 else -0.35) + rng.normal(0, 6)
            angle = np.radians(along + lean)
            length = 0.062 * (1 - 0.35 * s) * rng.uniform(0.7, 1.15)
            root = np.array([x, y + lane * h * 0.85])
            bend = np.radians(along + lean * 0.2)
            k = np.linspace(0, 1, 5)[:, None]
            d0, d1 = np.array([np.cos(angle), np.sin(angle)]), np.array([np.cos(bend), np.sin(bend)])
            pts = root + length * (k * d0 * (1 - k / 2) + k**2 / 2 * d1)
            pts[:, 0] *= sign
            canvas.stroke(pts, 0.0042, float(rng.uniform(0.55, 0.95)))
    soft.image = cv2.GaussianBlur(soft.image, (0, 0), 0.010 * soft.k)
    return soft, canvas


def paint(mesh: source.BaseMesh, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Albedo f32[H, W, 3] (linear) and coverage bool[H, W] of the skin atlas."""
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
        masks[name] = cv2.remap(grey, (muv[..., 0] * w).astype(np.float32), ((1 - muv[..., 1]) * h).astype(np.float32), cv2.INTER_LINEAR)
        masks[name] = gaussian_filter(masks[name], 2.0)
    eye = (mesh.joint("l-eye") * [1, 1, 1] + mesh.joint("r-eye") * [-1, 1, 1]) / 2
    x, y, z = pos[..., 0].astype(float), pos[..., 1].astype(float) - eye[1], pos[..., 2].astype(float)
    ax = np.abs(x)
    base = srgb(233, 196, 175)
    col = np.ones((*hit.shape, 3)) * base
    mottle = 0.5 * _noise(pos.astype(float), 7, 1) + 0.3 * _noise(pos.astype(float), 19, 2) + 0.25 * _noise(pos.astype(float), 47, 3)
    col *= 1 + mottle[..., None] * np.array([0.010, 0.020, 0.024])
    grain = gaussian_filter(np.random.default_rng(3).normal(0, 1, hit.shape), 1.1) * 2.2
    col *= 1 + grain[..., None] * 0.010

    def mix(colour: np.ndarray, amount: np.ndarray) -> None:
        a = np.clip(amount, 0, 1)[..., None]
        col[...] = col * (1 - a) + colour * a

    def spot(cx: float, cy: float, rx: float, ry: float) -> np.ndarray:
        return np.exp(-(((ax - cx) / rx) ** 2) - ((y - cy) / ry) ** 2) * (z > 0.3)

    mix(srgb(226, 138, 122), 0.30 * spot(0.46, -0.30, 0.20, 0.15))
    mix(srgb(222, 140, 124), 0.16 * spot(0.0, -0.40, 0.10, 0.08))
    mix(srgb(214, 150, 134), 0.14 * spot(0.0, -0.95, 0.16, 0.10))
    # Eye make-up: warm shade in the crease, liner at the lash roots (liner is drawn on the lid geometry itself).
    lid = spot(eye[0] + 0.01, 0.075, 0.165, 0.065)
    mix(srgb(168, 108, 90), 0.42 * lid)
    mix(srgb(190, 132, 116), 0.22 * spot(eye[0], -0.09, 0.13, 0.035))
    lips = _smooth(masks["lips"], 0.30, 0.75)
    mix(srgb(190, 82, 82), 0.88 * lips)
    lip_line = lips * (0.10 * _noise(pos.astype(float) * [5.0, 0.6, 0.6], 26, 8) + 0.06 * grain)
    col *= 1 + lip_line[..., None] * np.array([0.35, 0.7, 0.7])
    mouth = _smooth(masks["inside-mouth"], 0.3, 0.8)
    mix(srgb(120, 44, 44), mouth)
    azimuth = np.degrees(np.arctan2(x, z - 0.28))
    edge = y - hairline(azimuth)
    scalp = _smooth(edge, -0.02, 0.12) * (y > -0.7)
    mix(srgb(58, 42, 36), 0.80 * scalp)
    soft, hairs = _brows(eye)
    brow = srgb(52, 36, 30)
    mix(brow, 0.62 * soft.sample(pos))
    mix(brow * 0.8, 0.70 * hairs.sample(pos))
    return col.astype(np.float32), hit


def light_over(albedo: np.ndarray, hit: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Baked light on plain skin, denoised edge-aware, times painted albedo; f32[H, W, 3] linear."""
    light = np.nan_to_num(light.astype(np.float32), posinf=8, neginf=0)
    logl = np.log(np.clip(light, 2e-3, 8))
    for _ in range(2):
        logl = cv2.bilateralFilter(logl, 9, 0.22, 3.0)
    out = np.exp(logl) * (albedo / PLAIN.astype(np.float32))
    bad = ~hit
    fill = np.stack([gaussian_filter(out[..., c] * hit, 6) for c in range(3)], -1) / np.maximum(gaussian_filter(hit.astype(np.float32), 6), 1e-4)[..., None]
    out[bad] = fill[bad]
    return out
