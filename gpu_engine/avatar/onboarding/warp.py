"""Smooth maps through scattered points: thin-plate splines (Bookstein 1989) with a little smoothing; smoothing over a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def _kernel(a: F64, b: F64) -> F64:
    squared: F64 = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T
    np.maximum(squared, 1e-20, out=squared)
    logarithm = np.log(squared)
    logarithm *= squared
    logarithm *= 0.5
    return logarithm


class Spline:
    """Maps the plane to ``k`` values so that ``source`` goes to ``values``, bending as little as it can.

    Args:
        source: float[n, 2]; values: float[n, k]; stiffness: 0 goes through every point, larger ones smooth
            (in units of the points' own spread, 1e-4 is light and 1e-1 is heavy).
    """

    def __init__(self, source: F64, values: F64, stiffness: float) -> None:
        self.centre = source.mean(0)
        self.unit = float(source.std())
        self.nodes = (source - self.centre) / self.unit
        n = len(source)
        flat = np.concatenate([np.ones((n, 1)), self.nodes], 1)
        system = np.zeros((n + 3, n + 3))
        system[:n, :n] = _kernel(self.nodes, self.nodes) + stiffness * np.eye(n)
        system[:n, n:], system[n:, :n] = flat, flat.T
        self.solution = np.linalg.solve(system, np.concatenate([values, np.zeros((3, values.shape[1]))]))

    def __call__(self, at: NDArray[np.floating]) -> F64:
        """float64[m, k] at float[m, 2]."""
        out = np.empty((len(at), self.solution.shape[1]))
        for start in range(0, len(at), 8192):
            x = (at[start : start + 8192] - self.centre) / self.unit
            flat = np.concatenate([np.ones((len(x), 1)), x], 1)
            out[start : start + len(x)] = _kernel(x, self.nodes) @ self.solution[:-3] + flat @ self.solution[-3:]
        return out


class Table:
    """A spline sampled on a grid and read bilinearly: a thousandth of the price for meshes with many targets.

    Args:
        spline: what to sample; low, high: float[2], corners of the area; cell: distance of the samples.
    """

    def __init__(self, spline: Spline, low: F64, high: F64, cell: float) -> None:
        self.low, self.cell = low, cell
        cols, rows = (int(np.ceil(v)) + 2 for v in (high - low) / cell)
        x, y = np.meshgrid(low[0] + np.arange(cols) * cell, low[1] + np.arange(rows) * cell)
        self.values = spline(np.stack([x.ravel(), y.ravel()], 1)).reshape(rows, cols, -1)

    def __call__(self, at: NDArray[np.floating]) -> F64:
        """float64[m, k] at float[m, 2]; beyond the area the border's slope goes on."""
        rows, cols, _ = self.values.shape
        spot = (at - self.low) / self.cell
        base = np.clip(np.floor(spot), 0, (cols - 2, rows - 2)).astype(np.int64)
        f = spot - base
        ix, iy, fx, fy = base[:, 0], base[:, 1], f[:, :1], f[:, 1:]
        v = self.values
        top = v[iy, ix] * (1 - fx) + v[iy, ix + 1] * fx
        low = v[iy + 1, ix] * (1 - fx) + v[iy + 1, ix + 1] * fx
        out: F64 = top * (1 - fy) + low * fy
        return out


def similarity(source: F64, target: F64) -> tuple[float, F64, F64]:
    """Scale, rotation and offset with target ≈ scale * source @ rotation.T + offset (Umeyama 1991), any dimension."""
    a, b = source - source.mean(0), target - target.mean(0)
    u, s, vt = np.linalg.svd(b.T @ a)
    sign = np.ones(len(s))
    sign[-1] = np.sign(np.linalg.det(u @ vt))
    rotation = (u * sign) @ vt
    scale = float((s * sign).sum() / (a**2).sum())
    return scale, rotation, target.mean(0) - scale * source.mean(0) @ rotation.T


class Neighbours:
    """Evens a displacement out over a mesh, vertices doubled at UV seams counted as one."""

    def __init__(self, verts: NDArray[np.floating], tris: NDArray[np.integer]) -> None:
        _, self.one = np.unique(np.round(verts * 2000).astype(np.int64), axis=0, return_inverse=True)
        self.one = self.one.reshape(-1)
        edges = np.sort(self.one[tris[:, [0, 1, 1, 2, 2, 0]]].reshape(-1, 2), axis=1)
        self.a, self.b = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0).T
        self.count = int(self.one.max()) + 1
        self.degree = np.maximum(np.bincount(np.concatenate([self.a, self.b]), minlength=self.count), 1)[:, None]

    def evened(self, delta: F64, rounds: int) -> F64:
        """float64[n, 3] after ``rounds`` of half-way steps towards the neighbours' mean."""
        value = np.zeros((self.count, 3))
        value[self.one] = delta
        for _ in range(rounds):
            total = np.zeros_like(value)
            np.add.at(total, self.a, value[self.b])
            np.add.at(total, self.b, value[self.a])
            value = 0.5 * value + 0.5 * total / self.degree
        return value[self.one]
