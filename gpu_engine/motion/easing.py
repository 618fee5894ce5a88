"""Easing curves: s(0) = 0, s(1) = 1, arguments clamped to [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Callable


def _unit(t: float) -> float:
    return 0.0 if t <= 0.0 else 1.0 if t >= 1.0 else t


def quintic_out(t: float) -> float:
    """1 - (1 - t)^5: answers at once, settles slowly."""
    return 1.0 - (1.0 - _unit(t)) ** 5


def minimum_jerk(t: float) -> float:
    """10 t^3 - 15 t^4 + 6 t^5 (Flash & Hogan 1985): how a limb moves from rest to rest."""
    t = _unit(t)
    return t * t * t * (10.0 + t * (6.0 * t - 15.0))


def linear(t: float) -> float:
    """t: what the others are compared with."""
    return _unit(t)


def sine_in_out(t: float) -> float:
    """0.5 (1 + sin(pi (t - 1/2))). Published as 'elastic' with sin(pi (2t - 1)), which is 0.5 at both ends."""
    return 0.5 * (1.0 + math.sin(math.pi * (_unit(t) - 0.5)))


def elastic_in(t: float) -> float:
    """Penner's elastic in: swings with growing amplitude and leaves [0, 1], so its results must be clamped by who uses it."""
    t = _unit(t)
    if t in (0.0, 1.0):
        return t
    return float(-(2.0 ** (10.0 * t - 10.0)) * math.sin((10.0 * t - 10.75) * math.tau / 3.0))


def elastic_out(t: float) -> float:
    """Penner's elastic out: overshoots 1 and rings out; see :func:`elastic_in`."""
    return 1.0 - elastic_in(1.0 - _unit(t))


def spring(t: float) -> float:
    """A critically damped spring let go at 0, scaled to arrive at 1: no overshoot, starts without a jump in speed."""
    t = _unit(t)
    return (1.0 - (1.0 + _STIFF * t) * math.exp(-_STIFF * t)) / _SPRING_END


_STIFF = 8.0
_SPRING_END = 1.0 - (1.0 + _STIFF) * math.exp(-_STIFF)


def elastic_in_out(t: float) -> float:
    """Penner's elastic in/out: overshoots [0, 1] around the middle, so its results must be clamped by who uses it."""
    t = _unit(t)
    if t in (0.0, 1.0):
        return t
    wave = math.sin((20.0 * t - 11.125) * math.tau / 4.5)
    if t < 0.5:
        return float(-0.5 * 2.0 ** (20.0 * t - 10.0) * wave)
    return float(0.5 * 2.0 ** (10.0 - 20.0 * t) * wave + 1.0)


EASINGS: dict[str, Callable[[float], float]] = {
    "linear": linear,
    "quintic_out": quintic_out,
    "minimum_jerk": minimum_jerk,
    "sine_in_out": sine_in_out,
    "elastic_in": elastic_in,
    "elastic_out": elastic_out,
    "elastic_in_out": elastic_in_out,
    "spring": spring,
}


def bump(t: float, start: float, rise: float, end: float, fall: float) -> float:
    """0 before ``start``, minimum-jerk up over ``rise``, 1 until ``end``, down over ``fall``, 0 after; one unit of time."""
    if t <= start or t >= end + fall:
        return 0.0
    up = minimum_jerk((t - start) / rise)
    down = 1.0 - minimum_jerk((t - end) / fall)
    return min(up, down)
