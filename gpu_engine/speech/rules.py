"""How a reading rule looks: a pattern tried at one position, and a function that says it or declines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

NUM = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
"""1,299.00 or 1299 or 19.9: never a part of a longer number."""
EDGE = r"(?<![\d.])"
"""Not in the middle of a number."""
TO = r"\s?[-~—至到]\s?"

SIGN = "[" + "".join(chr(c) for c in range(0x24, 0x20D0) if unicodedata.category(chr(c)) == "Sc") + "]"
"""One currency sign (Unicode class Sc)."""
SIGNS = rf"(?:US\$|HK\$|NT\$|CN¥|JP¥|R\$|S\$|A\$|C\$|RMB|{SIGN})"
SHOUTED = frozenset(
    [
        "NOW",
        "WAS",
        "ONLY",
        "GET",
        "BUY",
        "FOR",
        "OFF",
        "SAVE",
        "JUST",
        "THE",
        "AND",
        "ALL",
        "WIN",
        "UP",
        "TO",
        "AT",
        "IS",
        "OVER",
        "FROM",
        "NEW",
        "TOP",
        "BEST",
        "HOT",
        "SALE",
        "FREE",
        "WITH",
    ]
)
"""Words in capitals that are not model names: the number behind them is a number."""

Say = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """``say`` returns the spoken form, or ``None`` to let the next rule try."""

    pattern: re.Pattern[str]
    say: Say


def rule(pattern: str, say: Say, flags: int = 0) -> Rule:
    """A rule from a pattern; ASCII digits only (:mod:`gpu_engine.speech.clean` has folded the others)."""
    return Rule(re.compile(pattern, re.ASCII | flags), say)


def before(match: re.Match[str], count: int = 6) -> str:
    """Up to ``count`` characters in front of the match."""
    return match.string[max(0, match.start() - count) : match.start()]


def after(match: re.Match[str], count: int = 4) -> str:
    """Up to ``count`` characters behind the match."""
    return match.string[match.end() : match.end() + count]


def valid_date(month: str, day: str) -> bool:
    """Month 1-12 and day 1-31."""
    return 1 <= int(month) <= 12 and 1 <= int(day) <= 31
