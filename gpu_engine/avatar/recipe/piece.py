"""One part of the feature mesh, and the colours all parts share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import surface

PALETTE = {"enamel": (272, 16), "gum": (304, 16), "tongue": (336, 16), "throat": (368, 16)}
"""Texel of each plain colour's block in the feature texture."""


@dataclass
class Piece:
    """Part of the feature mesh: rest verts, triangles, UVs (texels), shade and its share of each face unit."""

    name: str
    verts: np.ndarray
    tris: np.ndarray
    uv: np.ndarray
    shade: np.ndarray
    units: dict[str, np.ndarray] = field(default_factory=dict)
    blend: bool = False


def grid_tris(rows: int, cols: int, wrap: bool = False) -> np.ndarray:
    """Triangles of a vertex grid; ``wrap`` closes its rows."""
    index = np.arange(rows * cols).reshape(rows, cols)
    if wrap:
        index = np.concatenate([index, index[:, :1]], 1)
    quads = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], -1).reshape(-1, 4)
    return surface.triangles(quads)
