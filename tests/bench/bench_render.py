"""Milliseconds a frame and share of a core of every shipped pack: ``python -m tests.bench render``.

Frames talk, turn the head, breathe and beat with the arms, so nothing is at rest. CPU time is this thread's (renderer) or this
process's (with encode: the body's own, x264 on one thread). Then three hosts talk at once, each in a process of its
own paced at 25 fps, on two cores: a frame that is not ready when the next is due counts as dropped.

``RENDERERS`` names what is measured; a peer adds a line.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.avatar.cpu import STAGES, CpuRenderer
from gpu_engine.avatar.pack import load_pack, shipped_packs
from gpu_engine.avatar.renderer import AvatarRenderer
from gpu_engine.avatar.sheet import VISEMES, pose_frame
from gpu_engine.body.encoder import VideoEncoder
from gpu_engine.motion.vocabulary import MotionFrame
from gpu_engine.session.clock import VIDEO_CLOCK_HZ
from gpu_engine.session.spec import Video
from tests.bench.table import print_table, save

HEIGHTS = (360, 720, 1080)
FPS = 25
GOAL_CORE = 0.30
"""Share of a core for renderer and encode at 720p25, torso and hair moving."""

RENDERERS: dict[str, Callable[[str, int, int], AvatarRenderer]] = {
    "cpu": lambda pack, width, height: CpuRenderer(load_pack(pack), width, height),
}
"""Name → opens a renderer of a pack at a size."""


def talking(count: int) -> list[MotionFrame]:
    """Frames of a host who talks, looks about and gestures."""
    names = list(VISEMES)
    frames = []
    for i in range(count):
        s, t = np.sin(i / 7), np.sin(i / 3)
        joints = {
            "spine2": (0.6 * t, 1.5 * s, 0.4 * s), "neck": (0.5 * t, 2 * s, 0), "left_shoulder": (-12 - 8 * t, 0, 6),
            "left_elbow": (-60 - 15 * t, -10, 0), "right_shoulder": (-8, 0, -6 - 4 * s), "right_elbow": (-50 - 20 * s, 10, 0),
        }  # fmt: skip
        frames.append(pose_frame({**VISEMES[names[i % len(names)]], "eyeLookLeft": 0.2 + 0.2 * s}, (6 * s, 2 * t, 1), joints))
    return frames


class Encoder:
    """The body's own H.264 encoder."""

    def __init__(self, width: int, height: int) -> None:
        self._encoder = VideoEncoder(Video(width=width, height=height, fps=FPS))
        self._index = 0

    def encode(self, canvas: np.ndarray) -> int:
        """Bytes of this frame's packets."""
        pts = self._index * VIDEO_CLOCK_HZ // FPS
        self._index += 1
        return sum(len(packet.data) for packet in self._encoder.encode(canvas, pts, 0))


def measure(name: str, pack: str, height: int, frames: int) -> dict[str, Any]:
    """Time ``frames`` frames of ``pack`` at 16:9 ``height``, without and with encode."""
    width = height * 16 // 9 // 2 * 2
    started = time.perf_counter()
    renderer = RENDERERS[name](pack, width, height)
    poses = talking(60)
    background = np.full((height, width, 3), (214, 220, 226), np.uint8)
    canvas = background.copy()
    renderer.render(poses[0], canvas)
    ready_s = time.perf_counter() - started
    draw_ms, stages = [], {s: [] for s in STAGES}
    for i in range(frames):
        np.copyto(canvas, background)
        before = time.thread_time()
        renderer.render(poses[i % len(poses)], canvas)
        draw_ms.append((time.thread_time() - before) * 1000)
        for stage, ms in getattr(renderer, "stage_ms", {}).items():
            stages[stage].append(ms)
    encoder, both_ms = Encoder(width, height), []
    for i in range(frames):
        before = time.process_time()
        np.copyto(canvas, background)
        renderer.render(poses[i % len(poses)], canvas)
        encoder.encode(canvas)
        both_ms.append((time.process_time() - before) * 1000)

    def figures(values: list[float]) -> dict[str, float]:
        return {
            "p50_ms": round(float(np.median(values)), 2), "p99_ms": round(float(np.percentile(values, 99)), 2),
            "core": round(float(np.mean(values)) * FPS / 1000, 3),
        }  # fmt: skip

    return {
        "renderer": name, "pack": pack, "height": height, "draw": figures(draw_ms), "draw_encode": figures(both_ms),
        "stage_p50_ms": {s: round(float(np.median(v)), 2) for s, v in stages.items() if v}, "ready_s": round(ready_s, 2),
    }  # fmt: skip


def _talk(pack: str, height: int, seconds: float, start: Any, out: Any) -> None:
    width = height * 16 // 9 // 2 * 2
    renderer, encoder, poses = RENDERERS["cpu"](pack, width, height), Encoder(width, height), talking(60)
    background = np.full((height, width, 3), (214, 220, 226), np.uint8)
    canvas = background.copy()
    for pose in poses[:10]:
        renderer.render(pose, canvas)
    start.wait()
    begin, cpu, dropped, late = time.perf_counter(), time.process_time(), 0, []
    total, i = int(seconds * FPS), 0
    while i < total:
        due = begin + i / FPS
        if (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        np.copyto(canvas, background)
        renderer.render(poses[i % len(poses)], canvas)
        encoder.encode(canvas)
        over = time.perf_counter() - due - 1 / FPS
        late.append(max(0.0, over) * 1000)
        skip = max(0, int(np.ceil(over * FPS)))
        dropped += skip
        i += 1 + skip
    out.put((pack, dropped, total, (time.process_time() - cpu) / seconds, max(late)))


def three_at_once(height: int, seconds: float) -> list[dict[str, Any]]:
    """Three processes on two cores, each paced at 25 fps for ``seconds``."""
    from tests.bench import bench_render  # children find the function by this name, however this file was started

    packs = (shipped_packs() * 3)[:3]
    context = multiprocessing.get_context("spawn")
    start, out = context.Barrier(3), context.Queue()
    cores = sorted(os.sched_getaffinity(0))[:2]
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        workers = [context.Process(target=bench_render._talk, args=(p, height, seconds, start, out)) for p in packs]
        for worker in workers:
            worker.start()
        results = [out.get(timeout=seconds * 20 + 60) for _ in workers]
        for worker in workers:
            worker.join()
    finally:
        os.sched_setaffinity(0, mine)
    return [
        {"pack": p, "dropped": d, "frames": n, "core": round(c, 3), "latest_ms": round(late, 1)} for p, d, n, c, late in results
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packs", nargs="*", default=shipped_packs())
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=12.0)
    args = parser.parse_args()
    rows = [measure(name, pack, height, args.frames) for name in RENDERERS for pack in args.packs for height in HEIGHTS]
    print_table(
        f"CPU per frame, everything moving (goal: draw + encode at most {GOAL_CORE:.0%} of a core at 720p25)",
        ["renderer", "pack", "size", "draw p50", "p99", "core", "+ encode p50", "p99", "core", "of goal", *STAGES],
        [
            [
                r["renderer"], r["pack"], f"{r['height']}p", f"{r['draw']['p50_ms']} ms", f"{r['draw']['p99_ms']}",
                f"{r['draw']['core']:.0%}", f"{r['draw_encode']['p50_ms']} ms", f"{r['draw_encode']['p99_ms']}",
                f"{r['draw_encode']['core']:.0%}",
                f"{r['draw_encode']['core'] / GOAL_CORE:.2f}" if r["height"] == 720 else "",
                *(f"{r['stage_p50_ms'].get(s, 0):.2f}" for s in STAGES),
            ]
            for r in rows
        ],
    )  # fmt: skip
    at_once = {height: three_at_once(height, args.seconds) for height in (360, 720)}
    print_table(
        f"Three hosts at once on two cores, 25 fps, draw + encode, {args.seconds:.0f} s (goal: no frame dropped)",
        ["size", "pack", "dropped", "of", "core each", "latest"],
        [
            [f"{h}p", r["pack"], str(r["dropped"]), str(r["frames"]), f"{r['core']:.0%}", f"{r['latest_ms']} ms"]
            for h, runs in at_once.items()
            for r in runs
        ],
    )
    load = os.getloadavg()[0]
    print(f"\nload {load:.1f} on {os.cpu_count()} cores")
    save("render", {"rows": rows, "three_at_once": at_once, "cores": os.cpu_count(), "load": round(load, 2), "fps": FPS})


if __name__ == "__main__":
    main()
