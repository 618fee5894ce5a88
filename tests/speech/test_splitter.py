"""Clauses and sentences: never through a number, and a stream cuts as the whole does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.speech.splitter import ClauseStream, Lang, split_clauses, split_sentences

pytestmark = pytest.mark.unit


def streamed(text: str, lang: Lang, step: int = 1) -> list[str]:
    stream = ClauseStream(lang)
    out = [c.text for start in range(0, len(text), step) for c in stream.feed(text[start : start + step])]
    return out + [c.text for c in stream.flush()]


@pytest.mark.parametrize(
    ("text", "lang", "clauses"),
    [
        ("今天直播间这款面膜到手价只要19.9元,原价1,299元", "zh", ["今天直播间这款面膜到手价只要19.9元,", "原价1,299元"]),
        ("It costs $3.50 today.", "en", ["It costs $3.50 today."]),
        ("现在只要 79", "zh", ["现在只要 79"]),
        ("活动8:30开始，先到先得。", "zh", ["活动8:30开始，", "先到先得。"]),
        ("Dr. Smith has 2 items, e.g. soap. Buy now!", "en", ["Dr. Smith has 2 items, e.g. soap.", "Buy now!"]),
        ("“真的吗？”是的。", "zh", ["“真的吗？”", "是的。"]),
        ("……", "zh", []),
        ("！！！", "zh", []),
        ("", "en", []),
    ],
)
def test_cuts(text: str, lang: Lang, clauses: list[str]) -> None:
    assert [c.text for c in split_clauses(text, lang)] == clauses
    assert streamed(text, lang) == clauses


def test_a_price_fed_by_characters_is_one_sentence() -> None:
    stream = ClauseStream("en")
    early = [clause for char in "It costs $3.50 today." for clause in stream.feed(char)]
    assert early == []
    assert [c.text for c in stream.flush()] == ["It costs $3.50 today."]


def test_sentences_keep_their_clauses_together() -> None:
    text = "大家好，欢迎来到直播间！今天8:30开始，满300减50。别错过"
    assert [c.text for c in split_sentences(text, "zh")] == ["大家好，欢迎来到直播间！", "今天8:30开始，满300减50。", "别错过"]


def test_clauses_are_bounded() -> None:
    assert max(len(c.text) for c in split_clauses("好" * 10_000, "zh")) <= 36
    assert max(len(c.text) for c in split_clauses("word " * 2_000, "en")) <= 110
    assert max(len(c.text) for c in split_clauses("a" * 10_000, "en")) <= 110 + 64


def test_pauses_follow_the_mark() -> None:
    assert [c.pause_ms for c in split_clauses("今天我们很高兴，大家都来了呀；我们开始。", "zh")] == [140, 240, 320]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    parts=st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "你好",
                    "欢迎大家",
                    "，",
                    "。",
                    "！",
                    "?",
                    ", ",
                    ". ",
                    "：",
                    " ",
                    "\n",
                    "”",
                    '"',
                    "Mr. ",
                    "soap",
                    "19.9",
                    "1,299",
                    "8:30",
                    "$3.50",
                ]
            ),
            st.text(max_size=4),
        ),
        max_size=30,
    ),
    lang=st.sampled_from(["zh", "en"]),
    step=st.integers(1, 7),
)
def test_a_stream_cuts_as_the_whole_and_loses_nothing(parts: list[str], lang: Lang, step: int) -> None:
    text = "".join(parts)
    clauses = split_clauses(text, lang)
    assert streamed(text, lang, step) == [c.text for c in clauses]
    assert all(text[c.start : c.end] == c.text for c in clauses)
    said = "".join(c.text for c in clauses)
    assert [c for c in said if c.isalnum()] == [c for c in text if c.isalnum()]
    for number in re.finditer(r"[0-9]+(?:[.,:][0-9]+)+", text):
        if number.end() - number.start() <= 36:
            assert any(c.start <= number.start() and number.end() <= c.end for c in clauses), (text, number.group())
