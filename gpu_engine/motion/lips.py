"""Phoneme timings to lip weights at 50 rows a second, with co-articulation, chunk by chunk.

Model: dominance functions (Cohen & Massaro 1993, "Modeling coarticulation in synthetic visual speech"): every sound
pulls each group of weights towards its own target with a strength that rises before the sound and fades after it, and
the mouth is the weighted mean. Rounding starts earlier than the jaw moves; a bilabial closure is then enforced, because a
/p b m/ that does not close is the first thing a viewer sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.visemes import (
    JOIN_MARKS,
    PAUSE_MARKS,
    PHONEME_VISEMES,
    STRESS_MARKS,
    VISEME_INDEX,
    VISEMES,
    viseme_weights,
)
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX
from gpu_engine.session.timeline import LIP_RATE_HZ
from gpu_engine.speech.engine import PhonemeSpan

ROW_MS = 1000.0 / LIP_RATE_HZ
PAUSE_MS = 140.0
"""Silences at least this long bring the lips to rest; shorter ones are spoken through."""
RELEASE_MS = 80.0
"""Time the lips take to come to rest after a sound, and to leave rest before one."""
CLOSURE_MS = 60.0
"""Shortest full closure: holds three rows, so a 40 ms frame always lands on one."""
CLOSE_MS, PART_MS = 60.0, 48.0
HOLD_MS = 60.0
"""Kept back at the end of an unfinished chunk, until it is known which sound the lips must move towards."""
LAST_VOWEL_MS, LAST_CONSONANT_MS = 160.0, 110.0
"""Longest sound before a written pause: the voice gives the first part of the pause to the sound before it."""
_JOIN_MS = 80.0
_CONTEXT_MS = 400.0

_GROUPS: dict[str, tuple[str, ...]] = {
    "jaw": ("jawOpen",),
    "seal": ("mouthClose", "mouthPress", "mouthRollLower", "mouthRollUpper"),
    "round": ("mouthFunnel", "mouthPucker", "jawForward", "mouthShrug"),
    "spread": ("mouthStretch", "mouthUpperUp", "mouthLowerDown"),
    "tongue": ("tongueOut",),
}
_BEFORE_MS = np.array([42.0, 40.0, 75.0, 50.0, 40.0])
_AFTER_MS = np.array([45.0, 35.0, 60.0, 45.0, 35.0])
_STRENGTH: dict[str, tuple[float, float, float, float, float]] = {
    #      jaw  seal round spread tongue
    "sil": (0.8, 0.6, 0.6, 0.6, 1.0),
    "PP": (3.0, 4.0, 0.15, 2.0, 1.0),
    "FF": (2.5, 4.0, 0.30, 2.0, 1.0),
    "TH": (1.2, 0.5, 0.30, 0.8, 3.0),
    "DD": (0.9, 0.5, 0.20, 0.5, 1.0),
    "kk": (0.5, 0.3, 0.15, 0.3, 0.5),
    "CH": (1.4, 0.5, 1.60, 0.9, 1.0),
    "SS": (1.8, 0.5, 0.50, 0.9, 1.0),
    "nn": (0.8, 0.4, 0.20, 0.5, 1.0),
    "RR": (0.8, 0.3, 1.20, 0.5, 0.8),
    "aa": (2.0, 0.4, 0.90, 0.8, 0.6),
    "E": (1.5, 0.4, 0.90, 0.9, 0.6),
    "ih": (1.0, 0.4, 0.90, 1.0, 0.6),
    "oh": (1.7, 0.4, 1.20, 0.8, 0.6),
    "ou": (1.2, 0.4, 1.50, 0.8, 0.6),
}
_REST_PULL = 0.03
"""Strength of the rest pose everywhere, so that the mean is defined far from any sound."""

_STRENGTH_TABLE = np.array([_STRENGTH[v] for v in VISEMES])
_COLUMN_GROUP = np.zeros(WEIGHT_COUNT, dtype=np.intp)
_LIP_COLUMNS = np.zeros(WEIGHT_COUNT, dtype=bool)
for _g, _names in enumerate(_GROUPS.values()):
    for _name in _names:
        _COLUMN_GROUP[WEIGHT_INDEX[_name]] = _g
        _LIP_COLUMNS[WEIGHT_INDEX[_name]] = True
_ROUND_COLUMNS = [WEIGHT_INDEX[n] for n in _GROUPS["round"]]
_SILENCE = VISEME_INDEX["sil"]
_VOWELS = frozenset(VISEME_INDEX[name] for name in ("aa", "E", "ih", "oh", "ou"))
_CLOSURES = (VISEME_INDEX["PP"], VISEME_INDEX["FF"])


@dataclass(frozen=True, slots=True)
class VisemeSpan:
    """One viseme and when it holds, in ms from the first sample of what is compiled."""

    viseme: int
    start_ms: float
    end_ms: float


def viseme_spans(phonemes: Sequence[PhonemeSpan]) -> list[VisemeSpan]:
    """Visemes of ``phonemes`` in time order, marks merged into the sounds they modify and diphthongs split.

    Time without a sound, whether written (punctuation, spaces) or not, becomes silence when it lasts; else the sounds
    around it share it. Symbols outside the vocabulary take no viseme of their own: the sound before goes on.
    """
    spans: list[VisemeSpan] = []
    stress_ms: float | None = None
    heard_to_ms = 0.0

    def extend(until_ms: float) -> None:
        if spans and until_ms > spans[-1].end_ms:
            spans[-1] = VisemeSpan(spans[-1].viseme, spans[-1].start_ms, until_ms)

    def bridge(until_ms: float) -> None:
        gap_ms = until_ms - spans[-1].end_ms if spans else 0.0
        if gap_ms >= PAUSE_MS:
            spans.append(VisemeSpan(_SILENCE, spans[-1].end_ms, until_ms))
        elif gap_ms > 0.0:
            extend(spans[-1].end_ms + gap_ms / 2)

    for phoneme in sorted(phonemes, key=lambda p: p.start_ms):
        symbol, start, end = phoneme.symbol, phoneme.start_ms, max(phoneme.end_ms, phoneme.start_ms)
        names = PHONEME_VISEMES.get(symbol, ())
        if names:
            start, stress_ms = (start if stress_ms is None else min(stress_ms, start)), None
            bridge(start)
            step = (end - start) / len(names)
            spans.extend(
                VisemeSpan(VISEME_INDEX[name], start + i * step, start + (i + 1) * step) for i, name in enumerate(names)
            )
        elif symbol in STRESS_MARKS:
            stress_ms = start if stress_ms is None else stress_ms
        elif symbol in PAUSE_MARKS:
            if spans and heard_to_ms > start - 1.0:
                sound = spans[-1]
                longest = LAST_VOWEL_MS if sound.viseme in _VOWELS else LAST_CONSONANT_MS
                spans[-1] = VisemeSpan(sound.viseme, sound.start_ms, min(sound.end_ms, sound.start_ms + longest))
        elif symbol not in JOIN_MARKS:
            extend(end)
        heard_to_ms = max(heard_to_ms, end)
    bridge(heard_to_ms)
    return spans


class LipCompiler:
    """Lip rows of one clip, fed in the order it is spoken; joins between chunks and clauses are smooth.

    Rows lie on the clip's own 20 ms grid whatever the lengths of chunks and clauses are: after whole clauses of ``d`` ms in
    all, exactly ``ceil(d / 20)`` rows have come out. Inside a clause the last ``HOLD_MS`` come with the next chunk, since
    the lips move towards a sound before it is heard.
    """

    def __init__(self, lang: str) -> None:
        self._targets = viseme_weights(lang).astype(np.float64)
        self._heard: list[PhonemeSpan] = []
        self._clip_ms = 0.0
        self._clause_ms = 0.0
        self._rows_done = 0
        self._last_row = np.zeros(WEIGHT_COUNT)

    def push(
        self,
        phonemes: Sequence[PhonemeSpan],
        duration_ms: float,
        *,
        last: bool = False,
        upcoming: Sequence[PhonemeSpan] = (),
    ) -> NDArray[np.uint8]:
        """Compile the next ``duration_ms`` of the current clause.

        Args:
            phonemes: spans that start in this chunk, in ms from the clause's first sample.
            last: the clause ends here; the lips come to rest on its final row, the next chunk starts a new clause.
            upcoming: later spans of the clause that are already known; with them nothing is held back.

        Returns:
            uint8[n, 32], weight * 255.

        Raises:
            ValueError: ``duration_ms`` is negative.
        """
        if duration_ms < 0:
            raise ValueError(f"chunk of {duration_ms} ms: a chunk cannot be shorter than nothing")
        begin = self._clip_ms
        end = begin + duration_ms
        self._heard = [p for p in self._heard if p.end_ms > begin - _CONTEXT_MS] + self._shifted(phonemes)
        ready = end if last or upcoming else end - HOLD_MS
        rows = self._compile(viseme_spans(self._heard + self._shifted(upcoming)), ready, last)
        self._clip_ms = end
        if last:
            self._clause_ms = end
            self._heard = []
        return rows

    def pause(self, duration_ms: float) -> NDArray[np.uint8]:
        """Rest rows for silence put between clauses: uint8[n, 32]."""
        return self.push((), duration_ms, last=True)

    def _shifted(self, phonemes: Sequence[PhonemeSpan]) -> list[PhonemeSpan]:
        offset = self._clause_ms
        return [PhonemeSpan(p.symbol, p.start_ms + offset, p.end_ms + offset) for p in phonemes]

    def _compile(self, spans: list[VisemeSpan], end_ms: float, last: bool) -> NDArray[np.uint8]:
        total = int(np.ceil(round(end_ms / ROW_MS, 6)))
        times = np.arange(self._rows_done, max(total, self._rows_done), dtype=np.float64) * np.float64(ROW_MS)
        if not len(times):
            return np.zeros((0, WEIGHT_COUNT), dtype=np.uint8)
        grid = np.concatenate(([times[0] - ROW_MS], times))
        weights = self._blend(spans, grid)
        closed = self._seal(spans, grid, weights)
        # What was sent cannot be taken back: start from it and let the difference fade, but never hold a closure open.
        fade = np.clip(1.0 - (grid - grid[0]) / _JOIN_MS, 0.0, 1.0) * (1.0 - closed)
        weights = weights[1:] + fade[1:, None] * (self._last_row - weights[0])
        if last:
            self._settle(spans, times, weights)
        np.clip(weights, 0.0, 1.0, out=weights)
        self._rows_done = total
        self._last_row = weights[-1].copy()
        rows: NDArray[np.uint8] = np.rint(weights * 255.0).astype(np.uint8)
        return rows

    def _blend(self, spans: list[VisemeSpan], times: NDArray[np.float64]) -> NDArray[np.float64]:
        if not spans:
            return np.zeros((len(times), WEIGHT_COUNT))
        viseme = np.array([s.viseme for s in spans])
        start = np.array([s.start_ms for s in spans])
        stop = np.array([s.end_ms for s in spans])
        core = 0.25 * (stop - start)
        early = np.maximum(start + core - times[:, None], 0.0)
        late = np.maximum(times[:, None] - (stop - core), 0.0)
        distance = early[..., None] / _BEFORE_MS + late[..., None] / _AFTER_MS
        pull = _STRENGTH_TABLE[viseme] * np.exp(-(distance**2))
        share = pull / (pull.sum(axis=1, keepdims=True) + _REST_PULL)
        targets = self._targets[viseme]
        blended: NDArray[np.float64] = np.einsum("tsc,sc->tc", share[:, :, _COLUMN_GROUP], targets)
        silent = viseme == _SILENCE
        for s, e in zip(start[silent], stop[silent], strict=True):
            blended *= 1.0 - _window(times, s + 0.5 * RELEASE_MS, e - RELEASE_MS, RELEASE_MS, RELEASE_MS)[:, None]
        blended[:, ~_LIP_COLUMNS] = 0.0
        return blended

    def _seal(self, spans: list[VisemeSpan], times: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Force closures into ``weights``; returns how far each row is given to one, in [0, 1]."""
        closed = np.zeros(len(times))
        for span in spans:
            if span.viseme not in _CLOSURES:
                continue
            # Lips part at the burst, which is the end of the span, and faster than they met.
            stop = span.end_ms - 12.0
            gate = _window(times, min(span.start_ms + 8.0, stop - CLOSURE_MS), stop, CLOSE_MS, PART_MS)
            if not gate.any():
                continue
            target = np.repeat(self._targets[span.viseme][None, :], len(times), axis=0)
            target[:, _ROUND_COLUMNS] = 0.3 * weights[:, _ROUND_COLUMNS]
            weights += gate[:, None] * (target - weights)
            np.maximum(closed, gate, out=closed)
        return closed

    def _settle(self, spans: list[VisemeSpan], times: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        sounding = [s.end_ms for s in spans if s.viseme != _SILENCE]
        rest_at = min(max(sounding, default=0.0) + RELEASE_MS, times[-1])
        weights *= _ease(np.clip((rest_at - times) / RELEASE_MS, 0.0, 1.0))[:, None]


def compile_lips(phonemes: Sequence[PhonemeSpan], duration_ms: float, lang: str) -> NDArray[np.uint8]:
    """Lip rows of one whole clause: uint8[ceil(duration_ms / 20), 32], at rest on the last row."""
    return LipCompiler(lang).push(phonemes, duration_ms, last=True)


def _ease(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 - 0.5 * np.cos(np.pi * x)


def _window(times: NDArray[np.float64], start: float, stop: float, rise: float, fall: float) -> NDArray[np.float64]:
    """1 between start and stop, raised-cosine ramps outside; all zero when stop lies before start."""
    if stop < start:
        return np.zeros(len(times))
    outside = np.maximum((start - times) / rise, (times - stop) / fall)
    return _ease(np.clip(1.0 - outside, 0.0, 1.0))
