"""Smooth maps through scattered points: thin-plate splines (Bookstein 1989) with a little smoothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def _kernel(a: F64, b: F64) -> F64:
    squared = ((a[:, None, :] - b[None, :, :]) ** 2).sum(2)
    out: F64 = 0.5 * squared * np.log(np.maximum(squared, 1e-20))
    return out


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


def similarity(source: F64, target: F64) -> tuple[float, F64, F64]:
    """Scale, rotation and offset with target ≈ scale * source @ rotation.T + offset (Umeyama 1991), any dimension."""
    a, b = source - source.mean(0), target - target.mean(0)
    u, s, vt = np.linalg.svd(b.T @ a)
    sign = np.ones(len(s))
    sign[-1] = np.sign(np.linalg.det(u @ vt))
    rotation = (u * sign) @ vt
    scale = float((s * sign).sum() / (a**2).sum())
    return scale, rotation, target.mean(0) - scale * source.mean(0) @ rotation.T
