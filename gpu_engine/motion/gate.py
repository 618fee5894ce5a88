"""Gated fusion: how much words, voice and situation each say about one utterance's valence, arousal and dominance.

The three feature vectors, brought to the same D dimensions, are laid side by side (B x 3D); a linear layer, a sigmoid and a
softmax over the three give the weights; the weighted sum gives the emotion. That is the field's formula; it keeps every
weight between 1/(1 + 2e) = 0.155 and e/(e + 2) = 0.576 (so the mean of 0.62 published with it cannot have come from it). A
temperature under the sigmoids opens that range; 1 is the field's form, and what is shipped, since it was no worse.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.affect import CONTEXT_SIZE, TEXT_SIZE, VOICE_SIZE
from gpu_engine.session.timeline import Emotion

Matrix = NDArray[np.float64]
SOURCES: tuple[str, ...] = ("text", "voice", "context")
SIZES: tuple[int, ...] = (TEXT_SIZE, VOICE_SIZE, CONTEXT_SIZE)
WEIGHTS_FILE = Path(__file__).with_name("emotion_gate.json")


class GateError(ValueError):
    """The gate's weights cannot be used; the message names the file and the way out."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """What was found for one utterance. ``weights`` sum to one, order of ``SOURCES``."""

    emotion: Emotion
    weights: tuple[float, float, float]


@dataclass(frozen=True)
class Gate:
    """Weights of the fusion.

    Attributes:
        enter: one float64[size, D] a source; ``enter_bias`` float64[D] each.
        gate, gate_bias: float64[3D, 3], float64[3].
        out, out_bias: float64[D, 3], float64[3].
        temperature: of the softmax.
    """

    enter: tuple[Matrix, Matrix, Matrix]
    enter_bias: tuple[Matrix, Matrix, Matrix]
    gate: Matrix
    gate_bias: Matrix
    out: Matrix
    out_bias: Matrix
    temperature: float

    def batch(self, text: Matrix, voice: Matrix, context: Matrix) -> tuple[Matrix, Matrix]:
        """Emotions float64[B, 3] in (-1, 1) and weights float64[B, 3] of feature rows."""
        rows = (text, voice, context)
        hidden = [np.tanh(x @ w + b) for x, w, b in zip(rows, self.enter, self.enter_bias, strict=True)]
        beside = np.concatenate(hidden, axis=1)
        open_ = 1.0 / (1.0 + np.exp(-(beside @ self.gate + self.gate_bias)))
        weights = softmax(open_ / self.temperature)
        return np.tanh(weigh(hidden, weights) @ self.out + self.out_bias), weights

    def fuse(self, text: tuple[float, ...], voice: tuple[float, ...], context: tuple[float, ...]) -> Fusion:
        """One utterance. See :mod:`gpu_engine.motion.affect` for the features."""
        found, weights = self.batch(*(np.array([row]) for row in (text, voice, context)))
        v, a, d = (round(float(x), 4) for x in found[0])
        w = weights[0]
        return Fusion(Emotion(v, a, d), (float(w[0]), float(w[1]), float(w[2])))


def weigh(hidden: list[Matrix], weights: Matrix) -> Matrix:
    """Sum float64[B, D] of three float64[B, D], each row times its weight in float64[B, 3]."""
    return weights[:, :1] * hidden[0] + weights[:, 1:2] * hidden[1] + weights[:, 2:] * hidden[2]


def softmax(x: Matrix) -> Matrix:
    """Along the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    found: Matrix = e / e.sum(axis=-1, keepdims=True)
    return found


def save_gate(gate: Gate, path: Path) -> None:
    """Write the weights as JSON, five digits each."""

    def plain(x: Matrix) -> object:
        return np.round(x, 5).tolist()

    path.write_text(
        json.dumps(
            {
                "format": "lumihost-emotion-gate 1",
                "sizes": list(SIZES),
                "temperature": gate.temperature,
                "enter": [plain(w) for w in gate.enter],
                "enter_bias": [plain(b) for b in gate.enter_bias],
                "gate": plain(gate.gate),
                "gate_bias": plain(gate.gate_bias),
                "out": plain(gate.out),
                "out_bias": plain(gate.out_bias),
            },
            separators=(",", ":"),
        )
        + "\n"
    )


@lru_cache(maxsize=4)
def load_gate(path: Path = WEIGHTS_FILE) -> Gate:
    """The gate of a weights file, by default the one that is shipped.

    Raises:
        GateError: no such file, damaged, or made for other features.
    """
    remake = "run python -m gpu_engine.training.emotion_gate"
    try:
        held = json.loads(path.read_text())
        arrays = {key: np.array(held[key], dtype=np.float64) for key in ("gate", "gate_bias", "out", "out_bias")}
        enter = tuple(np.array(w, dtype=np.float64) for w in held["enter"])
        bias = tuple(np.array(b, dtype=np.float64) for b in held["enter_bias"])
        sizes, temperature = tuple(held["sizes"]), float(held["temperature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GateError(f"emotion gate {path}: {type(error).__name__}: {error}: {remake}") from error
    wide = arrays["out"].shape[0]
    fits = sizes == SIZES and [w.shape for w in enter] == [(n, wide) for n in SIZES] and arrays["gate"].shape == (3 * wide, 3)
    finite = all(np.isfinite(x).all() for x in (*arrays.values(), *enter, *bias)) and temperature > 0
    if not (fits and finite):
        raise GateError(f"emotion gate {path}: made for features of sizes {sizes}, {SIZES} are computed here: {remake}")
    return Gate((enter[0], enter[1], enter[2]), (bias[0], bias[1], bias[2]), **arrays, temperature=temperature)
