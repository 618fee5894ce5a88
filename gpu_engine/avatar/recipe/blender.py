"""Small things every Blender scene of the recipe needs: units, meshes, materials, the camera, the lights, the denoiser."""

from __future__ import annotations

from pathlib import Path

import bpy
import framing as fr
import mathutils
import numpy as np
import presenters


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
