"""What a frame of a neural head costs, by batch and stage: ``python -m tests.bench neural``.

The head that ships is used (``--head`` for another). Speech-like sound is made here, so that no voice model is needed.
Times are CPU time of the one thread that draws.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from gpu_engine.session.process import single_threaded_math

single_threaded_math()  # As the body does; it counts only before numpy is loaded.

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from gpu_engine.avatar.neural.manifest import load_head  # noqa: E402
from gpu_engine.avatar.neural.renderer import STAGES, NeuralRenderer  # noqa: E402
from gpu_engine.avatar.neural.sound import RecordedSound  # noqa: E402
from gpu_engine.motion.vocabulary import rest_frame  # noqa: E402
from tests.bench.table import print_table, save  # noqa: E402

HEADS = Path(__file__).parents[2] / "gpu_engine" / "avatar" / "neural" / "heads"
FRAMES, FPS = 200, 25


def speech(seconds: float) -> NDArray[np.int16]:
    """Syllables of a buzzing voice, four a second: int16 mono 48 kHz."""
    t = np.arange(int(seconds * 48_000)) / 48_000
    voice = sum(np.sin(2 * np.pi * 190 * k * t) / k for k in range(1, 14))
    loud = np.maximum(0.0, np.sin(2 * np.pi * 4 * t)) ** 0.7
    return np.asarray(voice * loud * 3_000, np.int16)


def measure(path: Path, batch: int, size: tuple[int, int], cache: Path) -> dict[str, float]:
    """Mean CPU ms a frame by stage, the 99th percentile of a whole frame, and what the look-ahead asks of the sound."""
    renderer = NeuralRenderer(load_head(path), *size, batch=batch, cache=cache, clock=time.thread_time)
    renderer.warm_up()
    sound, canvas = RecordedSound(speech(FRAMES / FPS + 2)), np.zeros((size[1], size[0], 3), np.uint8)
    stages, whole = dict.fromkeys(STAGES, 0.0), []
    for i in range(FRAMES):
        sound.at = round((i + 0.5) * 48_000 / FPS)
        renderer.hear(sound, i * 1000.0 / FPS)
        renderer.render(rest_frame(), canvas)
        for stage, ms in renderer.stage_ms.items():
            stages[stage] += ms / FRAMES
        whole.append(sum(renderer.stage_ms.values()))
    total = sum(stages.values())
    return {**stages, "total": total, "p99": float(np.percentile(whole, 99)), "core": total * FPS / 1000,
            "look_ahead_ms": renderer.look_ahead_ms, "held": float(renderer.held_frames)}  # fmt: skip


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--head", type=Path, default=None)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=720)
    options = parser.parse_args()
    shipped = sorted(HEADS.glob("*/head.json"))
    path = options.head or (shipped[0] if shipped else None)
    if path is None:
        raise SystemExit("no head ships with this version: give one with --head (see docs/neural-heads.md)")
    cv2.setNumThreads(1)
    size = (options.width, options.height)
    with tempfile.TemporaryDirectory() as folder:
        found = {batch: measure(path, batch, size, Path(folder)) for batch in (1, 2, 4, 8)}
    rows = [
        [str(batch), *(f"{m[s]:.2f}" for s in STAGES), f"{m['total']:.2f}", f"{m['p99']:.1f}", f"{m['core']:.0%}",
         f"{m['look_ahead_ms']:.0f}", f"{m['held']:.0f}"]
        for batch, m in found.items()
    ]  # fmt: skip
    head = ["batch", *(f"{s} ms" for s in STAGES), "total ms", "p99 ms", "of a core", "look-ahead ms", "held"]
    load = os.getloadavg()[0]
    print_table(f"{load_head(path).name} at {size[0]}x{size[1]}, {FPS} fps, load {load:.1f}", head, rows)
    print("  Look-ahead: sound that must be known ahead of a frame. A clip buffered that far adds no delay of sound or mouth.")
    save("neural", {"head": load_head(path).name, "size": size, "load": load, "rows": {str(b): m for b, m in found.items()}})


if __name__ == "__main__":
    main()
