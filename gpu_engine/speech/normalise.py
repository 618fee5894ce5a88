"""Written text to spoken words, with the alignment that lets captions show the written form.

``¥1,299`` is said 一千二百九十九元 in a Chinese sentence and 'one thousand two hundred ninety nine yuan' in an English one.
Nothing that carries a number is ever dropped: what no rule knows is read digit by digit.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from gpu_engine.speech import numbers_en, numbers_zh, rules_en, rules_zh
from gpu_engine.speech.clean import clean
from gpu_engine.speech.money import by_sign, render_money, write_money

__all__ = [
    "Lang",
    "Normalised",
    "Span",
    "normalise",
    "render_count",
    "render_money",
    "render_number",
    "render_percent",
    "write_money",
]

Lang = Literal["zh", "en"]
Span = tuple[int, int, int, int]
"""(written start, written end, spoken start, spoken end), half open, in order, covering both texts."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """What is said, and which written characters each part of it stands for."""

    spoken: str
    spans: tuple[Span, ...]

    def written_range(self, start: int, end: int) -> tuple[int, int]:
        """The smallest written range that contains spoken characters ``start:end``."""
        inside = [span for span in self.spans if span[2] < end and span[3] > start]
        if not inside:
            return (0, 0)
        return (inside[0][0], inside[-1][1])


def normalise(text: str, lang: Lang) -> Normalised:
    """Say ``text`` in the reading of ``lang``: digits follow the sentence language, whatever the script around them."""
    rules, symbols = (rules_zh.RULES, rules_zh.SYMBOLS) if lang == "zh" else (rules_en.RULES, rules_en.SYMBOLS)
    cleaned = clean(text, link_word="链接" if lang == "zh" else "link")
    source = cleaned.text
    pieces: list[tuple[int, int, str]] = []
    position = 0
    while position < len(source):
        char = source[position]
        if _may_start(char, source[position - 1] if position else ""):
            for candidate in rules:
                match = candidate.pattern.match(source, position)
                if match is None or match.end() == position:
                    continue
                said: str | None = candidate.say(match)
                if said is not None:
                    pieces.append((position, match.end(), _apart(said, source, match.end(), pieces, lang)))
                    position = match.end()
                    break
            else:
                pieces.append((position, position + 1, _single(char, symbols, lang)))
                position += 1
            continue
        pieces.append((position, position + 1, _single(char, symbols, lang)))
        position += 1
    return _assemble(pieces, cleaned.origin, len(text))


def _may_start(char: str, previous: str) -> bool:
    if char.isascii():
        return char.isdigit() or char in "$-+*/#xX " or (char.isalpha() and not (previous.isascii() and previous.isalpha()))
    return char in "双×¥" or unicodedata.category(char) == "Sc"


def _single(char: str, symbols: dict[str, str], lang: Lang) -> str:
    if char in symbols:
        return symbols[char]
    if char.isascii() and char.isdigit():
        return numbers_zh.spell_digits(char) if lang == "zh" else f" {numbers_en.spell_digits(char)} "
    if unicodedata.category(char) == "Sc":
        currency = by_sign(char)
        return currency.zh if lang == "zh" else f" {currency.en} "
    return char


def _apart(said: str, source: str, end: int, pieces: list[tuple[int, int, str]], lang: Lang) -> str:
    """English words need spaces where the written form had none ('256GB', 'E100')."""
    if lang != "en":
        return said
    lead = " " if pieces and pieces[-1][2][-1:].isalnum() and said[:1].isalnum() else ""
    tail = " " if end < len(source) and source[end].isalnum() and said[-1:].isalnum() else ""
    return f"{lead}{said}{tail}"


def _assemble(pieces: list[tuple[int, int, str]], origin: tuple[int, ...], written_length: int) -> Normalised:
    """Join pieces into spans; runs of blanks become one, and spans cover the whole written text."""
    spoken: list[str] = []
    spans: list[Span] = []
    length = 0
    blank = True
    for index, (start, end, said) in enumerate(pieces):
        out = []
        for char in said:
            if char.isspace():
                if not blank:
                    out.append(" ")
                blank = True
            else:
                out.append(char)
                blank = False
        word = "".join(out)
        written_start = spans[-1][1] if spans else 0
        following = pieces[index + 1][0] if index + 1 < len(pieces) else len(origin)
        written_end = origin[following] if following < len(origin) else written_length
        del start, end
        spans.append((written_start, max(written_start, written_end), length, length + len(word)))
        spoken.append(word)
        length += len(word)
    return Normalised("".join(spoken), tuple(spans))


def render_number(value: int | float | str, lang: Lang) -> str:
    """A plain number as words: 1299 -> '一千二百九十九'."""
    written = str(value)
    negative = written.startswith("-")
    digits = written.lstrip("-")
    words = numbers_zh.number(digits) if lang == "zh" else numbers_en.number(digits)
    return (("负" if lang == "zh" else "minus ") + words) if negative else words


def render_count(value: int, lang: Lang, measure: str = "") -> str:
    """A number of things: (2, 'zh', '件') -> '两件'; (1, 'en', 'item') -> 'one item'."""
    if lang == "zh":
        return ("两" if value == 2 else numbers_zh.cardinal(value)) + measure
    noun = measure if value == 1 or not measure else numbers_en.plural(measure)
    return f"{numbers_en.cardinal(value)} {noun}".strip()


def render_percent(value: int | float | str, lang: Lang) -> str:
    """12.5 -> '百分之十二点五' / 'twelve point five percent'."""
    return f"百分之{render_number(value, lang)}" if lang == "zh" else f"{render_number(value, lang)} percent"
