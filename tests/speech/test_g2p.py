"""Front ends: mixed text, acronyms, polyphones."""

from __future__ import annotations

import itertools

import pytest

from gpu_engine.speech.duration_engine import DurationOnlyEngine
from gpu_engine.speech.engine import Style
from gpu_engine.speech.g2p import Lang, phonemes

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("大家好", "zh", "ta↘ʨja→ xau↓"),
        ("你好，世界。", "zh", "ni↓xau↓, ʂɨ↘ʨje↘."),
        ("USB接口", "zh", "jˈu ˈɛs bˈi ʨje→kʰou↓"),
        ("VIP", "en", "vˈi ˈI pˈi"),
        ("……", "zh", ""),
        ("", "en", ""),
    ],
)
def test_symbols(text: str, lang: Lang, expected: str) -> None:
    assert phonemes(text, lang) == expected


def test_a_commerce_word_has_its_own_reading() -> None:
    assert phonemes("便宜", "zh").startswith("pʰjɛ↗n")
    assert phonemes("薄款", "zh").startswith("pau↗")


def test_words_in_capitals_are_words_and_acronyms_letters() -> None:
    assert phonemes("PRO MAX", "en") == phonemes("pro max", "en")
    assert phonemes("SPF", "zh") == "ˈɛs pˈi ˈɛf"


def test_the_durations_only_engine_times_every_phoneme_and_speaks_nothing() -> None:
    engine = DurationOnlyEngine()
    chunks = list(engine.synthesize("原价一百九十九元，现在七十九元", "zh", Style("zf_xiaoxiao"), lambda: False))
    slow = list(engine.synthesize("原价一百九十九元，现在七十九元", "zh", Style("zf_xiaoxiao", 0.5), lambda: False))
    spans = chunks[0].phonemes
    assert [c.last for c in chunks] == [True]
    assert all(a.end_ms <= b.start_ms + 1e-6 for a, b in itertools.pairwise(spans))
    assert 2_000 < chunks[0].pcm.size / 48 < 5_000
    assert slow[0].phonemes[-1].end_ms - 50 == pytest.approx(2 * (spans[-1].end_ms - 50))
    assert abs(chunks[0].pcm).max() < 700
    assert engine.name == "durations-only"
