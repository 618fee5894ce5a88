"""Hair, neck and clothes as one layer of the photograph that bends with the joints, under the face mesh.

At rest the layer and the mesh show the same picture, and along the mesh's border they move alike; so there is no seam to
hide, and a turning head uncovers nothing, because the layer goes on behind the face.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import OVAL
from gpu_engine.avatar.onboarding.cover import cover
from gpu_engine.avatar.onboarding.fit import Fit
from gpu_engine.avatar.onboarding.texture import filled, polygon
from gpu_engine.avatar.skeleton import JOINT_NUMBER
from gpu_engine.avatar.writer import PlateSource

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
CELL = 12
MAX_NODES = 8000
HEAD_DEPTH_DM, BODY_DEPTH_DM = 0.15, 0.35
"""Where hair and shoulders lie before and behind the head joint."""
FADE_SHARE = 0.025
RIM_SHARE = 0.08
"""A border this near to the face's outline, in face widths, is the mesh's outer one; further in lie eyes and mouth."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """The picture in canvas pixels, shifted so that everything lies at positive places.

    Attributes:
        image: uint8[h, w, 3] BGR; alpha: float32[h, w].
        shift: float64[2], canvas px of this picture's corner are template canvas px plus ``shift``.
    """

    image: NDArray[np.uint8]
    alpha: F32
    shift: F64


def to_canvas(fit: Fit, image: NDArray[np.uint8], alpha: F32) -> Canvas:
    """Resample photograph and matte to canvas pixels; edges where the person is cut by the picture fade out softly."""
    height, width = image.shape[:2]
    fade = np.ones((height, width), np.float32)
    rim = max(2, int(FADE_SHARE * max(height, width)))
    ramp = np.minimum((np.arange(width) + 0.5) / rim, 1).astype(np.float32)
    fade *= np.minimum(ramp, ramp[::-1])[None]
    fade *= np.minimum((np.arange(height) + 0.5) / rim, 1).astype(np.float32)[:, None]
    fade = fade * fade * (3 - 2 * fade)
    size = (int(np.ceil(width * fit.scale)), int(np.ceil(height * fit.scale)))
    how = cv2.INTER_AREA if fit.scale < 1 else cv2.INTER_CUBIC
    return Canvas(
        np.asarray(cv2.resize(image, size, interpolation=how), np.uint8),
        np.clip(cv2.resize(alpha * fade, size, interpolation=how), 0, 1).astype(np.float32),
        -fit.offset,
    )


def _step(x: NDArray[np.floating]) -> F64:
    t = np.clip(x, 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float64)


def joint_shares(fit: Fit, at: NDArray[np.floating]) -> F64:
    """float64[n, 3], shares of head, neck and upper spine in the motion at canvas px float[n, 2]."""
    chin, top = fit.points[152], fit.points[10]
    height, width = float(chin[1] - top[1]), float(fit.points[454, 0] - fit.points[234, 0])
    below = (at[:, 1] - chin[1]) / height
    aside = np.abs(at[:, 0] - (fit.points[454, 0] + fit.points[234, 0]) / 2) / width
    # Beside and below the jaw the shoulders begin; above it everything is head.
    lateral = 1 - _step((aside - 0.75) / 0.5) * _step((below + 0.1) / 0.2)
    head = (1 - _step((below - 0.02) / 0.40)) * lateral
    neck = (1 - head) * (1 - _step((below - 0.30) / 0.45)) * lateral
    return np.stack([head, neck, 1 - head - neck], 1)


def packed(shares: F64) -> tuple[NDArray[np.int64], F64]:
    """Joint numbers int[n, 4] and weights float[n, 4] of shares from ``joint_shares``."""
    numbers = [JOINT_NUMBER[n] for n in ("head", "neck", "spine3")]
    return np.tile([*numbers, 0], (len(shares), 1)), np.concatenate([shares, np.zeros((len(shares), 1))], 1)


def face_triangles(fit: Fit, tris: NDArray[np.int32], canvas: Canvas) -> tuple[NDArray[np.bool_], F64]:
    """What of the skin the mesh keeps: the face, a margin around it, and the throat down to where nothing moves.

    Returns:
        bool[t], triangles kept; float64[n], per vertex 0 within the face rising to 1 at the border.
    """
    verts = fit.verts["skin"]
    at = fit.lens.project(verts)
    height, width = canvas.alpha.shape
    outline = fit.points[list(OVAL)] + canvas.shift
    oval = polygon((height, width), outline)
    outside = cv2.distanceTransform((oval < 128).astype(np.uint8), cv2.DIST_L2, 5)
    inside = cv2.distanceTransform((oval >= 128).astype(np.uint8), cv2.DIST_L2, 5)
    face_w = float(np.ptp(fit.points[list(OVAL), 0]))
    spot = np.round(at[:, :2] + canvas.shift).astype(int)
    within = ((spot >= 0) & (spot < (width, height))).all(1)
    spot = np.clip(spot, 0, (width - 1, height - 1))
    distance = outside[spot[:, 1], spot[:, 0]]
    drop = (at[:, 1] - fit.points[1, 1]) / max(1.0, float(fit.points[152, 1] - fit.points[1, 1]))
    reach = face_w * (0.045 + 0.20 * np.clip(drop, 0, 1) ** 2 * (np.abs(at[:, 0] - fit.points[152, 0]) < 0.42 * face_w))
    solid = cv2.erode((canvas.alpha > 0.9).astype(np.uint8), np.ones((5, 5)))
    fine = within & (distance < reach) & (solid[spot[:, 1], spot[:, 0]] > 0)
    back = float(np.median(verts[distance == 0][:, 2])) - 1.1
    fine &= verts[:, 2] > back
    normal = np.cross(verts[tris[:, 1]] - verts[tris[:, 0]], verts[tris[:, 2]] - verts[tris[:, 0]])
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-12)
    inner = distance[tris].max(1) <= 0
    keep = np.asarray(fine[tris].all(1) & (inner | (normal[:, 2] / length > -0.75)))
    # Distance to the border by the mesh itself: what triangles were dropped for decides, not the outline alone.
    edge = np.clip(distance / np.maximum(reach, 1e-6), 0, 1)
    count = np.bincount(tris[keep].ravel(), minlength=len(verts))
    lost = np.bincount(tris[~keep].ravel(), minlength=len(verts))
    rim = inside[spot[:, 1], spot[:, 0]] < RIM_SHARE * face_w
    edge[(count > 0) & (lost > 0) & rim] = 1.0
    used = tris[keep]
    for _ in range(6):
        # A border must not begin abruptly: neighbours share it, less from ring to ring.
        ring = np.zeros_like(edge)
        np.maximum.at(ring, used, edge[used].max(1, keepdims=True))
        edge = np.maximum(edge, 0.78 * ring)
    return keep, edge


def bind_border(fit: Fit, verts: F64, edge: F64, plate: PlateSource, canvas: Canvas) -> F64:
    """Vertices float64[n, 3] with their depth eased into the layer's towards the border, unmoved on the canvas."""
    at = fit.lens.project(verts)
    spot = (at[:, :2] + canvas.shift - plate.box[:2]) / plate.cell
    rows, cols = plate.depth.shape
    base = np.clip(np.floor(spot), 0, (cols - 2, rows - 2)).astype(int)
    f = np.clip(spot - base, 0, 1)
    d, (ix, iy), (fx, fy) = plate.depth, base.T, f.T
    below = (d[iy, ix] * (1 - fx) + d[iy, ix + 1] * fx) * (1 - fy) + (d[iy + 1, ix] * (1 - fx) + d[iy + 1, ix + 1] * fx) * fy
    share = _step(edge)
    at[:, 2] = at[:, 2] * (1 - share) + below * share
    return fit.lens.lift(at)


def person_plate(fit: Fit, canvas: Canvas, rest: NDArray[np.uint8], covered: NDArray[np.bool_], mesh_depth: F32) -> PlateSource:
    """The layer ``person``.

    Args:
        rest: uint8[h, w, 3], the mesh at rest drawn over the canvas picture.
        covered: bool[h, w], where the mesh draws; mesh_depth: float32[h, w], its z there.
    """
    x, y, w, h = cv2.boundingRect((canvas.alpha > 1 / 255).astype(np.uint8))
    cell = CELL
    while (w // cell + 3) * (h // cell + 3) > MAX_NODES:
        cell += 4
    cols, rows = -(-w // cell) + 1, -(-h // cell) + 1
    box = (x, y, x + (cols - 1) * cell, y + (rows - 1) * cell)
    bgra = np.zeros((box[3] - box[1], box[2] - box[0], 4), np.uint8)
    cut = np.s_[y : y + h, x : x + w]
    inner = cv2.erode(covered.astype(np.uint8), np.ones((7, 7))).astype(np.float32)
    soft = cv2.GaussianBlur(inner, (0, 0), 2)[..., None]
    mixed = canvas.image * (1 - soft) + rest * soft
    bgra[:h, :w, :3] = mixed[cut]
    bgra[:h, :w, 3] = np.round(canvas.alpha[cut] * 255)
    # Colour goes on a little beyond the edge, for viewers that filter before they mix; further out it would only cost bytes.
    bgra[cv2.dilate(bgra[..., 3], np.ones((17, 17))) == 0] = 0
    nodes = np.stack(np.meshgrid(box[0] + np.arange(cols) * cell, box[1] + np.arange(rows) * cell), -1).astype(np.float64)
    flat = nodes.reshape(-1, 2) - canvas.shift
    shares = joint_shares(fit, flat)
    numbers, weights = packed(shares)
    # Depth: the mesh's own where it is, falling off to the depth of hair and shoulders away from it.
    quarter = (max(2, canvas.alpha.shape[1] // 4), max(2, canvas.alpha.shape[0] // 4))
    known = cv2.resize(covered.astype(np.float32), quarter, interpolation=cv2.INTER_AREA)
    known = (known > 0.99).astype(np.float32)
    depth = cv2.resize(np.where(covered, mesh_depth, 0).astype(np.float32), quarter, interpolation=cv2.INTER_AREA)
    smooth = filled(np.asarray(depth, np.float32)[..., None], np.asarray(known, np.float32))[..., 0]
    away = cv2.distanceTransform((known < 0.5).astype(np.uint8), cv2.DIST_L2, 5) * 4
    head_z = float(fit.joints[JOINT_NUMBER["head"], 2])
    fall = np.exp(-((away / (0.22 * float(fit.points[454, 0] - fit.points[234, 0]))) ** 1.5))
    at = np.clip(nodes.reshape(-1, 2) / 4, 0, (quarter[0] - 1, quarter[1] - 1)).astype(int)
    base = head_z + HEAD_DEPTH_DM * shares[:, 0] + BODY_DEPTH_DM * shares[:, 2]
    share = fall[at[:, 1], at[:, 0]]
    z = smooth[at[:, 1], at[:, 0]] * share + base * (1 - share)
    shape = (rows, cols)
    return PlateSource(
        "person", "under", bgra, box, cell, z.reshape(shape), numbers.reshape(*shape, 4), weights.reshape(*shape, 4)
    )


def mesh_cover(fit: Fit, verts: F64, tris: NDArray[np.int32], canvas: Canvas) -> tuple[NDArray[np.bool_], F32]:
    """Where triangles lie on the canvas and their z."""
    screen = fit.lens.project(verts)
    screen[:, :2] += canvas.shift
    seen = cover(screen, tris, canvas.alpha.shape[1], canvas.alpha.shape[0])
    return seen.ids >= 0, seen.depth
