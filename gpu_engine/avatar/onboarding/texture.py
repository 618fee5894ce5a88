"""The skin texture: the photograph read through the fitted mesh into the template's UV layout."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, LIPS_INNER, LIPS_OUTER, Face
from gpu_engine.avatar.onboarding.cover import Cover, cover
from gpu_engine.avatar.onboarding.fit import Fit
from gpu_engine.avatar.onboarding.template import Template

F32 = NDArray[np.float32]
EYE_HOLE_UPPER, EYE_HOLE_LOWER = 0.86, 1.06
"""What is painted over of an eye's opening: the line of the upper lashes stays with the skin, the wet rim below does not."""
LID_REACH, LID_FEATHER = 0.012, 0.008
"""How far beyond the spread skin the lid is replaced, and how softly; shares of the texture's side."""
LID_SOURCE, LID_ODD, LID_SLOPE = 0.55, 0.2, 0.6
"""Radius around an eye, in eye distances, whose skin says how a lid looks; what is further off, as a
logarithm, is no skin; and how much of the slope of its brightness is believed over the lid itself."""
LID_GRAIN, LID_BULGE = 0.012, 0.04


def filled(colour: F32, weight: F32) -> F32:
    """Colours float32[h, w, k] where ``weight`` float32[h, w] is 1, smoothly continued where it is 0 (push and pull)."""

    def sized(a: NDArray[Any], shape: tuple[int, ...], how: int) -> F32:
        # cv2 drops a last axis of one.
        return np.asarray(cv2.resize(a, (shape[1], shape[0]), interpolation=how), np.float32).reshape(*shape[:2], *a.shape[2:])

    levels = [(colour * weight[..., None], weight)]
    while min(levels[-1][1].shape) > 2:
        rows, cols = levels[-1][1].shape
        half = (-(-rows // 2), -(-cols // 2))
        levels.append((sized(levels[-1][0], half, cv2.INTER_AREA), sized(levels[-1][1], half, cv2.INTER_AREA)))
    out = levels[-1][0] / np.maximum(levels[-1][1], 1e-6)[..., None]
    for part, share in reversed(levels[:-1]):
        up = sized(out, share.shape, cv2.INTER_LINEAR)
        sure = np.minimum(share, 1)[..., None]
        out = part / np.maximum(share, 1e-6)[..., None] * sure + up * (1 - sure)
    return np.asarray(out, np.float32)


def polygon(shape: tuple[int, ...], points: NDArray[np.floating]) -> NDArray[np.uint8]:
    """uint8[h, w], 255 inside a closed outline given in pixels."""
    mask = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(points * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    return mask


def bare_skin(image: NDArray[np.uint8], face: Face, mouth_open: bool) -> NDArray[np.uint8]:
    """The photograph without what is not skin: eyeballs, and teeth where the mouth is open, painted over from around."""
    out: NDArray[np.uint8] = image.copy()
    gap = face.eye_distance
    x0, y0 = np.maximum(face.points[:, :2].min(0).astype(int) - int(gap), 0)
    x1, y1 = face.points[:, :2].max(0).astype(int) + int(gap)
    part: NDArray[np.uint8] = out[y0:y1, x0:x1]
    hole: NDArray[np.uint8] = np.zeros(part.shape[:2], np.uint8)
    for outline in (EYE_RIGHT, EYE_LEFT):
        eye = face.points[list(outline), :2]
        from_middle = eye - eye.mean(0)
        share = np.where(from_middle[:, 1:] > 0, EYE_HOLE_LOWER, EYE_HOLE_UPPER)
        hole |= polygon(part.shape, eye.mean(0) + from_middle * share - (x0, y0))
    hole = (hole > 127).astype(np.uint8)
    part = np.asarray(cv2.inpaint(part, hole, 3, cv2.INPAINT_TELEA), np.uint8)
    if mouth_open:
        lips = face.points[:, :2] - (x0, y0)
        inner = (polygon(part.shape, lips[list(LIPS_INNER)]) > 60).astype(np.uint8)
        inner = np.asarray(cv2.dilate(inner, np.ones((3, 3), np.uint8)), np.uint8)
        ring = (polygon(part.shape, lips[list(LIPS_OUTER)]) > 200).astype(np.float32) * (1 - inner)
        # Only lips may flow in, not the skin beside them.
        colour = filled(part.astype(np.float32), np.asarray(cv2.erode(ring, np.ones((2, 2))), np.float32))
        soft = cv2.GaussianBlur(inner.astype(np.float32), (0, 0), max(0.6, gap * 0.012))[..., None]
        soft = np.maximum(soft, inner[..., None])
        part = (part * (1 - soft) + colour * soft).astype(np.uint8)
    out[y0:y1, x0:x1] = part
    return out


def lid_triangles(template: Template, fit: Fit) -> NDArray[np.bool_]:
    """bool[t]: skin triangles that a blink spreads far beyond what the photograph shows of them."""
    piece = template.pieces["skin"]
    flat = fit.photographed[:, :2]

    def areas(screen: NDArray[np.floating]) -> NDArray[np.float64]:
        a, b, c = (screen[piece.tris[:, i]] for i in range(3))
        return np.asarray((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))

    rest = areas(flat)
    lid = np.zeros(len(piece.tris), bool)
    for side in ("Left", "Right"):
        delta = fit.targets["skin"].get(f"eyeBlink{side}")
        if delta is None:
            continue
        shut = areas(fit.lens.project(fit.verts["skin"] + delta)[:, :2])
        moved = np.abs(delta[piece.tris]).max((1, 2)) > 0.004
        lid |= moved & (np.abs(shut) > 1.8 * np.maximum(np.abs(rest) * np.sign(rest * shut), 0)) & (np.abs(shut) > 0.2)
    return lid


def _inner_lips(template: Template, fit: Fit, face: Face, seen: Cover, spot: F32, colour: F32) -> F32:
    """Lips where the photograph hides them (between open lips, turned inwards): the template's, in the photograph's colour."""
    piece = template.pieces["skin"]
    lips = face.points[:, :2]
    outer = lips[list(LIPS_OUTER)]
    x0, y0 = np.floor(outer.min(0) - 4).astype(int)
    x1, y1 = np.ceil(outer.max(0) + 4).astype(int)
    zoom = 4.0
    shape = (int((y1 - y0) * zoom), int((x1 - x0) * zoom))
    masks = []
    for outline in (LIPS_OUTER, LIPS_INNER):
        inside = polygon(shape, (lips[list(outline)] - (x0, y0)) * zoom)
        masks.append(
            cv2.remap(
                inside,
                ((spot[..., 0] - x0) * zoom).astype(np.float32),
                ((spot[..., 1] - y0) * zoom).astype(np.float32),
                cv2.INTER_LINEAR,
            )
        )
    side = colour.shape[0]
    texture = template.textures[piece.texture][..., :3]
    own = cv2.resize(texture, (side, side), interpolation=cv2.INTER_AREA).astype(np.float32)
    within, gap = masks[0] > 127, masks[1] > 127
    flat = fit.photographed[:, :2]
    a, b, c = (flat[piece.tris[:, i]] for i in range(3))
    away = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]) > -0.02
    hidden = np.zeros(colour.shape[:2], bool)
    hidden[seen.ids >= 0] = away[seen.ids[seen.ids >= 0]]
    shown = within & ~gap & ~hidden & (seen.ids >= 0)
    if shown.sum() < 50:
        return colour
    gain = np.clip(np.median(colour[shown], 0) / np.maximum(np.median(own[shown], 0), 8), 0.4, 1.8)
    replaced = (within & (hidden | (gap if fit.expression else hidden))).astype(np.float32)
    reach = 0.010 if fit.expression else 0.003
    size = max(3, int(side * reach)) | 1
    replaced = np.asarray(cv2.dilate(replaced, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))), np.float32)
    soft = cv2.GaussianBlur(replaced, (0, 0), side * reach * 0.5)[..., None]
    return np.asarray(colour * (1 - soft) + own * gain * soft, np.float32)


def _lids(template: Template, face: Face, spot: F32, colour: F32, known: F32, hidden: F32) -> F32:
    """Upper lids as they look when closed: in the light and colour of the skin around, with the template's crease and grain.

    An open eye shows its lid as a dark fold. The colour of bare skin, from under the brow to the cheek, is continued over the
    lid: gradients go on, and at the edge both agree. Of the template only fine brightness is taken: its tone is another's.
    """
    side = colour.shape[0]
    texture = template.textures[template.pieces["skin"].texture][..., :3]
    own = cv2.resize(texture, (side, side), interpolation=cv2.INTER_AREA).astype(np.float32)
    reach = int(side * LID_REACH) | 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    wide = np.asarray(cv2.dilate(hidden, kernel), np.float32)
    soft = cv2.GaussianBlur(wide, (0, 0), side * LID_FEATHER)[..., None]
    wide = np.asarray(cv2.dilate(wide, kernel), np.float32)
    bare = known * (1 - wide)
    tone = cv2.GaussianBlur(np.log(colour + 4), (0, 0), side * 0.002)
    smooth = np.zeros_like(tone)
    middle = face.points[6, 0]
    for outline in (EYE_RIGHT, EYE_LEFT):
        eye = face.points[list(outline), :2].mean(0)
        at = (spot - eye) / face.eye_distance
        mine = (spot[..., 0] < middle) == (eye[0] < middle)
        near = (bare > 0.5) & mine & (np.hypot(at[..., 0] * 1.7, at[..., 1]) < LID_SOURCE)
        if near.sum() < 100:
            continue
        # From brow bone and cheek more than from temple and nose, which are lit otherwise.
        # Brows, lashes and moles of either face are outliers of a slope: three rounds leave them out.
        flat = np.stack([np.ones_like(at[..., 0]), at[..., 0], at[..., 1]], -1)
        used = near
        for _ in range(3):
            slope = np.linalg.lstsq(flat[used], tone[used], rcond=None)[0]
            off = np.abs(tone - flat @ slope).mean(-1)
            used = near & (off <= np.percentile(off[near], 60))
        slope[1:] *= LID_SLOPE
        slope[0] = np.median(tone[used] - flat[used, 1:] @ slope[1:], 0) + LID_BULGE
        smooth[mine] = (flat @ slope)[mine]
        odd = cv2.dilate((mine & (off > LID_ODD)).astype(np.uint8), kernel) > 0
        bare[odd & mine] = 0
    rest = filled(np.clip(tone - smooth, -LID_ODD, LID_ODD).astype(np.float32), bare.astype(np.float32))
    grey = np.log(own.mean(-1) + 4)
    grain = np.clip(grey - cv2.GaussianBlur(grey, (0, 0), side * LID_GRAIN), -0.04, 0.04)[..., None]
    lid = np.exp(smooth + cv2.GaussianBlur(rest, (0, 0), side * 0.012) + grain) - 4
    return np.asarray(colour * (1 - soft) + lid * soft, np.float32)


def skin_texture(template: Template, fit: Fit, image: NDArray[np.uint8], face: Face, side: int) -> NDArray[np.uint8]:
    """uint8[side, side, 3] BGR in the template's UV layout.

    Args:
        image: the photograph uint8[h, w, 3] BGR.
        side: pixels of a side.
    """
    piece = template.pieces["skin"]
    clean = bare_skin(image, face, bool(fit.expression))
    seen = cover(piece.uv * side, piece.tris, side, side)
    at = (fit.photographed[:, :2] - fit.offset) / fit.scale
    spot = seen.blend(at)
    colour = cv2.remap(clean, spot[..., 0] - 0.5, spot[..., 1] - 0.5, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    known = (seen.ids >= 0).astype(np.float32)
    lids = lid_triangles(template, fit)
    hidden = np.zeros_like(known)
    hidden[seen.ids >= 0] = lids[seen.ids[seen.ids >= 0]]
    out = colour.astype(np.float32)
    out = _lids(template, face, spot, out, known, hidden)
    out = _inner_lips(template, fit, face, seen, spot, out)
    out = filled(out.astype(np.float32), known)
    return np.clip(out, 0, 255).astype(np.uint8)
