"""Where hair grows: landmarks found on the head itself, hairlines by style, roots, and the skull as a radial table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

HAIRLINES: dict[str, tuple[list[float], list[float]]] = {
    "lin": (
        [0, 15, 30, 41, 49, 56, 62, 69, 75, 79, 83, 90, 98, 104, 114, 130, 180],
        [0.63, 0.62, 0.57, 0.48, 0.35, 0.22, 0.10, -0.08, -0.28, -0.20, 0.06, 0.10, 0.06, -0.12, -0.34, -0.54, -0.64],
    ),
    "marco": (
        [0, 14, 24, 32, 40, 47, 54, 61, 65, 72, 76, 80, 90, 100, 105, 112, 126, 180],
        [0.60, 0.62, 0.64, 0.57, 0.47, 0.35, 0.22, 0.06, -0.20, -0.36, -0.30, 0.06, 0.10, 0.05, -0.14, -0.40, -0.60, -0.68],
    ),
    "amara": (
        [0, 18, 32, 43, 51, 58, 64, 70, 75, 79, 84, 90, 99, 105, 116, 135, 180],
        [0.60, 0.59, 0.53, 0.42, 0.27, 0.12, 0.00, -0.12, -0.18, -0.06, 0.06, 0.07, 0.03, -0.16, -0.42, -0.56, -0.60],
    ),
}
"""Azimuth about the ears' axis (degrees from the front, the ear at 90) → height over the eyes in head units, by style."""


@dataclass(frozen=True)
class Head:
    """Landmarks of one head in dm: ``unit`` is 1 for a head whose crown is 1.04 dm above the eyes."""

    eye_y: float
    unit: float
    centre: np.ndarray
    half_width: float

    @classmethod
    def of(cls, verts: np.ndarray, eye_y: float) -> Head:
        """Measure the skin ``verts`` f64[n, 3] of a head whose eyes are at height ``eye_y``."""
        unit = (verts[:, 1].max() - eye_y) / 1.04
        band = verts[(verts[:, 1] > eye_y + 0.35 * unit) & (verts[:, 1] < eye_y + 0.6 * unit)]
        half = float(band[:, 0].max())
        low = verts[(verts[:, 1] > eye_y - 0.55 * unit) & (verts[:, 1] < eye_y + 0.15 * unit)]
        ears = low[np.abs(low[:, 0]) > half + 0.045 * unit]
        ear_z = float((ears[:, 2].min() + ears[:, 2].max()) / 2) if len(ears) > 8 else 0.43 * unit
        return cls(eye_y, float(unit), np.array([0.0, eye_y + 0.28 * unit, ear_z]), half)

    def height(self, points: np.ndarray) -> np.ndarray:
        """Height over the eyes in head units."""
        return (points[..., 1] - self.eye_y) / self.unit

    def azimuth(self, points: np.ndarray) -> np.ndarray:
        """Degrees about the ears' axis, 0 at the front, positive to the host's left."""
        return np.degrees(np.arctan2(points[..., 0] - self.centre[0], points[..., 2] - self.centre[2]))

    def above_hairline(self, points: np.ndarray, style: str) -> np.ndarray:
        """Signed distance (head units, measured upward) of ``points`` from the hairline of ``style``; positive = hair."""
        return self.height(points) - np.interp(np.abs(self.azimuth(points)), *HAIRLINES[style])

    def over_face(self, path: np.ndarray, style: str, slack: float = 0.05) -> np.ndarray:
        """Strands f64[n, k, 3] → bool[n]: whether any part lies before the face, where a lone hair looks like a scratch."""
        az, h = np.abs(self.azimuth(path)), self.height(path)
        low = self.above_hairline(path, style) < -slack
        return (low & (az < 56) & (h > -1.0) & (path[..., 2] > self.centre[2])).any(1)

    def is_ear(self, points: np.ndarray) -> np.ndarray:
        """Points of the ear flaps, which bear no hair and must not swell the skull."""
        out = np.abs(points[..., 0]) > self.half_width + 0.03 * self.unit
        near = np.abs(points[..., 2] - self.centre[2]) < 0.30 * self.unit
        return out & near & (np.abs(self.height(points) + 0.2) < 0.32)


class Skull:
    """Radius of the head by direction from ``centre``, as a smooth table over (azimuth, elevation)."""

    def __init__(self, verts: np.ndarray, centre: np.ndarray, smooth: float = 2.0) -> None:
        self.centre = centre
        rel = verts - centre
        r = np.linalg.norm(rel, axis=1)
        self.na, self.ne = 144, 72
        tree = cKDTree(rel / r[:, None])
        ga = np.radians(np.linspace(-180, 180, self.na, endpoint=False))
        ge = np.radians(np.linspace(-90, 90, self.ne))
        ea, ee = np.meshgrid(ga, ge, indexing="ij")
        d = np.stack([np.sin(ea) * np.cos(ee), np.sin(ee), np.cos(ea) * np.cos(ee)], -1)
        _, idx = tree.query(d.reshape(-1, 3), k=4)
        table = r[idx].max(1).reshape(self.na, self.ne)
        self.table = gaussian_filter(table, (smooth, smooth), mode=("wrap", "nearest"))

    def radius(self, rel: np.ndarray) -> np.ndarray:
        """Bilinear radius in the direction of ``rel`` (points relative to the centre)."""
        az = np.arctan2(rel[..., 0], rel[..., 2])
        el = np.arctan2(rel[..., 1], np.hypot(rel[..., 0], rel[..., 2]))
        fa = (np.degrees(az) + 180) / 360 * self.na
        fe = np.clip((np.degrees(el) + 90) / 180 * (self.ne - 1), 0, self.ne - 1.001)
        a0, e0 = np.floor(fa).astype(int), np.floor(fe).astype(int)
        wa, we = fa - a0, fe - e0
        t, a1 = self.table, (a0 + 1) % self.na
        a0 = a0 % self.na
        low = t[a0, e0] * (1 - wa) + t[a1, e0] * wa
        high = t[a0, e0 + 1] * (1 - wa) + t[a1, e0 + 1] * wa
        return low * (1 - we) + high * we


def unit_vectors(v: np.ndarray) -> np.ndarray:
    """``v`` scaled to length one along the last axis."""
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)


def roots(
    verts: np.ndarray,
    tris: np.ndarray,
    head: Head,
    style: str,
    count: int,
    rng: np.random.Generator,
    soft: float = 0.10,
    band: tuple[float, float] = (0.0, 9.0),
) -> tuple[np.ndarray, np.ndarray]:
    """Up to ``count`` root points f64[n, 3] and unit normals, evenly over the scalp.

    Density rises over ``soft`` head units from the hairline, so that its edge is a fringe of single hairs and not a wig's
    rim; ``band`` keeps roots that far above the hairline only.
    """
    t = verts[tris]
    cross = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    area = np.linalg.norm(cross, axis=1)
    c = t.mean(1)
    above = head.above_hairline(c, style)
    area[(above < band[0] - 0.15) | (above > band[1] + 0.15) | head.is_ear(c)] = 0
    pick = rng.choice(len(tris), count, p=area / area.sum())
    u = rng.random((count, 2))
    flip = u.sum(1) > 1
    u[flip] = 1 - u[flip]
    p = t[pick, 0] + u[:, :1] * (t[pick, 1] - t[pick, 0]) + u[:, 1:] * (t[pick, 2] - t[pick, 0])
    edge = head.above_hairline(p, style) + rng.normal(0, 0.018, count)
    keep = (edge > band[0]) & (edge < band[1]) & (rng.random(count) < np.clip((edge - band[0]) / soft, 0.03, 1) ** 0.7)
    normal = unit_vectors(p - head.centre)
    return p[keep], normal[keep]
