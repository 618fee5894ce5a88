"""Front and back hair plates and the grids that bend them: ``python hair_plates.py DATA OUT --who NAME [--scale --spp]``.

Writes into ``OUT/NAME/``: ``hair_front.png`` and ``hair_back.png`` (straight alpha at canvas size, colour bled outward) and
``groom.npz``: ``points`` f16[n, k, 3] dm, ``back`` bool[n], ``cell`` px, and for p in (front, back) ``p_depth`` f32[rows, cols]
dm and ``p_weights`` f32[rows, cols, 2] (head, neck; what is left to one is the upper spine's) at the canvas grid's nodes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import framing as fr
import numpy as np
from hair.scalp import Head
from scipy.ndimage import distance_transform_edt, gaussian_filter, grey_closing, maximum_filter

if TYPE_CHECKING:
    import bpy

CELL = 16
"""Grid pitch in canvas pixels (0.76 mm of hair moves with each node of a 210 px/dm canvas)."""
MARGIN = 24


def project(p: np.ndarray) -> np.ndarray:
    """Canvas pixels f64[n, 2] of points f64[n, 3] dm."""
    k = fr.FOCAL_PX / (fr.CAMERA_Z - p[:, 2])
    return np.stack([fr.PRINCIPAL[0] + p[:, 0] * k, fr.PRINCIPAL[1] - (p[:, 1] - fr.CAMERA_Y) * k], 1)


def bleed(image: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Straight BGRA u8 whose transparent pixels carry the colour of the nearest hair, so no filter can draw a halo.

    ``sampled`` u8[h, w] is the opacity with which the colour was rendered: where it was thin, colour comes from around.
    """
    colour, alpha = image[..., :3].astype(np.float32), sampled.astype(np.float32) / 255
    # Thin edges are dithered by the sampler; their colour is taken from the hair around them.
    near = cv2.GaussianBlur(alpha, (0, 0), 2.0)
    around = cv2.GaussianBlur(colour * alpha[..., None], (0, 0), 2.0) / np.maximum(near, 1e-4)[..., None]
    share = np.clip(alpha / 0.5, 0, 1)[..., None]
    out = np.where(near[..., None] > 2e-3, colour * share + around * (1 - share), 0)
    known = (near > 2e-3).astype(np.float32)
    for sigma in (6, 18, 54):
        weight = cv2.GaussianBlur(known, (0, 0), sigma)
        fill = cv2.GaussianBlur(out * known[..., None], (0, 0), sigma) / np.maximum(weight, 1e-6)[..., None]
        new = (known == 0) & (weight > 1e-3)
        out[new] = fill[new]
        known[new] = 1
    return np.dstack([np.clip(out + 0.5, 0, 255), image[..., 3]]).astype(np.uint8)


def _cells(points: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Node row and column and depth of every point on the grid."""
    px = project(points)
    col, row = np.round(px[:, 0] / CELL).astype(int), np.round(px[:, 1] / CELL).astype(int)
    ok = (col >= 0) & (col < shape[1]) & (row >= 0) & (row < shape[0])
    return row[ok], col[ok], points[ok, 2]


def _quantile(row: np.ndarray, col: np.ndarray, z: np.ndarray, shape: tuple[int, int], share: float) -> np.ndarray:
    """The ``share`` quantile of depth in each cell, NaN where fewer than three points fall."""
    cell = row * shape[1] + col
    order = np.lexsort((z, cell))
    cell, z = cell[order], z[order]
    ids, first, count = np.unique(cell, return_index=True, return_counts=True)
    pick = first + np.round((count - 1) * share).astype(int)
    out = np.full(shape[0] * shape[1], np.nan)
    out[ids[count >= 3]] = z[pick][count >= 3]
    return out.reshape(shape)


def _spread(values: np.ndarray) -> np.ndarray:
    """Fill NaN cells outward from the known ones, then soften."""
    have = np.isfinite(values).astype(float)
    depth = np.nan_to_num(values)
    for sigma in (0.8, 2, 5, 12, 40):
        weight = gaussian_filter(have, sigma)
        blurred = gaussian_filter(depth * have, sigma) / np.maximum(weight, 1e-6)
        fill = (have == 0) & (weight > 1e-4)
        depth[fill] = blurred[fill]
        have[fill] = 1
    return gaussian_filter(depth, 1.0)


def _surface(skin: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Depth of the skin (vertices f64[m, 3]) that faces the camera, by cell; -1000 where there is none."""
    row, col, z = _cells(skin, shape)
    face = np.full(shape, -1e3)
    np.maximum.at(face, (row, col), z)
    # Vertices are sparser than cells: a cell between them takes its neighbours'.
    return grey_closing(maximum_filter(face, 3), 5)


def _seen(points: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Points f64[n, 3] that the skin's surface ``face`` does not hide from the camera."""
    px = project(points)
    c = np.clip(np.round(px[:, 0] / CELL).astype(int), 0, face.shape[1] - 1)
    r = np.clip(np.round(px[:, 1] / CELL).astype(int), 0, face.shape[0] - 1)
    return points[points[:, 2] > face[r, c] - 0.22]


def under(points: np.ndarray, style: str, skin: np.ndarray, eye_y: float) -> np.ndarray:
    """Strands f32[n, k, 3] of the back plate, bool[n]: all but those that start or hang before the face.

    The sides belong to both plates: where a turning face uncovers what it hid, there is hair and never the wall.
    """
    head = Head.of(skin, eye_y)
    where = points[:, points.shape[1] // 2 :].mean(1) if style == "lin" else points[:, 0]
    return np.abs(head.azimuth(where)) > (64 if style == "lin" else 44)


def grids(points: np.ndarray, behind: np.ndarray, skin: np.ndarray, eye_y: float, style: str) -> dict[str, np.ndarray]:
    """Depth and joint weights of both plates on the canvas grid.

    ``points`` f32[n, k, 3] dm, ``behind`` bool[n] strands of the back plate, ``skin`` f64[m, 3] vertices of the head. Inside,
    each plate lies on its own nearest hair, which is what it shows. Along the outline both take one depth, the outline's
    own: plates that part there show a second outline when the head turns.
    """
    shape = (fr.CANVAS_H // CELL + 1, fr.CANVAS_W // CELL + 1)
    flat = points.reshape(-1, 3).astype(float)
    every = _cells(flat, shape)
    outline = _quantile(*every, shape, 0.55)
    covered = np.isfinite(outline)
    inside = np.clip((distance_transform_edt(covered) - 0.5) / 2.0, 0, 1)
    inside = inside * inside * (3 - 2 * inside)
    edge = _spread(np.where(inside < 0.6, outline, np.nan))
    face = _surface(skin, shape)
    near = _spread(_quantile(*_cells(_seen(flat, face), shape), shape, 0.85))
    deep = _spread(_quantile(*_cells(points[behind].reshape(-1, 3).astype(float), shape), shape, 0.80))
    y = fr.CAMERA_Y - (np.arange(shape[0]) * CELL - fr.PRINCIPAL[1]) / (fr.FOCAL_PX / fr.CAMERA_Z)
    if style == "lin":
        # Long hair leaves the head at the jaw; its ends lie on the shoulders.
        t = np.clip((y - (eye_y - 1.80)) / 1.10, 0, 1)
        head = 0.26 + 0.74 * t * t * (3 - 2 * t)
    else:
        head = np.ones(shape[0])
    weights = np.repeat(np.stack([head, (1 - head) * 0.55], 1)[:, None], shape[1], 1)
    return {
        "front_depth": (edge + (near - edge) * inside).astype(np.float32),
        "back_depth": (edge + (deep - edge) * inside).astype(np.float32),
        "front_weights": weights.astype(np.float32),
        "back_weights": weights.astype(np.float32),
    }


PLATES = ("hair_front", "hair_back")
COVERAGE_SPP = 40
BACK_SCALE, BACK_SPP = 0.6, 0.8
"""The back plate is dark, mostly hidden and never near the eye: fewer pixels and samples."""


def coverage(scene: bpy.types.Scene) -> None:
    """Render opacity alone into the scene's file: the denoiser leaves alpha grainy, and unlit samples cost little."""
    import bpy

    plain = bpy.data.materials.get("coverage") or bpy.data.materials.new("coverage")
    plain.use_nodes = True
    tree = plain.node_tree
    tree.nodes.clear()
    glow, end = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(glow.outputs[0], end.inputs[0])
    layer, cycles = bpy.context.view_layer, scene.cycles
    kept = cycles.samples, cycles.max_bounces, cycles.use_denoising, cycles.use_adaptive_sampling
    layer.material_override = plain
    cycles.samples, cycles.max_bounces, cycles.use_denoising, cycles.use_adaptive_sampling = COVERAGE_SPP, 0, False, False
    bpy.ops.render.render(write_still=True)
    layer.material_override = None
    cycles.samples, cycles.max_bounces, cycles.use_denoising, cycles.use_adaptive_sampling = kept


def main() -> None:
    # Blender is a tool of the bake alone; the grids are wanted where it is not installed.
    import bpy
    import paint
    import presenters
    import scene as sets
    import source
    from hair import material as fibre

    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--who", choices=presenters.PRESENTERS, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--spp", type=int, default=12)
    parser.add_argument("--strands", type=int, default=0)
    parser.add_argument("--only", choices=(*PLATES, "grids"), help="one plate, or new grids for the strands already there")
    args = parser.parse_args()
    who = presenters.presenter(args.who)
    out = args.out / who.name
    out.mkdir(parents=True, exist_ok=True)
    if args.only == "grids":
        mesh, _ = source.presenter(args.data, who.name)
        skin, eye_y, old = paint.skin_patch(mesh).verts, float(mesh.joint("l-eye")[1]), dict(np.load(out / "groom.npz"))
        points = old["points"].astype(np.float32)
        np.savez_compressed(
            out / "groom.npz", **old | grids(points, under(points, who.hair, skin, eye_y), skin, eye_y, who.hair)
        )
        return
    host = sets.Host(args.data, who, out)
    scene = sets.setup(args.scale, args.spp, host.eye, who.light)
    scene.cycles.max_bounces = 6
    host.build({}, args.strands, painted=False)
    groom, skin, eye_y = host.groom, paint.skin_patch(host.mesh).verts, float(host.eye[1])
    behind = under(groom.points, who.hair, skin, eye_y)
    np.savez_compressed(
        out / "groom.npz", points=groom.points.astype(np.float16), back=groom.back, cell=CELL,
        **grids(groom.points, behind, skin, eye_y, who.hair),
    )  # fmt: skip
    material = host.hair_front.data.materials[0]
    deep = fibre.add_hair("hair_under", groom.points[behind], groom.radius[behind], groom.melanin[behind], material)
    px = project(groom.points.reshape(-1, 3).astype(float))
    left, top = np.maximum(px.min(0) - MARGIN, 0)
    right, bottom = np.minimum(px.max(0) + MARGIN, [fr.CANVAS_W, fr.CANVAS_H])
    r = scene.render
    r.use_border, r.use_crop_to_border = True, False
    r.border_min_x, r.border_max_x = left / fr.CANVAS_W, right / fr.CANVAS_W
    r.border_min_y, r.border_max_y = 1 - bottom / fr.CANVAS_H, 1 - top / fr.CANVAS_H
    for name in PLATES:
        if args.only not in (None, name):
            continue
        started = time.time()
        front = name == "hair_front"
        # Each strand is there once: two in one place would shade each other black.
        if front:
            host.show({"hair_front", "hair_top"}, {"skin", "cloth"}, {"hair_back"})
        else:
            host.show(set(), set(), {"hair_front", "hair_top", "hair_back"})
        deep.hide_render = front
        r.resolution_percentage = round(100 * args.scale * (1 if front else BACK_SCALE))
        scene.cycles.samples = max(4, round(args.spp * (1 if front else BACK_SPP)))
        path = out / f"{name}.png"
        r.filepath = str(path.resolve())
        bpy.ops.render.render(write_still=True)
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        coverage(scene)
        image = bleed(np.dstack([image[..., :3], cv2.imread(str(path), cv2.IMREAD_UNCHANGED)[..., 3]]), image[..., 3])
        if image.shape[:2] != (fr.CANVAS_H, fr.CANVAS_W):
            image = cv2.resize(image, (fr.CANVAS_W, fr.CANVAS_H), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(path), image, [cv2.IMWRITE_PNG_COMPRESSION, 9])
        print(f"{who.name} {name}: {time.time() - started:.1f} s, {path.stat().st_size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
