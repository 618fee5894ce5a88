"""The same pack through other renderers on this machine: ``python -m tests.bench peers``.

Ours on the CPU (baked light), ours through OpenGL (full PBR, light baked every frame; Mesa's llvmpipe where there is no
GPU) and pygfx through Vulkan (standard loader, unlit; Mesa's lavapipe where there is no GPU). Processor time of the whole
process, so that threads of a software driver count. pygfx needs the ``[bench]`` extra and mesa-vulkan-drivers; what is not
installed is printed as not measured. The three do not draw the same light: ours on OpenGL does far more, pygfx a little less.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable

import numpy as np

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.gl.renderer import GlRenderer
from gpu_engine.avatar.pack import load_pack, pack_path
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import WEIGHT_INDEX, MotionFrame, rest_frame
from tests.bench.table import print_table, save

HEIGHTS = (360, 720, 1080)


def talking(i: int) -> MotionFrame:
    """A frame with the mouth and the head moving."""
    frame = rest_frame()
    frame.weights[WEIGHT_INDEX["jawOpen"]] = 0.2 + 0.2 * np.sin(i)
    frame.weights[WEIGHT_INDEX["mouthSmileLeft"]] = frame.weights[WEIGHT_INDEX["mouthSmileRight"]] = 0.3
    turn = 0.05 * np.sin(i / 3)
    frame.joints[14] = (0.0, np.sin(turn), 0.0, np.cos(turn))
    return frame


def timed(draw: Callable[[int], None], seconds: float) -> tuple[float, float, int]:
    """Median wall ms, mean processor ms of the process, and frames, after one frame of warm-up."""
    draw(0)
    walls: list[float] = []
    busy, end = time.process_time(), time.perf_counter() + seconds
    while time.perf_counter() < end or len(walls) < 3:
        started = time.perf_counter()
        draw(len(walls) + 1)
        walls.append((time.perf_counter() - started) * 1000)
    return float(np.median(walls)), (time.process_time() - busy) * 1000 / len(walls), len(walls)


def ours_on_the_cpu(pack: str, height: int) -> tuple[str, Callable[[int], None]]:
    renderer = CpuRenderer(load_pack(pack), height * 16 // 9, height)
    renderer.warm_up()
    canvas = np.zeros((height, height * 16 // 9, 3), np.uint8)
    return "numba, one thread", lambda i: renderer.render(talking(i), canvas)


def ours_on_opengl(pack: str, height: int) -> tuple[str, Callable[[int], None]]:
    renderer = GlRenderer(load_pack(pack), height * 16 // 9, height)
    canvas = np.zeros((height, height * 16 // 9, 3), np.uint8)
    return renderer.device.renderer, lambda i: renderer.render(talking(i), canvas)


def pygfx_on_vulkan(pack: str, height: int) -> tuple[str, Callable[[int], None]]:
    logging.getLogger("pygfx").setLevel(logging.ERROR)
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    import pygfx
    from rendercanvas.offscreen import RenderCanvas

    canvas = RenderCanvas(size=(height * 16 // 9, height), pixel_ratio=1)
    renderer = pygfx.renderers.WgpuRenderer(canvas)
    scene = pygfx.load_gltf(str(pack_path(pack)), quiet=True).scene
    camera = pygfx.PerspectiveCamera(14, 16 / 9, depth_range=(0.1, 20))
    camera.local.position = (0.1, 0.45, 2.7)
    camera.look_at((0.1, 0.45, 0))
    heads = [o for o in scene.iter() if getattr(o, "morph_target_influences", None) is not None]

    def draw(i: int) -> None:
        for head in heads:
            influences = np.zeros(len(head.morph_target_influences), np.float32)
            influences[24] = 0.2 + 0.2 * np.sin(i)
            head.morph_target_influences = influences
        canvas.request_draw(lambda: renderer.render(scene, camera))
        np.asarray(canvas.draw())

    return str(renderer.device.adapter.info["device"]), draw


RENDERERS = {"ours, CPU": ours_on_the_cpu, "ours, OpenGL": ours_on_opengl, "pygfx, Vulkan": pygfx_on_vulkan}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", default="lin")
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    rows, result = [], []
    for height in HEIGHTS:
        for name, make in RENDERERS.items():
            try:
                on, draw = make(options.pack, height)
            except (AvatarError, ImportError, RuntimeError) as error:
                rows.append([f"{height}p", name, "not measured here", "", "", str(error)[:60]])
                continue
            wall, processor, frames = timed(draw, options.seconds)
            rows.append([f"{height}p", name, f"{wall:.1f}", f"{processor:.1f}", str(frames), on])
            result.append(
                {"height": height, "renderer": name, "on": on, "wall_ms": wall, "cpu_ms": processor, "frames": frames}
            )
    print_table(
        f"One frame of '{options.pack}' (load {os.getloadavg()[0]:.1f})",
        ["size", "renderer", "wall ms, median", "processor ms", "frames", "on"], rows,
    )  # fmt: skip
    save("peers", {"pack": options.pack, "rows": result})


if __name__ == "__main__":
    main()
