"""Milliseconds a frame of motion and stage, beside their goals: ``python -m tests.bench.bench_stage``."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpu_engine.motion.lips import compile_lips
from gpu_engine.motion.mixer import Mixer
from gpu_engine.session.timeline import Card, Emotion
from gpu_engine.speech.engine import PhonemeSpan
from gpu_engine.stage.compositor import Stage, StageState
from gpu_engine.stage.layout import layout
from gpu_engine.stage.sprites import caption_sprite, card_sprite, shadow

CARD = Card("p3", "轻盈保温杯 316不锈钢 500ml", "¥199", "¥299", "仅剩 23 件 · 满2件减20", 3)
CAPTIONS = (
    "这款保温杯采用316不锈钢内胆，早上装的热水，到了晚上还是温的，今天直播间只要一百九十九。",
    "Two drops in the morning and your skin stays bright all day, and yes, it is fine for sensitive skin.",
)


def timed(call: Callable[[int], object], repeats: int) -> tuple[float, float]:
    """Median and 99th percentile of ``call(i)``, in ms."""
    spent = []
    for i in range(repeats):
        start = time.perf_counter()
        call(i)
        spent.append((time.perf_counter() - start) * 1e3)
    return float(np.median(spent)), float(np.percentile(spent, 99))


def measure() -> list[dict[str, float | str]]:
    """One row for each step: name, goal and times in ms."""
    size = (1280, 720)
    stage, plan, mixer = Stage(*size, "zh", "AI生成 · 数字人"), layout(*size), Mixer(1)
    canvas = stage.background()
    lips = np.zeros(32, dtype=np.float32)
    spans = [PhonemeSpan("taʨjamai"[i % 8], i * 75.0, i * 75.0 + 75.0) for i in range(60)]
    shade = shadow((plan.card.width, plan.card.height), 19, 12)
    state = StageState(CAPTIONS[0], CARD, 0.0)
    for warm in range(3):
        stage.compose(canvas, StageState(state.caption, state.card, warm * 400.0))
    start = time.perf_counter()
    stage.background()
    background_ms = (time.perf_counter() - start) * 1e3
    rows: list[tuple[str, float, tuple[float, float]]] = [
        ("mixer.mix", 0.3, timed(lambda i: mixer.mix(i * 40, lips, Emotion(), (i * 40 - 80, i * 40 + 900), True), 3000)),
        ("stage.compose, label + captions + card", 1.5,
         timed(lambda i: stage.compose(canvas, StageState(state.caption, CARD, 5_000.0 + i * 40)), 1000)),
        ("caption sprite", 10.0, timed(lambda i: caption_sprite(CAPTIONS[i % 2] + str(i % 7), plan), 60)),
        ("card sprite", 10.0, timed(lambda i: card_sprite(CARD, plan, "zh", None, shade), 60)),
        ("compile_lips, 4.5 s of speech", 10.0, timed(lambda i: compile_lips(spans, 4_600.0, "zh"), 200)),
        ("background, once", 3000.0, (background_ms, background_ms)),
    ]  # fmt: skip
    return [{"step": name, "goal_ms": goal, "median_ms": times[0], "p99_ms": times[1]} for name, goal, times in rows]


def main() -> None:
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("var/bench/stage.json"))
    asked = parser.parse_args()
    rows = measure()
    print(f"{platform.machine()}, {platform.processor() or 'CPU'}, 1280x720, one thread")
    print(f"{'step':42} {'goal ms':>8} {'median':>8} {'p99':>8}")
    for row in rows:
        print(f"{row['step']:42} {row['goal_ms']:8.1f} {row['median_ms']:8.3f} {row['p99_ms']:8.3f}")
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
