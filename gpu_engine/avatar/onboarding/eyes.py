"""Eyeballs from the photograph: where they look, the iris with its colours, the white, without lids, lashes and lights."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, Face
from gpu_engine.avatar.onboarding.fit import Fit
from gpu_engine.avatar.onboarding.template import Template
from gpu_engine.avatar.onboarding.texture import filled, polygon

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
SIDE = 256
REACH = 124.0
"""Texture px per eyeball radius: the texture is the eyeball seen from straight ahead, without perspective."""
IRIS_LIMITS = (0.38, 0.58)
"""Iris radius over eyeball radius; a real one has 0.49."""
GAZE_LIMIT_DEG = 14.0


@dataclass(frozen=True, slots=True)
class EyeLook:
    """One eye ready for the pack.

    Attributes:
        aim: float64[3, 3], rotation of the eyeball at rest.
        texture: uint8[256, 256, 3] BGR.
        gaze_deg: angle between the photographed gaze and straight ahead.
    """

    aim: F64
    texture: NDArray[np.uint8]
    gaze_deg: float


def _aim(direction: F64) -> F64:
    """The smallest rotation that turns +z into ``direction``."""
    axis = np.cross([0, 0, 1.0], direction)
    s, c = float(np.linalg.norm(axis)), float(direction[2])
    if s < 1e-9:
        return np.eye(3)
    k = axis / s
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.asarray(np.eye(3) + s * cross + (1 - c) * cross @ cross)


def _radial(dx: F64, dy: F64) -> tuple[F64, NDArray[np.int64]]:
    r = np.hypot(dx, dy)
    return r, np.minimum((r * REACH).astype(np.int64), int(REACH * 1.5))


def _profile(colour: F32, r_bin: NDArray[np.int64], use: NDArray[np.bool_], count: int) -> F32:
    """Median colour by distance from the pupil's centre, float32[count, 3]; gaps are interpolated."""
    out = np.full((count, 3), np.nan, np.float32)
    for i in range(count):
        hit = use & (np.abs(r_bin - i) <= 1)
        if hit.sum() >= 3:
            out[i] = np.median(colour[hit], 0)
    known = np.nonzero(~np.isnan(out[:, 0]))[0]
    if len(known) == 0:
        return np.full((count, 3), 40, np.float32)
    for k in range(3):
        out[:, k] = np.interp(np.arange(count), known, out[known, k])
    return out


def template_eye(template: Template, side: str) -> tuple[NDArray[np.uint8], float]:
    """The template's eye in this module's layout and its iris radius in eyeball radii."""
    piece = template.pieces[f"eye_{side}"]
    centre, radius = template.eyeball(side)
    local = (piece.verts - centre) / radius
    front = local[:, 2] > 0.2
    flat = np.concatenate([np.ones((front.sum(), 1)), local[front, :2]], 1)
    map_, *_ = np.linalg.lstsq(flat, piece.uv[front].astype(np.float64), rcond=None)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    dx, dy = (x + 0.5 - SIDE / 2) / REACH, -(y + 0.5 - SIDE / 2) / REACH
    texture = template.textures[piece.texture]
    uv = np.stack([np.ones_like(dx), dx, dy], -1) @ map_
    image = cv2.remap(
        texture, (uv[..., 0] * texture.shape[1] - 0.5).astype(np.float32), (uv[..., 1] * texture.shape[0] - 0.5).astype(np.float32),
        cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE,
    )[..., :3]  # fmt: skip
    _, r_bin = _radial(dx, dy)
    grey = _profile(image.astype(np.float32), r_bin, np.ones_like(r_bin, bool), int(REACH)).mean(1)
    start = int(0.3 * REACH)
    return image, float(start + np.argmax(np.diff(cv2.blur(grey[None], (5, 1))[0])[start : int(0.7 * REACH)])) / REACH


def eye_look(template: Template, fit: Fit, image: NDArray[np.uint8], face: Face, side: str) -> EyeLook:
    """Read one eye (``l`` or ``r``, the person's) from the photograph.

    Where the photograph shows the iris with fewer than ten pixels across its radius, the template's iris in the photograph's
    colours takes over by degrees: a magnified blur looks ill.
    """
    iris = face.irises[1 if side == "l" else 0]
    outline = face.points[list(EYE_LEFT if side == "l" else EYE_RIGHT), :2]
    centre, radius = fit.eyes[side]
    at = fit.lens.project(centre[None])[0]
    ball_px = radius * fit.lens.focal / (fit.lens.eye[2] - centre[2] - 0.8 * radius) / fit.scale
    middle = (at[:2] - fit.offset) / fit.scale
    flat = (np.array(iris.centre) - middle) / ball_px * np.array([1, -1])
    limit = np.sin(np.radians(GAZE_LIMIT_DEG))
    gaze = float(np.degrees(np.arcsin(min(1.0, float(np.linalg.norm(flat))))))
    if (length := float(np.linalg.norm(flat))) > limit:
        flat *= limit / length
    aim = _aim(np.array([*flat, np.sqrt(1 - float(flat @ flat))]))

    y, x = np.mgrid[0:SIDE, 0:SIDE]
    dx, dy = (x + 0.5 - SIDE / 2) / REACH, -(y + 0.5 - SIDE / 2) / REACH
    r, r_bin = _radial(dx, dy)
    inside = r < 0.97
    ray = np.stack([dx, dy, np.sqrt(np.maximum(1 - r**2, 0))], -1) @ aim.T
    spot_x = (middle[0] + ray[..., 0] * ball_px).astype(np.float32)
    spot_y = (middle[1] - ray[..., 1] * ball_px).astype(np.float32)
    colour = cv2.remap(image, spot_x - 0.5, spot_y - 0.5, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
    # Lashes and the lids' shadow live at the rim of the opening: only what lies well inside is eyeball.
    zoom = 8.0
    local = (outline - outline.mean(0)) * zoom
    half = int(np.abs(local).max()) + 8
    mask = polygon((2 * half, 2 * half), local + half)
    height = float(np.linalg.norm(outline[3] - outline[13])) * zoom
    rim = max(1, int(0.10 * height))
    mask = cv2.erode(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * rim + 1, 2 * rim + 1)))
    shown = cv2.remap(
        mask, ((spot_x - outline[:, 0].mean()) * zoom + half).astype(np.float32),
        ((spot_y - outline[:, 1].mean()) * zoom + half).astype(np.float32), cv2.INTER_LINEAR,
    )  # fmt: skip
    open_ = (shown > 127) & inside
    iris_r = float(np.clip(iris.radius / ball_px, *IRIS_LIMITS))
    grey = colour.mean(2)
    in_iris, in_white = r < iris_r, (r > iris_r * 1.12) & inside
    # White: mostly one flat colour, since the renderers shade it under the lids themselves.
    pool = open_ & in_white
    if pool.sum() > 30:
        bright = pool & (grey >= np.percentile(grey[pool], 45)) & (grey <= np.percentile(grey[pool], 97))
        white = np.median(colour[bright], 0)
    else:
        white = np.array([186, 190, 200], np.float32)
    flat_white = np.ones_like(colour) * white
    own = filled(np.where(pool[..., None], colour, flat_white), np.maximum(pool, ~inside).astype(np.float32))
    sclera = 0.65 * flat_white + 0.35 * own
    # Iris: the ring's own colour by radius; detail where the lids leave it free and no light is mirrored.
    ring = _profile(colour, r_bin, open_ & (r < iris_r * 1.1), int(REACH * 1.5) + 1)
    base = ring[r_bin]
    mirrored = cv2.dilate((grey > base.mean(2) + 28).astype(np.uint8), np.ones((5, 5))) > 0
    detail = cv2.GaussianBlur((open_ & ~mirrored & (r < iris_r)).astype(np.float32), (0, 0), 3)[..., None]
    disc = base * (1 - detail) + colour * detail
    edge = np.clip((r - iris_r * 0.97) / (iris_r * 0.10), 0, 1)[..., None]
    photo = disc * (1 - edge) + sclera * edge
    # The template's eye in these colours.
    model, model_r = template_eye(template, side)
    stretch = np.where(r < iris_r, r * model_r / iris_r, model_r + (r - iris_r) * (1 - model_r) / (1 - iris_r)) / np.maximum(r, 1e-6)
    drawn = cv2.remap(
        model, (SIDE / 2 - 0.5 + dx * stretch * REACH).astype(np.float32), (SIDE / 2 - 0.5 - dy * stretch * REACH).astype(np.float32),
        cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE,
    ).astype(np.float32)  # fmt: skip
    body = (r > 0.45 * iris_r) & (r < 0.85 * iris_r)
    tone = np.median(base[body], 0) / np.maximum(np.median(drawn[body], 0), 8)
    white_tone = white / np.maximum(np.median(drawn[in_white], 0), 8)
    gain = tone * (1 - edge) + white_tone * edge
    drawn = drawn * np.clip(gain, 0.2, 3.0)
    share = float(np.clip((10 - iris.radius) / 5, 0, 1))
    out = photo * (1 - share) + drawn * share
    return EyeLook(aim, np.clip(out, 0, 255).astype(np.uint8), gaze)
