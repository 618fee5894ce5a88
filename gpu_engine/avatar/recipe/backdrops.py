"""Three studios as real sets, rendered with depth of field: ``python backdrops.py OUT [NAME…] [--scale 0.5] [--spp 48]``.

Writes ``OUT/NAME_wide.png`` (1920 x 1080) and ``OUT/NAME_tall.png`` (1080 x 1920) at ``--scale``; ``--ship FOLDER`` also writes
the JPEGs the stage loads. Blender coordinates in metres: camera at the origin's height, +y into the room, host at y = 2.7.
The eye line lies at 35 % of the height, as the host's does, and the key light comes from the upper left.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import bpy
import cv2
import numpy as np
from set_pieces import WALL, area, ball, box, lathe, leaves, link, material, room, shelf_things, vase, wood, world

EYE = 1.45
HOST_X = -0.55
"""World x behind the host; the wide camera shows it at 37 % of the width, the tall one in the middle."""
WIDE_M, TALL_M = 2.38, 4.0
"""Height of the picture at the back wall in metres."""
EYE_LINE = 0.35
MAX_BYTES = 250_000


def daylight(tall: bool) -> None:
    """Bright live-commerce room: window at the left, pale wood, plants."""
    white = material("plaster", (0.80, 0.745, 0.68), 0.9)
    oak = wood("oak", (0.60, 0.43, 0.27), (0.46, 0.31, 0.185))
    floor = wood("floor", (0.50, 0.36, 0.23), (0.36, 0.25, 0.16), 0.35, vertical=False)
    # The tall frame is narrower: what stands at its sides moves in.
    left_in, right_in = (0.42, 0.20) if tall else (0.0, 0.0)
    room(white, floor, material("ceiling", (0.85, 0.84, 0.82), 0.9))
    # Window with sheer curtains: the light everything in the room agrees on.
    frame = material("frame", (0.82, 0.80, 0.77), 0.5)
    sky = material("sky", (0.80, 0.90, 1.0), 1, glow=4.2)
    box(-2.62 + left_in, -1.62 + left_in, WALL - 0.015, WALL - 0.005, 0.62, 2.72, sky, 0)
    for x in (-2.62 + left_in, -2.13 + left_in, -1.64 + left_in):
        box(x - 0.03, x + 0.03, WALL - 0.07, WALL - 0.012, 0.6, 2.75, frame)
    for z in (0.6, 1.36, 2.06, 2.74):
        box(-2.64 + left_in, -1.60 + left_in, WALL - 0.07, WALL - 0.012, z - 0.028, z + 0.028, frame)
    sheer = material("sheer", (0.93, 0.91, 0.88), 1.0)
    sheer.node_tree.nodes["Principled BSDF"].inputs["Transmission Weight"].default_value = 0.25
    for left, right, seed in ((-1.78, -1.44, 1), (-3.0, -2.42, 2)):
        n = 90
        t = np.linspace(0, 1, n)
        rng = np.random.default_rng(seed)
        fold = 0.032 * np.sin(t * 2 * np.pi * (6 if seed == 1 else 9) + rng.normal(0, 0.3, n).cumsum() * 0.25)
        verts = [(left_in + left + (right - left) * t[i], WALL - 0.16 + fold[i], z) for z in (0.05, 2.9) for i in range(n)]
        mesh = bpy.data.meshes.new("sheer")
        mesh.from_pydata(verts, [], [(i, i + 1, n + i + 1, n + i) for i in range(n - 1)])
        link(mesh, sheer, smooth=True)
    # Shelves right of the host, pale and low in contrast behind the product card.
    left, right, deep = 0.30 - right_in, 2.35, 0.30
    for x in (left, left + 0.68, left + 1.36, right):
        box(x - 0.014, x + 0.014, WALL - deep, WALL, 0.02, 2.42, oak)
    boards = (0.42, 0.86, 1.28, 1.70, 2.10, 2.42)
    for z in boards:
        box(left, right, WALL - deep, WALL, z - 0.014, z + 0.014, oak)
    tones = [
        (0.80, 0.77, 0.72), (0.70, 0.58, 0.47), (0.62, 0.36, 0.26), (0.44, 0.50, 0.42), (0.80, 0.66, 0.55), (0.66, 0.70, 0.68),
        (0.74, 0.52, 0.40), (0.85, 0.83, 0.80),
    ]  # fmt: skip
    palette = [material("thing", c, 0.45) for c in tones]
    for i, z in enumerate(boards[:-1]):
        for j, x in enumerate((left, left + 0.68, left + 1.36)):
            shelf_things(x, x + 0.66, WALL - 0.12, z + 0.014, boards[i + 1] - z - 0.05, palette, 10 * i + j)
    leaves((left + 0.25, WALL - 0.16, 2.52), (0.30, 0.14, 0.14), 60, 0.13, 5)
    leaves((left + 1.7, WALL - 0.16, 2.52), (0.36, 0.14, 0.16), 70, 0.13, 6)
    # Sideboard along the wall: a calm band behind captions.
    box(-1.35 + 0.5 * left_in, 0.22 - right_in, WALL - 0.42, WALL, 0.08, 0.66, oak, 0.01)
    for x in (-0.83, -0.30):
        box(x - 0.003, x + 0.003, WALL - 0.425, WALL - 0.41, 0.10, 0.64, material("gap", (0.2, 0.14, 0.09)), 0)
    vase(-1.18 + 0.5 * left_in, WALL - 0.22, 0.66, 0.30, 0.085, palette[4])
    leaves((-1.18 + 0.5 * left_in, WALL - 0.22, 1.10), (0.24, 0.16, 0.26), 34, 0.17, 7)
    vase(-0.02 - right_in, WALL - 0.22, 0.66, 0.20, 0.07, palette[3])
    # Big plant before the window.
    lathe(
        [(0.15, 0), (0.19, 0.02), (0.22, 0.40), (0.20, 0.42)],
        -1.98 + left_in,
        WALL - 0.75,
        0.0,
        material("pot", (0.72, 0.68, 0.62), 0.8),
    )
    leaves((-1.98 + left_in, WALL - 0.75, 1.05), (0.50, 0.36, 0.80), 110, 0.24, 8)
    # Round paper lamp.
    ball(0.03 - right_in, WALL - 0.55, 2.33, 0.17, material("paper", (1.0, 0.95, 0.88), 1, glow=0.75))
    area((-3.2, 3.4, 2.3), (0.6, WALL, 0.9), 150, (1.6, 2.0), (1.0, 0.97, 0.92))
    area((-1.9, WALL - 0.3, 1.8), (0.5, 2.0, 0.8), 45, (1.0, 1.8), (0.92, 0.97, 1.0))
    area((0.8, 1.4, 2.9), (0.3, WALL, 1.2), 60, (2.5, 1.5), (1.0, 0.97, 0.94))
    world(0.34, (1.0, 0.98, 0.95))


def boutique(tall: bool) -> None:
    """Warm evening shop: dark wood, lamps, a rail of clothes, points of light far behind."""
    pull = 0.30 if tall else 0.0
    panel = wood("walnut", (0.135, 0.070, 0.038), (0.070, 0.034, 0.019), 0.42)
    plaster = material("warm", (0.34, 0.225, 0.15), 0.85)
    room(
        plaster,
        wood("floor", (0.12, 0.065, 0.036), (0.06, 0.032, 0.018), 0.3, vertical=False),
        material("ceil", (0.10, 0.07, 0.05), 0.9),
    )
    brass = material("brass", (0.78, 0.52, 0.22), 0.28, metal=1.0)
    # Wainscot and pilasters.
    x = -3.0
    while x < 3.2:
        box(x, x + 0.40, WALL - 0.05, WALL, 0.0, 0.86, panel, 0.008)
        x += 0.42
    box(-3.4, 3.4, WALL - 0.08, WALL, 0.86, 0.91, panel)
    for x in (-1.48, 0.34, 2.30):
        box(x - 0.07, x + 0.07, WALL - 0.10, WALL, 0.0, 3.0, panel, 0.01)
    # Sconces wash the wall behind the host; a hidden strip warms it further.
    bulb = material("bulb", (1.0, 0.72, 0.42), 1, glow=16)
    shade = material("shade", (1.0, 0.70, 0.42), 1, glow=2.6)
    for x in (-1.48, 0.34):
        box(x - 0.02, x + 0.02, WALL - 0.16, WALL - 0.10, 1.72, 1.80, brass)
        lathe([(0.055, 0.0), (0.085, 0.24)], x, WALL - 0.20, 1.80, shade)
    area((HOST_X - 0.05, WALL - 0.35, 0.95), (HOST_X, WALL, 1.9), 9, (1.3, 0.12), (1.0, 0.74, 0.48))
    area((HOST_X - 0.05, WALL - 0.30, 2.75), (HOST_X, WALL, 1.4), 24, (1.3, 0.12), (1.0, 0.76, 0.52))
    # Display bay at the right with glowing boards.
    left, right = 0.50, 2.14
    box(left, right, WALL - 0.02, WALL - 0.005, 0.91, 2.62, wood("bay", (0.20, 0.115, 0.065), (0.13, 0.07, 0.04)), 0)
    muted = [
        (0.30, 0.10, 0.07),
        (0.42, 0.30, 0.19),
        (0.07, 0.085, 0.10),
        (0.48, 0.42, 0.34),
        (0.16, 0.18, 0.12),
        (0.26, 0.15, 0.09),
    ]
    palette = [material("thing", c, 0.42) for c in muted]
    strip = material("strip", (1.0, 0.70, 0.40), 1, glow=7.0)
    boards = (0.91, 1.40, 1.84, 2.26)
    for i, z in enumerate(boards):
        if i:
            box(left, right, WALL - 0.30, WALL, z - 0.013, z + 0.013, panel)
            box(left + 0.02, right - 0.02, WALL - 0.06, WALL - 0.045, z - 0.026, z - 0.014, strip, 0)
        if i < 3:
            shelf_things(left + 0.02, right, WALL - 0.14, z + 0.013, 0.34, palette, 30 + i)
    leaves((right - 0.3, WALL - 0.16, 2.36), (0.36, 0.14, 0.12), 50, 0.13, 5)
    # Rail of clothes at the left.
    box(-2.75, -1.66, WALL - 0.50, WALL - 0.48, 1.78, 1.80, brass)
    for x in (-2.72, -1.69):
        box(x - 0.012, x + 0.012, WALL - 0.50, WALL - 0.48, 0.0, 1.80, brass)
    rng = np.random.default_rng(4)
    for i in range(15):
        x = -2.66 + i * 0.067
        n, z0 = 40, 1.70 - rng.uniform(0.75, 1.0)
        t = np.linspace(0, 1, n)
        fold = 0.012 * np.sin(t * 22 + rng.uniform(0, 6))
        verts = [
            (x + fold[k] + (0.01 if z < 1.6 else 0), WALL - 0.70 + 0.42 * t[k], z) for z in (z0, 1.56, 1.70) for k in range(n)
        ]
        mesh = bpy.data.meshes.new("garment")
        mesh.from_pydata(
            verts,
            [],
            [(r * n + k, r * n + k + 1, (r + 1) * n + k + 1, (r + 1) * n + k) for r in range(2) for k in range(n - 1)],
        )
        obj = link(mesh, palette[int(rng.integers(len(palette)))], smooth=True)
        solid = obj.modifiers.new("solid", "SOLIDIFY")
        solid.thickness = 0.025
    # Pendant lamps and a garland of small bulbs.
    for x, y, z in ((-1.52 + pull, 4.4, 1.88), (0.50 - pull, 4.4, 1.94), (-2.05 + pull, 5.0, 2.06)):
        box(x - 0.004, x + 0.004, y - 0.004, y + 0.004, z, 3.0, brass, 0)
        lathe([(0.02, 0.20), (0.06, 0.17), (0.13, 0.02), (0.135, 0.0)], x, y, z, brass)
        ball(x, y, z + 0.02, 0.045, bulb)
        light = bpy.data.lights.new("pendant", "POINT")
        light.energy, light.color, light.shadow_soft_size = 9, (1.0, 0.66, 0.36), 0.06
        obj = bpy.data.objects.new("pendant", light)
        obj.location = (x, y, z - 0.06)
        bpy.context.scene.collection.objects.link(obj)
    for i in range(26):
        t = i / 25
        ball(-2.9 + 5.8 * t, WALL - 0.12, 2.28 - 0.16 * np.sin(np.pi * ((t * 3) % 1)), 0.010, bulb)
    area((-3.0, 2.6, 2.8), (-0.4, WALL, 1.2), 60, (1.2, 1.2), (1.0, 0.84, 0.68))
    world(0.10, (1.0, 0.80, 0.62))


def studio(tall: bool) -> None:
    """Broadcast set: blue-grey walls, soft light panels, a fine line of light."""
    del tall  # the same set suits both frames
    wall = material("wall", (0.060, 0.092, 0.135), 0.55)
    room(wall, material("floor", (0.035, 0.05, 0.07), 0.18), material("ceil", (0.03, 0.04, 0.055), 0.8))
    dark = material("slat", (0.036, 0.056, 0.085), 0.42)
    x = -3.2
    while x < -1.55:
        box(x, x + 0.045, WALL - 0.06, WALL, 0.0, 3.0, dark, 0.004)
        x += 0.085
    x = 0.42
    while x < 2.6:
        box(x, x + 0.045, WALL - 0.05, WALL, 0.0, 3.0, dark, 0.004)
        x += 0.085
    panel = material("panel", (0.48, 0.71, 1.0), 1, glow=0.42)
    faint = material("faint", (0.38, 0.61, 0.95), 1, glow=0.24)
    rim = material("rim", (0.045, 0.07, 0.10), 0.35)
    for x0, x1, mat in ((-1.44, -1.16, faint), (-0.98, -0.14, panel), (0.04, 0.30, faint)):
        box(x0 - 0.03, x1 + 0.03, WALL - 0.13, WALL - 0.02, 0.55, 2.72, rim, 0.02)
        box(x0, x1, WALL - 0.135, WALL - 0.125, 0.58, 2.69, mat, 0)
    line = material("line", (0.35, 0.75, 1.0), 1, glow=3.2)
    box(-3.4, -1.55, WALL - 0.075, WALL - 0.065, 1.005, 1.016, line, 0)
    box(0.42, 3.4, WALL - 0.075, WALL - 0.065, 1.005, 1.016, line, 0)
    box(-3.4, 3.4, WALL - 0.35, WALL - 0.34, 0.03, 0.045, line, 0)
    # Screen wall behind the product card: a dark, quiet gradient.
    box(0.92, 2.30, WALL - 0.16, WALL - 0.10, 1.16, 2.20, rim, 0.02)
    box(0.95, 2.27, WALL - 0.165, WALL - 0.155, 1.19, 2.17, material("screen", (0.05, 0.14, 0.26), 0.25, glow=0.55), 0)
    # Desk-high plinths with objects catch the key.
    plinth = material("plinth", (0.10, 0.14, 0.19), 0.35)
    for x, h in ((-2.15, 0.95), (0.62, 0.80)):
        box(x - 0.20, x + 0.20, WALL - 0.75, WALL - 0.35, 0, h, plinth, 0.01)
    silver = material("silver", (0.75, 0.80, 0.86), 0.22, metal=1.0)
    vase(-2.15, WALL - 0.55, 0.95, 0.34, 0.10, silver)
    ball(0.62, WALL - 0.55, 0.92, 0.12, silver)
    area((-3.0, 2.4, 2.7), (-0.6, WALL, 1.3), 60, (1.2, 1.2), (0.92, 0.96, 1.0))
    area((HOST_X, WALL - 0.5, 2.9), (HOST_X, WALL, 1.2), 14, (1.8, 0.2), (0.70, 0.85, 1.0))
    area((3.0, 2.8, 2.2), (1.4, WALL, 1.2), 26, (1.2, 1.2), (0.55, 0.75, 1.0))
    world(0.05, (0.6, 0.78, 1.0))


SETS = {"daylight": (daylight, 0.5, 1.0), "boutique": (boutique, 1.1, 0.9), "studio": (studio, 0.5, 1.1)}
"""Set, exposure in stops, aperture (f-number)."""


def stage(name: str, tall: bool, scale: float, spp: int) -> bpy.types.Scene:
    """Empty scene, camera, set."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    build, exposure, aperture = SETS[name]
    cam = bpy.data.cameras.new("camera")
    obj = bpy.data.objects.new("camera", cam)
    scene.collection.objects.link(obj)
    scene.camera = obj
    width, height = (1080, 1920) if tall else (1920, 1080)
    metres = TALL_M if tall else WIDE_M
    cam.sensor_fit = "VERTICAL"
    cam.sensor_height = 24.0
    cam.angle = 2 * np.arctan(metres / 2 / WALL)
    # Shifts are in units of the sensor's longer fitted side; upright lines stay upright.
    fit = height
    cam.shift_y = (EYE_LINE - 0.5) * height / fit
    want = 0.5 if tall else 0.37
    cam.shift_x = (HOST_X / metres * height - (want - 0.5) * width) / fit
    cam.dof.use_dof = True
    cam.dof.focus_distance = 2.7
    cam.dof.aperture_fstop = aperture * (0.72 if tall else 1.0)
    obj.location = (0, 0, EYE)
    obj.rotation_euler = (np.pi / 2, 0, 0)
    build(tall)
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.adaptive_threshold = spp, True, 0.03
    scene.cycles.max_bounces, scene.cycles.sample_clamp_indirect = 5, 4.0
    scene.cycles.caustics_reflective = scene.cycles.caustics_refractive = False
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = round(100 * scale)
    scene.render.threads_mode, scene.render.threads = "FIXED", 2
    scene.view_settings.view_transform, scene.view_settings.look = "AgX", "AgX - Medium High Contrast"
    scene.view_settings.exposure = exposure
    scene.render.image_settings.file_format, scene.render.image_settings.color_mode = "PNG", "RGB"
    return scene


def ship(picture: Path, target: Path, tall: bool) -> None:
    """Enlarge to full size, dither against banding, and write the best JPEG within the byte limit."""
    size = (1080, 1920) if tall else (1920, 1080)
    image = cv2.resize(cv2.imread(str(picture)), size, interpolation=cv2.INTER_CUBIC).astype(np.float32)
    image = cv2.GaussianBlur(image, (0, 0), 1.2) + np.random.default_rng(3).normal(0, 0.9, image.shape)
    final = np.clip(image + 0.5, 0, 255).astype(np.uint8)
    for quality in range(93, 60, -3):
        data = cv2.imencode(".jpg", final, [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_OPTIMIZE, 1])[1]
        if len(data) <= MAX_BYTES:
            break
    target.write_bytes(data.tobytes())
    print(f"{target.name}: quality {quality}, {len(data) / 1000:.0f} kB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--spp", type=int, default=48)
    parser.add_argument("--shape", choices=("wide", "tall", "both"), default="both")
    parser.add_argument("--ship", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or SETS:
        for shape in ("wide", "tall") if args.shape == "both" else (args.shape,):
            started = time.time()
            scene = stage(name, shape == "tall", args.scale, args.spp)
            path = args.out / f"{name}_{shape}.png"
            scene.render.filepath = str(path.resolve())
            bpy.ops.render.render(write_still=True)
            print(f"{name} {shape}: {time.time() - started:.1f} s", flush=True)
            if args.ship:
                ship(path, args.ship / f"{name}_{shape}.jpg", shape == "tall")


if __name__ == "__main__":
    main()
