"""Short hair swept back and to the side: volume over the forehead, visible strand groups, tapered sides, sideburns."""

from __future__ import annotations

import numpy as np

from hair.scalp import Head, Skull, roots, unit_vectors
from hair.strands import Solid, clump, frizz, nearest_guides, shell, taper, trace

POINTS = 22
PART_X = -0.40
"""The parting lies this far (head units) to the host's right; the top is swept away from it."""


def _step(x: np.ndarray, low: float, high: float) -> np.ndarray:
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def _top(p: np.ndarray, head: Head) -> np.ndarray:
    """1 on the long top, 0 on the short sides and back."""
    u = head.unit
    x = p[:, 0] / u
    right = _step(x, PART_X - 0.10, PART_X + 0.10)
    left = 1 - _step(x, 0.44, 0.60)
    crown = _step((p[:, 2] - head.centre[2]) / u, -0.62, -0.30)
    return right * left * crown * _step(head.height(p), 0.45, 0.62)


def _comb(
    start: np.ndarray, normal: np.ndarray, head: Head, skull: Skull, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    n, u = len(start), head.unit
    top = _top(start, head)
    h = head.height(start)
    forward = np.clip((start[:, 2] - head.centre[2]) / (0.75 * u), -0.6, 1)
    low = np.clip((h + 0.65) / 1.15, 0, 1)
    side_length = 0.055 + 0.20 * low**1.4
    length = u * (side_length * (1 - top) + (0.50 + 0.14 * np.clip(forward, 0, 1)) * top) * rng.uniform(0.82, 1.12, n)
    rise = u * (0.012 + 0.040 * low + top * (0.060 + 0.16 * np.clip(forward, 0, 1) ** 1.5)) * rng.uniform(0.35, 1.0, n)
    # The top rises gently out of the parting: no step shows when the head turns.
    rise *= 0.35 + 0.65 * np.where(top > 0.3, _step(start[:, 0] / u, PART_X, PART_X + 0.32), 1.0)
    away = np.stack([0.62 + 0.2 * (start[:, 0] / u), np.full(n, 0.0), np.full(n, -0.80)], -1)
    down = np.stack([np.zeros(n), np.full(n, -0.85), np.full(n, -0.62)], -1)
    # Before the ears hair grows down, behind them back and down, at the nape straight down.
    az = np.abs(head.azimuth(start))
    down[:, 2] *= np.interp(az, [0, 60, 80, 110, 140, 180], [0.6, 0.35, 0.9, 0.8, 0.3, 0.0])
    goal = unit_vectors(down * (1 - top[:, None]) + away * top[:, None]) + rng.normal(0, 0.07, (n, 3))
    lift = 0.25 + top * (0.55 + 0.75 * np.clip(forward, 0, 1))
    heading = normal * lift[:, None] + 0.6 * goal
    heading[:, 1] += 0.45 * top * np.clip(forward, 0, 1)

    def field(p: np.ndarray, d: np.ndarray, s: float) -> tuple[np.ndarray, float]:
        out = unit_vectors(p - head.centre)
        flat = goal - out * (goal * out).sum(1, keepdims=True)
        return unit_vectors(unit_vectors(flat) - out * 0.30 * max(0.0, s - 0.35)), 0.20

    floor = shell(skull, rise, head.eye_y - 0.75 * u)

    def settle(p: np.ndarray, s: float) -> np.ndarray:
        p = floor(p, s)
        rel = p - skull.centre
        r = np.linalg.norm(rel, axis=1)
        roof = skull.radius(rel) + rise * 1.25 + 0.03 * u
        near = (p[:, 1] > head.eye_y - 0.75 * u) & (r > roof)
        return skull.centre + rel * np.where(near, 0.5 + 0.5 * roof / np.maximum(r, 1e-6), 1.0)[:, None]

    return trace(start, heading, length, POINTS, field, settle), top


def grow(
    mesh: tuple[np.ndarray, np.ndarray], solid: Solid, head: Head, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, radii, whether a strand is behind the head, and melanin of ``count`` strands (about)."""
    verts, tris = mesh
    bare = verts[(verts[:, 1] > head.eye_y - head.unit) & ~head.is_ear(verts)]
    skull = Skull(bare, head.centre, smooth=1.2)
    start, normal = roots(verts, tris, head, "marco", int(count * 1.4), rng, soft=0.05)
    start, normal = start[:count], normal[:count]
    guide, guide_normal = roots(verts, tris, head, "marco", 1500, rng, soft=0.04)
    path, top = _comb(start, normal, head, skull, rng)
    gpath, gtop = _comb(guide, guide_normal, head, skull, rng)
    # Strand groups of the top: a few hundred points of wax, each a wedge; the sides stay loose.
    long = gtop > 0.5
    keep = np.nonzero(long)[0][:330]
    keep = np.concatenate([keep, np.nonzero(~long)[0][:700]])
    gpath, guide, gtop = gpath[keep], guide[keep], gtop[keep]
    gpath = frizz(gpath, np.where(gtop > 0.5, 0.006, 0.002), rng)
    side, gside = np.where(top > 0.5, 1, 0), np.where(gtop > 0.5, 1, 0)
    near = nearest_guides(start, guide, side, gside)
    s = np.linspace(0, 1, POINTS)[None]
    hold = (0.20 + 0.62 * top)[:, None] * np.clip((s - 0.12) / 0.7, 0, 1) ** 0.9 * rng.uniform(0.6, 1.0, (len(path), 1))
    path = clump(path, gpath[near], hold, rng.normal(0, 0.016, (len(path), 1, 3)) * (1 - 0.6 * s[..., None]))
    loose = rng.random(len(path)) < 0.03
    path = frizz(path, np.where(loose, 0.006, 0.0018), rng)
    keep = ~head.over_face(path, "marco")
    path, top = path[keep], top[keep]
    back = (path.mean(1)[:, 2] < head.centre[2] - 0.25 * head.unit) & (top < 0.5)
    radius = taper(len(path), POINTS, 0.00078, 0.3, 2.0)
    melanin = np.clip(rng.normal(0.81, 0.04, len(path)), 0.68, 0.92)
    return path, radius, back, melanin
