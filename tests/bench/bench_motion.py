"""Motion's figures: jitter of easings, coupled against decoupled pipelines, cost of a frame: ``python -m tests.bench motion``.

Field figures come from the white papers of this field and were measured there, on other tasks and other machines.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpu_engine.mind.feeling import Feeling, Occasion
from gpu_engine.motion.affect import context_features, text_features, voice_features
from gpu_engine.motion.easing import EASINGS
from gpu_engine.motion.emotion import EmotionEase, face_weights, zero_weights
from gpu_engine.motion.gate import load_gate
from gpu_engine.motion.lips import compile_lips
from gpu_engine.motion.mixer import Mixer, interpolate_lips
from gpu_engine.motion.pose import pose_at
from gpu_engine.motion.prosody import Ear
from gpu_engine.motion.ring import MOTION_RECORD, RingReader, RingWriter
from gpu_engine.session.timeline import Emotion, Gesture, GestureKind
from gpu_engine.speech.engine import PhonemeSpan
from tests.bench.table import print_table, save

FPS = 60
TICK_S = 1.0 / FPS
DRAW_S = 0.006
SECONDS = 6.0


# --- easing -----------------------------------------------------------------------------------------------------------


def jitter(easing: Callable[[float], float] | None, seed: int = 1, seconds: int = 600) -> float:
    """Per cent: root mean square change of velocity between frames (25 fps), of the weights' own range.

    Emotion targets come every 1 to 4 s, a third of them while the last transition still runs. ``None``: no easing, the face
    takes each target at once.
    """
    rng, frames = random.Random(seed), []
    ease, target, until = EmotionEase(Emotion(), easing or EASINGS["linear"]), Emotion(), 0.0
    face = zero_weights()
    for k in range(seconds * 25):
        now = k * 40.0
        if now >= until:
            target = Emotion(rng.uniform(-0.3, 0.9), rng.uniform(-0.2, 1.0), rng.uniform(-0.1, 0.6))
            until = now + rng.choice([280.0, 1_000.0, 2_000.0, 4_000.0])
        vad = (target.valence, target.arousal, target.dominance) if easing is None else ease.at(now, target)
        face_weights(*vad, out=face)
        frames.append(face.copy())
    track = np.array(frames)
    used = np.ptp(track, axis=0) > 1e-3
    bend = np.sqrt((np.diff(track[:, used], n=2, axis=0) ** 2).mean(axis=0))
    return float((bend / np.ptp(track[:, used], axis=0)).mean() * 100)


# --- pipelines ----------------------------------------------------------------------------------------------------------


def inference_s(rng: random.Random) -> float:
    """A bursty source of lips: mostly 9 to 15 ms a tick, one tick in twelve 40 to 75 ms (it shares its processor)."""
    return rng.uniform(0.040, 0.075) if rng.random() < 1 / 12 else rng.uniform(0.009, 0.015)


def lips_pipeline(path: Path, start: float, seconds: float) -> None:
    """A process of its own: one record a tick into the ring, stamped with the tick; ticks it is too late for are skipped."""
    writer, rng = RingWriter(path, MOTION_RECORD, 64), random.Random(3)
    record = np.zeros((), dtype=MOTION_RECORD)
    tick = 0
    while (due := start + tick * TICK_S) < start + seconds:
        time.sleep(max(0.0, due - time.monotonic()))
        time.sleep(inference_s(rng))
        record["timestamp_ns"] = int(due * 1e9)
        writer.write(record)
        tick = max(tick + 1, int((time.monotonic() - start) / TICK_S))


def coupled(seconds: float) -> np.ndarray:
    """One loop: lips, then the picture. Milliseconds from each tick to its picture."""
    rng, start, tick, late = random.Random(3), time.monotonic() + 0.1, 0, []
    while (due := start + tick * TICK_S) < start + seconds:
        time.sleep(max(0.0, due - time.monotonic()))
        time.sleep(inference_s(rng))
        pose_at(due * 1000, 1)
        time.sleep(DRAW_S)
        late.append((time.monotonic() - due) * 1e3)
        tick = max(tick + 1, int((time.monotonic() - start) / TICK_S))
    return np.array(late)


def decoupled(seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """The picture's loop takes the newest record and waits for nobody: ms from tick to picture, ms from lips' tick to it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ring"
        RingWriter(path, MOTION_RECORD, 64)
        start = time.monotonic() + 2.0
        # Run as a script, this module is __main__, which a spawned process cannot import by name.
        source = importlib.import_module("tests.bench.bench_motion").lips_pipeline
        lips = multiprocessing.get_context("spawn").Process(target=source, args=(path, start, seconds))
        lips.start()
        reader, tick, late, age = RingReader(path, MOTION_RECORD), 0, [], []
        while (due := start + tick * TICK_S) < start + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            newest = reader.latest()
            pose_at(due * 1000, 1)
            time.sleep(DRAW_S)
            shown = time.monotonic()
            late.append((shown - due) * 1e3)
            if newest is not None:
                age.append(shown * 1e3 - int(newest["timestamp_ns"]) / 1e6)
            tick = max(tick + 1, int((shown - start) / TICK_S))
        lips.join()
    return np.array(late), np.array(age)


# --- cost ---------------------------------------------------------------------------------------------------------------


def timed(call: Callable[[int], object], repeats: int) -> tuple[float, float]:
    """Median and 99th percentile of ``call(i)``, in ms."""
    spent = []
    for i in range(repeats):
        start = time.perf_counter()
        call(i)
        spent.append((time.perf_counter() - start) * 1e3)
    return float(np.median(spent)), float(np.percentile(spent, 99))


def costs() -> dict[str, tuple[float, float]]:
    """Milliseconds (median, 99th percentile) of each part."""
    idle, talking = Mixer(1), Mixer(1)
    spans = [PhonemeSpan("taʨjamai"[i % 8], i * 75.0, i * 75.0 + 75.0) for i in range(60)]
    rows, lips = compile_lips(spans, 4_600.0, "zh"), np.zeros(32, dtype=np.float32)
    words = list(range(0, 200_000, 1_300))
    cues = [Gesture(kind, at) for at, kind in zip(range(2_000, 200_000, 9_000), list(GestureKind) * 8, strict=False)]
    hum = (np.sin(np.arange(48_000) * 2 * np.pi * 180 / 48_000) * 8_000).astype(np.int16)
    gate, feeling = load_gate(), Feeling(lambda: 0)

    def talk(k: int) -> object:
        now = k * 40
        near = words[max(0, now // 1_300 - 2) : now // 1_300 + 5]
        asked = [c for c in cues if abs(c.at_ms - now) < 3_000]
        return talking.mix(now, interpolate_lips(rows, now % 4_500, lips), Emotion(0.5, 0.4, 0.3), near, True, asked)

    def hear(_: int) -> object:
        ear = Ear()
        ear.hear(hum, 8)
        return ear.clause()

    inputs = text_features("今天只要199元", "price"), voice_features(None), context_features("price", {"product": 1.0}, 0.4)
    return {
        "mixer.mix, idle": timed(lambda k: idle.mix(k * 40, None, Emotion()), 3_000),
        "mixer.mix, talking and gesturing": timed(talk, 4_000),
        "emotion gate, one utterance": timed(lambda _: gate.fuse(*inputs), 500),
        "text and context features + gate": timed(lambda k: feeling.before(f"今天只要{k}元", Occasion("price", "price")), 500),
        "prosody of 1 s of speech": timed(hear, 60),
    }


def main() -> None:
    """Print the tables and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    asked = parser.parse_args()

    found = {"none (targets as they come)": jitter(None)} | {name: jitter(ease) for name, ease in EASINGS.items()}
    base = found["none (targets as they come)"]
    print_table(
        "Inter-frame jitter of the face: RMS change of velocity between frames in % of each weight's range\n"
        "(field 12.4 → 4.1 %, a third; how it was measured is not said)",
        ["easing", "jitter %", "of none"],
        [[name, f"{value:.2f}", f"{value / base:.2f}"] for name, value in found.items()],
    )

    together = coupled(asked.seconds)
    late, age = decoupled(asked.seconds)
    rows = {
        "coupled: tick → picture": together,
        "decoupled: tick → picture (pose, clip lips)": late,
        "decoupled: tick → picture (live lips)": age,
    }
    fields = ("42.3 ± 11.7", "18.6 ± 3.2", "—")
    print_table(
        f"Motion at the renderer, {FPS} fps: real ring and processes; simulated by sleeping:\n"
        f"lips of 9 to 15 ms, every twelfth 40 to 75 ms, and {DRAW_S * 1e3:.0f} ms of drawing",
        ["pipeline", "mean ms", "σ ms", "p99 ms", "pictures/s", "field ms"],
        [
            [name, f"{x.mean():.1f}", f"{x.std():.1f}", f"{np.percentile(x, 99):.1f}", f"{len(x) / asked.seconds:.1f}", field]
            for (name, x), field in zip(rows.items(), fields, strict=True)
        ],
    )

    spent = costs()
    print_table(
        "Cost on this machine (field: +1.2 ms for eased emotion)",
        ["part", "median ms", "p99 ms"],
        [[name, f"{m:.3f}", f"{p:.3f}"] for name, (m, p) in spent.items()],
    )
    save(
        "motion",
        {
            "jitter_percent": found,
            "pipelines_ms": {n: {"mean": float(x.mean()), "sigma": float(x.std())} for n, x in rows.items()},
            "cost_ms": {n: {"median": m, "p99": p} for n, (m, p) in spent.items()},
        },
    )


if __name__ == "__main__":
    main()
