"""The 22 joints every pack has: the pelvis and the 21 joints of the motion vocabulary, in SMPL-X's hierarchy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import JOINTS

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


def quaternion_matrix(q: NDArray[np.float32]) -> NDArray[np.float64]:
    """Rotation float64[3, 3] of a unit quaternion (x, y, z, w)."""
    x, y, z, w = (float(v) for v in q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def limited(q: NDArray[np.float32], limit_deg: float) -> NDArray[np.float32]:
    """The rotation with its angle held to ``limit_deg``; the identity for a quaternion of no length."""
    norm = float(np.sqrt(np.dot(q, q)))
    if not 1e-6 < norm < 1e6:
        return np.array([0, 0, 0, 1], np.float32)
    unit = q / norm if q[3] >= 0 else -q / norm
    angle = 2 * float(np.arccos(min(1.0, float(unit[3]))))
    limit = np.radians(limit_deg)
    if angle <= limit:
        return unit.astype(np.float32)
    axis = unit[:3] / np.sin(angle / 2)
    return np.array([*(axis * np.sin(limit / 2)), np.cos(limit / 2)], np.float32)


def place_joints(
    joints: NDArray[np.float32], rest: NDArray[np.float32], limits_deg: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Affine maps from rest to posed space, written into ``out`` float32[22, 3, 4].

    Args:
        joints: float32[21, 4] of a motion frame.
        rest: float32[22, 3], joint positions at rest.
        limits_deg: float32[22], largest angle of each joint.
    """
    out[0] = 0
    out[0, :, :3] = np.eye(3)
    for number in range(1, len(SKELETON)):
        parent = out[PARENTS[number]]
        q = joints[number - 1]
        if float(np.abs(q[:3]).max()) < 1e-7:
            out[number] = parent
            continue
        turn = quaternion_matrix(limited(q, float(limits_deg[number])))
        pivot = rest[number].astype(np.float64)
        rotation = parent[:, :3].astype(np.float64)
        out[number, :, :3] = rotation @ turn
        out[number, :, 3] = rotation @ (pivot - turn @ pivot) + parent[:, 3]
