"""The lip compiler: closures close, silence rests, chunks join, nothing leaves its bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpu_engine.motion.lips import HOLD_MS, LipCompiler, compile_lips
from gpu_engine.motion.mixer import interpolate_lips
from gpu_engine.motion.visemes import PHONEME_VISEMES, lip_opening
from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_INDEX, WEIGHTS
from gpu_engine.speech.engine import PhonemeSpan

pytestmark = pytest.mark.unit

FOREIGN = [WEIGHT_INDEX[name] for name in WEIGHTS if name not in LIP_WEIGHTS]
LARGEST_STEP = 0.40
"""Most a weight may move in one 20 ms row."""


def spoken(text: str, sound_ms: float = 75, mark_ms: float = 25, pause_ms: float = 300) -> tuple[list[PhonemeSpan], float]:
    """Spans of a phoneme string, one symbol after the other, and the end of the last."""
    spans, at = [], 0.0
    for symbol in text:
        length = sound_ms if symbol in PHONEME_VISEMES else pause_ms if symbol == "," else mark_ms
        spans.append(PhonemeSpan(symbol, at, at + length))
        at += length
    return spans, at


def weights(rows: NDArray[np.uint8]) -> NDArray[np.float32]:
    return rows.astype(np.float32) / 255.0


ZH = "ta↘ʨja→ xau↓, mai↓pau→ʂɨ↗pʰi↗"
EN = "həlˈO ˈɛvɹibˌʌdi, mˈAbi pˈOp mˈɑp"


@pytest.mark.parametrize(("text", "lang"), [(ZH, "zh"), (EN, "en")])
@pytest.mark.parametrize("sound_ms", [45, 75, 140])
@pytest.mark.parametrize("phase_ms", [0, 13, 29])
def test_every_bilabial_closes_even_when_seen_at_25_fps(text: str, lang: str, sound_ms: float, phase_ms: float) -> None:
    spans, end = spoken(text, sound_ms)
    rows = compile_lips(spans, end + 200, lang)
    out = np.zeros(32, dtype=np.float32)
    frames = [(t, float(lip_opening(interpolate_lips(rows, t, out).copy()))) for t in np.arange(phase_ms, end, 40.0)]
    for span in spans:
        if span.symbol not in "pbm":
            continue
        near = [opening for t, opening in frames if span.start_ms - 25 <= t <= span.end_ms + 25]
        assert min(near) <= 0.02, f"{span} stays open by {min(near):.3f}"


def test_open_vowels_open_and_round_vowels_round() -> None:
    spans, end = spoken("sasus", sound_ms=110)
    track = weights(compile_lips(spans, end, "zh"))
    at_a, at_u = track[round(165 / 20)], track[round(385 / 20)]
    assert at_a[WEIGHT_INDEX["jawOpen"]] >= 0.27
    assert at_u[WEIGHT_INDEX["mouthPucker"]] >= 0.45
    assert at_a[WEIGHT_INDEX["mouthPucker"]] <= 0.06


def test_rounding_starts_before_the_round_vowel() -> None:
    spans, end = spoken("ssu", sound_ms=100)
    track = weights(compile_lips(spans, end + 200, "zh"))
    pucker = track[:, WEIGHT_INDEX["mouthPucker"]]
    assert pucker[round(140 / 20)] >= 0.05
    assert pucker[round(40 / 20)] <= 0.02


def test_lips_rest_in_a_pause_and_at_the_clause_end() -> None:
    spans, end = spoken("ta, ta", pause_ms=400)
    rows = compile_lips(spans, end + 300, "zh")
    pause = next(s for s in spans if s.symbol == ",")
    inside = rows[round((pause.start_ms + 130) / 20) : round((pause.end_ms - 100) / 20)]
    assert len(inside) >= 6
    assert inside.max() == 0
    assert rows[-1].max() == 0
    assert rows[round((end + 100) / 20) :].max() == 0


def test_a_clause_without_sounds_is_rest() -> None:
    assert compile_lips((), 333, "zh").shape == (17, 32)
    assert compile_lips((), 333, "zh").max() == 0
    assert compile_lips((), 0, "zh").shape == (0, 32)


def test_unknown_symbols_are_spoken_through() -> None:
    rows = compile_lips([PhonemeSpan("a", 0, 80), PhonemeSpan("☃", 80, 160), PhonemeSpan("", 160, 170)], 300, "zh")
    assert rows[6, WEIGHT_INDEX["jawOpen"]] > 60


def test_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        LipCompiler("zh").push((), -1)


def test_chunks_with_upcoming_sounds_equal_the_whole() -> None:
    spans, end = spoken(ZH)
    whole = compile_lips(spans, end + 100, "zh")
    compiler, parts = LipCompiler("zh"), []
    cuts = [0.0, 415.0, 730.0, 1111.0, end + 100]
    for a, b in pairwise(cuts):
        inside = [s for s in spans if a <= s.start_ms < b]
        later = [s for s in spans if s.start_ms >= b]
        parts.append(compiler.push(inside, b - a, last=b == cuts[-1], upcoming=later))
    joined = np.concatenate(parts)
    assert joined.shape == whole.shape
    assert np.abs(joined.astype(int) - whole.astype(int)).max() <= 12


@pytest.mark.parametrize("chunk_ms", [90.0, 160.0, 350.0, 777.0])
def test_chunks_without_lookahead_join_smoothly_and_close(chunk_ms: float) -> None:
    spans, end = spoken(EN)
    compiler, parts, at = LipCompiler("en"), [], 0.0
    while at < end:
        step = min(chunk_ms, end - at)
        parts.append(compiler.push([s for s in spans if at <= s.start_ms < at + step], step, last=at + step >= end))
        at += step
        rows = sum(len(p) for p in parts)
        assert rows == int(np.ceil((end if at >= end else max(at - HOLD_MS, 0)) / 20 - 1e-6))
    track = weights(np.concatenate(parts))
    assert np.abs(np.diff(track, axis=0)).max() <= LARGEST_STEP
    for span in spans:
        if span.symbol in "pbm":
            near = lip_opening(track)[max(0, int(span.start_ms / 20) - 1) : int(span.end_ms / 20) + 2]
            assert near.min() <= 0.02


def test_a_long_last_sound_does_not_hold_the_mouth_open_through_the_pause() -> None:
    spans = [PhonemeSpan("a", 50, 120), PhonemeSpan("n", 120, 370), PhonemeSpan(",", 370, 420), PhonemeSpan(" ", 420, 470)]
    rows = compile_lips([*spans, PhonemeSpan("t", 470, 520), PhonemeSpan("a", 520, 620)], 800, "en")
    assert rows[round(340 / 20)].max() == 0
    assert rows[round(560 / 20), WEIGHT_INDEX["jawOpen"]] > 40


def test_clauses_of_a_clip_stay_on_one_grid() -> None:
    compiler, rows = LipCompiler("zh"), 0
    spans, end = spoken("ta↘")
    for _ in range(7):
        rows += len(compiler.push(spans, end + 3.7, last=True))
        rows += len(compiler.pause(11.1))
    assert rows == int(np.ceil(7 * (end + 3.7 + 11.1) / 20 - 1e-6))


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(alphabet=sorted(PHONEME_VISEMES) + list(" ,.ˈː↘↓☃"), max_size=40),
    lengths=st.lists(st.floats(0, 260), min_size=40, max_size=40),
    lang=st.sampled_from(["zh", "en"]),
    tail=st.floats(0, 500),
)
def test_any_phonemes_give_bounded_smooth_lips_at_rest_at_both_ends(
    text: str, lengths: list[float], lang: str, tail: float
) -> None:
    spans, at = [], 0.0
    for symbol, length in zip(text, lengths, strict=False):
        spans.append(PhonemeSpan(symbol, at, at + length))
        at += length
    rows = compile_lips(spans, at + tail, lang)
    assert rows.dtype == np.uint8
    assert rows.shape == (int(np.ceil(round((at + tail) / 20, 6))), 32)
    assert not rows[:, FOREIGN].any()
    if len(rows) > 1:
        assert rows[-1].max() == 0
        assert np.abs(np.diff(weights(rows), axis=0)).max() <= LARGEST_STEP
    again = compile_lips(spans, at + tail, lang)
    np.testing.assert_array_equal(rows, again)
