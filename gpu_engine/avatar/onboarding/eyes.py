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
WHITE_COLOUR, WHITE_MOST = 0.35, 222.0
LID_DARK, LID_REACH_DM = 0.46, 0.085
"""The lid's shadow as renderers draw it: its darkest factor and how far down it reaches."""
MODEL_SHARE = 0.6
"""Largest share of the template's drawn iris: the rest stays the photograph's own softness."""


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
        texture,
        (uv[..., 0] * texture.shape[1] - 0.5).astype(np.float32),
        (uv[..., 1] * texture.shape[0] - 0.5).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )[..., :3]
    _, r_bin = _radial(dx, dy)
    grey = _profile(image.astype(np.float32), r_bin, np.ones_like(r_bin, bool), int(REACH)).mean(1)
    start = int(0.3 * REACH)
    return np.asarray(image, np.uint8), float(
        start + np.argmax(np.diff(cv2.blur(grey[None], (5, 1))[0])[start : int(0.7 * REACH)])
    ) / REACH


@dataclass(frozen=True, slots=True)
class _Sample:
    """One photographed eyeball in texture layout: what is seen where, and what was concluded from it."""

    aim: F64
    gaze_deg: float
    colour: F32
    open: NDArray[np.bool_]
    iris_r: float
    iris_px: float
    white: F32
    ring: F32


_Y, _X = np.mgrid[0:SIDE, 0:SIDE]
_DX, _DY = (_X + 0.5 - SIDE / 2) / REACH, -(_Y + 0.5 - SIDE / 2) / REACH
_R, _BIN = _radial(_DX, _DY)
_INSIDE = _R < 0.97


def _unshaded(colour: F32, opening: NDArray[np.bool_], radius: float) -> F32:
    """Colours as they are before the upper lid's shadow, which the renderers put on again (``CpuRenderer._set_shade``)."""
    lid = np.where(opening, _DY, -np.inf).max(0)
    lid[~np.isfinite(lid)] = 1.0
    shade = LID_DARK + (1 - LID_DARK) * np.clip((lid[None, :] - _DY) * radius / LID_REACH_DM, 0, 1)
    return np.asarray(np.minimum(colour / np.maximum(shade, 0.62)[..., None], 255), np.float32)


def _sample(fit: Fit, image: NDArray[np.uint8], face: Face, side: str) -> _Sample:
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
    ray = np.stack([_DX, _DY, np.sqrt(np.maximum(1 - _R**2, 0))], -1) @ aim.T
    spot_x = (middle[0] + ray[..., 0] * ball_px).astype(np.float32)
    spot_y = (middle[1] - ray[..., 1] * ball_px).astype(np.float32)
    colour = cv2.remap(image, spot_x - 0.5, spot_y - 0.5, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
    # Lashes and the lids' shadow live at the rim of the opening: only what lies well inside is eyeball.
    zoom = 8.0
    local = (outline - outline.mean(0)) * zoom
    half = int(np.abs(local).max()) + 8
    opening = polygon((2 * half, 2 * half), local + half)
    rim = max(1, int(0.10 * float(np.linalg.norm(outline[3] - outline[13])) * zoom))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * rim + 1, 2 * rim + 1))
    mask_x = ((spot_x - outline[:, 0].mean()) * zoom + half).astype(np.float32)
    mask_y = ((spot_y - outline[:, 1].mean()) * zoom + half).astype(np.float32)
    wide, shown = (
        cv2.remap(np.asarray(m, np.uint8), mask_x, mask_y, cv2.INTER_LINEAR) for m in (opening, cv2.erode(opening, kernel))
    )
    colour = _unshaded(colour, wide > 127, radius)
    seen = (shown > 127) & _INSIDE
    iris_r = float(np.clip(iris.radius / ball_px, *IRIS_LIMITS))
    grey = colour.mean(2)
    pool = seen & (iris_r * 1.12 < _R)
    white = np.array([186, 190, 200], np.float32)
    if pool.sum() > 30:
        low, high = np.percentile(grey[pool], (60, 97))
        white = np.median(colour[pool & (grey >= low) & (grey <= high)], 0)
    ring = _profile(colour, _BIN, seen & (iris_r * 1.1 > _R), int(REACH * 1.5) + 1)
    return _Sample(aim, gaze, colour, seen, iris_r, iris.radius, white, ring)


def eye_looks(template: Template, fit: Fit, image: NDArray[np.uint8], face: Face) -> dict[str, EyeLook]:
    """Read both eyes (``l`` and ``r``, the person's) from the photograph.

    Both irises share size and colours, as nearly everybody's do: a mirrored lamp or a shadow in one eye does no harm then.
    Where the photograph shows the iris with fewer than ten pixels across its radius, the template's iris in the photograph's
    colours takes over by degrees: a magnified blur looks ill.
    """
    samples = {side: _sample(fit, image, face, side) for side in ("l", "r")}
    iris_r = float(np.mean([s.iris_r for s in samples.values()]))
    base = np.mean([s.ring for s in samples.values()], 0)[_BIN]
    white = np.mean([s.white for s in samples.values()], 0)
    # Small eyes take colour from sky and lashes: little of it is believed, and the light that tints the skin tints the white.
    cheeks = np.clip(face.points[[50, 205, 280, 425], :2].astype(int), 0, (image.shape[1] - 1, image.shape[0] - 1))
    skin = np.median(image[cheeks[:, 1], cheeks[:, 0]].astype(np.float64), 0)
    level = min(float(white.mean()), WHITE_MOST)
    white = level * (
        WHITE_COLOUR * white / max(float(white.mean()), 1.0) + (1 - WHITE_COLOUR) * (0.75 + 0.25 * skin / skin.mean())
    )
    white = np.minimum(white, 240).astype(np.float32)
    edge = np.clip((_R - iris_r * 0.97) / (iris_r * 0.10), 0, 1)[..., None]
    body = (0.45 * iris_r < _R) & (0.85 * iris_r > _R)
    looks = {}
    for side, s in samples.items():
        # White: mostly one flat colour, since the renderers shade it under the lids themselves.
        pool = s.open & (iris_r * 1.12 < _R)
        flat_white = np.ones_like(s.colour) * white
        own = filled(
            np.where(pool[..., None], s.colour, flat_white).astype(np.float32), np.maximum(pool, ~_INSIDE).astype(np.float32)
        )
        sclera = 0.85 * flat_white + 0.15 * np.minimum(own, flat_white)
        # Iris: the shared ring by radius; detail where the lids leave it free and no light is mirrored.
        mirrored = cv2.dilate((np.abs(s.colour.mean(2) - base.mean(2)) > 26).astype(np.uint8), np.ones((5, 5))) > 0
        detail = cv2.GaussianBlur((s.open & ~mirrored & (iris_r > _R)).astype(np.float32), (0, 0), 3)[..., None]
        photo = (base * (1 - detail) + s.colour * detail) * (1 - edge) + sclera * edge
        # The template's eye in these colours.
        model, model_r = template_eye(template, side)
        outer = model_r + (_R - iris_r) * (1 - model_r) / (1 - iris_r)
        stretch = np.where(iris_r > _R, _R * model_r / iris_r, outer) / np.maximum(_R, 1e-6)
        drawn = cv2.remap(
            model,
            (SIDE / 2 - 0.5 + _DX * stretch * REACH).astype(np.float32),
            (SIDE / 2 - 0.5 - _DY * stretch * REACH).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        ).astype(np.float32)
        tone = np.median(base[body], 0) / np.maximum(np.median(drawn[body], 0), 8)
        white_tone = white / np.maximum(np.median(drawn[_INSIDE & (iris_r * 1.12 < _R)], 0), 8)
        drawn = drawn * np.clip(tone * (1 - edge) + white_tone * edge, 0.2, 3.0)
        share = float(np.clip((10 - s.iris_px) / 5, 0, MODEL_SHARE))
        out = photo * (1 - share) + drawn * share
        looks[side] = EyeLook(s.aim, np.clip(out, 0, 255).astype(np.uint8), s.gaze_deg)
    return looks
