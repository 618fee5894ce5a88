# mypy: disable-error-code="assignment"
# Numba infers machine types; mypy has no rules for mixing numpy scalars of several widths.

"""The 22 joints every pack has: the pelvis and the 21 joints of the motion vocabulary, in SMPL-X's hierarchy."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import JOINTS

F32 = NDArray[np.float32]

SKELETON: tuple[str, ...] = ("pelvis", *JOINTS)
"""Joint names; a pack's joint number is the index here (0 = pelvis, i + 1 = ``JOINTS[i]``)."""

_PARENT_OF = {
    "left_hip": "pelvis", "right_hip": "pelvis", "spine1": "pelvis", "left_knee": "left_hip", "right_knee": "right_hip",
    "spine2": "spine1", "left_ankle": "left_knee", "right_ankle": "right_knee", "spine3": "spine2", "left_foot": "left_ankle",
    "right_foot": "right_ankle", "neck": "spine3", "left_collar": "spine3", "right_collar": "spine3", "head": "neck",
    "left_shoulder": "left_collar", "right_shoulder": "right_collar", "left_elbow": "left_shoulder",
    "right_elbow": "right_shoulder", "left_wrist": "left_elbow", "right_wrist": "right_elbow",
}  # fmt: skip

PARENTS: tuple[int, ...] = (-1, *(SKELETON.index(_PARENT_OF[name]) for name in JOINTS))
"""Index of each joint's parent in ``SKELETON``; parents come before children."""

JOINT_NUMBER: dict[str, int] = {name: i for i, name in enumerate(SKELETON)}


def place_joints(
    joints: NDArray[np.float32], rest: NDArray[np.float32], limits_deg: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Affine maps from rest to posed space, written into ``out`` float32[22, 3, 4].

    Args:
        joints: float32[21, 4] of a motion frame; a quaternion of no or no finite length turns nothing.
        rest: float32[22, 3], joint positions at rest.
        limits_deg: float32[22]; a joint that turns further is held at its limit.
    """
    _place(np.ascontiguousarray(joints, np.float32), rest, limits_deg, out)


@njit(
    "void(float32[:,::1], float32[:,::1], float32[::1], float32[:,:,::1])",
    cache=True, nogil=True,
)  # fmt: skip
def _place(turns: F32, rest: F32, limits_deg: F32, out: F32) -> None:
    for r in range(3):
        for c in range(4):
            out[0, r, c] = 1.0 if r == c else 0.0
    for j in range(1, len(PARENTS)):
        x, y, z = np.float64(turns[j - 1, 0]), np.float64(turns[j - 1, 1]), np.float64(turns[j - 1, 2])
        w = np.float64(turns[j - 1, 3])
        p = PARENTS[j]
        norm = np.sqrt(x * x + y * y + z * z + w * w)
        if not (norm > 1e-6 and norm < 1e6):
            x, y, z, w, norm = 0.0, 0.0, 0.0, 1.0, 1.0
        if w < 0:
            norm = -norm
        x, y, z, w = x / norm, y / norm, z / norm, w / norm
        limit = np.float64(limits_deg[j]) * (np.pi / 180)
        half = np.arccos(min(1.0, w))
        if 2 * half > limit:
            gain = np.sin(limit / 2) / np.sin(half)
            x, y, z, w = x * gain, y * gain, z * gain, np.cos(limit / 2)
        t00, t01, t02 = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
        t10, t11, t12 = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
        t20, t21, t22 = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
        px, py, pz = np.float64(rest[j, 0]), np.float64(rest[j, 1]), np.float64(rest[j, 2])
        mx = px - (t00 * px + t01 * py + t02 * pz)
        my = py - (t10 * px + t11 * py + t12 * pz)
        mz = pz - (t20 * px + t21 * py + t22 * pz)
        for r in range(3):
            a, b, c = np.float64(out[p, r, 0]), np.float64(out[p, r, 1]), np.float64(out[p, r, 2])
            out[j, r, 0] = a * t00 + b * t10 + c * t20
            out[j, r, 1] = a * t01 + b * t11 + c * t21
            out[j, r, 2] = a * t02 + b * t12 + c * t22
            out[j, r, 3] = a * mx + b * my + c * mz + np.float64(out[p, r, 3])
