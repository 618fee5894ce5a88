"""Shaping of strands: tracing along a comb field, collision, locks, waves, frizz. Arrays are f64[n, k, 3] in dm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from hair.scalp import Skull, unit_vectors


class Solid:
    """Neck, shoulders and clothes as points with outward normals; strands are kept ``gap`` outside."""

    def __init__(self, verts: np.ndarray, normals: np.ndarray) -> None:
        self.verts, self.normals, self.tree = verts, normals, cKDTree(verts)

    def push(self, p: np.ndarray, gap: float | np.ndarray, reach: float = 0.6) -> np.ndarray:
        """Points f64[n, 3] moved out of the solid along the nearest normal."""
        far, i = self.tree.query(p)
        depth = ((p - self.verts[i]) * self.normals[i]).sum(1)
        out = np.clip(gap - depth, 0, 0.5) * (far < reach)
        return p + self.normals[i] * out[:, None]


def trace(
    start: np.ndarray,
    heading: np.ndarray,
    length: np.ndarray,
    points: int,
    field: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, float | np.ndarray]],
    settle: Callable[[np.ndarray, float], np.ndarray],
) -> np.ndarray:
    """Grow strands step by step: ``field(p, d, s)`` gives the wanted direction and how fast to turn, ``settle`` collides."""
    step = (length / (points - 1))[:, None]
    p, d = start.copy(), unit_vectors(heading)
    path = [p]
    for k in range(1, points):
        s = k / (points - 1)
        want, turn = field(p, d, s)
        d = unit_vectors(d + (want - d) * turn)
        new = settle(p + d * step, s)
        # What collision took away from the step is taken from the direction too, so strands slide and do not bounce.
        d = unit_vectors(0.35 * d + 0.65 * unit_vectors(new - p))
        p = new
        path.append(p)
    return np.stack(path, 1)


def shell(skull: Skull, offset: np.ndarray, low: float, ramp: float = 0.16) -> Callable[[np.ndarray, float], np.ndarray]:
    """Keeps points above height ``low`` at least ``offset`` outside the skull, less over the first ``ramp`` of a strand."""

    def settle(p: np.ndarray, s: float) -> np.ndarray:
        rel = p - skull.centre
        r = np.linalg.norm(rel, axis=1)
        floor = skull.radius(rel) + offset * min(1.0, s / ramp) + 0.006
        scale = np.where((p[:, 1] > low) & (r < floor), floor / np.maximum(r, 1e-6), 1.0)
        return skull.centre + rel * scale[:, None]

    return settle


def nearest_guides(key: np.ndarray, guide_key: np.ndarray, side: np.ndarray, guide_side: np.ndarray) -> np.ndarray:
    """Index of each strand's guide, never across the parting."""
    out = np.zeros(len(key), int)
    for s in np.unique(side):
        mine, theirs = np.nonzero(side == s)[0], np.nonzero(guide_side == s)[0]
        _, near = cKDTree(guide_key[theirs]).query(key[mine])
        out[mine] = theirs[near]
    return out


def clump(path: np.ndarray, guide: np.ndarray, amount: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Draw each strand toward its guide by ``amount`` f64[n, k] (0..1), keeping ``spread`` f64[n, 1, 3] of its own place."""
    a = amount[..., None]
    return path * (1 - a) + (guide + spread) * a


def frizz(path: np.ndarray, amount: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random walk of each strand, none at the root; ``amount`` f64[n] dm a step."""
    walk = np.cumsum(rng.normal(0, 1, path.shape) * amount[:, None, None], 1)
    s = np.linspace(0, 1, path.shape[1])[None, :, None]
    return path + (walk - walk[:, :1]) * np.clip(s * 2.5, 0, 1)


def in_company(path: np.ndarray, reach: float, neighbours: int = 8) -> np.ndarray:
    """bool[n]: strands that have ``neighbours`` others within ``reach`` dm half and three quarters of the way down.

    A few strands apart from all others read as scratches on the picture, not as flyaways.
    """
    keep = np.ones(len(path), bool)
    for share in (0.5, 0.75):
        at = path[:, int(path.shape[1] * share)]
        keep &= cKDTree(at).query(at, k=neighbours + 1)[0][:, -1] < reach
    return keep


def smooth(path: np.ndarray, times: int, weight: float = 0.5) -> np.ndarray:
    """Laplacian smoothing along each strand; ends stay."""
    for _ in range(times):
        mid = (path[:, :-2] + path[:, 2:]) / 2
        path = path.copy()
        path[:, 1:-1] += weight * (mid - path[:, 1:-1])
    return path


def frames(path: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tangent and two unit normals along each strand, transported without twist from the root."""
    t = unit_vectors(np.gradient(path, axis=1))
    ref = np.where(np.abs(t[:, :1, 1:2]) > 0.9, np.array([1.0, 0, 0]), np.array([0.0, 1, 0]))
    a = unit_vectors(np.cross(t[:, 0], ref[:, 0]))
    first, second = [], []
    for k in range(path.shape[1]):
        a = unit_vectors(a - t[:, k] * (a * t[:, k]).sum(1, keepdims=True))
        first.append(a)
        second.append(np.cross(t[:, k], a))
    return t, np.stack(first, 1), np.stack(second, 1)


def taper(count: int, points: int, root: float, tip: float, power: float = 2.5) -> np.ndarray:
    """Radii f64[count, points] in dm from ``root``, thinning to ``root * tip``."""
    return np.repeat((root * (1 - (1 - tip) * np.linspace(0, 1, points) ** power))[None], count, 0)
