"""Builds the presenter in Blender and renders hair and cloth plates and the skin's light with Cycles.

Run with the ``bpy`` wheel's Python: ``python scene.py DATA OUT STAGE [STAGE…] --who NAME [--scale 0.5] [--spp 40]``;
files go to ``OUT/NAME/``. Stages: face (head only), beauty, skin (light bake), tone, hair_front, hair_back, cloth_front,
cloth_back. Face and beauty show the painted skin when ``bake.py … paint`` has run.
"""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Callable
from pathlib import Path

import bpy
import cv2
import features
import framing as fr
import garment
import groom
import mathutils
import numpy as np
import paint
import presenters
import source
import surface
from hair import material as fibre


def to_blender(v: np.ndarray) -> np.ndarray:
    """Decimetres y-up to Blender metres z-up."""
    return np.stack([v[:, 0], -v[:, 2], v[:, 1]], 1) * 0.1


def add_mesh(name: str, verts: np.ndarray, faces: np.ndarray, material: bpy.types.Material) -> bpy.types.Object:
    """A smooth-shaded object."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(to_blender(verts).tolist(), [], faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    mesh.materials.append(material)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def principled(name: str, colour: tuple[float, float, float], **inputs: float) -> bpy.types.Material:
    """A principled material; ``inputs`` keys use underscores for spaces."""
    mat = bpy.data.materials.new(name)
    mat.use_nodes = True
    node = mat.node_tree.nodes["Principled BSDF"]
    node.inputs["Base Color"].default_value = (*colour, 1)
    for key, value in inputs.items():
        node.inputs[key.replace("_", " ")].default_value = value
    return mat


def fabric(name: str, colour: tuple[float, float, float], scale: float, strength: float, ribs: bool) -> bpy.types.Material:
    """Woven or ribbed cloth: colour mottling and a bump."""
    mat = principled(name, colour, Roughness=0.82, Sheen_Weight=0.25, Sheen_Roughness=0.5)
    tree = mat.node_tree
    coords = tree.nodes.new("ShaderNodeTexCoord")
    bump = tree.nodes.new("ShaderNodeBump")
    bump.inputs["Strength"].default_value = strength
    bump.inputs["Distance"].default_value = 0.0006
    if ribs:
        tex = tree.nodes.new("ShaderNodeTexWave")
        tex.bands_direction = "X"
        tex.inputs["Scale"].default_value = scale
        tex.inputs["Distortion"].default_value = 0.6
    else:
        tex = tree.nodes.new("ShaderNodeTexNoise")
        tex.inputs["Scale"].default_value = scale
        tex.inputs["Detail"].default_value = 3
    tree.links.new(coords.outputs["Object"], tex.inputs["Vector"])
    tree.links.new(tex.outputs[1 if ribs else 0], bump.inputs["Height"])
    if not ribs:
        # Broad soft creases under the weave keep a tailored front from looking moulded.
        crease, wide = tree.nodes.new("ShaderNodeTexNoise"), tree.nodes.new("ShaderNodeBump")
        crease.inputs["Scale"].default_value = 17.0
        crease.inputs["Detail"].default_value = 2.5
        crease.inputs["Distortion"].default_value = 0.8
        wide.inputs["Strength"].default_value = 0.55
        wide.inputs["Distance"].default_value = 0.006
        tree.links.new(coords.outputs["Object"], crease.inputs["Vector"])
        tree.links.new(crease.outputs[0], wide.inputs["Height"])
        tree.links.new(wide.outputs["Normal"], bump.inputs["Normal"])
    tree.links.new(bump.outputs["Normal"], tree.nodes["Principled BSDF"].inputs["Normal"])
    return mat


def add_light(
    name: str,
    where: tuple[float, float, float],
    watts: float,
    size: float,
    target: np.ndarray,
    colour: tuple[float, float, float],
) -> None:
    """Area light at ``where`` (dm, y up) aimed at ``target``."""
    light = bpy.data.lights.new(name, "AREA")
    light.energy, light.size, light.color = watts, size, colour
    obj = bpy.data.objects.new(name, light)
    bpy.context.scene.collection.objects.link(obj)
    obj.location = to_blender(np.array([where]))[0]
    aim = mathutils.Vector(to_blender(target[None])[0]) - obj.location
    obj.rotation_euler = aim.to_track_quat("-Z", "Y").to_euler()


def setup(scale: float, spp: int, eye: np.ndarray, light: presenters.Light) -> bpy.types.Scene:
    """Empty scene with camera, lights and render settings."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    cam = bpy.data.cameras.new("camera")
    obj = bpy.data.objects.new("camera", cam)
    scene.collection.objects.link(obj)
    scene.camera = obj
    cam.sensor_fit = "VERTICAL"
    cam.angle = 2 * np.arctan(fr.CANVAS_H / 2 / fr.FOCAL_PX)
    cam.shift_y = -(fr.CANVAS_H / 2 - fr.PRINCIPAL[1]) / fr.CANVAS_H
    obj.location = to_blender(np.array([[0, fr.CAMERA_Y, fr.CAMERA_Z]]))[0]
    obj.rotation_euler = (np.pi / 2, 0, 0)
    target = np.array([0, eye[1] - 0.6, 0.6])
    add_light("key", (-8.5, 11.0, 11.5), light.key, 0.9, target, (1.0, 0.955, 0.91))
    add_light("fill", (9.0, 6.5, 11.0), light.fill, 1.6, target, (0.93, 0.96, 1.0))
    add_light("under", (0.0, 0.5, 13.0), light.under, 1.0, target, (1.0, 0.96, 0.93))
    add_light("rim_l", (7.0, 9.5, -11.0), light.rim_left, 1.0, target, (0.95, 0.975, 1.0))
    add_light("rim_r", (-7.0, 9.5, -11.0), light.rim_right, 1.0, target, (0.95, 0.975, 1.0))
    world = bpy.data.worlds.new("world")
    scene.world = world
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.92, 0.95, 1.0, 1)
    world.node_tree.nodes["Background"].inputs[1].default_value = light.world
    scene.render.engine = "CYCLES"
    scene.cycles.samples = spp
    scene.cycles.use_denoising = True
    scene.cycles.adaptive_threshold = 0.03
    scene.cycles.max_bounces = 8
    scene.cycles_curves.shape = "RIBBONS"
    scene.cycles_curves.subdivisions = 2
    scene.render.resolution_x, scene.render.resolution_y = fr.CANVAS_W, fr.CANVAS_H
    scene.render.resolution_percentage = round(100 * scale)
    scene.render.film_transparent = True
    scene.render.threads_mode, scene.render.threads = "FIXED", 2
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"
    scene.view_settings.exposure = light.exposure
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGBA"
    return scene


def _takes(function: Callable[..., object], **wanted: object) -> dict[str, object]:
    """The arguments of ``wanted`` that ``function`` has parameters for."""
    return {k: v for k, v in wanted.items() if k in inspect.signature(function).parameters}


class Host:
    """All objects of one presenter, by role."""

    def __init__(self, data: Path, who: presenters.Presenter, out: Path) -> None:
        self.who, self.data, self.out = who, data, out
        self.mesh, self.units = source.presenter(data, who.name)
        self.eye = (self.mesh.joint("l-eye") + self.mesh.joint("r-eye")) / 2

    def _skin_material(self, painted: bool) -> bpy.types.Material:
        """Skin of one plain colour for the light bake, or painted for looking at."""
        skin = self.who.face.skin
        plain = tuple(float(v) for v in paint.srgb(*skin.base))
        mat = principled("skin", plain, Subsurface_Weight=1.0, Subsurface_Scale=0.0042, Specular_IOR_Level=skin.specular)
        tree = mat.node_tree
        node = tree.nodes["Principled BSDF"]
        node.inputs["Subsurface Radius"].default_value = (1.0, 0.36, 0.20)
        rough = tree.nodes.new("ShaderNodeAttribute")
        rough.attribute_name = "roughness"
        tree.links.new(rough.outputs["Fac"], node.inputs["Roughness"])
        picture = self.out / "skin_albedo.png"
        if painted and picture.exists():
            image = tree.nodes.new("ShaderNodeTexImage")
            image.image = bpy.data.images.load(str(picture))
            tree.links.new(image.outputs["Color"], node.inputs["Base Color"])
        return mat

    def _feature_objects(self, rest: np.ndarray, pose: dict[str, float]) -> list[bpy.types.Object]:
        """Eyes, teeth, tongue and lashes with the feature texture, as every renderer will show them."""
        picture = self.out / "features.png"
        rgba = features.texture(self.who.face)
        cv2.imwrite(str(picture), cv2.cvtColor(rgba, cv2.COLOR_RGBA2BGRA))
        image = bpy.data.images.load(str(picture))
        made = []
        for piece in features.pieces(self.mesh, self.units, rest, self.skin_units(), self.who.face):
            if piece.name.startswith("glint"):
                continue
            wet = piece.name.startswith(("eye", "teeth", "tongue"))
            mat = principled(piece.name, (1, 1, 1), Roughness=0.12 if wet else 0.6, Specular_IOR_Level=0.5 if wet else 0.1)
            tree, node = mat.node_tree, mat.node_tree.nodes["Principled BSDF"]
            tex, shade = tree.nodes.new("ShaderNodeTexImage"), tree.nodes.new("ShaderNodeAttribute")
            tex.image, shade.attribute_name = image, "shade"
            times = tree.nodes.new("ShaderNodeMix")
            times.data_type, times.blend_type, times.inputs["Factor"].default_value = "RGBA", "MULTIPLY", 1.0
            tree.links.new(tex.outputs["Color"], times.inputs["A"])
            tree.links.new(shade.outputs["Color"], times.inputs["B"])
            tree.links.new(times.outputs["Result"], node.inputs["Base Color"])
            if piece.blend:
                tree.links.new(tex.outputs["Alpha"], node.inputs["Alpha"])
            posed = piece.verts + sum((w * piece.units[k] for k, w in pose.items() if k in piece.units), 0 * piece.verts)
            obj = add_mesh(piece.name, posed, piece.tris, mat)
            layer = obj.data.uv_layers.new(name="uv")
            corner = piece.uv[piece.tris].reshape(-1, 2) / [features.TEX_W, features.TEX_H] * [1, -1] + [0, 1]
            layer.data.foreach_set("uv", corner.astype(np.float32).ravel())
            colour = obj.data.attributes.new("shade", "FLOAT", "POINT")
            colour.data.foreach_set("value", piece.shade.astype(np.float32))
            made.append(obj)
        return made

    def _clothes(self) -> list[tuple[bpy.types.Object, np.ndarray, np.ndarray]]:
        """Objects, vertices and triangles of ``clothes.npz`` if it is baked, or else of today's cut."""
        made = []
        if (self.out / "clothes.npz").exists():
            saved = np.load(self.out / "clothes.npz")
            picture = self.out / "cloth_albedo.png"
            for name in (str(p) for p in saved["parts"]):
                verts, tris = saved[f"{name}_verts"].astype(float), saved[f"{name}_tris"].astype(int)
                grey = tuple(float(v) for v in paint.srgb(*self.who.face.skin.base)) if "hand" in name else (0.10, 0.11, 0.13)
                mat = principled(name, grey, Roughness=0.75)
                obj = add_mesh(name, verts, tris, mat)
                if picture.exists():
                    tex = mat.node_tree.nodes.new("ShaderNodeTexImage")
                    tex.image = bpy.data.images.load(str(picture), check_existing=True)
                    mat.node_tree.links.new(tex.outputs["Color"], mat.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
                layer = obj.data.uv_layers.new(name="atlas")
                corner = saved[f"{name}_uv"][tris].reshape(-1, 2) * [1, -1] + [0, 1]
                layer.data.foreach_set("uv", corner.astype(np.float32).ravel())
                made.append((obj, verts, tris))
            return made
        mats = {
            "cloth": fabric("cloth", (0.088, 0.155, 0.228), 900.0, 0.35, ribs=False),
            "knit": fabric("knit", (0.80, 0.76, 0.69), 95.0, 0.8, ribs=True),
            "button": principled("button", (0.10, 0.14, 0.18), Roughness=0.35),
        }
        for part in garment.build(self.mesh, **_takes(garment.build, outfit=self.who.outfit)):
            obj = add_mesh(part.name, part.verts, part.tris, mats[part.material])
            if part.thickness:
                mod = obj.modifiers.new("solid", "SOLIDIFY")
                mod.thickness, mod.offset = part.thickness * 0.1, -1.0
            made.append((obj, part.verts, part.tris))
        return made

    def skin_units(self) -> dict[str, np.ndarray]:
        """Face units on the refined skin."""
        patch = paint.skin_patch(self.mesh)
        return {k: patch.step.matrix @ d[patch.used] for k, d in self.units.items()}

    def build(self, pose: dict[str, float], strands: int, painted: bool) -> None:
        """Create every object; ``pose`` adds face units to the skin before the light is baked."""
        mesh = self.mesh
        patch = paint.skin_patch(mesh)
        step, used, rest, uv = patch.step, patch.used, patch.verts, patch.uv
        posed = rest + sum((w * (step.matrix @ self.units[k][used]) for k, w in pose.items()), np.zeros_like(rest))
        self.skin = add_mesh("skin", posed, step.faces, self._skin_material(painted))
        layer = self.skin.data.uv_layers.new(name="atlas")
        flipped = uv.reshape(-1, 2) * [1, -1] + [0, 1]
        layer.data.foreach_set("uv", flipped.astype(np.float32).ravel())
        gloss = self.skin.data.attributes.new("roughness", "FLOAT", "POINT")
        gloss.data.foreach_set("value", paint.roughness(mesh, patch, self.data, self.who).astype(np.float32))
        self.pieces = self._feature_objects(rest, pose)
        self.cloth, solids_v, solids_n = [], [], []
        for obj, verts, faces in self._clothes():
            self.cloth.append(obj)
            solids_v.append(verts)
            solids_n.append(surface.vertex_normals(verts, faces))
        tris = surface.triangles(step.faces)
        normals = surface.vertex_normals(rest, tris)
        low = (rest[:, 1] < self.eye[1] + 0.1) & (rest[:, 1] > 3.6)
        solids_v.append(rest[low])
        solids_n.append(normals[low])
        solid = (np.concatenate(solids_v), np.concatenate(solids_n))
        hair = groom.grow(self.who.hair, (rest, tris), solid, self.eye[1], strands)
        self.groom = hair
        mat = fibre.hair_material(self.who.hair)
        top = np.clip((hair.points[..., 1] - (self.eye[1] - 0.25)) / 0.35, 0, 1)
        front, back = ~hair.back, hair.back
        self.hair_front = fibre.add_hair("hair_front", hair.points[front], hair.radius[front], hair.melanin[front], mat)
        self.hair_top = fibre.add_hair("hair_top", hair.points[back], (hair.radius * top)[back], hair.melanin[back], mat)
        self.hair_back = fibre.add_hair("hair_back", hair.points[back], hair.radius[back], hair.melanin[back], mat)

    def show(self, visible: set[str], holdout: set[str], absent: set[str]) -> None:
        """Roles drawn, cut out, or removed; anything else is hidden from the camera but still casts shadows."""
        roles = {
            "skin": [self.skin, *self.pieces], "cloth": self.cloth, "hair_front": [self.hair_front],
            "hair_top": [self.hair_top], "hair_back": [self.hair_back],
        }  # fmt: skip
        for role, objects in roles.items():
            for obj in objects:
                obj.hide_render = role in absent
                obj.is_holdout = role in holdout
                obj.visible_camera = role in visible or role in holdout


LIGHT_SIDE = 1024
"""Light is smooth: half the atlas side, denoised and enlarged under full-size paint."""

BAKE_POSE = {"eyeBlinkLeft": 0.30, "eyeBlinkRight": 0.30, "jawOpen": 0.08}
"""Lids part shut and lips parted while light is baked: skin that folds away at rest still gets lit."""

FACE_BORDER = (0.27, 0.73, 0.42, 1.0)
"""Part of the canvas the face stage renders: left, right, bottom, top from below."""

STAGES = {
    "face": ({"skin", "cloth", "hair_front", "hair_back"}, set(), {"hair_top"}),
    "beauty": ({"skin", "cloth", "hair_front", "hair_back"}, set(), {"hair_top"}),
    "hair_front": ({"hair_front", "hair_top"}, {"skin", "cloth"}, set()),
    "hair_back": ({"hair_back", "hair_front"}, set(), {"hair_top", "skin"}),
    "cloth_front": ({"cloth"}, {"skin"}, {"hair_top"}),
    "cloth_back": ({"cloth"}, set(), {"hair_top"}),
}


def bake_skin(who: Host, scene: bpy.types.Scene, out: Path, spp: int, side: int) -> None:
    """Combined light on plain skin, seen from the camera, denoised, into ``skin_light.npy`` (linear, f16[side, side, 3])."""
    who.show({"skin", "cloth", "hair_front", "hair_back"}, set(), {"hair_top"})
    for obj in who.pieces:
        # Lashes would leave streaks that do not follow a blink; eyes and teeth shade as they should.
        obj.hide_render = obj.name.startswith("lash")
    image = bpy.data.images.new("bake", side, side, float_buffer=True)
    node = who.skin.data.materials[0].node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    who.skin.data.materials[0].node_tree.nodes.active = node
    bpy.ops.object.select_all(action="DESELECT")
    who.skin.select_set(True)
    bpy.context.view_layer.objects.active = who.skin
    scene.cycles.samples = spp
    scene.render.bake.view_from = "ACTIVE_CAMERA"
    scene.render.bake.margin = 6
    bpy.ops.object.bake(type="COMBINED")
    pixels = np.empty(side * side * 4, np.float32)
    image.pixels.foreach_get(pixels)
    light = pixels.reshape(side, side, 4)[::-1, :, :3]
    np.save(out / "skin_light.npy", denoise(scene, light, out / "light.exr").astype(np.float16))


def denoise(scene: bpy.types.Scene, linear: np.ndarray, scratch: Path) -> np.ndarray:
    """Intel's denoiser over a linear picture f32[h, w, 3], by way of the compositor and the file ``scratch``."""
    h, w, _ = linear.shape
    image = bpy.data.images.new("noisy", w, h, float_buffer=True)
    rgba = np.ones((h, w, 4), np.float32)
    rgba[..., :3] = linear
    image.pixels.foreach_set(rgba[::-1].ravel())
    tree = bpy.data.node_groups.new("denoise", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    nodes = [tree.nodes.new(kind) for kind in ("CompositorNodeImage", "CompositorNodeDenoise", "NodeGroupOutput")]
    nodes[0].image = image
    tree.links.new(nodes[0].outputs["Image"], nodes[1].inputs["Image"])
    tree.links.new(nodes[1].outputs[0], nodes[2].inputs[0])
    empty = bpy.data.scenes.new("denoise")
    empty.camera = scene.camera
    empty.collection.objects.link(scene.camera)
    empty.compositing_node_group = tree
    empty.render.engine, empty.cycles.samples = "CYCLES", 1
    empty.render.resolution_x, empty.render.resolution_y, empty.render.resolution_percentage = w, h, 100
    empty.render.image_settings.file_format, empty.render.image_settings.color_depth = "OPEN_EXR", "32"
    empty.render.filepath = str(scratch)
    bpy.ops.render.render(write_still=True, scene=empty.name)
    result = bpy.data.images.load(str(scratch))
    pixels = np.empty(w * h * 4, np.float32)
    result.pixels.foreach_get(pixels)
    scratch.unlink()
    return pixels.reshape(h, w, 4)[::-1, :, :3]


def tone(scene: bpy.types.Scene, linear: np.ndarray, path: Path) -> None:
    """Write linear RGB f32[h, w, 3] through the scene's view transform as 8-bit PNG, so it matches the plates."""
    h, w, _ = linear.shape
    image = bpy.data.images.new("tone", w, h, float_buffer=True)
    rgba = np.ones((h, w, 4), np.float32)
    rgba[..., :3] = linear
    image.pixels.foreach_set(rgba[::-1].ravel())
    mode = scene.render.image_settings.color_mode
    scene.render.image_settings.color_mode = "RGB"
    image.save_render(str(path), scene=scene)
    scene.render.image_settings.color_mode = mode


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("stages", nargs="+")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--spp", type=int, default=40)
    parser.add_argument("--strands", type=int, default=0)
    parser.add_argument("--side", type=int, default=LIGHT_SIDE, help="texels of the skin's light")
    parser.add_argument("--pose", nargs="*", default=[], metavar="UNIT=AMOUNT")
    parser.add_argument("--who", choices=presenters.PRESENTERS, default="lin")
    args = parser.parse_args()
    presenter = presenters.presenter(args.who)
    args.out = args.out / presenter.name
    args.out.mkdir(parents=True, exist_ok=True)
    who = Host(args.data, presenter, args.out)
    scene = setup(args.scale, args.spp, who.eye, presenter.light)
    if args.stages == ["tone"]:
        tone(scene, np.load(args.out / "skin_linear.npy").astype(np.float32), args.out / "skin_lit.png")
        return
    pose = dict(BAKE_POSE) if "skin" in args.stages else {}
    pose.update({k: float(v) for k, _, v in (item.partition("=") for item in args.pose)})
    who.build(pose, args.strands, painted="skin" not in args.stages)
    if any(stage.startswith("hair") for stage in args.stages):
        np.savez_compressed(args.out / "groom.npz", points=who.groom.points.astype(np.float16), back=who.groom.back)
    for stage in args.stages:
        started = time.time()
        if stage == "skin":
            bake_skin(who, scene, args.out, args.spp, args.side)
        else:
            who.show(*STAGES[stage])
            scene.render.use_border = scene.render.use_crop_to_border = stage == "face"
            r = scene.render
            r.border_min_x, r.border_max_x, r.border_min_y, r.border_max_y = FACE_BORDER
            scene.render.filepath = str(args.out / f"{stage}.png")
            bpy.ops.render.render(write_still=True)
        print(f"{stage}: {time.time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
