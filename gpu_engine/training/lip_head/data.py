"""Footage and speech as arrays to learn from: faces, windows of sound, lip codes and what measures need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.features import FeatureSpec, FeatureStream, resample_48k
from gpu_engine.training.lip_head import footage
from gpu_engine.training.lip_head.speech import Spoken, read

FEATURES = FeatureSpec("logmel+prosody")
COLUMNS = 24
MASK_TOP = 28
"""First row of the crop that is masked, of 96: under the nose."""
CLOSED = frozenset("mbp")
"""Sounds that close the lips."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shot:
    """One sentence's frames in a :class:`Footage`: rows ``start`` to ``stop``, and when lips must be shut (s, s)."""

    role: str
    start: int
    stop: int
    frames: NDArray[np.int32]
    closures: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Footage:
    """All frames, one row each.

    Attributes:
        rest, speaking: uint8[n, 96, 96, 3] BGR.
        audio: float32[n, rows, 24], the window of sound around the middle of each frame.
        opening: float32[n], jaw units.
        shots: one for each sentence.
    """

    rest: Bytes
    speaking: Bytes
    audio: Floats
    opening: Floats
    shots: tuple[Shot, ...]

    def rows(self, *roles: str) -> NDArray[np.int64]:
        """Row numbers of the given roles."""
        return np.concatenate([np.arange(s.start, s.stop) for s in self.shots if s.role in roles])

    def first_rows(self, role: str, count: int) -> NDArray[np.int64]:
        """Rows of the first whole sentences of a role, at least ``count`` where there are so many."""
        chosen: list[NDArray[np.int64]] = []
        for shot in self.shots:
            if shot.role == role and sum(map(len, chosen)) < count:
                chosen.append(np.arange(shot.start, shot.stop))
        return np.concatenate(chosen)


def columns(spoken: Spoken) -> Floats:
    """All columns of a sentence, float32[c, rows]; silence follows it."""
    sound = resample_48k(spoken.pcm, FEATURES.rate_hz)
    return FeatureStream(FEATURES).push(np.concatenate([sound, np.zeros(8_000, np.float32)]))


def windows(all_columns: Floats, frames: NDArray[np.int32]) -> Floats:
    """Windows around the middle of 25 fps ``frames``: float32[n, rows, 24]; before the start the first column holds."""
    centre = np.rint((frames + 0.5) / footage.FPS * FEATURES.rate_hz / FEATURES.hop).astype(int)
    at = np.clip(centre[:, None] + np.arange(COLUMNS) - COLUMNS // 2, 0, len(all_columns) - 1)
    return np.ascontiguousarray(all_columns[at].transpose(0, 2, 1))


def gather(speech: list[Path], film: list[Path]) -> Footage:
    """Load everything that was spoken and filmed."""
    rest: list[Bytes] = []
    speaking: list[Bytes] = []
    audio: list[Floats] = []
    opening: list[Floats] = []
    shots: list[Shot] = []
    total = 0
    for said, seen in zip(speech, film, strict=True):
        spoken, clip = read(said), footage.load(seen)
        closures = tuple((p.start_ms / 1000, p.end_ms / 1000) for p in spoken.phonemes if p.symbol in CLOSED)
        shots.append(Shot(spoken.utterance.role, total, total + len(clip.index), clip.index, closures))
        total += len(clip.index)
        rest.append(clip.rest)
        speaking.append(clip.speaking)
        audio.append(windows(columns(spoken), clip.index))
        opening.append(clip.opening)
    return Footage(np.concatenate(rest), np.concatenate(speaking), np.concatenate(audio), np.concatenate(opening), tuple(shots))


@dataclass(frozen=True, slots=True)
class LipBasis:
    """Principal components of what speaking changes in the face at rest, at half size.

    Attributes:
        mean: float32[d]; axes: float32[k, d]; scale: float32[k], standard deviations.
        probe: float32[k + 1], linear estimate of the lips' opening from a code.
    """

    mean: Floats
    axes: Floats
    scale: Floats
    probe: Floats

    def code(self, rest: Bytes, face: Bytes) -> Floats:
        """Codes float32[n, k] of faces uint8[n, 96, 96, 3], not divided by ``scale``."""
        return np.asarray((difference(rest, face) - self.mean) @ self.axes.T, np.float32)

    def code_in_parts(self, rest: Bytes, face: Bytes, rows: NDArray[np.int64]) -> Floats:
        """Codes of the given rows, computed 512 at a time."""
        parts = [rows[i : i + 512] for i in range(0, len(rows), 512)]
        return np.concatenate([self.code(rest[part], face[part]) for part in parts])

    def opening(self, codes: Floats) -> Floats:
        """Opening in jaw units that codes show."""
        z = codes / self.scale
        return np.asarray(np.concatenate([z, np.ones((len(z), 1), np.float32)], axis=1) @ self.probe, np.float32)


def fit_linear(data: Footage, basis: LipBasis, codes: Floats, rows: NDArray[np.int64], seed: int = 2) -> tuple[Floats, Floats]:
    """Least squares from codes in units of ``scale`` to the change of the whole crop, on at most 2,500 of ``rows``.

    Args:
        codes: float32[len(rows), k], not divided by ``scale``.

    Returns:
        Weights float32[3 * 96 * 96, k] and bias float32[3 * 96 * 96], channels first, full scale 1.
    """
    chosen = np.random.default_rng(seed).permutation(len(rows))[:2500]
    z = np.concatenate([codes[chosen] / basis.scale, np.ones((len(chosen), 1), np.float32)], axis=1)
    change = data.speaking[rows[chosen]].transpose(0, 3, 1, 2).astype(np.float32)
    change -= data.rest[rows[chosen]].transpose(0, 3, 1, 2)
    moments = z.T @ (change.reshape(len(chosen), -1) / np.float32(255))
    fitted = np.linalg.solve(z.T @ z + 1e-2 * np.eye(z.shape[1]), moments).astype(np.float32)
    return np.ascontiguousarray(fitted[:-1].T), fitted[-1]


def difference(rest: Bytes, face: Bytes) -> Floats:
    """What changes, float32[n, 48 * 48 * 3], in units of full scale."""
    change = face.astype(np.int16) - rest
    n = len(change)
    small = change.reshape(n, 48, 2, 48, 2, 3).sum(axis=(2, 4), dtype=np.int32)
    return np.asarray(small.reshape(n, -1), np.float32) / np.float32(4 * 255)


def fit_basis(data: Footage, count: int, seed: int = 1) -> LipBasis:
    """Fit on at most 4,000 training rows; the probe by ridge regression on the same."""
    rows = data.rows("train")
    chosen = np.random.default_rng(seed).permutation(rows)[:4000]
    change = difference(data.rest[chosen], data.speaking[chosen])
    mean = change.mean(axis=0)
    centred = change - mean
    values, vectors = np.linalg.eigh(centred @ centred.T / len(centred))
    order = np.argsort(values)[::-1][:count]
    axes = vectors[:, order].T @ centred
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    scale = np.sqrt(np.maximum(values[order], 1e-12)).astype(np.float32)
    z = np.concatenate([centred @ axes.T / scale, np.ones((len(chosen), 1), np.float32)], axis=1)
    probe = np.linalg.solve(z.T @ z + 1e-2 * np.eye(count + 1), z.T @ data.opening[chosen])
    return LipBasis(mean.astype(np.float32), axes.astype(np.float32), scale, probe.astype(np.float32))
