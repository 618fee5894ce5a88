"""The gate's training: gradients by hand, Adam, five folds in which no utterance is held out while its translation is seen.

Every way of weighing (the gate, fixed thirds, words alone, the published form of the gate) is the same network trained in the
same way on the same folds; only the weights differ. Sources are left out now and then, as they are in service.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.affect import SETTINGS, VoiceSketch, context_features, stacked, text_features, voice_features
from gpu_engine.motion.gate import SIZES, Gate, softmax, weigh

DATA = Path(__file__).with_name("utterances.jsonl")
WIDTH = 8
EPOCHS = 400
RATE = 0.02
DECAY = 1e-2
SHARP = 0.25
"""Temperature of the variant whose weights may leave the published range."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Utterances:
    """Features by source, labels float64[n, 3], groups (an utterance and its translation share one), acts."""

    sources: tuple[Matrix, Matrix, Matrix]
    labels: Matrix
    groups: NDArray[np.int64]
    acts: list[str]

    def pick(self, rows: NDArray[np.bool_]) -> Utterances:
        """Those rows."""
        a, b, c = (x[rows] for x in self.sources)
        acts = [act for act, keep in zip(self.acts, rows, strict=True) if keep]
        return Utterances((a, b, c), self.labels[rows], self.groups[rows], acts)


def without_voice(data: Utterances) -> Utterances:
    """As in a clip's header, before anything of it has been spoken."""
    text, voice, context = data.sources
    return replace(data, sources=(text, np.zeros_like(voice), context))


def without_chat(data: Utterances) -> Utterances:
    """As before the first comments."""
    text, voice, context = data.sources
    silent = context.copy()
    silent[:, len(SETTINGS) :] = 0.0
    return replace(data, sources=(text, voice, silent))


def as_in_service(data: Utterances) -> Utterances:
    """Every utterance four times: twice whole, once not heard yet, once before a silent chat."""
    several = (data, data, without_voice(data), without_chat(data))
    a, b, c = (np.concatenate([d.sources[i] for d in several]) for i in range(3))
    return Utterances((a, b, c), np.tile(data.labels, (4, 1)), np.tile(data.groups, 4), data.acts * 4)


def load(path: Path = DATA) -> Utterances:
    """The labelled utterances with their features."""
    held = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return Utterances(
        (
            stacked([text_features(u["text"], u["act"]) for u in held]),
            stacked([voice_features(VoiceSketch(**u["voice"])) for u in held]),
            stacked([context_features(u["segment"], u["chat"], u["activity"]) for u in held]),
        ),
        np.array([u["vad"] for u in held]),
        np.array([u["group"] for u in held]),
        [u["act"] for u in held],
    )


def fold_of(groups: NDArray[np.int64], folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Which fold each utterance is held out in; a group stays together."""
    order = np.random.default_rng(seed).permutation(int(groups.max()) + 1)
    place: NDArray[np.int64] = order[groups] % folds
    return place


def train(data: Utterances, how: str, seed: int, width: int = WIDTH, epochs: int = EPOCHS) -> Gate:
    """Fit the network. ``how``: 'gate', 'sharp gate', 'thirds' or 'text alone' (the weights are then constants)."""
    rng = np.random.default_rng(seed)
    temperature = SHARP if how == "sharp gate" else 1.0
    shapes = [*((n, width) for n in SIZES), *[(width,)] * 3, (3 * width, 3), (3,), (width, 3), (3,)]
    theta = [rng.normal(0, 0.5 / np.sqrt(s[0]), s) if len(s) == 2 else np.zeros(s) for s in shapes]
    moment, square = [np.zeros(s) for s in shapes], [np.zeros(s) for s in shapes]
    for step in range(1, epochs + 1):
        gradients = _gradients(data, theta, how, temperature)
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / epochs))
        for p, g, m, s in zip(theta, gradients, moment, square, strict=True):
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            p -= rate * (m / (1 - 0.9**step) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8) + DECAY * p)
    enter, bias = (theta[0], theta[1], theta[2]), (theta[3], theta[4], theta[5])
    return Gate(enter, bias, theta[6], theta[7], theta[8], theta[9], temperature)


def _gradients(data: Utterances, theta: list[Matrix], how: str, temperature: float) -> list[Matrix]:
    hidden = [np.tanh(x @ w + b) for x, w, b in zip(data.sources, theta[:3], theta[3:6], strict=True)]
    beside = np.concatenate(hidden, axis=1)
    open_ = 1.0 / (1.0 + np.exp(-(beside @ theta[6] + theta[7])))
    weights = _weights(open_, how, temperature)
    fused = weigh(hidden, weights)
    found = np.tanh(fused @ theta[8] + theta[9])
    d_pre = 2.0 * (found - data.labels) / data.labels.size * (1.0 - found**2)
    d_fused = d_pre @ theta[8].T
    d_hidden = [weights[:, i : i + 1] * d_fused for i in range(3)]
    d_gate, d_gate_bias = np.zeros_like(theta[6]), np.zeros_like(theta[7])
    if how.endswith("gate"):
        d_weights = np.stack([(d_fused * h).sum(axis=1) for h in hidden], axis=1)
        d_soft = weights * (d_weights - (weights * d_weights).sum(axis=1, keepdims=True)) / temperature
        d_open = d_soft * open_ * (1.0 - open_)
        d_gate, d_gate_bias = beside.T @ d_open, d_open.sum(axis=0)
        back = d_open @ theta[6].T
        wide = hidden[0].shape[1]
        d_hidden = [d + back[:, i * wide : (i + 1) * wide] for i, d in enumerate(d_hidden)]
    d_in = [d * (1.0 - h**2) for d, h in zip(d_hidden, hidden, strict=True)]
    return [
        *(x.T @ d for x, d in zip(data.sources, d_in, strict=True)),
        *(d.sum(axis=0) for d in d_in),
        d_gate,
        d_gate_bias,
        fused.T @ d_pre,
        d_pre.sum(axis=0),
    ]


def _weights(open_: Matrix, how: str, temperature: float) -> Matrix:
    if how == "thirds":
        return np.full_like(open_, 1.0 / 3.0)
    if how == "text alone":
        return np.tile(np.array([1.0, 0.0, 0.0]), (len(open_), 1))
    return softmax(open_ / temperature)


def predict(model: Gate, data: Utterances, how: str) -> tuple[Matrix, Matrix]:
    """Emotions and weights, float64[n, 3] each, of the network with the weighing it was trained with."""
    if how.endswith("gate"):
        return model.batch(*data.sources)
    hidden = [np.tanh(x @ w + b) for x, w, b in zip(data.sources, model.enter, model.enter_bias, strict=True)]
    weights = _weights(np.zeros((len(data.labels), 3)), how, 1.0)
    fused = weigh(hidden, weights)
    return np.tanh(fused @ model.out + model.out_bias), weights


def concordance(found: Matrix, label: Matrix) -> float:
    """Lin's concordance correlation coefficient (1989) of two float64[n]."""
    covariance = float(((found - found.mean()) * (label - label.mean())).mean())
    return 2.0 * covariance / float(found.var() + label.var() + (found.mean() - label.mean()) ** 2)
