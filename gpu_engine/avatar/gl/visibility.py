"""What each vertex sees of the light around it, measured once at rest with depth maps from many directions.

First-order fit (Zhukov, "An ambient light illumination model", 1998, with a direction as in bent normals): the share of
light that arrives at a vertex from direction d is ``clamp(mean + slope . d)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.gl.lights import sphere_points

F32 = NDArray[np.float32]

DIRECTIONS = 64
REACH_DM, DEEP_DM = 4.0, 6.0
BIAS_DM = 0.03
"""A vertex is lifted by this along its normal before it is looked for in a depth map."""


def orthographic(towards: NDArray[np.float64], centre: NDArray[np.float64], reach: float, deep: float) -> F32:
    """View float32[4, 4] from direction ``towards`` (unit) over ``centre``; ``reach`` and ``deep`` are half sizes."""
    up = np.array([0.0, 1.0, 0.0]) if abs(towards[1]) < 0.98 else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, towards)
    right /= np.linalg.norm(right)
    view = np.zeros((4, 4))
    for row, axis, size in ((0, right, reach), (1, np.cross(towards, right), reach), (2, -towards, deep)):
        view[row, :3], view[row, 3] = axis / size, -(axis @ centre) / size
    view[3, 3] = 1.0
    return view.astype(np.float32)


def fit_visibility(verts: F32, normals: F32, centre: NDArray[np.float64], depth_map: Callable[[F32], F32]) -> F32:
    """First-order visibility of every vertex.

    Args:
        verts, normals: float32[v, 3], at rest.
        centre: middle of what is drawn, dm.
        depth_map: depths float32[n, n] in 0..1, rows from the bottom, of the scene under an orthographic view.

    Returns:
        float32[v, 4]: mean and slope, fitted by least squares over the directions above each vertex's horizon.
    """
    directions = sphere_points(DIRECTIONS)
    lifted = np.concatenate([verts + BIAS_DM * normals, np.ones((len(verts), 1), np.float32)], 1)
    seen = np.zeros((len(verts), DIRECTIONS), np.float32)
    for k, towards in enumerate(directions):
        view = orthographic(towards, centre, REACH_DM, DEEP_DM)
        depth = depth_map(view)
        side = len(depth)
        at = (lifted @ view.T) * 0.5 + 0.5
        x = np.clip((at[:, 0] * side).astype(int), 0, side - 1)
        y = np.clip((at[:, 1] * side).astype(int), 0, side - 1)
        seen[:, k] = at[:, 2] <= depth[y, x] + 0.002
    above = np.clip(normals @ directions.T.astype(np.float32), 0.0, None)
    share = (above * seen).sum(1) / np.maximum(above.sum(1), 1e-6)
    # The slope is what is open on average; it is scaled so that the direction of the opening sees up to all of the light.
    opening = (above * seen) @ directions.astype(np.float32) / np.maximum(above.sum(1, keepdims=True), 1e-6)
    all_open = above @ directions.astype(np.float32) / np.maximum(above.sum(1, keepdims=True), 1e-6)
    slope = 1.5 * (opening - share[:, None] * all_open)
    return np.concatenate([share[:, None], slope], 1).astype(np.float32)
