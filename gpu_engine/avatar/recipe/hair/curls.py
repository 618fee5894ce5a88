"""Short natural curls: small springs over the whole head, a soft outline, a little grey at the temples."""

from __future__ import annotations

import numpy as np

from hair.scalp import Head, roots, unit_vectors
from hair.strands import Solid, frames, frizz, smooth, taper

POINTS = 46
PER_CURL = 13


def _axes(start: np.ndarray, normal: np.ndarray, head: Head, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Middle lines of the curls f64[n, POINTS, 3] and their lengths (dm)."""
    n, u = len(start), head.unit
    h, az = head.height(start), np.abs(head.azimuth(start))
    edge = np.clip(head.above_hairline(start, "amara") / 0.30, 0, 1)
    crown = np.clip((h - 0.25) / 0.7, 0, 1)
    length = u * (0.13 + 0.15 * edge + 0.19 * crown * edge) * rng.uniform(0.80, 1.15, n)
    length *= np.interp(az, [0, 60, 95, 130, 180], [1.0, 0.92, 0.85, 0.85, 0.8])
    swirl = rng.normal(0, 0.55, start.shape)
    swirl -= normal * (swirl * normal).sum(1, keepdims=True)
    # At the hairline curls lean back off the face; the longer ones bend under their own weight.
    lean = np.zeros_like(start)
    lean[:, 2] = -0.75 * (1 - edge) * (az < 75)
    lean[:, 1] = -0.25 * (1 - crown)
    d = unit_vectors(normal + 0.55 * swirl + lean)
    step = (length / (POINTS - 1))[:, None]
    p, path = start.copy(), [start]
    for k in range(1, POINTS):
        s = k / (POINTS - 1)
        d = unit_vectors(d + 0.030 * swirl + np.array([0, -0.030, 0]) * (0.4 + s) * (0.5 + crown[:, None]))
        p = p + d * step
        path.append(p)
    return np.stack(path, 1), length


def _springs(
    axis: np.ndarray, length: np.ndarray, head: Head, per_curl: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Wind ``per_curl`` strands round each axis; returns strands and the curl each belongs to."""
    n, u = len(axis), head.unit
    which = np.repeat(np.arange(n), per_curl)
    _, a, b = frames(smooth(axis, 4))
    m = len(which)
    s = np.linspace(0, 1, POINTS)[None]
    coil = u * rng.uniform(0.030, 0.056, n)
    rise = u * rng.uniform(0.085, 0.125, n)
    turns = length / rise
    hand = rng.choice([-1.0, 1.0], n)
    phase = rng.uniform(0, 2 * np.pi, n)
    angle = hand[which, None] * (2 * np.pi * turns[which, None] * s**0.92) + phase[which, None]
    angle = angle + rng.normal(0, 0.10, (m, 1))
    radius = coil[which, None] * np.clip(s * 4, 0, 1) ** 0.8 * rng.uniform(0.93, 1.07, (m, 1)) * (1 - 0.25 * s)
    off = rng.normal(0, 0.0055 * u, (m, 1, 2)) * np.clip(s * 3, 0.3, 1)[..., None]
    x = radius * np.cos(angle) + off[..., 0]
    y = radius * np.sin(angle) + off[..., 1]
    slip = rng.normal(0, 0.006 * u, (m, 1))
    t = unit_vectors(np.gradient(axis, axis=1))[which]
    path = axis[which] + x[..., None] * a[which] + y[..., None] * b[which] + (slip * s)[..., None] * t
    return path, which


def grow(
    mesh: tuple[np.ndarray, np.ndarray], solid: Solid, head: Head, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, radii, whether a strand is behind the head, and melanin of ``count`` strands (about)."""
    verts, tris = mesh
    curls = max(300, count // PER_CURL)
    start, normal = roots(verts, tris, head, "amara", int(curls * 1.5), rng, soft=0.05)
    start, normal = start[:curls], normal[:curls]
    axis, length = _axes(start, normal, head, rng)
    path, which = _springs(axis, length, head, PER_CURL, rng)
    loose = rng.random(len(path)) < 0.04
    path = frizz(path, np.where(loose, 0.009, 0.0016) * head.unit, rng)
    r = np.linalg.norm(path - head.centre, axis=-1)
    # Nothing grows back into the scalp: below the root's own radius a strand is lifted out.
    least = r[:, :1] - 0.004
    scale = np.maximum(r, least) / np.maximum(r, 1e-6)
    path = head.centre + (path - head.centre) * scale[..., None]
    keep = ~head.over_face(path, "amara", slack=0.16)
    path, which, loose = path[keep], which[keep], loose[keep]
    root = path[:, 0]
    back = root[:, 2] < head.centre[2] - 0.30 * head.unit
    radius = taper(len(path), POINTS, 0.00092, 0.45, 2.0)
    radius[loose] *= 0.75
    az = np.abs(head.azimuth(root))
    inward = np.maximum(head.above_hairline(root, "amara") - 0.02, 0)
    temple = np.exp(-(((az - 62) / 20) ** 2) - (inward / 0.22) ** 2)
    grey = (rng.random(len(axis))[which] < 0.36 * temple + 0.015) & (rng.random(len(path)) < 0.7)
    grey |= rng.random(len(path)) < 0.10 * temple + 0.004
    melanin = np.where(grey, rng.uniform(0.06, 0.22, len(path)), np.clip(rng.normal(0.90, 0.03, len(path)), 0.8, 0.97))
    return path, radius, back, melanin
