"""One texture for everything of the face that is not skin: what the template brings, and the person's own eyes beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.onboarding.eyes import REACH, EyeLook
from gpu_engine.avatar.onboarding.eyes import SIDE as EYE_SIDE
from gpu_engine.avatar.onboarding.template import Piece, Template

LASH_STRENGTH = 0.8
KEPT = ("eye_", "glint_", "lash_", "teeth_", "tongue", "throat", "gum")
"""Pieces taken from the template by name; others (modelled brows, say) are the template's own face and stay behind."""


def kept(piece: Piece) -> bool:
    """Whether a piece of the template becomes part of the person's head, the skin aside."""
    return piece.layer == "mesh" and piece.name.startswith(KEPT)


@dataclass(frozen=True, slots=True)
class Atlas:
    """``image`` uint8[h, w, 4] BGRA; ``places``: left edge and size of each of the template's textures in it."""

    image: NDArray[np.uint8]
    places: dict[int, tuple[int, int, int]]
    eyes_x: int

    def uv(self, piece: Piece) -> NDArray[np.float32]:
        """A template piece's UVs in this texture."""
        x, width, height = self.places[piece.texture]
        scale = np.array([width / self.image.shape[1], height / self.image.shape[0]])
        return np.asarray(piece.uv * scale + (x / self.image.shape[1], 0), np.float32)

    def eye_uv(self, side: str, local: NDArray[np.floating]) -> NDArray[np.float32]:
        """UVs of eyeball points float[n, 3] in eyeball radii, seen from straight ahead."""
        x = self.eyes_x + (0 if side == "l" else EYE_SIDE) + EYE_SIDE / 2
        height, width = self.image.shape[:2]
        return np.stack([(x + local[:, 0] * REACH) / width, (EYE_SIDE / 2 - local[:, 1] * REACH) / height], 1).astype(
            np.float32
        )


def _softened(texture: NDArray[np.uint8], pieces: list[Piece]) -> NDArray[np.uint8]:
    """Painted lashes belong to a made-up face: a photographed one brings part of its lash line along."""
    out = texture.copy()
    for piece in pieces:
        if piece.name.startswith("lash"):
            size = texture.shape[1::-1]
            x0, y0 = np.clip(np.floor(piece.uv.min(0) * size).astype(int), 0, size)
            x1, y1 = np.clip(np.ceil(piece.uv.max(0) * size).astype(int), 0, size)
            share = LASH_STRENGTH if "upper" in piece.name else LASH_STRENGTH * 0.7
            # From the untouched texture: both eyes may use the same strip.
            out[y0:y1, x0:x1, 3] = np.round(texture[y0:y1, x0:x1, 3] * share)
    return out


def build_atlas(template: Template, looks: dict[str, EyeLook]) -> Atlas:
    """The template's textures side by side, then the two eyes."""
    users: dict[int, list[Piece]] = {}
    for piece in template.pieces.values():
        if kept(piece) and not piece.name.startswith("eye_"):
            users.setdefault(piece.texture, []).append(piece)
    textures = {index: _softened(template.textures[index], pieces) for index, pieces in sorted(users.items())}
    height = max(EYE_SIDE, *(t.shape[0] for t in textures.values()))
    width = sum(t.shape[1] for t in textures.values())
    image = np.zeros((height, width + 2 * EYE_SIDE, 4), np.uint8)
    places, x = {}, 0
    for index, texture in textures.items():
        image[: texture.shape[0], x : x + texture.shape[1]] = texture
        places[index] = (x, texture.shape[1], texture.shape[0])
        x += texture.shape[1]
    for i, side in enumerate(("l", "r")):
        at = np.s_[:EYE_SIDE, width + i * EYE_SIDE : width + (i + 1) * EYE_SIDE]
        image[at][..., :3], image[at][..., 3] = looks[side].texture, 255
    return Atlas(image, places, width)
