"""Train, compare and ship the emotion gate: ``python -m gpu_engine.training.emotion_gate`` (about a minute)."""

# ruff: noqa: T201 - a command prints

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.gate import SOURCES, WEIGHTS_FILE, save_gate
from gpu_engine.training.emotion_gate.train import (
    EPOCHS,
    Matrix,
    Utterances,
    as_in_service,
    concordance,
    fold_of,
    load,
    predict,
    train,
    without_chat,
    without_voice,
)

FOLDS, SEEDS = 5, 3
WAYS = ("gate", "sharp gate", "thirds", "text alone")
SITUATIONS = {"all three": lambda d: d, "voice not heard": without_voice, "chat silent": without_chat}


def held_out(data: Utterances, how: str, epochs: int) -> dict[str, tuple[Matrix, Matrix]]:
    """By situation: emotions and weights of every utterance by networks that have not seen it, mean of ``SEEDS`` networks."""
    fold = fold_of(data.groups, FOLDS)
    out = {name: (np.zeros_like(data.labels), np.zeros_like(data.labels)) for name in SITUATIONS}
    for k in range(FOLDS):
        seen, unseen = as_in_service(data.pick(fold != k)), data.pick(fold == k)
        for seed in range(SEEDS):
            model = train(seen, how, seed, epochs=epochs)
            for name, seen_as in SITUATIONS.items():
                emotion, weight = predict(model, seen_as(unseen), how)
                out[name][0][fold == k] += emotion / SEEDS
                out[name][1][fold == k] += weight / SEEDS
    return out


def gain(worse: Matrix, better: Matrix, groups: NDArray[np.int64]) -> dict[str, object]:
    """Mean difference of two errors float64[n] and its 95 % interval, by a bootstrap over groups."""
    difference = worse - better
    means = np.array([difference[groups == g].mean() for g in np.unique(groups)])
    rng = np.random.default_rng(1)
    drawn = [float(rng.choice(means, len(means)).mean()) for _ in range(4_000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return {"mse": round(float(means.mean()), 5), "95%": [round(float(low), 5), round(float(high), 5)]}


def compare(data: Utterances, epochs: int) -> dict[str, object]:
    """Errors of every way in every situation on held-out utterances, and what the gate gains over fixed thirds."""
    found = {how: held_out(data, how, epochs) for how in WAYS}
    rows: dict[str, object] = {}
    for situation in SITUATIONS:
        errors = {how: ((found[how][situation][0] - data.labels) ** 2).mean(axis=1) for how in WAYS}
        for how in WAYS:
            emotion = found[how][situation][0]
            ccc = [round(concordance(emotion[:, i], data.labels[:, i]), 3) for i in range(3)]
            rows[f"{situation}: {how}"] = {"mse": round(float(errors[how].mean()), 5), "ccc": ccc}
        rows[f"{situation}: gain over thirds"] = gain(errors["thirds"], errors["gate"], data.groups)
    weights = found["gate"]["all three"][1]
    for act in sorted(set(data.acts)):
        mean = weights[[a == act for a in data.acts]].mean(axis=0)
        rows[f"weights: {act}"] = dict(zip(SOURCES, np.round(mean, 3).tolist(), strict=True))
    return rows


def main() -> None:
    """Print the comparison and write the weights, trained on everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=WEIGHTS_FILE)
    parser.add_argument("--report", type=Path, default=Path("var/emotion-gate.json"))
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    asked = parser.parse_args()
    start = time.perf_counter()
    data = load()
    report = compare(data, asked.epochs)
    save_gate(train(as_in_service(data), "gate", 0, epochs=asked.epochs), asked.out)
    report["seconds"] = round(time.perf_counter() - start, 1)
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(json.dumps(report, ensure_ascii=False, indent=1))
    for name, row in report.items():
        print(f"{name:32} {json.dumps(row)}")


if __name__ == "__main__":
    main()
