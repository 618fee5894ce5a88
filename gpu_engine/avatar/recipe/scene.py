"""Builds a presenter in Blender, previews it and bakes the light on its skin with Cycles.

Run with the ``bpy`` wheel's Python: ``python scene.py DATA OUT STAGE [STAGE…] --who NAME [--scale 0.5] [--spp 40]``;
files go to ``OUT/NAME/``. Stages: face (head only), beauty, skin (light bake), tone. Face and beauty show the painted
skin when ``bake.py … paint`` has run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import bpy
import numpy as np
import presenters
from blender import add_light, add_mesh, denoise, principled, setup, to_blender
from host import Host

__all__ = ["Host", "add_light", "add_mesh", "principled", "setup", "to_blender"]

LIGHT_SIDE = 1024
"""Light is smooth: half the atlas side, denoised and enlarged under full-size paint."""

BAKE_POSE = {"eyeBlinkLeft": 0.30, "eyeBlinkRight": 0.30, "jawOpen": 0.08}
"""Lids part shut and lips parted while light is baked: skin that folds away at rest still gets lit."""

FACE_BORDER = (0.27, 0.73, 0.42, 1.0)
"""Part of the canvas the face stage renders: left, right, bottom, top from below."""

STAGES = {
    "face": ({"skin", "cloth", "hair_front", "hair_back"}, set(), {"hair_top"}),
    "beauty": ({"skin", "cloth", "hair_front", "hair_back"}, set(), {"hair_top"}),
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
