"""The hair of a presenter as strands; pure numpy, decimetres. ``grow`` picks the style, ``hair/`` holds the three."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hair import curls, lob, swept
from hair.scalp import HAIRLINES, Head
from hair.strands import Solid

STYLES = {"lin": lob.grow, "marco": swept.grow, "amara": curls.grow}
STRANDS = {"lin": 34000, "marco": 30000, "amara": 31000}
"""Strands of a final plate, by style."""


@dataclass
class Groom:
    """``points`` f32[n, k, 3] and ``radius`` f32[n, k] in dm, ``back`` bool[n] behind the head, ``melanin`` f32[n]."""

    points: np.ndarray
    radius: np.ndarray
    back: np.ndarray
    melanin: np.ndarray


def above_hairline(points: np.ndarray, verts: np.ndarray, eye_y: float, style: str) -> np.ndarray:
    """Height (head units, about dm) of ``points`` f64[..., 3] over the hairline of ``style``: positive where hair grows.

    ``verts`` is the skin of the head, from which its landmarks are measured. For tinting the scalp under the hair.
    """
    return Head.of(verts, eye_y).above_hairline(points, style)


def hairline(azimuth_deg: np.ndarray, style: str = "lin") -> np.ndarray:
    """Height above the eyes (head units) where hair starts, by |azimuth| about the ears' axis from the front."""
    return np.interp(np.abs(azimuth_deg), *HAIRLINES[style])


def grow(
    style: str,
    head: tuple[np.ndarray, np.ndarray],
    solid: tuple[np.ndarray, np.ndarray],
    eye_y: float,
    count: int = 0,
    seed: int = 5,
) -> Groom:
    """Grow ``style`` ('lin', 'marco', 'amara') on ``head`` (verts, tris of the skin), kept outside ``solid``.

    ``solid`` is (verts, unit outward normals) of neck, shoulders and clothes; ``count`` 0 means the style's own number of
    strands (fewer, each thicker, for previews). The hairline follows the head's own landmarks.
    """
    if style not in STYLES:
        raise ValueError(f"hair style '{style}': known are {', '.join(STYLES)}")
    count = count or STRANDS[style]
    rng = np.random.default_rng(seed)
    measured = Head.of(head[0][head[0][:, 1] > eye_y - 1.6], eye_y)
    points, radius, back, melanin = STYLES[style](head, Solid(*solid), measured, count, rng)
    thicker = np.sqrt(max(1.0, STRANDS[style] / count))
    return Groom(points.astype(np.float32), (radius * thicker).astype(np.float32), back, melanin.astype(np.float32))
