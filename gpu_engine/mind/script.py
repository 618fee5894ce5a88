"""The run-of-show as an endless row of sentences: splitting lines, choosing variants, moving the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpu_engine.session.spec import Cursor, Lang, RunOfShow, Segment

_HARD_END = "。！？!?；;…\n"
_CLOSERS = "”’\"')）】》」』"
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "no", "vs", "approx", "e.g", "i.e", "etc", "st", "max", "min"})
_MIN_CHARS = 6
_SPOKEN = re.compile(r"[^\W_]", re.UNICODE)


def split_sentences(text: str) -> tuple[str, ...]:
    """Sentences of a text in order. Never splits inside a number or an abbreviation; very short ones join the next."""
    parts: list[str] = []
    start = 0
    i = 0
    while i < len(text):
        if _is_end(text, i):
            end = i + 1
            while end < len(text) and text[end] in _HARD_END + "." + _CLOSERS:
                end += 1
            parts.append(text[start:end])
            start = i = end
            continue
        i += 1
    parts.append(text[start:])
    joined: list[str] = []
    carry = ""
    for part in parts:
        piece = carry + part
        if _SPOKEN.search(part) is None:
            if joined and not carry:
                joined[-1] += part
            continue
        if len(piece.strip()) < _MIN_CHARS:
            carry = piece
            continue
        joined.append(piece)
        carry = ""
    if carry.strip():
        if joined:
            joined[-1] += carry
        else:
            joined.append(carry)
    return tuple(s.strip() for s in joined if s.strip())


def _is_end(text: str, i: int) -> bool:
    char = text[i]
    if char in _HARD_END:
        return True
    if char != ".":
        return False
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if after and not after.isspace() and after not in _CLOSERS:
        return False
    word = re.search(r"[\w.]+$", text[:i])
    return not (word and (word[0].lower() in _ABBREVIATIONS or (len(word[0]) == 1 and before.isupper())))


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the script, placeholders unfilled, with the place it stands at."""

    cursor: Cursor
    segment: Segment
    template: str
    lang: Lang
    interruptible: bool
    gap_after_ms: int
    """Silence the segment leaves for questions after its last sentence, else 0."""


class Script:
    """Reads a run-of-show by cursor. Later loops use a line's variants in turn."""

    def __init__(self, show: RunOfShow) -> None:
        self._show = show
        self._split: dict[str, tuple[str, ...]] = {}

    def segment(self, cursor: Cursor) -> Segment | None:
        """The segment a cursor stands in, or ``None`` past the end."""
        segments = self._show.segments
        return segments[cursor.segment_index] if cursor.segment_index < len(segments) else None

    def at(self, cursor: Cursor) -> Sentence | None:
        """The first sentence at or after ``cursor``, or ``None`` when the show has ended (or says nothing at all)."""
        place = next(self._places(cursor), None)
        return self._sentence(place) if place is not None else None

    def after(self, cursor: Cursor) -> Cursor:
        """The cursor of the next sentence (possibly past the end; :meth:`at` resolves it)."""
        return cursor.model_copy(update={"sentence_index": cursor.sentence_index + 1})

    def next_segment(self, cursor: Cursor) -> Cursor:
        """The start of the segment after the one ``cursor`` stands in."""
        return Cursor(loop=cursor.loop, segment_index=cursor.segment_index + 1)

    def ahead(self, cursor: Cursor, count: int) -> list[Sentence]:
        """Up to ``count`` sentences from ``cursor`` on."""
        found: list[Sentence] = []
        place: Cursor = cursor
        while len(found) < count:
            sentence = self.at(place)
            if sentence is None:
                break
            found.append(sentence)
            place = self.after(sentence.cursor)
        return found

    def _places(self, cursor: Cursor) -> Iterator[Cursor]:
        segments = self._show.segments
        loop, seg, line, sent = cursor.loop, cursor.segment_index, cursor.line_index, cursor.sentence_index
        wrapped = 0
        while wrapped < 2:
            if seg >= len(segments):
                if not self._show.loop:
                    return
                loop, seg, line, sent = loop + 1, 0, 0, 0
                wrapped += 1
                continue
            if not segments[seg].lines and segments[seg].gap_s > 0 and line == 0 and sent == 0:
                yield Cursor(loop=loop, segment_index=seg)
            if line >= len(segments[seg].lines):
                seg, line, sent = seg + 1, 0, 0
                continue
            place = Cursor(loop=loop, segment_index=seg, line_index=line, sentence_index=sent)
            if sent >= len(self._sentences(place)):
                line, sent = line + 1, 0
                continue
            yield place
            sent += 1

    def _sentences(self, place: Cursor) -> tuple[str, ...]:
        line = self._show.segments[place.segment_index].lines[place.line_index]
        wordings = (line.text, *line.variants)
        text = wordings[place.loop % len(wordings)]
        if text not in self._split:
            self._split[text] = split_sentences(text)
        return self._split[text]

    def _sentence(self, place: Cursor) -> Sentence:
        segment = self._show.segments[place.segment_index]
        if not segment.lines:
            return Sentence(place, segment, "", "zh", True, round(segment.gap_s * 1000))
        line = segment.lines[place.line_index]
        sentences = self._sentences(place)
        last = place.line_index == len(segment.lines) - 1 and place.sentence_index == len(sentences) - 1
        return Sentence(
            cursor=place,
            segment=segment,
            template=sentences[place.sentence_index],
            lang=line.lang,
            interruptible=line.interruptible,
            gap_after_ms=round(segment.gap_s * 1000) if last else 0,
        )


def cursor_tuple(cursor: Cursor) -> tuple[int, int, int, int]:
    """The form a cursor travels in (timeline messages)."""
    return (cursor.loop, cursor.segment_index, cursor.line_index, cursor.sentence_index)


def cursor_from(value: tuple[int, int, int, int] | None) -> Cursor | None:
    """The cursor a timeline message carries."""
    if value is None:
        return None
    loop, segment, line, sentence = value
    return Cursor(loop=loop, segment_index=segment, line_index=line, sentence_index=sentence)
