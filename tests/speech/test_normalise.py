"""Written text to spoken words: the listed cases, and that no number is ever lost."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.speech.normalise import Lang, normalise, render_count, render_money, render_number, render_percent, write_money

pytestmark = pytest.mark.unit

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "fixtures/text_normalisation.jsonl").read_text("utf-8").splitlines()
]
NUMBER_WORDS = {
    "zh": re.compile("[零一二三四五六七八九十百千万亿两幺半]"),
    "en": re.compile(
        r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|twent|thirt|fort|fift|first|second|third|quarter|half|hundred|oh"
    ),
}


def key(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum())


@pytest.mark.parametrize("case", CASES, ids=[str(case["id"]) for case in CASES])
def test_listed_case(case: dict[str, object]) -> None:
    expected = case["expected"]
    assert isinstance(expected, list)
    assert key(normalise(str(case["input"]), "zh").spoken) in {key(e) for e in expected}


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("原价199，现在只要79，还送收纳袋！", "原价一百九十九，现在只要七十九，还送收纳袋！"),
        ("满300减50%", "满三百减百分之五十"),
        ("约为正常的65%", "约为正常的百分之六十五"),
        ("满¥300减50%,规格5-10kg,活动8:30开始", "满三百元减百分之五十,规格五到十公斤,活动八点三十分开始"),
        ("到手价只要19.9元,原价1,299元", "到手价只要十九点九元,原价一千二百九十九元"),
        ("RTX 5090", "RTX 五零九零"),
        ("2025新款", "二零二五新款"),
        ("身高160-165", "身高一百六十到一百六十五"),
        ("021-12345678", "零二幺幺二三四五六七八"),
        ("2个月", "两个月"),
        ("2号链接", "二号链接"),
        ("买2件打85折", "买两件打八五折"),
        ("10010", "一万零一十"),
        ("￥99-￥199", "九十九到一百九十九元"),
        ("¥-5", "元负五"),
        ("1️⃣号链接", "一号链接"),
        ("１２３", "一百二十三"),
        ("<b>50</b>元", "五十元"),
        ("₮500", "五百货币单位"),
    ],
)
def test_chinese(written: str, spoken: str) -> None:
    assert normalise(written, "zh").spoken.strip() == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("$19.99", "nineteen dollars and ninety nine cents"),
        ("It costs $3.50 today.", "It costs three dollars and fifty cents today."),
        ("The price is 705 and model E100", "The price is seven hundred five and model E one zero zero"),
        ("$1,299.00", "one thousand two hundred ninety nine dollars"),
        ("$1", "one dollar"),
        ("£9.99", "nine pounds and ninety nine pence"),
        ("50% off", "fifty percent off"),
        ("256GB", "two hundred fifty six gigabytes"),
        ("8:30 pm", "eight thirty p m"),
        ("2025-09-01", "September first twenty twenty five"),
        ("5-10kg", "five to ten kilograms"),
        ("-20℃", "minus twenty degrees Celsius"),
        ("call 400-820-8820", "call four zero zero, eight two zero, eight eight two zero"),
        ("$10-$20", "ten to twenty dollars"),
        ("5 in 1", "five in one"),
        ("2 in stock", "two in stock"),
        ("1990s", "nineteen nineties"),
        ("¥99", "ninety nine yuan"),
    ],
)
def test_english(written: str, spoken: str) -> None:
    assert normalise(written, "en").spoken == spoken


_PIECE = st.one_of(
    st.integers(0, 10**13).map(str),
    st.decimals(0, 10**6, places=2).map(str),
    st.integers(0, 10**9).map(lambda n: f"{n:,}"),
    st.sampled_from(list("¥￥$€£₩元块折%℃kgmlxX*×/-~～:：.,，。+#@&()《》件瓶号月日年点第双满减买送 \t\n\x00")),
    st.sampled_from(
        [
            "iPhone",
            "GB",
            "SPF",
            "No.",
            "Max",
            "USB",
            "价格",
            "订单号",
            "电话",
            "到手价",
            "🔥",
            "️",
            "包邮",
            "大促",
            "am",
            "pm",
            "Jan",
        ]
    ),
    st.text(max_size=3),
)


@pytest.mark.parametrize("lang", ["zh", "en"])
@settings(max_examples=200, deadline=None, derandomize=True)
@given(pieces=st.lists(_PIECE, max_size=12))
def test_no_number_survives_or_is_dropped(lang: Lang, pieces: list[str]) -> None:
    # A digit inside a web address or a character reference is part of it, not a number.
    text = "".join(pieces).replace("www", "").replace("://", "").replace("&", "").replace("<", "")
    result = normalise(text, lang)
    assert not [c for c in result.spoken if c.isdecimal() or unicodedata.category(c) == "Sc"]
    spans = result.spans
    assert [s[0] for s in spans[1:]] == [s[1] for s in spans[:-1]]
    assert [s[2] for s in spans[1:]] == [s[3] for s in spans[:-1]]
    if spans:
        assert (spans[0][2], spans[-1][3], spans[-1][1]) == (0, len(result.spoken), len(text))
    for match in re.finditer(r"[0-9]+", text):
        parts = [s for s in spans if s[0] < match.end() and s[1] > match.start()]
        spoken = result.spoken[parts[0][2] : parts[-1][3]]
        assert NUMBER_WORDS[lang].search(spoken), (text, match.group(), result.spoken)


def test_a_spoken_range_leads_back_to_the_written_one() -> None:
    written = "原价¥1,299.00，现在199元"
    result = normalise(written, "zh")
    start = result.spoken.index("一千二百九十九元")
    assert written[slice(*result.written_range(start, start + 8))] == "¥1,299.00"
    start = result.spoken.index("一百九十九元")
    assert written[slice(*result.written_range(start, start + 6))] == "199元"


@pytest.mark.parametrize("text", ["", " ", "……", "！！！", "🔥🔥🎉", "\x00\x1b\x7f", "<br/>", "\u200b\ufeff"])
def test_nothing_to_say_gives_nothing_to_pronounce(text: str) -> None:
    assert not any(c.isalnum() for c in normalise(text, "zh").spoken)


@pytest.mark.parametrize(
    "text", ["9" * 10_000, "好" * 10_000, "<" * 10_000, "&" * 10_000, "1,2.3:4/5-" * 1000, "a1" * 5000, " " * 10_000]
)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_ten_thousand_characters_are_quick(text: str, lang: Lang) -> None:
    started = time.process_time()
    normalise(text, lang)
    assert time.process_time() - started < 4.0


def test_markup_and_links_are_not_read_out() -> None:
    assert normalise('<a href="https://x.example/9">看这里</a> https://x.example/a?b=3 两件', "zh").spoken.split() == [
        "看这里",
        "链接",
        "两件",
    ]
    assert normalise("Tom &amp; Jerry", "en").spoken == "Tom and Jerry"


def test_rendering_from_typed_values() -> None:
    assert render_money(129_900, "CNY", "zh") == "一千二百九十九元"
    assert render_money(1990, "CNY", "zh") == "十九点九元"
    assert render_money(1999, "USD", "en") == "nineteen dollars and ninety nine cents"
    assert render_money(1200, "JPY", "en") == "one thousand two hundred yen"
    assert (write_money(129_900, "CNY", "zh"), write_money(129_950, "USD", "en")) == ("1299元", "$1,299.50")
    assert (render_count(2, "zh", "件"), render_count(1, "en", "item"), render_count(3, "en", "box")) == (
        "两件",
        "one item",
        "three boxes",
    )
    assert (render_percent("12.5", "zh"), render_number(-3, "en")) == ("百分之十二点五", "minus three")


@given(minor=st.integers(0, 10**9), currency=st.sampled_from(["CNY", "USD", "JPY", "EUR"]))
def test_what_is_written_is_said_alike(minor: int, currency: str) -> None:
    for lang in ("zh", "en"):
        assert normalise(write_money(minor, currency, lang), lang).spoken == render_money(minor, currency, lang)
