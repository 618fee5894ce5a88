"""Eyebrows as painted hairs on a front-view drawing that is sampled back onto the skin atlas."""

from __future__ import annotations

import cv2
import numpy as np
from faces import Complexion


class FrontCanvas:
    """A 2-D drawing over the face seen from the front; sampled at texel positions."""

    X0, X1, SIZE = -0.85, 0.85, 4096

    def __init__(self, eye_y: float) -> None:
        self.y1 = eye_y + 0.85
        self.image = np.zeros((self.SIZE, self.SIZE), np.float32)
        self.k = self.SIZE / (self.X1 - self.X0)
        self.blur = 1.2

    def stroke(self, points: np.ndarray, width: float, alpha: float) -> None:
        """Tapered polyline, dm."""
        p = np.stack([(points[:, 0] - self.X0) * self.k, (self.y1 - points[:, 1]) * self.k], 1)
        n = len(p) - 1
        for i in range(n):
            t = 1 - 0.75 * (i / n) ** 1.5
            a, b = np.int32(p[i] * 16), np.int32(p[i + 1] * 16)
            wide = max(1, round(width * self.k * t))
            cv2.line(self.image, tuple(map(int, a)), tuple(map(int, b)), alpha, wide, cv2.LINE_AA, 4)

    def sample(self, pos: np.ndarray) -> np.ndarray:
        """Value at every texel position f32[h, w, 3]; zero on the back of the head."""
        u = ((pos[..., 0] - self.X0) * self.k).astype(np.float32)
        v = ((self.y1 - pos[..., 1]) * self.k).astype(np.float32)
        return cv2.remap(cv2.GaussianBlur(self.image, (0, 0), self.blur), u, v, cv2.INTER_LINEAR) * (pos[..., 2] > 0.5)


def draw(eye: np.ndarray, drop: float, skin: Complexion) -> tuple[FrontCanvas, FrontCanvas]:
    """Soft under-painting and the hairs of both brows for eyes at ``eye`` (left one), mouth seam ``drop`` dm lower."""
    rng = np.random.default_rng(11)
    canvas, soft = FrontCanvas(eye[1]), FrontCanvas(eye[1])
    t = np.linspace(0, 1, 40)
    w, wide = eye[0], skin.brow_width
    for sign in (1, -1):
        # Straight start, gentle arch at two thirds, tail level with the start: open and friendly. The sides differ a little.
        lift = skin.brow_lift + (0.006 if sign > 0 else 0.0)
        arch = skin.brow_arch * (1.0 if sign > 0 else 0.9)
        cx = w * (0.42 + 1.30 * t) + (0.0 if sign > 0 else 0.004)
        cy = (
            eye[1]
            + drop * 0.33
            + lift
            + arch * (0.052 * np.sin(np.pi * 0.62 * t) ** 1.2 - 0.055 * np.clip((t - 0.62) / 0.38, 0, 1) ** 1.6)
        )
        half = 0.029 * wide * np.clip(t / 0.18, 0.35, 1) * (1 - 0.78 * np.clip((t - 0.45) / 0.55, 0, 1) ** 1.1)
        for i in range(39):
            piece = np.array([[sign * cx[i], cy[i]], [sign * cx[i + 1], cy[i + 1]]])
            soft.stroke(piece, 1.9 * half[i], 0.46 * np.clip(t[i] * 3.0 + 0.10, 0, 1))
        for _ in range(round(430 * (0.6 + 0.4 * wide))):
            s, lane = rng.random() ** 0.9, rng.uniform(-1, 1)
            x, y, h = np.interp(s, t, cx), np.interp(s, t, cy), np.interp(s, t, half)
            along = np.degrees(np.arctan2(np.interp(min(s + 0.05, 1), t, cy) - y, 0.05 * 1.3 * w))
            lean = (50 * (1 - s) ** 2.0 + 10) * (1 if lane < 0.2 else -0.35) + rng.normal(0, 6)
            angle, bend = np.radians(along + lean), np.radians(along + lean * 0.2)
            length = 0.056 * (0.8 + 0.2 * wide) * (1 - 0.35 * s) * rng.uniform(0.7, 1.15)
            root = np.array([x, y + lane * h * 0.85])
            k = np.linspace(0, 1, 5)[:, None]
            d0, d1 = np.array([np.cos(angle), np.sin(angle)]), np.array([np.cos(bend), np.sin(bend)])
            pts = root + length * (k * d0 * (1 - k / 2) + k**2 / 2 * d1)
            pts[:, 0] *= sign
            canvas.stroke(pts, 0.0036, float(rng.uniform(0.35, 0.85) * np.clip(s * 5 + 0.40, 0, 1)))
    soft.image = cv2.GaussianBlur(soft.image, (0, 0), 0.010 * soft.k)
    return soft, canvas
