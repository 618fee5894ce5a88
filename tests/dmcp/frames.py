"""Frames that tests send: made from a seed, so that sender and expectation agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.dmcp.motion import Motion
from gpu_engine.motion.ring import MotionFlag
from gpu_engine.motion.vocabulary import JOINT_COUNT, WEIGHT_COUNT, MotionFrame

WHOLE = MotionFlag.FACE | MotionFlag.POSE


def unit_quaternions(seed: int, spread: float = 1.0) -> NDArray[np.float32]:
    """21 random rotations; a small ``spread`` keeps them near rest."""
    random = np.random.default_rng(seed)
    joints = random.normal(size=(JOINT_COUNT, 4)) * spread
    joints[:, 3] += 1.0 if spread < 1.0 else 0.0
    joints /= np.linalg.norm(joints, axis=1, keepdims=True)
    return joints.astype(np.float32)


def pose(seed: int, spread: float = 0.2) -> MotionFrame:
    """A random pose."""
    weights = np.random.default_rng(seed + 1).random(WEIGHT_COUNT).astype(np.float32)
    return MotionFrame(weights, unit_quaternions(seed, spread))


def motion(seed: int = 1, *, ts_ms: int = 1_796_130_000_000, sequence: int | None = 7, flags: MotionFlag = WHOLE) -> Motion:
    """A random frame."""
    frame = pose(seed, spread=1.0)
    return Motion(ts_ms, sequence, flags, frame.weights, frame.joints)


def angle_deg(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """Angle in degrees between rotations, float[n]; exact for small ones (chord, not arc cosine)."""
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    sign = np.where((a64 * b64).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    chord = np.linalg.norm(a64 - sign * b64, axis=-1)
    angles: NDArray[np.float64] = np.degrees(4.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)))
    return angles
