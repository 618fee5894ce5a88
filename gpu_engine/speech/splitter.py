"""Cut written text into clauses to speak and sentences to resume at; whole or as a stream.

A cut never falls inside a number (``19.9``, ``1,299``, ``$3.50``, ``8:30``) or a Latin word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Lang = Literal["zh", "en"]

_STRONG = "。！？!?…\n"
_MIDDLE = "；;"
_WEAK = "，,：:"
_CLOSERS = "”’』」》）)】]\"'"
_PAUSE_MS = {"strong": 320, "middle": 240, "weak": 140, "none": 0}
_MIN = {"zh": 6, "en": 18}
_MAX = {"zh": 36, "en": 110}
_LONGEST_TOKEN = 64
"""A run of digits or letters longer than this is no word: it may be cut to keep clauses bounded."""
_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "st",
        "no",
        "vs",
        "etc",
        "approx",
        "inc",
        "ltd",
        "co",
        "jr",
        "sr",
        "prof",
        "fig",
        "e.g",
        "i.e",
        "u.s",
        "u.k",
        "a.m",
        "p.m",
        "oz",
        "lb",
        "ft",
        "min",
        "max",
        "dept",
        "est",
    ]
)
_ZH_AFTER = "的了吧呢啊哦哈呀着过"
_ZH_BEFORE = "而但因所和与并还就也都再又如要"


@dataclass(frozen=True, slots=True)
class Clause:
    """``text`` is ``written[start:end]`` without outer blanks; ``pause_ms`` is the rest after it."""

    text: str
    start: int
    end: int
    pause_ms: int


class ClauseStream:
    """Clauses out of text that arrives in pieces; the same cuts as :func:`split_clauses` on the whole."""

    def __init__(self, lang: Lang, *, sentences: bool = False) -> None:
        self._lang = lang
        self._sentences = sentences
        self._buffer = ""
        self._base = 0

    def feed(self, piece: str) -> list[Clause]:
        """Add text; returns the clauses that are certain now."""
        self._buffer += piece
        return self._take(final=False)

    def flush(self) -> list[Clause]:
        """End of text; returns what is left, if it can be spoken."""
        return self._take(final=True)

    def _take(self, *, final: bool) -> list[Clause]:
        out: list[Clause] = []
        while self._buffer:
            cut = _next_cut(self._buffer, self._lang, final=final, sentences=self._sentences)
            if cut is None:
                if not final:
                    break
                cut = (len(self._buffer), _PAUSE_MS["strong"])
            length, pause_ms = cut
            raw, self._buffer = self._buffer[:length], self._buffer[length:]
            text = raw.strip()
            if any(c.isalnum() for c in text) or any(
                ord(c) > 0x2000 and not c.isspace() and c not in _CLOSERS + _STRONG + _MIDDLE + _WEAK for c in text
            ):
                start = self._base + len(raw) - len(raw.lstrip())
                out.append(Clause(text, start, start + len(text), pause_ms))
            self._base += length
        return out


def split_clauses(text: str, lang: Lang) -> list[Clause]:
    """All clauses of ``text``; text with nothing to say gives none."""
    stream = ClauseStream(lang)
    return stream.feed(text) + stream.flush()


def split_sentences(text: str, lang: Lang) -> list[Clause]:
    """Sentences: cut at 。！？!?… line ends and full stops only, without a length limit."""
    stream = ClauseStream(lang, sentences=True)
    return stream.feed(text) + stream.flush()


def _next_cut(buffer: str, lang: Lang, *, final: bool, sentences: bool) -> tuple[int, int] | None:
    """Length of the first clause of ``buffer`` and its pause, or ``None`` when more text is needed."""
    spoken = 0
    longest = _MAX[lang]
    for index, char in enumerate(buffer):
        if not sentences and index >= longest and (cut := _soft_cut(buffer, longest, final=final)):
            return cut, _PAUSE_MS["none"]
        kind = _boundary(buffer, index, final=final)
        if kind == "wait":
            return None
        if kind == "none":
            spoken += char.isalnum()
            continue
        end = index + 1
        while end < len(buffer) and (buffer[end] in _CLOSERS or buffer[end] in _STRONG or buffer[end] in _MIDDLE):
            # A quote that opens the next clause is not a closer of this one.
            if buffer[end] in "\"'" and buffer[end - 1].isspace():
                break
            end += 1
        if end == len(buffer) and not final:
            return None
        if spoken == 0 and kind != "strong":
            continue
        if kind != "strong" and (sentences or spoken < _MIN[lang]):
            continue
        return end, _PAUSE_MS[kind]
    return None


def _boundary(buffer: str, index: int, *, final: bool) -> str:
    """'strong', 'middle', 'weak', 'none', or 'wait' when the next character decides."""
    char = buffer[index]
    if char not in ".,:，：" and char not in _STRONG and char not in _MIDDLE:
        return "none"
    if char in _STRONG:
        return "strong"
    if char in _MIDDLE:
        return "middle"
    last = index + 1 >= len(buffer)
    if last and not final:
        return "wait"
    following = "" if last else buffer[index + 1]
    previous = buffer[index - 1] if index else ""
    if previous.isdigit() and following.isdigit():
        return "none"
    if char == ".":
        return _full_stop(buffer, index, following)
    if (
        char in ",:"
        and following
        and not following.isspace()
        and previous.isascii()
        and following.isascii()
        and following not in _CLOSERS
    ):
        return "none"
    return "weak"


def _full_stop(buffer: str, index: int, following: str) -> str:
    if (
        following
        and not following.isspace()
        and following not in _CLOSERS
        and (following.isascii() or following.isalnum() is False)
    ):
        return "none"
    word = buffer[:index].rpartition(" ")[2].lstrip("(\"'").lower()
    if following and (word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isascii() and word != "i")):
        return "none"
    return "strong"


def _soft_cut(buffer: str, longest: int, *, final: bool) -> int | None:
    """Where to cut a clause without a boundary in its first ``longest`` characters."""
    if len(buffer) <= longest + 1 and not final:
        return None
    best, best_score = 0, -1
    for position in range(longest // 2, longest + 1):
        if position >= len(buffer):
            break
        left, right = buffer[position - 1], buffer[position]
        score = -1
        if right.isspace() or left.isspace():
            score = 3 if not (left.isdigit() or right.isdigit()) else 1
        elif _is_han(left) and _is_han(right):
            score = 2 if left in _ZH_AFTER or right in _ZH_BEFORE else 0
        if score >= 0 and score >= best_score:
            best, best_score = position, score
    if best_score >= 0:
        return best
    run = longest
    while run < len(buffer) and run < longest + _LONGEST_TOKEN and not (buffer[run].isspace() or _is_han(buffer[run])):
        run += 1
    if run == len(buffer) and not final and run < longest + _LONGEST_TOKEN:
        return None
    return None if run == len(buffer) else run


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"
