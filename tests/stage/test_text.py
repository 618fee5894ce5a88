"""Fonts cover what a shop writes; the rest becomes a visible box; lines break where they should."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.stage.text import FALLBACK, coverage, drawable, font, missing_glyphs, text_width, wrap

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("weight", ["Regular", "Bold"])
def test_gb2312_latin_currency_and_punctuation_are_covered(weight: str) -> None:
    hanzi = [bytes((h, low)).decode("gb2312") for h in range(0xB0, 0xF8) for low in range(0xA1, 0xFE if h == 0xD7 else 0xFF)
             if not (h == 0xD7 and low > 0xF9)]  # fmt: skip
    text = "".join(hanzi) + "".join(map(chr, range(0x21, 0x7F))) + "¥€£$₩éüñß·—…“”‘’，。！？；：（）【】《》％＋→↓①⑩×÷≥℃™□"
    assert len(hanzi) == 6763
    assert missing_glyphs(text, weight) == ""  # type: ignore[arg-type]
    assert len(coverage(weight)) > 7500  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("好用👍🏽极了", f"好用{FALLBACK}极了"),
        ("👩‍👩‍👧 一家", f"{FALLBACK} 一家"),
        ("a\u200bb\x00c\x1b[31m", "abc[31m"),
        ("  多\n行\t文 ", "多 行 文"),
        ("مرحبا", FALLBACK * 5),
        ("e\u0301t\u0301", "ét"),
        ("❤️", FALLBACK),
        ("", ""),
    ],
)
def test_what_cannot_be_drawn_is_a_box(given_text: str, shown: str) -> None:
    assert drawable(given_text, "Bold") == shown


def test_chinese_keeps_punctuation_off_line_starts() -> None:
    lines = wrap("今天这款，只要一百九十九。明天就没有了！", "Bold", 40, 40 * 5.2, 9)
    assert "".join(lines) == "今天这款，只要一百九十九。明天就没有了！"
    assert all(line[0] not in "，。！？" for line in lines)


def test_english_breaks_between_words() -> None:
    lines = wrap("Two drops in the morning and your skin stays bright", "Bold", 40, 420, 9)
    assert " ".join(lines) == "Two drops in the morning and your skin stays bright"
    assert len(lines) > 2


def test_mixed_text_breaks_between_the_scripts() -> None:
    assert wrap("这款Vitamin C精华", "Bold", 40, 170, 9)[0] == "这款"


def test_too_long_ends_in_an_ellipsis_and_a_monster_word_is_cut() -> None:
    lines = wrap("W" * 400, "Bold", 40, 300, 2)
    assert len(lines) == 2
    assert lines[1].endswith("…")


@pytest.mark.parametrize("text", ["w" * 50_000, "https://shop.example/" + "a1b2/" * 10_000, "好" * 50_000, "a " * 50_000])
def test_absurdly_long_text_is_laid_out_within_a_frame(text: str) -> None:
    wrap("wa1b2/https:.shop好 …", "Bold", 42, 1_000, 2)
    began = time.process_time()
    lines = wrap(text, "Bold", 42, 1_000, 2, balance=True)
    assert time.process_time() - began < 0.5
    assert len(lines) == 2
    assert lines[1].endswith("…")


def test_balanced_lines_are_about_equal() -> None:
    a, b = wrap("这款保温杯采用不锈钢内胆早上装的热水到晚上还是温的呢", "Bold", 40, 40 * 20, 2, balance=True)
    assert abs(len(a) - len(b)) <= 2


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=200), width=st.integers(60, 900), size=st.integers(12, 60), lines=st.integers(1, 3))
def test_any_text_wraps_within_the_width(text: str, width: int, size: int, lines: int) -> None:
    broken = wrap(drawable(text, "Bold"), "Bold", size, width, lines, balance=True)
    assert len(broken) <= lines
    for line in broken:
        assert text_width(line, "Bold", size) <= width
        assert missing_glyphs(line, "Bold") == ""
        font("Bold", size).getbbox(line)
