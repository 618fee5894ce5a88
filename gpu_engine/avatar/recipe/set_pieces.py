"""Things studios are furnished with, in Blender: surfaces, boxes, turned bodies, plants, lights, a room. Metres, +y into it."""

from __future__ import annotations

import bpy
import mathutils
import numpy as np

WALL = 5.6
"""Depth of the back wall."""

Rgb = tuple[float, float, float]


def material(name: str, colour: Rgb, roughness: float = 0.6, metal: float = 0.0, glow: float = 0.0) -> bpy.types.Material:
    """Plain principled surface; ``glow`` is emission strength."""
    mat = bpy.data.materials.new(name)
    mat.use_nodes = True
    node = mat.node_tree.nodes["Principled BSDF"]
    node.inputs["Base Color"].default_value = (*colour, 1)
    node.inputs["Roughness"].default_value = roughness
    node.inputs["Metallic"].default_value = metal
    if glow:
        node.inputs["Emission Color"].default_value = (*colour, 1)
        node.inputs["Emission Strength"].default_value = glow
    return mat


def wood(name: str, light: Rgb, dark: Rgb, roughness: float = 0.45, vertical: bool = True) -> bpy.types.Material:
    """Grain from stretched noise."""
    mat = material(name, light, roughness)
    tree = mat.node_tree
    coords, mapping = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeMapping")
    noise, ramp = tree.nodes.new("ShaderNodeTexNoise"), tree.nodes.new("ShaderNodeValToRGB")
    mapping.inputs["Scale"].default_value = (14, 14, 0.9) if vertical else (0.9, 14, 14)
    noise.inputs["Scale"].default_value, noise.inputs["Detail"].default_value = 3.0, 4.0
    ramp.color_ramp.elements[0].color, ramp.color_ramp.elements[1].color = (*dark, 1), (*light, 1)
    ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.3, 0.7
    tree.links.new(coords.outputs["Object"], mapping.inputs["Vector"])
    tree.links.new(mapping.outputs["Vector"], noise.inputs["Vector"])
    tree.links.new(noise.outputs[0], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return mat


def link(mesh: bpy.types.Mesh, mat: bpy.types.Material, smooth: bool = False) -> bpy.types.Object:
    """Object from ``mesh`` in the scene."""
    mesh.materials.append(mat)
    if smooth:
        mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), bool))
    obj = bpy.data.objects.new(mesh.name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def box(
    x0: float, x1: float, y0: float, y1: float, z0: float, z1: float, mat: bpy.types.Material, soft: float = 0.006
) -> bpy.types.Object:
    """Axis-aligned block with rounded edges."""
    v = [(x, y, z) for z in (z0, z1) for y in (y0, y1) for x in (x0, x1)]
    f = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    mesh = bpy.data.meshes.new("box")
    mesh.from_pydata(v, [], f)
    obj = link(mesh, mat)
    if soft:
        bevel = obj.modifiers.new("bevel", "BEVEL")
        bevel.width, bevel.segments = soft, 2
    return obj


def lathe(
    profile: list[tuple[float, float]], x: float, y: float, z: float, mat: bpy.types.Material, sides: int = 36
) -> bpy.types.Object:
    """Turned body from (radius, height) pairs."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    verts = [(x + r * np.cos(a), y + r * np.sin(a), z + h) for r, h in profile for a in angle]
    faces = [
        (i * sides + k, i * sides + (k + 1) % sides, (i + 1) * sides + (k + 1) % sides, (i + 1) * sides + k)
        for i in range(len(profile) - 1)
        for k in range(sides)
    ]
    mesh = bpy.data.meshes.new("lathe")
    mesh.from_pydata(verts, [], faces)
    return link(mesh, mat, smooth=True)


def ball(x: float, y: float, z: float, r: float, mat: bpy.types.Material) -> bpy.types.Object:
    """Sphere."""
    a = np.linspace(-np.pi / 2, np.pi / 2, 20)
    return lathe([(max(r * np.cos(t), 1e-4), r * np.sin(t)) for t in a], x, y, z, mat)


def vase(x: float, y: float, z: float, h: float, w: float, mat: bpy.types.Material) -> None:
    """Bellied vase with a neck."""
    shape = [(0.55, 0.0), (0.8, 0.12), (1.0, 0.36), (0.9, 0.58), (0.45, 0.80), (0.36, 0.92), (0.44, 1.0)]
    lathe([(r * w, t * h) for r, t in shape], x, y, z, mat)


def bottle(x: float, y: float, z: float, h: float, w: float, mat: bpy.types.Material, cap: bpy.types.Material) -> None:
    """Cosmetics bottle with a cap."""
    lathe([(0.001, 0), (w, 0.0), (w, 0.66 * h), (0.9 * w, 0.70 * h), (0.4 * w, 0.74 * h), (0.4 * w, 0.78 * h)], x, y, z, mat)
    lathe([(0.46 * w, 0.76 * h), (0.46 * w, h), (0.001, h)], x, y, z, cap)


def leaves(centre: tuple[float, float, float], spread: tuple[float, float, float], count: int, size: float, seed: int) -> None:
    """A plant's crown: bent leaves round ``centre`` on stems that rise from one foot."""
    rng = np.random.default_rng(seed)
    greens = [material("leaf", c, 0.38) for c in ((0.055, 0.16, 0.05), (0.035, 0.11, 0.045), (0.10, 0.21, 0.07))]
    verts, faces, which = [], [], []
    u = np.linspace(0, 1, 7)
    width = np.sin(np.pi * np.clip(u, 0.02, 0.98)) ** 0.75 * (1 - 0.25 * u)
    for _ in range(count):
        at = np.array(centre) + rng.normal(0, 1, 3) * np.array(spread) * 0.5
        out = at - np.array(centre) + rng.normal(0, 0.06, 3) + np.array([0, 0, 0.06])
        d = out / np.linalg.norm(out)
        foot, lean = np.array(centre) - [0, 0, spread[2] * 0.55], 0.0015 + 0.008 * size
        stem = np.linspace(0, 1, 6)[:, None]
        bow = foot + (at - foot) * stem + np.array([0, 0, 0.10 * spread[2]]) * np.sin(np.pi * stem)
        start = len(verts)
        verts += [tuple(q + np.array([s * lean, 0, 0])) for q in bow for s in (-1, 1)]
        faces += [(start + 2 * k, start + 2 * k + 1, start + 2 * k + 3, start + 2 * k + 2) for k in range(5)]
        which += [1] * 5
        side = np.cross(d, [0, 0, 1.0]) + rng.normal(0, 0.25, 3)
        side /= np.linalg.norm(side)
        length = size * rng.uniform(0.7, 1.25)
        droop = -0.55 * length * u**2
        first = len(verts)
        for k in range(7):
            mid = at + d * length * u[k] + np.array([0, 0, droop[k]])
            for s in (-1, 1):
                verts.append(tuple(mid + side * s * width[k] * length * 0.26))
        faces += [(first + 2 * k, first + 2 * k + 1, first + 2 * k + 3, first + 2 * k + 2) for k in range(6)]
        which += [int(rng.integers(3))] * 6
    mesh = bpy.data.meshes.new("leaves")
    mesh.from_pydata(verts, [], faces)
    for mat in greens:
        mesh.materials.append(mat)
    mesh.polygons.foreach_set("material_index", np.array(which, np.int32))
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("leaves", mesh))


def area(
    where: tuple[float, float, float], aim: tuple[float, float, float], watts: float, size: tuple[float, float], colour: Rgb
) -> None:
    """Rectangular light, not seen by the camera."""
    light = bpy.data.lights.new("area", "AREA")
    light.shape, light.size, light.size_y, light.energy, light.color = "RECTANGLE", *size, watts, colour
    obj = bpy.data.objects.new("area", light)
    bpy.context.scene.collection.objects.link(obj)
    obj.location = where
    obj.rotation_euler = (mathutils.Vector(aim) - mathutils.Vector(where)).to_track_quat("-Z", "Y").to_euler()
    obj.visible_camera = False


def room(wall: bpy.types.Material, floor: bpy.types.Material, ceiling: bpy.types.Material, height: float = 3.4) -> None:
    """Floor, back wall, side walls and ceiling; open toward the camera."""
    box(-3.4, 3.4, WALL, WALL + 0.1, -0.2, height, wall, 0)
    box(-3.5, -3.4, 0.5, WALL, -0.2, height, wall, 0)
    box(3.4, 3.5, 0.5, WALL, -0.2, height, wall, 0)
    box(-3.4, 3.4, 0.2, WALL, -0.12, -0.02, floor, 0)
    box(-3.4, 3.4, 0.5, WALL, height, height + 0.1, ceiling, 0)


def shelf_things(x0: float, x1: float, y: float, z: float, room_m: float, palette: list[bpy.types.Material], seed: int) -> None:
    """Boxes, bottles, vases, books and bowls along a board, grouped, with air between the groups."""
    rng = np.random.default_rng(seed)
    x = x0 + 0.06
    while x < x1 - 0.12:
        kind, pick = rng.integers(6), lambda: palette[int(rng.integers(len(palette)))]
        h = room_m * rng.uniform(0.45, 0.82)
        if kind == 0:
            w = rng.uniform(0.12, 0.20)
            box(x, x + w, y - 0.11, y + 0.05, z, z + h * 0.75, pick())
            box(x + 0.01, x + w - 0.02, y - 0.10, y + 0.04, z + h * 0.75, z + h * 0.98, pick())
        elif kind == 1:
            w = 0.16
            for i in range(3):
                bottle(
                    x + 0.03 + i * 0.062, y - 0.05 - 0.03 * (i % 2), z, h * (0.95 - 0.2 * (i % 2)), 0.026, pick(), palette[0]
                )
        elif kind == 2:
            w = rng.uniform(0.13, 0.19)
            vase(x + w / 2, y - 0.04, z, h, w / 2, pick())
        elif kind == 3:
            w = 0.0
            for _ in range(int(rng.integers(4, 7))):
                t = rng.uniform(0.02, 0.036)
                box(x + w, x + w + t, y - 0.10, y + 0.05, z, z + h * rng.uniform(0.8, 1.0), pick(), 0.002)
                w += t + 0.002
        elif kind == 4:
            w = 0.20
            for i in range(3):
                box(x + 0.01 * i, x + w - 0.012 * i, y - 0.11, y + 0.04, z + 0.052 * i, z + 0.05 + 0.052 * i, pick(), 0.004)
            ball(x + w / 2, y - 0.03, z + 0.156 + 0.045, 0.045, pick())
        else:
            w = 0.17
            lathe([(0.03, 0), (0.05, 0.01), (0.075, 0.05), (0.082, 0.085)], x + w / 2, y - 0.04, z, pick())
        x += w + rng.uniform(0.05, 0.13)


def world(strength: float, colour: Rgb) -> None:
    """Even light from everywhere."""
    one = bpy.data.worlds.new("world")
    bpy.context.scene.world = one
    one.use_nodes = True
    one.node_tree.nodes["Background"].inputs[0].default_value = (*colour, 1)
    one.node_tree.nodes["Background"].inputs[1].default_value = strength
