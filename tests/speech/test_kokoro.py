"""The real voice: recognised prices, phoneme times, joins, levels. Needs the speech model (and the recogniser for some)."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpu_engine.models import ModelError, require_kokoro, require_whisper
from gpu_engine.speech.engine import PhonemeSpan, SpeechError, Style
from gpu_engine.speech.normalise import Lang, normalise

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def engine() -> Any:
    try:
        require_kokoro()
    except ModelError as error:
        pytest.skip(str(error))
    from gpu_engine.speech.kokoro import KokoroEngine

    return KokoroEngine()


@lru_cache(maxsize=1)
def recogniser() -> Any:
    try:
        folder = require_whisper()
    except ModelError as error:
        pytest.skip(str(error))
    whisper = pytest.importorskip("faster_whisper")
    return whisper.WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def say(engine: Any, text: str, lang: Lang, voice: str) -> tuple[NDArray[np.int16], list[PhonemeSpan]]:
    chunks = list(engine.synthesize(normalise(text, lang).spoken, lang, Style(voice), lambda: False))
    assert [c.last for c in chunks] == [False] * (len(chunks) - 1) + [True]
    return np.concatenate([c.pcm for c in chunks]), [s for c in chunks for s in c.phonemes]


def heard(pcm: NDArray[np.int16], lang: Lang) -> str:
    # 48 to 16 kHz: a short moving average is filter enough for the recogniser.
    wave = np.convolve(pcm.astype(np.float32), np.ones(3) / 3, mode="same")[::3] / 32768.0
    segments, _ = recogniser().transcribe(wave, language=lang, beam_size=5)
    return "".join(segment.text for segment in segments)


@pytest.mark.parametrize(
    ("text", "lang", "voice", "pattern"),
    [
        ("这款面膜到手价只要19.9元，原价1,299元。", "zh", "zf_xiaoxiao", r"(19\.9|十九点九|19点9).*(1,?299|一千二百九十九)"),
        ("现在下单只要79元，非常划算。", "zh", "zm_yunxi", r"79|七十九"),
        ("The price is $19.99, and it was $1,299.", "en", "af_heart", r"19\.99.*1,?299"),
        ("Today it is only $49.50 with free shipping.", "en", "am_michael", r"49(\.50| and 50 cents)"),
    ],
)
def test_prices_are_recognised(engine: Any, text: str, lang: Lang, voice: str, pattern: str) -> None:
    transcript = heard(say(engine, text, lang, voice)[0], lang)
    assert re.search(pattern, transcript), transcript


@pytest.mark.parametrize(
    ("text", "lang", "voice"),
    [
        ("好的", "zh", "zf_xiaoxiao"),
        ("大家好。", "zh", "zf_xiaobei"),
        ("Yes.", "en", "af_heart"),
        ("欢迎来到我们的直播间，今天带来一款轻薄的保温杯", "zh", "zm_yunxi"),
        ("Charge it for 10 minutes and you can listen to music for 3 hours.", "en", "af_bella"),
    ],
)
def test_level_times_and_edges(engine: Any, text: str, lang: Lang, voice: str) -> None:
    pcm, spans = say(engine, text, lang, voice)
    wave = pcm.astype(np.float64) / 32768.0
    blocks = wave[: wave.size // 960 * 960].reshape(-1, 960)
    loud = np.sqrt((blocks**2).mean(axis=1))
    level = 20 * np.log10(np.sqrt((loud[loud > loud.max() / 10] ** 2).mean()))
    assert -24 < level < -11
    assert np.abs(wave).max() < 1.0
    assert abs(int(pcm[0])) < 100
    assert abs(int(pcm[-1])) < 100
    assert 0 <= spans[0].start_ms <= 60
    assert all(a.start_ms <= b.start_ms for a, b in itertools.pairwise(spans))
    assert spans[-1].end_ms <= pcm.size / 48 + 300


def test_joins_do_not_click(engine: Any) -> None:
    chunks = list(
        engine.synthesize(
            "欢迎来到我们的直播间，今天带来一款轻薄的保温杯，可以保冷一整天", "zh", Style("zf_xiaoxiao"), lambda: False
        )
    )
    assert len(chunks) >= 4
    pcm = np.concatenate([c.pcm for c in chunks]).astype(np.float64)
    # A click is energy above 12 kHz, where this voice has none.
    high = np.abs(np.diff(pcm, n=4))
    usual = np.percentile(high, 99.9)
    for edge in np.cumsum([c.pcm.size for c in chunks])[:-1]:
        assert high[max(0, edge - 1300) : edge + 1300].max() < 6 * usual


def test_cancelling_stops_before_the_next_window(engine: Any) -> None:
    stop = False
    chunks = engine.synthesize(
        "欢迎来到我们的直播间，今天带来一款轻薄的保温杯，可以保冷一整天", "zh", Style("zf_xiaoxiao"), lambda: stop
    )
    next(chunks)
    stop = True
    assert list(chunks) == []


def test_nothing_to_pronounce_is_one_empty_last_piece(engine: Any) -> None:
    chunks = list(engine.synthesize("……", "zh", Style("zf_xiaoxiao"), lambda: False))
    assert [(c.pcm.size, c.last) for c in chunks] == [(0, True)]


def test_an_unknown_voice_names_the_known_ones(engine: Any) -> None:
    with pytest.raises(SpeechError, match="zf_xiaoxiao"):
        next(engine.synthesize("你好", "zh", Style("nobody"), lambda: False))
