"""What the network is worth on sentences it never saw: opening, lip region, closures; beside a mouth that follows energy."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_engine.training.lip_head.data import COLUMNS, FEATURES, Footage, LipBasis
from gpu_engine.training.lip_head.footage import FPS

LIP_BOX = (slice(30, 66), slice(24, 72))
"""Rows and columns of the crop that hold the lips in every sound."""
SHUT_SHARE = 0.35
"""Lips count as shut below this share of the median opening of speech."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Measures:
    """One method on one set.

    Attributes:
        frames: frames measured.
        opening_r: correlation of the lips' opening, read from the picture, with the true render's; 0 for lips
            that never move.
        opening_mae: mean error of the opening, in jaw units.
        lip_l1: mean difference from the true render in the lip box, in grey levels of 255.
        closure_hits: share of m, b, p during which the lips are seen shut, of those that the true render shows shut.
        closures: such sounds.
        false_shut: share of the frames that truly are open wider than the median which are drawn shut.
    """

    frames: int
    opening_r: float
    opening_mae: float
    lip_l1: float
    closure_hits: float
    closures: int
    false_shut: float

    def as_dict(self) -> dict[str, float]:
        """For JSON, rounded."""
        return {key: round(float(value), 4) for key, value in asdict(self).items()}


def lip_l1(a: Bytes, b: Bytes) -> float:
    """Mean absolute difference in the lip box, grey levels."""
    return float(np.abs(a[:, LIP_BOX[0], LIP_BOX[1]].astype(np.int16) - b[:, LIP_BOX[0], LIP_BOX[1]]).mean())


def measure(data: Footage, basis: LipBasis, rows: NDArray[np.int64], drawn: Bytes) -> Measures:
    """Compare ``drawn`` (uint8[n, 96, 96, 3], in the order of ``rows``) with the true render."""
    position = np.full(len(data.opening), -1, np.int64)
    position[rows] = np.arange(len(rows))
    seen = basis.opening(basis.code(data.rest[rows], drawn))
    true = basis.opening(basis.code(data.rest[rows], data.speaking[rows]))
    shut_below = SHUT_SHARE * float(np.median(data.opening[rows][data.opening[rows] > 0.02]))
    wide = true > np.median(true)
    hits: list[bool] = []
    for shot in data.shots:
        if position[shot.start] < 0:
            continue
        middle = (shot.frames + 0.5) / FPS
        for begin, end in shot.closures:
            inside = np.nonzero((middle >= begin - 0.02) & (middle <= end + 0.02))[0]
            if len(inside) and true[position[shot.start + inside]].min() < shut_below:
                hits.append(bool(seen[position[shot.start + inside]].min() < shut_below))
    return Measures(
        frames=len(rows), opening_r=float(np.corrcoef(seen, true)[0, 1]) if seen.std() > 1e-6 else 0.0,
        opening_mae=float(np.abs(seen - true).mean()),
        lip_l1=lip_l1(drawn, data.speaking[rows]), closure_hits=float(np.mean(hits)) if hits else 0.0,
        closures=len(hits), false_shut=float((seen[wide] < shut_below).mean()),
    )  # fmt: skip


def probe_r(data: Footage, basis: LipBasis, rows: NDArray[np.int64]) -> float:
    """How well the opening can be read from true pictures: correlation of the probe with the weights that drew them."""
    return float(np.corrcoef(basis.opening(basis.code(data.rest[rows], data.speaking[rows])), data.opening[rows])[0, 1])


def _energy(audio: Floats) -> Floats:
    """Features of a mouth that follows loudness: smoothed energy around the frame and its powers, float32[n, 5]."""
    row = FEATURES.bands + 1
    middle = COLUMNS // 2
    level = audio[:, row, middle - 3 : middle + 4].mean(axis=1)
    slow = audio[:, row].mean(axis=1)
    return np.stack([np.ones_like(level), level, level**2, level**3, slow], axis=1)


@dataclass(frozen=True, slots=True)
class EnergyMouth:
    """The classic alternative: the lips open with loudness. Best linear fit of the whole lip code, on the training rows."""

    weights: Floats

    @staticmethod
    def fit(audio: Floats, codes: Floats) -> EnergyMouth:
        """Ridge regression from energy to codes."""
        x = _energy(audio)
        return EnergyMouth(np.linalg.solve(x.T @ x + 1e-3 * np.eye(x.shape[1]), x.T @ codes).astype(np.float32))

    def codes(self, audio: Floats) -> Floats:
        """float32[n, k] in the units it was fitted in."""
        return np.asarray(_energy(audio) @ self.weights, np.float32)
