"""Puts the fitted head together as a pack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import Face
from gpu_engine.avatar.onboarding.atlas import build_atlas, kept
from gpu_engine.avatar.onboarding.eyes import EyeLook, eye_looks
from gpu_engine.avatar.onboarding.fit import MOUTH_PIECES, Fit, fit_head
from gpu_engine.avatar.onboarding.matte import own_colours, person_matte
from gpu_engine.avatar.onboarding.plates import (
    Canvas,
    bind_border,
    face_triangles,
    joint_shares,
    mesh_cover,
    packed,
    person_plate,
    to_canvas,
)
from gpu_engine.avatar.onboarding.posed import draw
from gpu_engine.avatar.onboarding.template import Template
from gpu_engine.avatar.onboarding.texture import skin_texture
from gpu_engine.avatar.onboarding.tone import even_light
from gpu_engine.avatar.skeleton import JOINT_NUMBER, SKELETON
from gpu_engine.avatar.writer import MaterialSource, PackSource, PieceSource

F64 = NDArray[np.float64]
STAGES = ("fit", "cut out", "skin", "eyes", "layers", "write")
"""What ``on_stage`` is told, in order; looking for the face comes before."""
LIMITS_DEG = {"head": 8.0, "neck": 4.0, "spine1": 2.0, "spine2": 2.0, "spine3": 2.0}
"""Half the reach of a modelled presenter: a photograph has no sides."""
TEETH_SHADE = 0.62
SKIN_SIDES = (1024, 1536)


@dataclass(frozen=True, slots=True)
class Built:
    """The pack, and what a report says of it."""

    source: PackSource
    fit: Fit
    eyes: dict[str, EyeLook]


def _tone(template: Template, image: NDArray[np.uint8], face: Face) -> float:
    """How bright the photograph's skin is beside the template's; teeth and tongue are lit alike."""
    cheeks = [50, 280, 101, 330, 205, 425]
    gap = face.eye_distance
    values = []
    for x, y in face.points[cheeks, :2]:
        part = image[
            max(0, int(y - gap * 0.06)) : int(y + gap * 0.06) + 1, max(0, int(x - gap * 0.06)) : int(x + gap * 0.06) + 1
        ]
        if part.size:
            values.append(float(part.mean()))
    piece = template.pieces["skin"]
    texture = template.textures[piece.texture]
    front = piece.verts[:, 2] > np.percentile(piece.verts[:, 2], 70)
    spot = (piece.uv[front] * (texture.shape[1] - 1, texture.shape[0] - 1)).astype(int)
    own = float(np.median(texture[spot[:, 1], spot[:, 0], :3].mean(1)))
    return float(np.clip(float(np.median(values)) / max(own, 1.0), 0.55, 1.05)) if values else 1.0


def _framings(template: Template, fit: Fit, canvas: Canvas, canvas_w: int) -> dict[str, dict[str, float]]:
    """Frames filled from the picture's lower edge up, the head about as large as the template's."""
    bottom = float(np.nonzero(canvas.alpha.max(1) > 0.5)[0].max())
    top = float(np.nonzero(canvas.alpha.max(1) > 0.5)[0].min())
    made = {}
    for name, entry in template.info["framings"].items():
        height = float(entry["height_px"])
        room = 0.08 if name == "16:9" else 0.16
        scale = float(np.clip(height * (1 - room) / max(bottom - top, 1), entry["scale"], entry["scale"] * 2.2))
        # A little below the edge, so that no motion lifts it into the frame.
        low = height * 1.02 - scale * bottom
        high = height * room - scale * top
        made[name] = {
            "height_px": entry["height_px"],
            "scale": round(scale, 4),
            "centre_x": entry["centre_x"],
            "top_px": round(max(low, high) if scale * (bottom - top) < height * (1 - room) else min(high, max(low, high)), 1),
        }
    return made


def _skin(template: Template, fit: Fit, canvas: Canvas) -> tuple[PieceSource, F64]:
    """The skin piece and, per vertex, how near it is to the mesh's border (0 to 1)."""
    piece = template.pieces["skin"]
    keep, edge = face_triangles(fit, piece.tris, canvas)
    used, tris = np.unique(piece.tris[keep], return_inverse=True)
    verts, edge = fit.verts["skin"][used], edge[used]
    joints, weights = packed(joint_shares(fit, fit.lens.project(verts)[:, :2]))
    still = (1 - edge**2)[:, None]
    targets = {name: delta[used] * still for name, delta in fit.targets["skin"].items() if np.abs(delta[used]).max() > 1e-4}
    return PieceSource("skin", "mesh", "skin", verts, tris.reshape(-1, 3), piece.uv[used], joints, weights, None, targets), edge


def build(
    template: Template,
    image: NDArray[np.uint8],
    face: Face,
    *,
    name: str,
    display_name: dict[str, str],
    consent: dict[str, Any],
    origin: str,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> Built:
    """Make the pack of one photographed person.

    Args:
        image: the photograph uint8[h, w, 3] BGR, upright.
        face: its points.
        consent: the pack's consent record (``consent.pack_entry``).
        origin: what the licence says the picture is.
        on_stage: called before each of ``STAGES`` but the last; may raise to cancel.

    Raises:
        AvatarError: the template's own face is not recognised.
    """
    on_stage("fit")
    fit = fit_head(template, face)
    on_stage("cut out")
    alpha = person_matte(image, face)
    image = even_light(image, face)
    canvas = to_canvas(fit, own_colours(image, alpha), alpha)
    on_stage("skin")
    skin_px = SKIN_SIDES[1] if face.eye_distance > 110 else SKIN_SIDES[0]
    texture = skin_texture(template, fit, image, face, skin_px)
    on_stage("eyes")
    looks = eye_looks(template, fit, image, face)
    atlas = build_atlas(template, looks)
    on_stage("layers")
    tone = _tone(template, image, face)
    skin, edge = _skin(template, fit, canvas)
    head = [skin]
    rigid = np.array([JOINT_NUMBER["head"], 0, 0, 0])
    for key, piece in template.pieces.items():
        if not kept(piece):
            continue
        verts, shade = fit.verts[key], piece.shade
        if key.startswith("eye_"):
            side = key[-1]
            old, radius = template.eyeball(side)
            local = (piece.verts - old) / radius
            verts = fit.eyes[side][0] + local @ looks[side].aim.T * fit.eyes[side][1]
            uv = atlas.eye_uv(side, local)
            shade = (0.5 + 0.5 * shade / shade.max()).astype(np.float32)
        else:
            uv = atlas.uv(piece)
            if key in MOUTH_PIECES:
                shade = shade * np.float32(tone)
            if key.startswith("teeth_"):
                # Cheeks keep the light from the ends of a row; bright ends would show through the corners of rounded lips.
                aside = np.abs(verts[:, 0] - verts[:, 0].mean()) / (0.5 * max(float(np.ptp(verts[:, 0])), 1e-6))
                shade = shade * (1 - TEETH_SHADE * np.clip((aside - 0.35) / 0.55, 0, 1) ** 2).astype(np.float32)
        head.append(
            PieceSource(
                key,
                "mesh",
                "lashes" if piece.blend else "features",
                verts,
                piece.tris,
                uv,
                np.tile(rigid, (len(verts), 1)),
                np.tile([1.0, 0, 0, 0], (len(verts), 1)),
                np.minimum(shade, 1),
                dict(fit.targets[key]),
            )
        )
    plate = person_plate(fit, canvas, *_rest(template, fit, canvas, head, texture, atlas.image))
    pictured = cv2.imencode(".png", atlas.image)[1].tobytes()
    skin.verts = bind_border(fit, skin.verts, edge, plate, canvas)
    middle = float(fit.points[list(range(468)), 0].mean() + canvas.shift[0])
    canvas_w = min(4096, max(16, round(2 * middle)))
    canvas_h = min(4096, max(16, canvas.alpha.shape[0]))
    eyes = {side: {"centre": [float(v) for v in fit.eyes[side][0]], "radius": fit.eyes[side][1]} for side in ("l", "r")}
    source = PackSource(
        name=name,
        display_name=display_name,
        presents="a real person, from one photograph",
        licence={
            "spdx": "LicenseRef-person",
            "origin": f"{origin}; head geometry fitted from pack '{template.name}'",
            "attribution": str(consent.get("granted_by", "")),
        },
        consent=consent,
        camera={
            "focal_px": fit.lens.focal,
            "eye": [float(v) for v in fit.lens.eye],
            "principal": [float(v) for v in fit.lens.principal + canvas.shift],
            "canvas": [canvas_w, canvas_h],
        },
        framings=_framings(template, fit, canvas, canvas_w),
        joints=fit.joints,
        limits_deg={
            joint: min(LIMITS_DEG.get(joint, 180.0), float(template.info["limits_deg"].get(joint, 180.0)))
            for joint in SKELETON[1:]
        },
        gaze=template.info["gaze"],
        eyes=eyes,
        lash_columns=int(template.info["lash_columns"]),
        head=head,
        clothes=[],
        materials=[
            MaterialSource("skin", _jpeg(texture), roughness=0.5, specular=0.3, subsurface_mm=(3.7, 1.4, 0.7)),
            MaterialSource("features", pictured, two_sided=True, roughness=0.2),
            MaterialSource("lashes", pictured, blend=True, two_sided=True),
        ],
        plates=[plate],
        generator="lumihost onboarding 1",
    )
    return Built(source, fit, looks)


def _rest(
    template: Template, fit: Fit, canvas: Canvas, head: list[PieceSource], texture: NDArray[np.uint8], atlas: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.float32]]:
    """The mesh at rest over the canvas picture, where it draws, and its depth."""
    pieces = {
        p.name: replace(
            template.pieces[p.name],
            verts=np.asarray(p.verts, np.float32),
            tris=np.asarray(p.tris, np.int32),
            uv=np.asarray(p.uv),
            shade=np.ones(len(p.verts), np.float32) if p.shade is None else np.asarray(p.shade, np.float32),
            texture=0 if p.name == "skin" else 1,
        )
        for p in head
    }
    height, width = canvas.alpha.shape
    covered, depth = mesh_cover(fit, head[0].verts, np.asarray(head[0].tris, np.int32), canvas)
    x, y, w, h = cv2.boundingRect(covered.astype(np.uint8))
    side = max(w, h)
    drawn = Template(
        template.name,
        pieces,
        {0: np.asarray(cv2.cvtColor(texture, cv2.COLOR_BGR2BGRA), np.uint8), 1: atlas},
        template.joints,
        template.info,
    )
    origin = np.array([x, y]) - canvas.shift
    picture, _ = draw(drawn, fit.lens, {k: p.verts.astype(np.float64) for k, p in pieces.items()}, 1.0, origin, side)
    out = canvas.image.copy()
    bottom, right = min(height, y + side), min(width, x + side)
    place = np.s_[y:bottom, x:right]
    mask = covered[place][..., None]
    out[place] = np.where(mask, picture[: bottom - y, : right - x], out[place])
    return out, covered, depth


def _jpeg(image: NDArray[np.uint8]) -> bytes:
    return bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 92])[1].tobytes())
