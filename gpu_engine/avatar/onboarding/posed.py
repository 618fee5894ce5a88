"""The template as the landmark network sees it: posed, turned, drawn and measured in the pack camera's pixels."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.detector import Detection
from gpu_engine.avatar.landmarks.face import Face, find_points
from gpu_engine.avatar.onboarding.cover import cover
from gpu_engine.avatar.onboarding.template import Piece, Template
from gpu_engine.avatar.renderer import AvatarError

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
SIDE = 480
"""Pixels of the picture the template is measured in."""
BACKDROP = (196, 200, 204)


@dataclass(frozen=True, slots=True)
class Lens:
    """Pinhole along -z: pixels = principal + focal * (x - eye x, eye y - y) / (eye z - z). Lengths in dm."""

    focal: float
    eye: F64
    principal: F64

    def project(self, verts: NDArray[np.floating]) -> F64:
        """float64[n, 3]: x and y in pixels, z in dm."""
        scale = self.focal / (self.eye[2] - verts[:, 2])
        x = self.principal[0] + (verts[:, 0] - self.eye[0]) * scale
        y = self.principal[1] - (verts[:, 1] - self.eye[1]) * scale
        return np.stack([x, y, verts[:, 2].astype(np.float64)], 1)

    def lift(self, screen: NDArray[np.floating]) -> F64:
        """The inverse of ``project``."""
        scale = (self.eye[2] - screen[:, 2]) / self.focal
        x = self.eye[0] + (screen[:, 0] - self.principal[0]) * scale
        y = self.eye[1] - (screen[:, 1] - self.principal[1]) * scale
        return np.stack([x, y, screen[:, 2].astype(np.float64)], 1)


def posed_verts(piece: Piece, weights: dict[str, float]) -> F64:
    """Vertices of a piece under ARKit weights, dm."""
    verts = piece.verts.astype(np.float64)
    for name, gain in weights.items():
        if name in piece.targets:
            verts = verts + gain * piece.targets[name]
    return verts


@dataclass(frozen=True, slots=True)
class Measured:
    """The template measured in a pose.

    Attributes:
        points: float64[468, 3], pixels of the pack camera, z in dm towards the viewer (the network's, rescaled).
        surface: float64[468], z of the drawn surface under each point, dm.
        image: what was measured, and ``zoom``, ``origin``: picture px = (camera px - origin) * zoom.
    """

    points: F64
    surface: F64
    image: NDArray[np.uint8]
    zoom: float
    origin: F64


def turned(verts: F64, pivot: F64, turn: F64) -> F64:
    """Vertices rotated about ``pivot``."""
    return pivot + (verts - pivot) @ turn.T


def draw(
    template: Template, lens: Lens, verts: dict[str, F64], zoom: float, origin: F64, side: int
) -> tuple[NDArray[np.uint8], F32]:
    """Picture uint8[side, side, 3] and depth float32[side, side] of the pieces, lashes and catch-lights included."""
    image = np.full((side, side, 3), BACKDROP, np.float32)
    nearest = np.full((side, side), -1e9, np.float32)
    for blended in (False, True):
        for name, piece in template.pieces.items():
            mixes = piece.blend or name.startswith(("lash", "glint"))
            if mixes != blended or piece.layer != "mesh":
                continue
            screen = lens.project(verts[name])
            screen[:, :2] = (screen[:, :2] - origin) * zoom
            x0, y0 = np.clip(np.floor(screen[:, :2].min(0)).astype(int), 0, side)
            x1, y1 = np.clip(np.ceil(screen[:, :2].max(0)).astype(int) + 1, 0, side)
            if x1 <= x0 or y1 <= y0:
                continue
            screen[:, :2] -= (x0, y0)
            box = np.s_[y0:y1, x0:x1]
            seen = cover(screen, piece.tris, int(x1 - x0), int(y1 - y0))
            texture = template.textures[piece.texture]
            uv = seen.blend(np.concatenate([piece.uv, piece.shade[:, None]], 1))
            mapped = cv2.remap(
                texture,
                uv[..., 0] * texture.shape[1] - 0.5,
                uv[..., 1] * texture.shape[0] - 0.5,
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            ).astype(np.float32)
            front = seen.depth > nearest[box]
            alpha = np.where(front, mapped[..., 3] / 255 if mixes else 1.0, 0.0)[..., None]
            image[box] = image[box] * (1 - alpha) + mapped[..., :3] * uv[..., 2:3] * alpha
            if not mixes:
                nearest[box] = np.where(front, seen.depth, nearest[box])
    return np.clip(image, 0, 255).astype(np.uint8), nearest


def measure(template: Template, lens: Lens, weights: dict[str, float], pivot: F64, turn: F64) -> Measured:
    """Pose the template, draw its face and find the 468 points on it.

    Raises:
        AvatarError: the network does not find a face on the template.
    """
    verts = {name: turned(posed_verts(p, weights), pivot, turn) for name, p in template.pieces.items()}
    eyes = np.stack([turned(template.eyeball(s)[0][None], pivot, turn)[0] for s in ("r", "l")])
    at = lens.project(eyes)[:, :2]
    middle, gap = at.mean(0), float(np.linalg.norm(at[1] - at[0]))
    zoom = SIDE / (gap * 4.2)
    origin = middle - np.array([0.5, 0.42]) * gap * 4.2
    image, depth = draw(template, lens, verts, zoom, origin, SIDE)
    eyes_px = ((at - origin) * zoom).astype(np.float32)
    x, y = ((middle - origin) * zoom) + np.array([0, 0.36]) * gap * zoom
    half = 1.1 * gap * zoom
    face: Face = find_points(image, Detection((x - half, y - half, x + half, y + half), eyes_px, 1.0))
    if face.presence < 0.5:
        raise AvatarError(f"template '{template.name}': no face is recognised on it (score {face.presence:.2f}); name another")
    points = face.points.astype(np.float64)
    px = np.clip(points[:, :2].astype(int), 0, SIDE - 1)
    surface = depth[px[:, 1], px[:, 0]].astype(np.float64)
    hidden = surface < -1e8
    surface[hidden] = np.median(surface[~hidden])
    out = np.empty_like(points)
    out[:, :2] = points[:, :2] / zoom + origin
    dm_per_px = (lens.eye[2] - float(eyes[:, 2].mean())) / lens.focal
    out[:, 2] = -points[:, 2] / zoom * dm_per_px
    return Measured(out, surface, image, zoom, origin)
