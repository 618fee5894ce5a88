"""Every symbol of the voice's vocabulary has a mouth, and mouths are speech-sized."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_engine.motion.visemes import (
    JOIN_MARKS,
    LENGTH_MARKS,
    PAUSE_MARKS,
    PHONEME_VISEMES,
    STRESS_MARKS,
    VISEME_INDEX,
    VISEMES,
    lip_opening,
    viseme_weights,
)
from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_INDEX, WEIGHTS

pytestmark = pytest.mark.unit

KOKORO_SYMBOLS = (
    ';:,.!?—…"()“” ̃ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ'
)


def test_every_kokoro_symbol_is_a_sound_or_a_mark() -> None:
    marks = PAUSE_MARKS | JOIN_MARKS | STRESS_MARKS | LENGTH_MARKS
    assert [s for s in KOKORO_SYMBOLS if (s in PHONEME_VISEMES) == (s in marks)] == []


def test_fifteen_visemes_all_reachable() -> None:
    reached = {v for names in PHONEME_VISEMES.values() for v in names}
    assert len(VISEMES) == 15
    assert reached == set(VISEMES) - {"sil"}


@pytest.mark.parametrize("symbol", ["p", "b", "m"])
def test_bilabials_close(symbol: str) -> None:
    assert PHONEME_VISEMES[symbol] == ("PP",)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_shapes_are_speech_sized_and_touch_lips_only(lang: str) -> None:
    table = viseme_weights(lang)
    foreign = [WEIGHT_INDEX[name] for name in WEIGHTS if name not in LIP_WEIGHTS]
    assert table.shape == (15, 32)
    assert not table[:, foreign].any()
    assert not table[VISEME_INDEX["sil"]].any()
    assert table[VISEME_INDEX["aa"], WEIGHT_INDEX["jawOpen"]] == pytest.approx(0.36)
    assert table[:, WEIGHT_INDEX["jawOpen"]].max() <= 0.4
    opening = lip_opening(table)
    assert opening[VISEME_INDEX["PP"]] == 0.0
    assert opening[VISEME_INDEX["aa"]] == opening.max()


def test_english_sh_protrudes_more_than_mandarin_sh() -> None:
    funnel = WEIGHT_INDEX["mouthFunnel"]
    zh, en = viseme_weights("zh"), viseme_weights("en")
    assert zh[VISEME_INDEX["CH"], funnel] < en[VISEME_INDEX["CH"], funnel]
    np.testing.assert_array_equal(zh[VISEME_INDEX["ou"]], en[VISEME_INDEX["ou"]])
