# ruff: noqa: E501 - cases read better one a line
"""Sentences, variants and cursors of a run-of-show; placeholders filled when spoken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpu_engine.mind.facts import MissingFact, fill_line, money_label, money_text, product_card, promotion_in_force
from gpu_engine.mind.script import Script, cursor_from, cursor_tuple, split_sentences
from gpu_engine.session.spec import Cursor, Line, Promotion, Segment, SegmentKind, Text
from tests.mind.shop import CREAM, CUP, lines, show_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("现在只要19.9元,原价1,299元。喜欢的可以拍。", ("现在只要19.9元,原价1,299元。", "喜欢的可以拍。")),
        ("It costs $3.50 today. Grab it now!", ("It costs $3.50 today.", "Grab it now!")),
        ("Mr. Smith likes no. 5. It is a very good one.", ("Mr. Smith likes no. 5.", "It is a very good one.")),
        ("真的吗？！他说：“好的。”然后就走了。", ("真的吗？！他说：“好的。”", "然后就走了。")),
        ("……！！！", ()),
        ("现在只要 79", ("现在只要 79",)),
        ("好。大家看看这款保温杯。", ("好。大家看看这款保温杯。",)),
        ("", ()),
    ],
)
def test_texts_are_split_at_sentence_ends_and_nowhere_else(text: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text) == sentences
    assert "".join(split_sentences(text)).replace(" ", "") in text.replace(" ", "")


def test_loops_use_variants_in_turn_and_cursors_lead_back() -> None:
    line = Line(id="a", text="第一种说法在这里。还有一句话补充。", variants=("第二种说法在这里。",))
    script = Script(show_of(Segment(id="s", kind=SegmentKind.HOOK, lines=(line,))))
    told = script.ahead(Cursor(), 5)
    assert [s.template for s in told] == [
        "第一种说法在这里。",
        "还有一句话补充。",
        "第二种说法在这里。",
        "第一种说法在这里。",
        "还有一句话补充。",
    ]
    assert all(script.at(s.cursor) == s for s in told)
    assert all(cursor_from(cursor_tuple(s.cursor)) == s.cursor for s in told)


def test_gap_follows_the_last_sentence_and_a_silent_segment_is_only_a_gap() -> None:
    show = show_of(
        Segment(id="a", kind=SegmentKind.QA, lines=lines(2, segment="a"), gap_s=8),
        Segment(id="b", kind=SegmentKind.BREAK, gap_s=5),
        loop=False,
    )
    told = Script(show).ahead(Cursor(), 9)
    assert [s.gap_after_ms for s in told] == [0, 8_000, 5_000]
    assert told[-1].template == ""
    assert Script(show).at(Script(show).after(told[-1].cursor)) is None


def test_show_without_anything_to_say_is_at_its_end() -> None:
    assert Script(show_of(Segment(id="a", kind=SegmentKind.BREAK))).at(Cursor()) is None


def test_line_is_filled_with_the_product_of_its_segment() -> None:
    text, facts = fill_line("{title}原来{list_price}，现在{price}元，{link_no}号链接，还有{stock}件。", "zh", CUP, 7)
    assert text == "山野316不锈钢保温杯原来199元，现在129元，1号链接，还有36件。"
    assert {(f.field, f.value, f.version) for f in facts} == {
        ("title", "山野316不锈钢保温杯", 7), ("list_price", "199元", 7), ("price", "129元", 7), ("link_no", "1", 7), ("stock", "36", 7),
    }  # fmt: skip
    assert fill_line("only {price} yuan", "en", CUP, 7)[0] == "only 129 yuan"
    with pytest.raises(MissingFact, match="list price"):
        fill_line("原来{list_price}", "zh", CREAM, 7)
    with pytest.raises(MissingFact, match="segment without a product"):
        fill_line("现在{price}", "zh", None, 7)


@pytest.mark.parametrize(
    ("minor", "currency", "zh", "en", "label"),
    [
        (7_900, "CNY", "79元", "79 yuan", "¥79"),
        (129_900, "CNY", "1299元", "1299 yuan", "¥1,299"),
        (990, "CNY", "9.9元", "9.9 yuan", "¥9.9"),
        (1_999, "USD", "19.99美元", "$19.99", "$19.99"),
        (2_000, "USD", "20美元", "$20", "$20"),
        (1_000, "JPY", "1000日元", "1000 yen", "¥1,000"),
        (5, "CNY", "0.05元", "0.05 yuan", "¥0.05"),
    ],
)
def test_money_is_written_exactly(minor: int, currency: str, zh: str, en: str, label: str) -> None:
    assert (money_text(minor, currency, "zh"), money_text(minor, currency, "en"), money_label(minor, currency)) == (
        zh,
        en,
        label,
    )


def test_card_shows_rendered_prices_and_what_is_sold_out() -> None:
    now = datetime(2026, 1, 15, tzinfo=UTC)
    card = product_card(CUP, "zh", now)
    assert (card.title, card.price, card.list_price, card.link_no, card.note) == ("山野316不锈钢保温杯", "¥129", "¥199", 1, "")
    assert product_card(CREAM, "en", now).note == "Sold out"
    assert product_card(None, "zh", now).title == ""


@pytest.mark.parametrize(
    ("starts", "ends", "now", "inside"),
    [
        (None, None, "2026-01-01T00:00:00+00:00", True),
        ("2026-01-01T00:00:00+08:00", None, "2025-12-31T15:59:59+00:00", False),
        ("2026-01-01T00:00:00+08:00", None, "2025-12-31T16:00:00+00:00", True),
        (None, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", False),
        ("soon", None, "2026-01-01T00:00:00+00:00", False),
    ],
)
def test_promotion_windows(starts: str | None, ends: str | None, now: str, inside: bool) -> None:
    promotion = Promotion(text=Text(zh="满减"), starts_at=starts, ends_at=ends)
    assert promotion_in_force(promotion, datetime.fromisoformat(now)) is inside
