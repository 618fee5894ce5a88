"""The motion vocabulary every part speaks: 32 face weights in [0, 1] and 21 joint rotations.

Weights are FACS-compatible and named after ARKit's blend shapes, merged left/right where a host never needs the sides
apart. Joints are the 21 SMPL-X body joints (without the root), as unit quaternions in glTF order (x, y, z, w).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEIGHTS: tuple[str, ...] = (
    "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "browDownLeft", "browDownRight",
    "eyeBlinkLeft", "eyeBlinkRight", "eyeWide", "eyeSquint",
    "eyeLookUp", "eyeLookDown", "eyeLookLeft", "eyeLookRight",
    "cheekPuff", "cheekSquint", "noseSneer",
    "jawOpen", "jawForward",
    "mouthClose", "mouthFunnel", "mouthPucker", "mouthSmileLeft", "mouthSmileRight", "mouthFrown",
    "mouthStretch", "mouthPress", "mouthUpperUp", "mouthLowerDown", "mouthRollLower", "mouthRollUpper", "mouthShrug",
    "tongueOut",
)  # fmt: skip
"""eyeLookLeft/Right are the viewer-independent directions of the host's own left/right."""

WEIGHT_INDEX: dict[str, int] = {name: i for i, name in enumerate(WEIGHTS)}
WEIGHT_COUNT = len(WEIGHTS)

LIP_WEIGHTS: tuple[str, ...] = (
    "jawOpen", "jawForward", "mouthClose", "mouthFunnel", "mouthPucker", "mouthStretch", "mouthPress",
    "mouthUpperUp", "mouthLowerDown", "mouthRollLower", "mouthRollUpper", "mouthShrug", "tongueOut",
)  # fmt: skip
"""Weights a clip's lip track owns while it speaks; emotion keeps the rest."""

JOINTS: tuple[str, ...] = (
    "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle", "spine3",
    "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
JOINT_INDEX: dict[str, int] = {name: i for i, name in enumerate(JOINTS)}
JOINT_COUNT = len(JOINTS)

assert WEIGHT_COUNT == 32 and JOINT_COUNT == 21


@dataclass(frozen=True, slots=True)
class MotionFrame:
    """The host at one instant.

    Attributes:
        weights: float32[32], each in [0, 1], order of ``WEIGHTS``.
        joints: float32[21, 4], unit quaternions (x, y, z, w), order of ``JOINTS``, relative to the rest pose.
    """

    weights: NDArray[np.float32]
    joints: NDArray[np.float32]


def rest_frame() -> MotionFrame:
    """All weights zero, all joints at rest."""
    joints = np.zeros((JOINT_COUNT, 4), dtype=np.float32)
    joints[:, 3] = 1.0
    return MotionFrame(np.zeros(WEIGHT_COUNT, dtype=np.float32), joints)
