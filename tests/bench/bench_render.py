"""Milliseconds a frame of the CPU renderer, by stage and size: ``python -m tests.bench.bench_render``.

Frames alternate between talking poses with the head turning, so nothing is at rest. CPU time is this thread's; stage times
are wall clock, medians. Goal: 1280x720 in at most 15 ms of CPU on one core, target 10.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np

from gpu_engine.avatar.cpu import STAGES, CpuRenderer
from gpu_engine.avatar.pack import load_pack
from gpu_engine.avatar.sheet import VISEMES, pose_frame

GOAL_MS = {360: 6.0, 720: 15.0, 1080: 33.0}


def measure(pack_name: str, height: int, frames: int) -> dict[str, object]:
    """Time ``frames`` frames of ``pack_name`` at 16:9 ``height``."""
    started = time.perf_counter()
    renderer = CpuRenderer(load_pack(pack_name), height * 16 // 9, height)
    renderer.warm_up()
    ready_s = time.perf_counter() - started
    names = list(VISEMES)
    poses = [pose_frame({**VISEMES[names[i % len(names)]], "eyeLookLeft": 0.2}, (6 * np.sin(i / 3), 2, 1)) for i in range(30)]
    canvas = np.zeros((height, height * 16 // 9, 3), np.uint8)
    cpu, stages = [], {s: [] for s in STAGES}
    for i in range(frames):
        before = time.thread_time()
        renderer.render(poses[i % 30], canvas)
        cpu.append((time.thread_time() - before) * 1000)
        for stage in STAGES:
            stages[stage].append(renderer.stage_ms[stage])
    return {
        "height": height,
        "cpu_ms_median": round(float(np.median(cpu)), 2),
        "cpu_ms_p90": round(float(np.percentile(cpu, 90)), 2),
        "cpu_ms_min": round(float(np.min(cpu)), 2),
        "goal_ms": GOAL_MS[height],
        "stage_wall_ms_median": {s: round(float(np.median(v)), 2) for s, v in stages.items()},
        "ready_s": round(ready_s, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", default="lin")
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("var/bench/render.json"))
    args = parser.parse_args()
    rows = [measure(args.pack, height, args.frames) for height in GOAL_MS]
    print(f"{'size':>10} {'CPU ms':>7} {'p90':>6} {'goal':>6} {'ratio':>6}  " + " ".join(f"{s:>6}" for s in STAGES))
    for row in rows:
        stage = row["stage_wall_ms_median"]
        assert isinstance(stage, dict)
        median, goal = float(str(row["cpu_ms_median"])), float(str(row["goal_ms"]))
        print(
            f"{row['height']:>9}p {median:>7.2f} {row['cpu_ms_p90']:>6} {goal:>6.1f} {median / goal:>6.2f}  "
            + " ".join(f"{stage[s]:>6.2f}" for s in STAGES)
        )
    load = os.getloadavg()[0]
    report = {
        "bench": "render", "machine": platform.processor() or platform.machine(), "cores": os.cpu_count(),
        "load": round(load, 2), "rows": rows,
    }  # fmt: skip
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"load {load:.1f}; written to {args.out}")


if __name__ == "__main__":
    main()
