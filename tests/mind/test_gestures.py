"""Which gestures the mind asks for, and that they travel in the clip's header."""

from __future__ import annotations

import pytest

from gpu_engine.mind.composer import ClipProgress, Utterance, _emphasis
from gpu_engine.mind.gestures import MS_PER_CHAR, SETTLE_MS, GestureCues
from gpu_engine.mind.intent import Intent
from gpu_engine.session.spec import SegmentKind
from gpu_engine.session.timeline import Card, ClipKind, Gesture, GestureKind

pytestmark = pytest.mark.unit

CUP = Card("p1", "保温杯", "¥199")
PAN = Card("p2", "平底锅", "¥89")


def test_the_opening_greets_and_its_second_sentence_does_not() -> None:
    hands = GestureCues()
    opening = hands.script(SegmentKind.OPENING, "大家好", "zh", begins=True, card=Card())
    again = hands.script(SegmentKind.OPENING, "今天很热闹", "zh", begins=False, card=Card())
    assert opening == (Gesture(GestureKind.GREET, SETTLE_MS),)
    assert again == ()


def test_a_new_card_is_shown_once_and_the_next_product_again() -> None:
    hands = GestureCues()
    kinds = [
        [g.kind for g in hands.script(SegmentKind.POINTS, "它很轻", "zh", begins=False, card=card)]
        for card in (CUP, CUP, PAN, PAN)
    ]
    assert kinds == [["point"], [], ["point"], []]


def test_a_price_line_and_the_products_name_point_where_they_are_spoken() -> None:
    hands = GestureCues()
    hands.script(SegmentKind.POINTS, "它很轻", "zh", begins=False, card=CUP)
    price = hands.script(SegmentKind.PRICE, "今天只要¥199", "zh", begins=False, card=CUP)
    named = hands.script(SegmentKind.POINTS, "这个保温杯很轻", "zh", begins=False, card=CUP, named=("保温杯",))
    assert price == (Gesture(GestureKind.POINT, SETTLE_MS + int(4 * MS_PER_CHAR["zh"])),)
    assert named == (Gesture(GestureKind.POINT, SETTLE_MS + int(2 * MS_PER_CHAR["zh"])),)


@pytest.mark.parametrize(
    ("intent", "text", "lang", "kind"),
    [
        (Intent.THANKS, "不客气", "zh", GestureKind.THANK),
        (Intent.GREETING, "欢迎你", "zh", GestureKind.GREET),
        (Intent.CHITCHAT, "谢谢你的礼物", "zh", GestureKind.THANK),
        (Intent.CHITCHAT, "Thank you for the follow", "en", GestureKind.THANK),
        (Intent.RECOMMEND, "There are three reasons to take it", "en", GestureKind.COUNT),
    ],
)
def test_answers_ask_for_what_they_say(intent: Intent, text: str, lang: str, kind: GestureKind) -> None:
    assert [g.kind for g in GestureCues().answer(intent, text, lang, card=None)] == [kind]  # type: ignore[arg-type]


def test_nothing_points_at_a_card_that_is_not_there() -> None:
    hands = GestureCues()
    assert hands.answer(Intent.PRICE, "¥199", "zh", card=None) == ()
    assert hands.script(SegmentKind.PRICE, "只要¥199", "zh", begins=True, card=Card()) == ()


def clip(text: str, lang: str, stressed: tuple[str, ...] = ()) -> ClipProgress:
    said = Utterance("a", "", ClipKind.SCRIPT, 10, text, lang, stressed=stressed)  # type: ignore[arg-type]
    return ClipProgress(said, clauses=[text])


@pytest.mark.parametrize(
    ("text", "lang", "stressed", "places"),
    [
        ("今天只要199元", "zh", (), (2, 4)),
        ("这款保温杯很轻", "zh", ("保温杯",), (2,)),
        ("早上装的热水到晚上还温着", "zh", (), (8,)),
        ("好的", "zh", (), ()),
        ("it keeps water warm until the evening.", "en", (), (30,)),
        ("and it is really light", "en", (), (10,)),
    ],
)
def test_stress_falls_on_numbers_names_words_of_degree_or_the_end(
    text: str, lang: str, stressed: tuple[str, ...], places: tuple[int, ...]
) -> None:
    at_ms = _emphasis(clip(text, lang, stressed), 0.0, 100.0 * len(text))
    assert at_ms == tuple(100 * p for p in places)
