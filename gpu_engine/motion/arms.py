"""Arm postures in degrees, and the quaternions of collars, shoulders, elbows and wrists they stand for.

A posture is nine angles of one arm relative to the rest pose (arms at the sides, elbows a little bent, palms towards the
thighs), the same numbers for either side. Blending two postures blends angles, so whatever lies between two postures that
keep the joint limits keeps them too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ANGLES: tuple[str, ...] = (
    "collar_raise", "collar_forward",
    "shoulder_flex", "shoulder_abduct", "shoulder_turn",
    "elbow_flex", "supinate", "wrist_flex", "wrist_radial",
)  # fmt: skip
"""Flexion lifts the upper arm forward, abduction sideways, ``shoulder_turn`` turns the forearm inwards; ``supinate`` turns the
palm up, ``wrist_flex`` bends towards the palm, ``wrist_radial`` towards the thumb."""

LIMITS_DEG: dict[str, tuple[float, float]] = {
    "collar_raise": (-3.0, 8.0), "collar_forward": (-5.0, 5.0),
    "shoulder_flex": (-15.0, 60.0), "shoulder_abduct": (-2.0, 40.0), "shoulder_turn": (-35.0, 60.0),
    "elbow_flex": (-5.0, 120.0), "supinate": (-90.0, 90.0), "wrist_flex": (-35.0, 35.0), "wrist_radial": (-20.0, 25.0),
}  # fmt: skip
"""How far the avatars' sleeves and skin bend well, well inside what a healthy adult's joints allow; the elbow from its 18° of
rest."""

FOREARM: tuple[float, float, float] = (-0.07, -0.97, 0.22)
"""Direction of the resting left forearm, elbow to wrist: forearm twist turns about it."""

Posture = NDArray[np.float64]
"""float64[9], degrees, order of ``ANGLES``."""

Quaternion = tuple[float, float, float, float]

_NORM = math.sqrt(sum(c * c for c in FOREARM))
_AXIS = tuple(c / _NORM for c in FOREARM)
_FLEX_NORM = math.hypot(_AXIS[1], _AXIS[2])
_FLEX_AXIS = (0.0, -_AXIS[2] / _FLEX_NORM, _AXIS[1] / _FLEX_NORM)
"""Bends the resting left hand towards its palm, which faces the thigh (-x)."""


def posture(**angles: float) -> Posture:
    """Angles by name in degrees, the others 0. ``ValueError`` for an unknown name or an angle beyond ``LIMITS_DEG``."""
    out = np.zeros(len(ANGLES))
    for name, value in angles.items():
        if name not in LIMITS_DEG:
            raise ValueError(f"'{name}' is no angle of the arm: use {', '.join(ANGLES)}")
        low, high = LIMITS_DEG[name]
        if not low <= value <= high:
            raise ValueError(f"{name} of {value}°: a shoulder, elbow or wrist goes from {low}° to {high}°")
        out[ANGLES.index(name)] = value
    return out


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation ``b`` followed by ``a``; (x, y, z, w)."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def about(axis: Sequence[float], degrees: float) -> Quaternion:
    """Rotation by ``degrees`` about a unit axis."""
    half = math.radians(degrees) / 2
    s = math.sin(half)
    return axis[0] * s, axis[1] * s, axis[2] * s, math.cos(half)


def _x(degrees: float) -> Quaternion:
    half = math.radians(degrees) / 2
    return math.sin(half), 0.0, 0.0, math.cos(half)


def _y(degrees: float) -> Quaternion:
    half = math.radians(degrees) / 2
    return 0.0, math.sin(half), 0.0, math.cos(half)


def _z(degrees: float) -> Quaternion:
    half = math.radians(degrees) / 2
    return 0.0, 0.0, math.sin(half), math.cos(half)


def _mirrored(q: Quaternion) -> Quaternion:
    return q[0], -q[1], -q[2], q[3]


def arm_quaternions(angles: Sequence[float], *, left: bool) -> tuple[Quaternion, Quaternion, Quaternion, Quaternion]:
    """Unit quaternions of collar, shoulder, elbow and wrist for a posture (nine degrees, order of ``ANGLES``)."""
    raised, forward, flex, abduct, turn, bend, supinate, palm, radial = (float(a) for a in angles)
    collar = multiply(_z(raised), _y(-forward))
    shoulder = multiply(_z(abduct), multiply(_x(-flex), _y(-turn)))
    # The forearm's two bones share its twist out along their length: half of it shows at the elbow, half at the wrist.
    twist = about(_AXIS, -0.5 * supinate)
    elbow = multiply(_x(-bend), twist)
    wrist = multiply(twist, multiply(about(_FLEX_AXIS, palm), _x(-radial)))
    found = (collar, shoulder, elbow, wrist)
    return found if left else tuple(_mirrored(q) for q in found)  # type: ignore[return-value]
