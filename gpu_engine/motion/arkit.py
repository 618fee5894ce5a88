"""Our 32 face weights as ARKit's 52 blend shapes, and back.

One matrix for every avatar and every viewer: ``shapes = weights @ MATRIX``. No shape is moved by two weights, so the way
back is the least-squares solution of each weight alone. ARKit's sides are the face's own (its left is the host's left).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX, WEIGHTS

ARKIT: tuple[str, ...] = (
    "eyeBlinkLeft", "eyeLookDownLeft", "eyeLookInLeft", "eyeLookOutLeft", "eyeLookUpLeft", "eyeSquintLeft", "eyeWideLeft",
    "eyeBlinkRight", "eyeLookDownRight", "eyeLookInRight", "eyeLookOutRight", "eyeLookUpRight", "eyeSquintRight",
    "eyeWideRight",
    "jawForward", "jawLeft", "jawRight", "jawOpen",
    "mouthClose", "mouthFunnel", "mouthPucker", "mouthLeft", "mouthRight", "mouthSmileLeft", "mouthSmileRight",
    "mouthFrownLeft", "mouthFrownRight", "mouthDimpleLeft", "mouthDimpleRight", "mouthStretchLeft", "mouthStretchRight",
    "mouthRollLower", "mouthRollUpper", "mouthShrugLower", "mouthShrugUpper", "mouthPressLeft", "mouthPressRight",
    "mouthLowerDownLeft", "mouthLowerDownRight", "mouthUpperUpLeft", "mouthUpperUpRight",
    "browDownLeft", "browDownRight", "browInnerUp", "browOuterUpLeft", "browOuterUpRight",
    "cheekPuff", "cheekSquintLeft", "cheekSquintRight", "noseSneerLeft", "noseSneerRight",
    "tongueOut",
)  # fmt: skip
"""Names and order of ``ARFaceAnchor.BlendShapeLocation`` as Apple documents them, eyes first, tongue last."""

ARKIT_INDEX: dict[str, int] = {name: i for i, name in enumerate(ARKIT)}
ARKIT_COUNT = len(ARKIT)

_DIMPLE = 0.25
"""A smile deepens the corner a little (AU14 rides on AU12)."""

_MAP: dict[str, dict[str, float]] = {
    "eyeLookLeft": {"eyeLookOutLeft": 1.0, "eyeLookInRight": 1.0},
    "eyeLookRight": {"eyeLookInLeft": 1.0, "eyeLookOutRight": 1.0},
    "mouthSmileLeft": {"mouthSmileLeft": 1.0, "mouthDimpleLeft": _DIMPLE},
    "mouthSmileRight": {"mouthSmileRight": 1.0, "mouthDimpleRight": _DIMPLE},
    "mouthShrug": {"mouthShrugLower": 1.0, "mouthShrugUpper": 1.0},
}

FACS: dict[str, str] = {
    "browInnerUp": "AU1", "browOuterUpLeft": "AU2 left", "browOuterUpRight": "AU2 right",
    "browDownLeft": "AU4 left", "browDownRight": "AU4 right",
    "eyeBlinkLeft": "AU45 left", "eyeBlinkRight": "AU45 right", "eyeWide": "AU5", "eyeSquint": "AU7",
    "eyeLookUp": "AU63", "eyeLookDown": "AU64", "eyeLookLeft": "AU61", "eyeLookRight": "AU62",
    "cheekPuff": "AD34", "cheekSquint": "AU6", "noseSneer": "AU9",
    "jawOpen": "AU26 (AU27 when full)", "jawForward": "AD29",
    "mouthClose": "AU8", "mouthFunnel": "AU22", "mouthPucker": "AU18",
    "mouthSmileLeft": "AU12 left", "mouthSmileRight": "AU12 right", "mouthFrown": "AU15", "mouthStretch": "AU20",
    "mouthPress": "AU24", "mouthUpperUp": "AU10", "mouthLowerDown": "AU16",
    "mouthRollLower": "AU28 lower", "mouthRollUpper": "AU28 upper", "mouthShrug": "AU17", "tongueOut": "AD19",
}  # fmt: skip
"""Action unit (AU) or descriptor (AD) of every weight, Ekman & Friesen's Facial Action Coding System (2002 edition)."""


def _row(weight: str) -> dict[str, float]:
    if weight in _MAP:
        return _MAP[weight]
    if weight in ARKIT_INDEX:
        return {weight: 1.0}
    return {f"{weight}Left": 1.0, f"{weight}Right": 1.0}


def _matrix() -> NDArray[np.float32]:
    matrix = np.zeros((WEIGHT_COUNT, ARKIT_COUNT), dtype=np.float32)
    for weight in WEIGHTS:
        for shape, gain in _row(weight).items():
            matrix[WEIGHT_INDEX[weight], ARKIT_INDEX[shape]] = gain
    matrix.flags.writeable = False
    return matrix


MATRIX: NDArray[np.float32] = _matrix()
"""float32[32, 52], read-only: ARKit shapes of one unit of every weight."""

_INVERSE = np.ascontiguousarray(MATRIX.T / (MATRIX**2).sum(axis=1))

UNUSED: tuple[str, ...] = tuple(name for name in ARKIT if not MATRIX[:, ARKIT_INDEX[name]].any())
"""Shapes that no weight of ours moves: always 0 on the way out, ignored on the way in."""


def to_arkit(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """ARKit shapes, float32[..., 52] in [0, 1], of weights float32[..., 32]. What is not a number counts as 0."""
    shapes: NDArray[np.float32] = np.clip(np.nan_to_num(weights, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) @ MATRIX
    return shapes


def from_arkit(shapes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights, float32[..., 32] in [0, 1], nearest (least squares, then clipped) to captured shapes float32[..., 52].

    Two sides that we hold as one weight come out as their mean. What is not a number counts as 0; ``ValueError`` when the
    last axis is not 52 long.
    """
    if shapes.shape[-1] != ARKIT_COUNT:
        raise ValueError(f"{shapes.shape[-1]} blend shapes: an ARKit frame has {ARKIT_COUNT}, in the order of ARKIT")
    clean = np.clip(np.nan_to_num(shapes, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    weights: NDArray[np.float32] = np.clip(clean @ _INVERSE, 0.0, 1.0).astype(np.float32)
    return weights
