"""Speech durations without a voice: for virtual-clock runs. It does not speak; its sound is quiet shaped noise.

Phonemes come from the real front ends; each lasts as long as that symbol lasts on average in Kokoro's own durations
(``phoneme_means.json``, measured by ``python -m tests.bench.measure_durations``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.speech import g2p
from gpu_engine.speech.engine import Cancelled, PhonemeSpan, SpeechChunk, SpeechError, Style
from gpu_engine.speech.voice_table import voice

_MEANS = Path(__file__).resolve().parent / "phoneme_means.json"
_LEAD_MS = 50.0
_SAMPLES_PER_MS = 48
_LEVEL = 160
_RESTS = frozenset(" ,.!?;:…—()“”")
_MODIFIERS = frozenset("→↗↘↓ʰʲːˈˌ̃ᵝ")


class DurationOnlyEngine:
    """Implements :class:`gpu_engine.speech.engine.SpeechEngine` without any model file."""

    name = "durations-only"
    version = "1"

    def __init__(self) -> None:
        noise = np.random.default_rng(7).integers(-_LEVEL, _LEVEL, 48_000 * 2)
        smooth = np.convolve(noise, np.ones(24) / 24, mode="same")
        self._noise: NDArray[np.float32] = (smooth * 4).astype(np.float32)

    def interrupt(self) -> None:
        """Nothing here takes long enough."""

    def synthesize(self, spoken: str, lang: str, style: Style, cancelled: Cancelled) -> Iterator[SpeechChunk]:
        """One chunk a clause; see :class:`gpu_engine.speech.engine.SpeechEngine`."""
        voice(style.voice)
        if not 0.2 <= style.speed <= 5:
            raise SpeechError(f"speed {style.speed} is outside 0.2 to 5")
        if cancelled():
            return
        symbols = g2p.phonemes(spoken, "zh" if lang == "zh" else "en")
        spans = _timed(symbols, "zh" if lang == "zh" else "en", style.speed)
        if not spans:
            yield SpeechChunk(np.zeros(0, dtype=np.int16), last=True)
            return
        yield SpeechChunk(self._sound(spans), spans, last=True)

    def _sound(self, spans: tuple[PhonemeSpan, ...]) -> NDArray[np.int16]:
        size = round((spans[-1].end_ms + 60) * _SAMPLES_PER_MS)
        envelope = np.zeros(size, dtype=np.float32)
        for span in spans:
            if span.symbol not in _RESTS:
                envelope[round(span.start_ms * _SAMPLES_PER_MS) : round(span.end_ms * _SAMPLES_PER_MS)] = 1.0
        noise = np.resize(self._noise, size)
        out: NDArray[np.int16] = (noise * envelope).astype(np.int16)
        return out


@lru_cache(maxsize=1)
def _means() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = json.loads(_MEANS.read_text(encoding="utf-8"))["means_ms"]
    return table


def _timed(symbols: str, lang: str, speed: float) -> tuple[PhonemeSpan, ...]:
    means = _means()[lang]
    fallback = means["*"]
    spans: list[PhonemeSpan] = []
    at = _LEAD_MS
    for symbol in symbols:
        length = means.get(symbol, fallback) / speed
        if symbol in _MODIFIERS and spans:
            spans[-1] = PhonemeSpan(spans[-1].symbol, spans[-1].start_ms, at + length)
        elif symbol not in _MODIFIERS:
            spans.append(PhonemeSpan(symbol, at, at + length))
        at += length
    while spans and spans[-1].symbol in _RESTS:
        spans.pop()
    return tuple(spans) if any(s.symbol not in _RESTS for s in spans) else ()
