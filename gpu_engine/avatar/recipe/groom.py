"""The hair as strands: roots on the scalp, flow, clumps, waves; pure numpy, decimetres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

POINTS = 40
PART_X = 0.13
"""The parting sits to the host's left of centre."""


@dataclass
class Groom:
    """``points`` f32[n, POINTS, 3], ``radius`` f32[n, POINTS] in dm, ``back`` bool[n] strands hidden behind the head."""

    points: np.ndarray
    radius: np.ndarray
    back: np.ndarray


def hairline(azimuth_deg: np.ndarray) -> np.ndarray:
    """Height above the eyes (dm) where hair starts, by |azimuth| from the front seen from the skull's centre."""
    a = np.abs(azimuth_deg)
    return np.interp(
        a,
        [0, 14, 30, 42, 52, 62, 75, 90, 110, 130, 180],
        [0.61, 0.60, 0.54, 0.45, 0.31, 0.13, -0.12, -0.1, -0.35, -0.60, -0.66],
    )


class Skull:
    """Radius of the hair-bearing head by direction, as a smooth table over (azimuth, elevation)."""

    def __init__(self, verts: np.ndarray, centre: np.ndarray) -> None:
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
        self.table = gaussian_filter(table, (2.0, 2.0), mode=("wrap", "nearest"))

    @staticmethod
    def angles(rel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Azimuth from +z towards +x and elevation, radians."""
        return np.arctan2(rel[..., 0], rel[..., 2]), np.arctan2(rel[..., 1], np.hypot(rel[..., 0], rel[..., 2]))

    def radius(self, az: np.ndarray, el: np.ndarray) -> np.ndarray:
        """Bilinear radius at a direction."""
        fa = (np.degrees(az) + 180) / 360 * self.na
        fe = np.clip((np.degrees(el) + 90) / 180 * (self.ne - 1), 0, self.ne - 1.001)
        a0, e0 = np.floor(fa).astype(int), np.floor(fe).astype(int)
        wa, we = fa - a0, fe - e0
        t, a1 = self.table, (a0 + 1) % self.na
        a0 = a0 % self.na
        low = t[a0, e0] * (1 - wa) + t[a1, e0] * wa
        high = t[a0, e0 + 1] * (1 - wa) + t[a1, e0 + 1] * wa
        return low * (1 - we) + high * we


def _roots(
    verts: np.ndarray, tris: np.ndarray, eye_y: float, centre: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    t = verts[tris]
    area = np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1)
    c = t.mean(1) - centre
    az = np.degrees(np.arctan2(c[:, 0], c[:, 2]))
    area[c[:, 1] + centre[1] - eye_y < hairline(az) - 0.15] = 0
    pick = rng.choice(len(tris), count, p=area / area.sum())
    u = rng.random((count, 2))
    flip = u.sum(1) > 1
    u[flip] = 1 - u[flip]
    p = t[pick, 0] + u[:, :1] * (t[pick, 1] - t[pick, 0]) + u[:, 1:] * (t[pick, 2] - t[pick, 0])
    rel = p - centre
    az = np.degrees(np.arctan2(rel[:, 0], rel[:, 2]))
    edge = p[:, 1] - eye_y - hairline(az) + rng.normal(0, 0.016, count)
    # Density rises over a centimetre from the hairline, so the edge is a fringe of single hairs and not a wig's rim.
    return p[rng.random(count) < np.clip(edge / 0.10, 0.0, 1) ** 0.7 * (edge > 0)]


def _flow(roots: np.ndarray, skull: Skull, eye_y: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Strand polylines f64[n, POINTS, 3] and the azimuth (deg, from the front) at which each one falls."""
    n = len(roots)
    rel = roots - skull.centre
    side = np.where(roots[:, 0] > PART_X, 1.0, -1.0)
    az0, _ = Skull.angles(rel)
    # Azimuth measured from the parting keeps neighbours across the crown together.
    a_part = np.degrees(np.arctan2(np.abs(roots[:, 0] - PART_X) + 0.02, rel[:, 2]))
    gate = 46.0 + 130.0 * (np.clip(a_part, 0, 180) / 180) ** 1.05 + rng.normal(0, 1.8, n)
    gate = np.minimum(gate, 178.0)
    rank = np.clip((roots[:, 1] - eye_y + 0.5) / 1.6, 0, 1)
    lift = 0.030 + 0.115 * rank**1.2 + rng.random(n) * 0.045
    gate_el = np.radians(-2.0)
    ts = np.linspace(0, 1, POINTS // 2)[None, :]
    az_target = np.radians(gate) * side
    start = az0
    delta = np.angle(np.exp(1j * (az_target - start)))
    # Near the pole the azimuth is meaningless, so blend directions in the tangent plane instead of angles.
    d0 = rel / np.linalg.norm(rel, axis=1, keepdims=True)
    d1 = np.stack([np.sin(az_target) * np.cos(gate_el), np.full(n, np.sin(gate_el)), np.cos(az_target) * np.cos(gate_el)], -1)
    dot = np.clip((d0 * d1).sum(1), -0.999, 0.999)
    om = np.arccos(dot)[:, None]
    w0 = np.sin((1 - ts) * om) / np.sin(om)
    w1 = np.sin(ts * om) / np.sin(om)
    d = w0[..., None] * d0[:, None] + w1[..., None] * d1[:, None]
    # Bow the path: first sideways off the parting, then down.
    bow = np.sin(np.pi * ts) * np.clip(np.abs(delta)[:, None] / 2.2, 0, 1) * 0.10
    d[..., 0] += side[:, None] * bow
    d[..., 1] += bow * 0.5
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    az, el = Skull.angles(d)
    ramp = np.clip(ts / 0.62, 0, 1)
    rise = lift[:, None] * ramp * ramp * (3 - 2 * ramp)
    front = np.clip((75 - gate) / 30, 0, 1)[:, None]
    rise = rise + 0.06 * front * np.sin(np.pi * np.clip(ts * 1.1, 0, 1)) + 0.012
    r0 = np.linalg.norm(rel, axis=1)
    base = skull.radius(az, el)
    base = base + (r0[:, None] - base[:, :1]) * (1 - ts) ** 2
    r = base + rise * (ts > 0)
    upper = skull.centre + d * r[..., None]
    # Fall: keep the gate's azimuth about the neck axis, narrow a little at the jaw, turn in at the tips.
    g = upper[:, -1]
    tip_y = eye_y - 1.66 + rng.normal(0, 0.085, n) - 0.14 * np.clip((80 - gate) / 30, 0, 1) + 0.22 * rank * rng.random(n)
    tl = np.linspace(0, 1, POINTS - POINTS // 2 + 1)[None, 1:]
    y = g[:, 1:2] + (tip_y[:, None] - g[:, 1:2]) * tl
    radial = np.hypot(g[:, 0], g[:, 2] - 0.15)
    gaz = np.arctan2(g[:, 0], g[:, 2] - 0.15)
    shape = 1.0 + 0.03 * np.sin(np.pi * tl * 1.1) - 0.17 * np.clip((tl - 0.50) / 0.50, 0, 1) ** 1.6
    rad = radial[:, None] * shape
    # Front locks drift back below the cheek, so the jaw stays open.
    swing = gaz[:, None] + np.radians(7.0) * side[:, None] * np.sin(np.pi * tl) * np.clip((80 - gate) / 40, 0, 1)[:, None]
    lower = np.stack([rad * np.sin(swing), y, 0.15 + rad * np.cos(swing)], -1)
    points = np.concatenate([upper, lower], 1)
    phase = gaz * 4.0 + rng.normal(0, 0.30, n)
    s = np.clip((np.arange(POINTS) - POINTS * 0.42) / (POINTS * 0.58), 0, 1)[None, :]
    wave = 0.060 * s**0.9 * np.sin(7.0 * s + phase[:, None])
    outward = np.stack([np.sin(gaz), np.zeros(n), np.cos(gaz)], -1)
    tangent = np.stack([np.cos(gaz), np.zeros(n), -np.sin(gaz)], -1)
    points = points + wave[..., None] * (0.55 * outward + 0.85 * tangent)[:, None]
    return points, gate


def _collide(points: np.ndarray, tree: cKDTree, verts: np.ndarray, normals: np.ndarray, gap: float) -> np.ndarray:
    flat = points[:, POINTS // 3 :].reshape(-1, 3)
    _, i = tree.query(flat)
    depth = ((flat - verts[i]) * normals[i]).sum(1)
    push = np.clip(gap - depth, 0, 0.5) * (np.linalg.norm(flat - verts[i], axis=1) < 0.6)
    flat = flat + normals[i] * push[:, None]
    points[:, POINTS // 3 :] = flat.reshape(len(points), -1, 3)
    return points


def grow(
    head: tuple[np.ndarray, np.ndarray], solid: tuple[np.ndarray, np.ndarray], eye_y: float, count: int = 30000, seed: int = 5
) -> Groom:
    """Grow the presenter's hair on ``head`` (verts, tris), kept outside ``solid`` (verts, unit normals: neck, clothes)."""
    rng = np.random.default_rng(seed)
    verts, tris = head
    centre = np.array([0.0, eye_y + 0.28, 0.28])
    skull = Skull(verts[verts[:, 1] > eye_y - 1.0], centre)
    roots = _roots(verts, tris, eye_y, centre, int(count * 1.25), rng)
    guides = _roots(verts, tris, eye_y, centre, 2600, rng)
    path, gate = _flow(roots, skull, eye_y, rng)
    gpath, ggate = _flow(guides, skull, eye_y, rng)
    side, gside = roots[:, 0] > PART_X, guides[:, 0] > PART_X
    nearest = np.zeros(len(roots), int)
    for s in (False, True):
        idx = np.nonzero(gside == s)[0]
        key = np.concatenate([guides[idx], ggate[idx, None] / 60], 1)
        mine = np.nonzero(side == s)[0]
        _, near = cKDTree(key).query(np.concatenate([roots[mine], gate[mine, None] / 60], 1))
        nearest[mine] = idx[near]
    s = np.linspace(0, 1, POINTS)[None, :, None]
    clump = 0.78 * np.clip((s - 0.10) / 0.75, 0, 1) ** 0.8 * rng.uniform(0.55, 1.0, (len(roots), 1, 1))
    spread = rng.normal(0, 0.020, (len(roots), 1, 3)) * (0.5 + s)
    path = path * (1 - clump) + (gpath[nearest] + spread) * clump
    frizz = np.cumsum(rng.normal(0, 0.0035, path.shape), 1)
    path = path + (frizz - frizz[:, :1]) * np.clip(s * 2, 0, 1) * rng.choice([0.4, 0.4, 0.5, 1.6], (len(roots), 1, 1))
    sv, sn = solid
    tree = cKDTree(sv)
    for _ in range(3):
        path = _collide(path, tree, sv, sn, 0.045)
        path[:, POINTS // 3 + 1 : -1] += 0.35 * (
            (path[:, POINTS // 3 : -2] + path[:, POINTS // 3 + 2 :]) / 2 - path[:, POINTS // 3 + 1 : -1]
        )
    radius = np.full(path.shape[:2], 0.00085) * (1 - 0.65 * np.linspace(0, 1, POINTS)[None, :] ** 2.5)
    return Groom(path.astype(np.float32), radius.astype(np.float32), gate > 100)
