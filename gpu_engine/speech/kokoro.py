"""Kokoro-82M on the CPU: one clause in, audio windows with phoneme times out.

All durations are known before any audio exists (``front``); the vocoder then runs in growing windows with context on both
sides, so the first audio of a clause does not wait for its end. A short clause nobody waits for is decoded whole. Neighbouring
windows agree: the excitation is computed once a clause, and the normalisation statistics are fixed for each voice. A cross-fade
over one frame takes the rest.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.inference.onnx import open_session
from gpu_engine.models import ModelError, require_kokoro
from gpu_engine.speech import g2p
from gpu_engine.speech.engine import Cancelled, Interrupted, PhonemeSpan, SpeechChunk, SpeechError, Style
from gpu_engine.speech.excitation import Excitation
from gpu_engine.speech.pcm import Finisher
from gpu_engine.speech.voice_table import style_table, voice

FRAME_MS = 25.0
FRAME_SAMPLES = 600
_LATE_FRAMES = 3
"""The durations run this many frames behind the sound (measured against forced alignment; upstream corrects likewise)."""
_LEAD_FRAMES = 2
"""Kept in front of the first phoneme's nominal start: onsets of stops."""
_CONTEXT = 5
_SHORTEST_REST = 8
"""A last window shorter than this is joined to the one before."""
_FADE_FRAMES = 1
_FIRST_WINDOW = 10
_GROWTH = 1.4
_LARGEST_WINDOW = 40
_SHORT_SYMBOLS = 48
"""Below this the style differs too much from that of whole sentences, on which the fixed statistics were measured (10 dB at 30
symbols, 4 dB at 50): such clauses are normalised by window, with more context."""
_SHORT_FIRST_WINDOW = 14
_SHORT_CONTEXT = 8
_MAX_SYMBOLS = 480
_LONGEST_FINAL_MS = 260.0
_MODIFIERS = frozenset("→↗↘↓ʰʲːˈˌ̃ᵝ")
_STRESS = frozenset("ˈˌ")
_RESTS = frozenset(" ,.!?;:…—()“”")
_VERSION = 4

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A clause before its sound: vocoder inputs, frame range that is played, and phoneme times from its first sample."""

    content: Floats
    pitch: Floats
    energy: Floats
    style: Floats
    statistics: Floats | None
    windowed: bool
    first_frame: int
    frames: int
    spans: tuple[PhonemeSpan, ...]


class KokoroEngine:
    """Implements :class:`gpu_engine.speech.engine.SpeechEngine`; safe to share, one clause at a time.

    Raises:
        SpeechError: the model files are missing or do not load; the message says how to get them.
    """

    name = "kokoro"

    def __init__(self, folder: Path | None = None, *, threads: int = 1, windowed: bool = True) -> None:
        try:
            root = require_kokoro(folder)
        except ModelError as error:
            raise SpeechError(str(error)) from error
        self._windowed = windowed
        self._lock = threading.Lock()
        self._interruptible: Any = None
        try:
            self._vocab: dict[str, int] = json.loads((root / "vocab.json").read_text(encoding="utf-8"))
            weights = np.load(root / "source.npz")
            self._excite = Excitation(weights["mix"], float(weights["bias"][0]))
            with np.load(root / "statistics.npz") as arrays:
                self._statistics: dict[str, Floats] = {name: arrays[name] for name in arrays.files}
            self._front = open_session(root / "front.onnx", threads=threads, cpu_only=True)
            self._vocoders = {
                short: open_session(root / file, threads=threads, cpu_only=True)
                for short, file in ((False, "vocoder.onnx"), (True, "vocoder_short.onnx"))
            }
            build = json.loads((root / "manifest.json").read_text(encoding="utf-8"))["build"]
            self.vocoder = str(json.loads((root / "vocoder.json").read_text(encoding="utf-8"))["kind"])
        except Exception as error:
            raise SpeechError(
                f"speech model in {root} does not load ({error}): remove that folder and prepare it again"
            ) from error
        self._vocoder_inputs = {short: [entry.name for entry in v.get_inputs()] for short, v in self._vocoders.items()}
        self.version = f"82m-v1.b{build}-{self.vocoder}.{_VERSION}"

    def interrupt(self) -> None:
        """See :class:`gpu_engine.speech.engine.SpeechEngine`: ends a whole decode that runs now."""
        running = self._interruptible
        if running is not None:
            running.terminate = True

    def _statistics_of(self, voice_id: str) -> Floats:
        found = self._statistics.get(voice_id)
        if found is None:
            raise SpeechError(
                f"voice '{voice_id}' has no normalisation statistics: run the calibration for it and prepare the model again"
            )
        return found

    def warm(self) -> None:
        """Load dictionaries and run both networks once, so that the first sentence is as fast as the next."""
        g2p.warm()
        for _ in self.synthesize("你好", "zh", Style("zf_xiaoxiao"), lambda: False):
            pass

    def synthesize(self, spoken: str, lang: str, style: Style, cancelled: Cancelled) -> Iterator[SpeechChunk]:
        """See :class:`gpu_engine.speech.engine.SpeechEngine`."""
        gain = 10 ** (voice(style.voice).gain_db / 20)
        symbols = [s for s in g2p.phonemes(spoken, "zh" if lang == "zh" else "en") if s in self._vocab]
        parts = _parts(symbols)
        if not parts:
            yield SpeechChunk(np.zeros(0, dtype=np.int16), last=True)
            return
        offset_ms = 0.0
        for number, part in enumerate(parts):
            final = number == len(parts) - 1
            for chunk in self._part(part, style, gain, cancelled):
                spans = tuple(PhonemeSpan(s.symbol, s.start_ms + offset_ms, s.end_ms + offset_ms) for s in chunk[1])
                yield SpeechChunk(chunk[0], spans, last=final and chunk[2])
                part_ms = chunk[3]
            if cancelled():
                return
            offset_ms += part_ms

    def _part(
        self, symbols: list[str], style: Style, gain: float, cancelled: Cancelled
    ) -> Iterator[tuple[NDArray[np.int16], tuple[PhonemeSpan, ...], bool, float]]:
        """(pcm, spans that start in it, last, ms so far) of one piece of at most 480 symbols."""
        if cancelled():
            return
        with self._lock:
            plan = self._plan(symbols, style)
            finisher = Finisher(gain)
        waiting = list(plan.spans)
        sent = 0
        for wave, last in self._windows(plan, cancelled):
            pcm = finisher.feed(wave, last=last)
            sent += pcm.size
            now_ms = sent / 48.0
            ready = waiting if last else [s for s in waiting if s.start_ms < now_ms]
            waiting = waiting[len(ready) :]
            if last:
                ready = [_clamped(s, now_ms) for s in ready if s.start_ms < now_ms]
            if pcm.size or last:
                yield pcm, tuple(ready), last, now_ms

    def _plan(self, symbols: list[str], style: Style) -> _Plan:
        row = style_table(style.voice)[min(len(symbols), 509)]
        tokens = np.array([[0, *(self._vocab[s] for s in symbols), 0]], dtype=np.int64)
        try:
            durations, content, pitch, energy = self._front.run(
                None, {"tokens": tokens, "style": row, "speed": np.array([style.speed], dtype=np.float32)}
            )
        except Exception as error:
            raise SpeechError(f"the speech model refused {len(symbols)} symbols: {error}") from error
        lengths = durations[0].round().astype(int)
        starts = np.concatenate([[0], np.cumsum(lengths)]) - _LATE_FRAMES
        first = int(max(0, starts[1] - _LEAD_FRAMES))
        statistics = self._statistics_of(style.voice) if len(symbols) >= _SHORT_SYMBOLS else None
        spans = _spans(symbols, starts[1 : len(symbols) + 2], first)
        # Without fixed statistics the timbre drifts from window to window: worth it only when somebody waits for the sound.
        windowed = self._windowed and (statistics is not None or style.urgent)
        return _Plan(content, pitch, energy, row, statistics, windowed, first, content.shape[2] - first, spans)

    def _windows(self, plan: _Plan, cancelled: Cancelled) -> Iterator[tuple[Floats, bool]]:
        """24 kHz audio of the played frames, window by window."""
        excitation = self._excite(plan.pitch[0])
        total = plan.first_frame + plan.frames
        position = plan.first_frame
        context, first = (_CONTEXT, _FIRST_WINDOW) if plan.statistics is not None else (_SHORT_CONTEXT, _SHORT_FIRST_WINDOW)
        size = float(first if plan.windowed else total)
        tail: Floats = np.zeros(0, dtype=np.float32)
        while position < total:
            if cancelled():
                return
            end = min(total, position + round(size))
            if total - end < _SHORTEST_REST:
                end = total
            low, high = max(0, position - context), min(total, end + context)
            wave = self._decode(plan, excitation, low, high)[(position - low) * FRAME_SAMPLES :]
            body = wave[: (end - position) * FRAME_SAMPLES].copy()
            if tail.size:
                ramp = np.linspace(0, 1, tail.size, dtype=np.float32)
                body[: tail.size] = body[: tail.size] * ramp + tail * (1 - ramp)
            tail = wave[body.size : body.size + _FADE_FRAMES * FRAME_SAMPLES]
            yield body, end == total
            position = end
            size = min(_LARGEST_WINDOW, size * _GROWTH)

    def _decode(self, plan: _Plan, excitation: Floats, low: int, high: int) -> Floats:
        import onnxruntime

        inputs: list[Floats] = [
            plan.content[:, :, low:high],
            plan.pitch[:, 2 * low : 2 * high],
            plan.energy[:, 2 * low : 2 * high],
            plan.style,
            excitation[:, :, 120 * low : 120 * high + 1],
        ]
        if plan.statistics is not None:
            inputs.append(plan.statistics)
        short = plan.statistics is None
        values = dict(zip(self._vocoder_inputs[short], inputs, strict=True))
        options = onnxruntime.RunOptions()
        try:
            with self._lock:
                self._interruptible = None if plan.windowed else options
                wave: Floats = self._vocoders[short].run(None, values, options)[0]
        except Exception as error:
            if options.terminate:
                raise Interrupted from error
            raise SpeechError(f"the vocoder failed on frames {low} to {high}: {error}") from error
        finally:
            self._interruptible = None
        if not np.isfinite(wave).all():
            raise SpeechError(f"the vocoder gave sound that is not finite on frames {low} to {high}")
        return wave.reshape(-1)


def _parts(symbols: list[str]) -> list[list[str]]:
    """Pieces of at most 480 symbols, cut at rests where there are some."""
    parts: list[list[str]] = []
    rest = symbols
    while len(rest) > _MAX_SYMBOLS:
        cut = next((i for i in range(_MAX_SYMBOLS, _MAX_SYMBOLS // 2, -1) if rest[i] in _RESTS), _MAX_SYMBOLS)
        parts.append(rest[:cut])
        rest = rest[cut:]
    parts.append(rest)
    return [part for part in parts if any(s not in _RESTS and s not in _MODIFIERS for s in part)]


def _spans(symbols: list[str], starts: NDArray[np.int64], first_frame: int) -> tuple[PhonemeSpan, ...]:
    """Times from the first played sample; tone, length and aspiration marks belong to their phoneme, stress to the next."""
    times = np.maximum(0.0, (starts - first_frame) * FRAME_MS)
    spans: list[PhonemeSpan] = []
    pending: float | None = None
    for index, symbol in enumerate(symbols):
        start, end = float(times[index]), float(times[index + 1])
        if symbol in _STRESS:
            pending = start if pending is None else pending
            continue
        if symbol in _MODIFIERS and spans:
            spans[-1] = PhonemeSpan(spans[-1].symbol, spans[-1].start_ms, end)
            continue
        spans.append(PhonemeSpan(symbol, start if pending is None else pending, end))
        pending = None
    for index, span in enumerate(spans):
        # The model gives the silence before a rest to the phoneme in front of it; the mouth closes when the sound ends.
        before_rest = index + 1 == len(spans) or spans[index + 1].symbol in _RESTS - {" "}
        if before_rest and span.symbol not in _RESTS and span.end_ms - span.start_ms > _LONGEST_FINAL_MS:
            spans[index] = PhonemeSpan(span.symbol, span.start_ms, span.start_ms + _LONGEST_FINAL_MS)
    return tuple(spans)


def _clamped(span: PhonemeSpan, end_ms: float) -> PhonemeSpan:
    return span if span.end_ms <= end_ms else PhonemeSpan(span.symbol, span.start_ms, end_ms)
