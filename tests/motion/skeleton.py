"""Resting joints of a standing host, and where they go: what tests of gestures measure distances with.

Positions are decimetres in the avatar's own frame (+x the host's left, +y up, +z to the viewer).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import JOINT_INDEX

PARENTS: dict[str, str] = {
    "spine1": "pelvis", "spine2": "spine1", "spine3": "spine2", "neck": "spine3", "head": "neck", "crown": "head",
    "left_collar": "spine3", "left_shoulder": "left_collar", "left_elbow": "left_shoulder", "left_wrist": "left_elbow",
    "left_knuckle": "left_wrist", "left_tip": "left_wrist", "left_thumb": "left_wrist",
    "right_collar": "spine3", "right_shoulder": "right_collar", "right_elbow": "right_shoulder", "right_wrist": "right_elbow",
    "right_knuckle": "right_wrist", "right_tip": "right_wrist", "right_thumb": "right_wrist",
}  # fmt: skip

_LIN = {
    "pelvis": (0.0, -0.23, 0.2), "spine1": (0.0, 0.44, -0.25), "spine2": (0.0, 1.01, -0.05), "spine3": (0.0, 1.80, 0.08),
    "neck": (0.0, 4.64, -0.02), "head": (0.0, 5.70, 0.41), "crown": (0.0, 7.03, 0.37),
    "left_collar": (0.23, 3.96, 0.18), "left_shoulder": (1.38, 3.58, 0.20), "left_elbow": (1.57, 1.35, 0.24),
    "left_wrist": (1.43, -0.66, 0.70), "left_knuckle": (1.37, -1.42, 0.93), "left_tip": (1.05, -1.95, 1.12),
    "left_thumb": (1.18, -1.08, 1.30),
}  # fmt: skip
_MARCO = {
    "pelvis": (0.0, -0.86, -0.12), "spine1": (0.0, 0.0, -0.44), "spine2": (0.0, 0.62, -0.35), "spine3": (0.0, 1.22, -0.46),
    "neck": (0.0, 4.68, -0.05), "head": (0.0, 5.62, 0.27), "crown": (0.0, 7.17, 0.27),
    "left_collar": (0.23, 3.92, 0.08), "left_shoulder": (1.93, 3.39, 0.01), "left_elbow": (2.07, 0.89, 0.01),
    "left_wrist": (2.06, -1.55, 0.84), "left_knuckle": (2.0, -2.45, 1.12), "left_tip": (1.62, -3.08, 1.34),
    "left_thumb": (1.76, -2.05, 1.56),
}  # fmt: skip
_AMARA = {
    "pelvis": (0.0, -0.80, 0.16), "spine1": (0.0, -0.09, -0.31), "spine2": (0.0, 0.54, -0.10), "spine3": (0.0, 1.43, 0.03),
    "neck": (0.0, 4.48, 0.06), "head": (0.0, 5.52, 0.43), "crown": (0.0, 7.07, 0.32),
    "left_collar": (0.25, 3.73, 0.27), "left_shoulder": (1.54, 3.36, 0.26), "left_elbow": (1.76, 0.97, 0.34),
    "left_wrist": (1.64, -1.23, 0.89), "left_knuckle": (1.58, -2.06, 1.14), "left_tip": (1.23, -2.64, 1.35),
    "left_thumb": (1.37, -1.69, 1.55),
}  # fmt: skip


def _both_sides(half: dict[str, tuple[float, float, float]]) -> dict[str, NDArray[np.float64]]:
    rest = {name: np.array(at) for name, at in half.items()}
    for name, at in half.items():
        if name.startswith("left_"):
            rest["right_" + name[5:]] = np.array([-at[0], at[1], at[2]])
    return rest


SKELETONS = {"lin": _both_sides(_LIN), "marco": _both_sides(_MARCO), "amara": _both_sides(_AMARA)}
"""The shipped presenters."""


def rotation(q: NDArray[np.float32]) -> NDArray[np.float64]:
    """3 x 3 matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = (float(c) for c in q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def place(rest: dict[str, NDArray[np.float64]], joints: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
    """Where every point of a resting skeleton is under float32[21, 4] joint rotations."""
    at = {"pelvis": rest["pelvis"]}
    turned = {"pelvis": np.eye(3)}
    for name, parent in PARENTS.items():
        at[name] = at[parent] + turned[parent] @ (rest[name] - rest[parent])
        own = rotation(joints[JOINT_INDEX[name]]) if name in JOINT_INDEX else np.eye(3)
        turned[name] = turned[parent] @ own
    return at
