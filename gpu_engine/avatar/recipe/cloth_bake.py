"""Clothes and hands of a presenter: drape, pieces, light, paint. ``python cloth_bake.py DATA OUT STAGE… --who lin``.

Stages: ``drape`` (cloth simulation, minutes), ``pieces`` (meshes, atlas, weights), ``light`` (Cycles), ``paint`` (weave and
seams over the light). Writes ``OUT/NAME/``: drape.npz, clothes.npz, cloth_light.npy, cloth_lit.png, cloth_albedo.png.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import bpy
import cv2
import hands
import numpy as np
import outfits
import paint
import presenters
import rig
import scene as stage
import seams
import shell as shells
import source
import surface
import weave

SIDE = 2048
LIGHT_SIDE = 1024
GUTTER = 7
SHADOW_LIFT = {"skin": 0.75, "cloth": 0.7}
"""Share of its mean light that the darkest spots of a hand or sleeve get: arms move out of the shadow they were baked in."""


def bake_pose() -> dict[str, np.ndarray]:
    """Arms as they are when one looks at them: lifted from the body, forearms forward, so the light falls on them there."""
    out = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        out[f"{side}_shoulder"] = (
            rig.turn((1, 0, 0), -10.0) @ rig.turn((0, 0, 1), sign * 20.0) @ rig.turn((0, 1, 0), sign * 22.0)
        )
        out[f"{side}_elbow"] = rig.turn((1, 0, 0), -58.0)
    return out


class Clothes:
    """The dressed body: settled mesh, draped shell, pieces and where they lie in the atlas."""

    def __init__(self, data: Path, out: Path, who: presenters.Presenter) -> None:
        self.who, self.out, self.outfit = who, out / who.name, outfits.OUTFITS[who.outfit]
        self.out.mkdir(parents=True, exist_ok=True)
        self.mesh, _ = source.presenter(data, who.name)
        self.weight = rig.relax(self.mesh)
        self.joints = rig.skeleton(self.mesh)

    def drape(self) -> None:
        """Simulate and keep the fall."""
        cloth = self.outfit.cloth
        rest = shells.Cutter(self.mesh, self.weight).cut(0.0, cloth.ease, cloth.sleeve_ease, cloth)
        shells.save(shells.build(self.mesh, self.weight, cloth), rest, str(self.out / "drape.npz"))

    def assemble(self) -> None:
        """Pieces from the kept fall and their places in the atlas."""
        shell = shells.load(self.mesh, self.weight, self.outfit.cloth, str(self.out / "drape.npz"))
        self.pieces, self.ground = outfits.assemble(self.mesh, self.weight, shell, self.outfit)
        self.places, self.scale = pack([p.high.uv.max(0) * p.density for p in self.pieces])

    def density(self, k: int) -> float:
        """Texels per dm of piece ``k``."""
        return self.pieces[k].density * self.scale

    def write(self) -> None:
        """``clothes.npz`` as the pack wants it."""
        arrays: dict[str, np.ndarray] = {
            "parts": np.array([p.name for p in self.pieces]),
            "joints_dm": self.joints.astype(np.float32),
        }
        for k, p in enumerate(self.pieces):
            index = np.argsort(-p.low.weights, axis=1)[:, :4]
            value = np.take_along_axis(p.low.weights, index, 1)
            value = np.where(value < 0.004, 0, value)
            arrays |= {
                f"{p.name}_verts": p.low.verts.astype(np.float32),
                f"{p.name}_tris": p.low.tris.astype(np.int32),
                f"{p.name}_uv": ((p.low.uv * self.density(k) + self.places[k]) / SIDE).astype(np.float32),
                f"{p.name}_joints": index.astype(np.uint8),
                f"{p.name}_weights": (value / value.sum(1, keepdims=True)).astype(np.float32),
                f"{p.name}_layer": np.array(p.layer),
                f"{p.name}_material": np.array(p.material),
            }
        np.savez_compressed(self.out / "clothes.npz", **arrays)
        print(
            f"{self.who.name}: {sum(len(p.low.tris) for p in self.pieces)} triangles, atlas scale {self.scale:.2f}", flush=True
        )


def pack(sizes: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Shelf packing of rectangles (texels) into the atlas: offsets and the common scale that fits."""
    order = sorted(range(len(sizes)), key=lambda k: -sizes[k][1])

    def attempt(scale: float) -> list[np.ndarray] | None:
        places: list[np.ndarray] = [np.zeros(2)] * len(sizes)
        shelves: list[list[float]] = []
        bottom = float(GUTTER)
        for k in order:
            w, h = sizes[k] * scale + GUTTER
            if w + GUTTER > SIDE:
                return None
            for shelf in shelves:
                if shelf[0] + w <= SIDE and h <= shelf[2]:
                    places[k] = np.array([shelf[0], shelf[1]])
                    shelf[0] += w
                    break
            else:
                if bottom + h > SIDE:
                    return None
                places[k] = np.array([GUTTER, bottom])
                shelves.append([GUTTER + w, bottom, h])
                bottom += h
        return places

    scale = 1.6
    while (found := attempt(scale)) is None:
        scale *= 0.985
    return found, scale


def material(clothes: Clothes, name: str) -> bpy.types.Material:
    """Plain Cycles material of a fabric; its weave comes later, in texel space."""
    if name == "skin":
        skin = clothes.who.face.skin
        colour = tuple(float(v) for v in paint.srgb(*skin.base))
        mat = stage.principled(name, colour, Roughness=0.5, Specular_IOR_Level=0.35)
        # Subsurface light of hands is added in paint: random walks would double the cost of the bake.
        return mat
    f = clothes.outfit.fabrics[name]
    mat = stage.principled(name, f.colour, Roughness=f.roughness, Specular_IOR_Level=f.specular, Sheen_Weight=f.sheen)
    if f.weave == "metal":
        mat.node_tree.nodes["Principled BSDF"].inputs["Metallic"].default_value = 1.0
    return mat


def light_scene(
    clothes: Clothes, spp: int, scale: float, pose: dict[str, np.ndarray]
) -> tuple[bpy.types.Scene, list[bpy.types.Object]]:
    """Scene with the dressed body and its hair, in ``pose``; returns the garment objects."""
    mesh = clothes.mesh
    eye = (mesh.joint("l-eye") + mesh.joint("r-eye")) / 2
    scene = stage.setup(scale, spp, eye, clothes.who.light)
    mats: dict[str, bpy.types.Material] = {}
    made = []
    for k, p in enumerate(clothes.pieces):
        if p.material not in mats:
            mats[p.material] = material(clothes, p.material)
        verts = rig.skin(p.high.verts, p.high.weights, clothes.joints, pose)
        obj = stage.add_mesh(p.name, verts, p.high.tris, mats[p.material])
        uv = (p.high.uv * clothes.density(k) + clothes.places[k]) / SIDE
        layer = obj.data.uv_layers.new(name="atlas")
        layer.data.foreach_set("uv", (uv[p.high.tris].reshape(-1, 2) * [1, -1] + [0, 1]).astype(np.float32).ravel())
        made.append(obj)
    body = mesh.faces[mesh.group("body")]
    centre = mesh.verts[body].mean(1)
    neckline = clothes.ground.neck_point - 1.3
    keep = (centre[:, 1] > neckline) & (np.abs(centre[:, 0]) < 0.72) | (centre[:, 1] > clothes.ground.neck[1] + 0.3)
    used, compact = np.unique(body[keep], return_inverse=True)
    step = surface.catmull_clark(compact.reshape(-1, 4), len(used))
    stage.add_mesh("body", step.matrix @ mesh.verts[used], step.faces, mats.get("skin") or material(clothes, "skin"))
    groom = clothes.out / "groom.npz"
    if groom.exists():
        points = np.load(groom)["points"].astype(np.float32)
        hair = bpy.data.hair_curves.new("hair")
        hair.add_curves([points.shape[1]] * len(points))
        hair.attributes["position"].data.foreach_set(
            "vector", stage.to_blender(points.reshape(-1, 3)).astype(np.float32).ravel()
        )
        radius = hair.attributes.get("radius") or hair.attributes.new("radius", "FLOAT", "POINT")
        radius.data.foreach_set("value", np.full(points.shape[0] * points.shape[1], 0.00008, np.float32))
        hair.materials.append(
            stage.principled("hair", tuple(float(v) for v in paint.srgb(*clothes.who.face.skin.hair)), Roughness=0.4)
        )
        bpy.context.scene.collection.objects.link(bpy.data.objects.new("hair", hair))
    return scene, made


def bake_light(clothes: Clothes, spp: int) -> None:
    """Combined light of every piece into ``cloth_light.npy``, linear float16[side, side, 3]."""
    scene, objects = light_scene(clothes, spp, 1.0, bake_pose())
    image = bpy.data.images.new("bake", LIGHT_SIDE, LIGHT_SIDE, float_buffer=True)
    for mat in {o.data.materials[0] for o in objects}:
        node = mat.node_tree.nodes.new("ShaderNodeTexImage")
        node.image = image
        mat.node_tree.nodes.active = node
    bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[0]
    # One object: every further one costs a pass of its own.
    bpy.ops.object.join()
    scene.cycles.samples = spp
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.max_bounces = 4
    scene.render.bake.margin = 0
    bpy.ops.object.bake(type="COMBINED")
    pixels = np.empty(LIGHT_SIDE * LIGHT_SIDE * 4, np.float32)
    image.pixels.foreach_get(pixels)
    np.save(clothes.out / "cloth_light.npy", pixels.reshape(LIGHT_SIDE, LIGHT_SIDE, 4)[::-1, :, :3].astype(np.float16))


def denoise(light: np.ndarray) -> np.ndarray:
    """Edge-keeping smoothing of linear light in square-root space."""
    root = np.sqrt(np.clip(light, 0, None)).astype(np.float32)
    peak = max(float(np.percentile(root, 99.8)), 1e-3)
    eight = np.clip(root / peak * 255, 0, 255).astype(np.uint8)
    flat = cv2.fastNlMeansDenoisingColored(eight, None, 4, 4, 5, 13).astype(np.float32) / 255 * peak
    # The non-local pass works on bytes: keep what was brighter.
    flat = np.where(root > peak, root, flat)
    return cv2.bilateralFilter(flat, 5, 0.03 * peak, 2.0) ** 2


def lift_shadows(shone: np.ndarray, colour: np.ndarray, skin: bool) -> np.ndarray:
    """Soft toe under the light float32[n, 3] of a moving part; skin's shadows turn warm, as light that went through it."""
    light = shone / np.maximum(colour, 1e-3)
    level = light.mean(-1, keepdims=True)
    mean = float(level.mean())
    toe = SHADOW_LIFT["skin" if skin else "cloth"] * mean * np.exp(-level / (0.45 * mean))
    warm = np.array([1.22, 0.94, 0.84]) if skin else np.array([0.97, 1.0, 1.05])
    return (light + toe * warm) * colour


def paint_clothes(clothes: Clothes) -> None:
    """Weave, seams and skin detail over the denoised light; writes the two textures."""
    raw = np.load(clothes.out / "cloth_light.npy").astype(np.float32)
    small_hit = np.zeros((LIGHT_SIDE, LIGHT_SIDE), bool)
    every = []
    for k, p in enumerate(clothes.pieces):
        t = weave.texels(p, tuple(clothes.places[k]), clothes.density(k))
        every.append(t)
        x0, y0, x1, y1 = t.box
        big = np.zeros((SIDE, SIDE), bool)
        big[max(y0, 0) : y1, max(x0, 0) : x1] = t.hit[max(-y0, 0) : SIDE - y0, max(-x0, 0) : SIDE - x0]
        small_hit |= big.reshape(LIGHT_SIDE, 2, LIGHT_SIDE, 2).all((1, 3))
    small_hit &= raw.sum(-1) > 0
    light = cv2.resize(denoise(weave.fill(raw, small_hit)), (SIDE, SIDE), interpolation=cv2.INTER_CUBIC).clip(0)
    lit, albedo = light.copy(), np.full_like(light, 0.5)
    hit = np.zeros((SIDE, SIDE), bool)
    nails = {side: hands.nails(clothes.mesh, side[0]) for side in ("left", "right")}
    for k, t in enumerate(every):
        height, tint = seams.detail(clothes.outfit, clothes.ground, clothes.joints, clothes.who.face.skin, nails, t, k)
        colour = (
            paint.srgb(*clothes.who.face.skin.base)
            if t.piece.material == "skin"
            else np.array(clothes.outfit.fabrics[t.piece.material].colour)
        )
        gloss = 0.7 if t.piece.material != "skin" and clothes.outfit.fabrics[t.piece.material].weave == "silk" else 0.0
        factor = tint * weave.shade(t, height, gloss)[..., None]
        x0, y0, x1, y1 = t.box
        ys, xs = np.nonzero(t.hit)
        inside = (ys + y0 >= 0) & (xs + x0 >= 0) & (ys + y0 < SIDE) & (xs + x0 < SIDE)
        ys, xs = ys[inside], xs[inside]
        shone = light[ys + y0, xs + x0]
        if t.piece.layer == "over":
            # Sleeves meet the body in its own light.
            away = np.clip((t.arm[ys, xs] - 0.55) / 0.4, 0, 1)[:, None] if t.piece.material == "main" else 1.0
            shone = shone + away * (lift_shadows(shone, colour, t.piece.material == "skin") - shone)
        lit[ys + y0, xs + x0] = shone * factor[ys, xs]
        albedo[ys + y0, xs + x0] = (colour * tint)[ys, xs]
        hit[ys + y0, xs + x0] = True
    lit, albedo = weave.fill(lit, hit), weave.fill(albedo, hit)
    eye = (clothes.mesh.joint("l-eye") + clothes.mesh.joint("r-eye")) / 2
    scene = stage.setup(1.0, 1, eye, clothes.who.light)
    stage.tone(scene, lit, clothes.out / "cloth_lit.png")
    plain = np.where(albedo <= 0.0031308, albedo * 12.92, 1.055 * np.clip(albedo, 1e-6, None) ** (1 / 2.4) - 0.055)
    plain = cv2.resize(np.clip(plain, 0, 1).astype(np.float32), (1024, 1024), interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(clothes.out / "cloth_albedo.png"), (plain[..., ::-1] * 255 + 0.5).astype(np.uint8))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("stages", nargs="+", choices=["drape", "pieces", "light", "paint"])
    parser.add_argument("--who", choices=presenters.PRESENTERS, default="lin")
    parser.add_argument("--spp", type=int, default=32)
    args = parser.parse_args()
    clothes = Clothes(args.data, args.out, presenters.presenter(args.who))
    for name in args.stages:
        started = time.time()
        if name == "drape":
            clothes.drape()
        elif not hasattr(clothes, "pieces"):
            clothes.assemble()
        if name == "pieces":
            clothes.write()
        elif name == "light":
            bake_light(clothes, args.spp)
        elif name == "paint":
            paint_clothes(clothes)
        print(f"{name}: {time.time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
