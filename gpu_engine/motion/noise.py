"""Random numbers that are a function of where they are asked for: seed, channel and index, never of history.

The idle motion of a host is built on them, so any instant can be computed alone and a restarted body goes on as if nothing
had happened.
"""

from __future__ import annotations

import math
from functools import lru_cache

_MASK = (1 << 64) - 1


@lru_cache(maxsize=8192)
def hash01(seed: int, channel: int, index: int) -> float:
    """Uniform in [0, 1) from three integers (splitmix64 finaliser, Steele et al. 2014); equal arguments, equal value."""
    z = (seed * 0x9E3779B97F4A7C15 + channel * 0xD1B54A32D192ED03 + index * 0x8CB92BA72F3D8DD7) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return (z >> 11) / float(1 << 53)


def drift(t_s: float, period_s: float, seed: int, channel: int) -> float:
    """Band-limited noise in [-1, 1] with continuous second derivative: a cubic B-spline over hashed values, one a period."""
    x = t_s / period_s
    cell = math.floor(x)
    f = x - cell
    g = 1.0 - f
    a, b, c, d = (2.0 * hash01(seed, channel, cell + k) - 1.0 for k in range(4))
    return (a * g * g * g + b * (3 * f * f * f - 6 * f * f + 4) + c * (3 * g * g * g - 6 * g * g + 4) + d * f * f * f) / 6.0


def wander(t_s: float, period_s: float, seed: int, channel: int) -> float:
    """Two octaves of :func:`drift` with incommensurate periods, in [-1, 1]: motion without a visible beat."""
    return 0.68 * drift(t_s, period_s, seed, channel) + 0.32 * drift(t_s, period_s * 0.381966, seed, channel + 1)
