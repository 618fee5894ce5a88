"""From raw to shipped: size, load time and visible difference of every pack, ``python -m tests.bench pack``.

Raw is the same host before anything was saved: every vertex, every target dense, every picture PNG and whole. The recipe writes
it (``recipe/pack.py … --raw FOLDER``); without it only the shipped side is measured. The visible difference is that of frames
drawn from both. Field figures for scale: 327 → 18.3 MB and 1,240 → 89 ms (a radiance head, not this format).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import PACKS, load_pack, shipped_packs
from gpu_engine.avatar.sheet import POSES, pose_frame
from tests.bench.table import print_table, save


def megabytes(path: Path) -> float:
    """Size of a file, 10^6 bytes."""
    return round(path.stat().st_size / 1e6, 2)


def load_ms(path: Path, times: int) -> float:
    """Median CPU milliseconds of ``load_pack``, hash and checks included."""
    spent = []
    for _ in range(times):
        before = time.process_time()
        load_pack(path)
        spent.append((time.process_time() - before) * 1000)
    return round(float(np.median(spent)), 1)


def difference(a: Path, b: Path) -> tuple[float, float]:
    """Mean and 99th percentile of the absolute difference (of 255) over the pixels of the host, all poses, 720p."""
    drawn = []
    for path in (a, b):
        renderer = CpuRenderer(load_pack(path), 1280, 720)
        images = []
        for pose in POSES:
            canvas = np.full((720, 1280, 3), (214, 220, 226), np.uint8)
            renderer.render(pose_frame(pose.weights, pose.head), canvas)
            images.append(canvas)
        drawn.append(np.stack(images).astype(np.int16))
    host = (drawn[0] != np.array([214, 220, 226])).any(-1)
    off = np.abs(drawn[0] - drawn[1]).max(-1)[host]
    return round(float(off.mean()), 3), float(np.percentile(off, 99))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packs", nargs="*", default=shipped_packs())
    parser.add_argument("--raw", type=Path, default=Path("var/packs-raw"), help="folder of raw packs")
    parser.add_argument("--times", type=int, default=7)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in args.packs:
        shipped, raw = PACKS / f"{name}.glb", args.raw / f"{name}.glb"
        row: dict[str, Any] = {"pack": name, "shipped_mb": megabytes(shipped), "shipped_load_ms": load_ms(shipped, args.times)}
        if raw.exists():
            mean, p99 = difference(raw, shipped)
            row |= {"raw_mb": megabytes(raw), "raw_load_ms": load_ms(raw, args.times), "mean_diff": mean, "p99_diff": p99}
        rows.append(row)
    print_table(
        "Avatar packs (goal: at most 12 MB, aim 6; differences of 255)",
        ["pack", "raw", "shipped", "ratio", "load raw", "load shipped", "mean diff", "p99 diff"],
        [
            [
                r["pack"], f"{r['raw_mb']} MB" if "raw_mb" in r else "–", f"{r['shipped_mb']} MB",
                f"{r['raw_mb'] / r['shipped_mb']:.1f}x" if "raw_mb" in r else "–",
                f"{r['raw_load_ms']} ms" if "raw_mb" in r else "–", f"{r['shipped_load_ms']} ms",
                f"{r['mean_diff']}" if "raw_mb" in r else "–", f"{r['p99_diff']:.0f}" if "raw_mb" in r else "–",
            ]
            for r in rows
        ],
    )  # fmt: skip
    save("pack", {"rows": rows})


if __name__ == "__main__":
    main()
