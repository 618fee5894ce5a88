"""The script's words as clips to be spoken: sentences with today's facts, phrases back to them, disclosures, silence."""

from __future__ import annotations

from gpu_engine.mind.composer import Utterance
from gpu_engine.mind.feeling import Occasion, script_occasion
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.lines import ScriptLines
from gpu_engine.mind.script import Script, Sentence, cursor_tuple
from gpu_engine.mind.shelf import Shelf
from gpu_engine.mind.studio import Studio
from gpu_engine.session.spec import Cursor, Lang
from gpu_engine.session.timeline import ClipKind, Priority

GAP_PRIORITY = 12
_MOST_SKIPPED = 200


class ScriptTexts:
    """Every text has passed the gate; what may not be said is reported and skipped."""

    def __init__(self, studio: Studio, floor: Floor, script: Script, shelf: Shelf) -> None:
        self._studio = studio
        self._floor = floor
        self._script = script
        self._shelf = shelf
        self._lines = ScriptLines(studio.spec.seed)

    def expected(self, cursor: Cursor, count: int, lang: Lang) -> list[tuple[Lang, str]]:
        """The ``count`` sentences from ``cursor`` on as they will be said now, the next bridging phrase after the second."""
        texts: list[tuple[Lang, str]] = []
        now = self._studio.now()
        for sentence in self._script.ahead(cursor, count):
            said = self._lines.say(sentence, self._studio.knowledge, self._studio.gate, now, lambda *_: None)
            if said is not None and said.text:
                texts.append((sentence.lang, said.text))
        texts.insert(2, (lang, self._lines.next_bridge(lang)))
        return texts

    def sentence_from(self, cursor: Cursor, priority: int) -> tuple[Utterance | None, Cursor]:
        """The first sentence at or after ``cursor`` that may be said now, and the place after it. ``None``: there is none."""
        for _ in range(_MOST_SKIPPED):
            sentence = self._script.at(cursor)
            if sentence is None:
                return None, cursor
            cursor = self._script.after(sentence.cursor)
            said = self._say(sentence, priority)
            if said is not None:
                return said, cursor
        return None, cursor

    def sentence_at(self, cursor: Cursor, priority: int) -> Utterance | None:
        """The very sentence at ``cursor``, if it may be said now."""
        sentence = self._script.at(cursor)
        return self._say(sentence, priority) if sentence is not None else None

    def _say(self, sentence: Sentence, priority: int) -> Utterance | None:
        studio = self._studio
        said = self._lines.say(sentence, studio.knowledge, studio.gate, studio.now(), studio.report_gate)
        if said is None:
            return None
        card = self._shelf.card_for(sentence.segment)
        stressed = studio.stressed((sentence.segment.product_id or "",), sentence.lang)
        begins = sentence.cursor.line_index == 0 and sentence.cursor.sentence_index == 0
        return Utterance(
            clip_id=self._floor.new_id("s"),
            turn_id="",
            kind=ClipKind.SCRIPT,
            priority=priority,
            text=said.text,
            lang=sentence.lang,
            facts=said.facts,
            card=card,
            emotion=said.emotion,
            interruptible=sentence.interruptible,
            cursor=cursor_tuple(sentence.cursor),
            gap_after_ms=sentence.gap_after_ms,
            stressed=stressed,
            occasion=script_occasion(sentence.segment.kind, said.text, begins=begins),
            gesture=studio.hands.script(
                sentence.segment.kind, said.text, sentence.lang, begins=begins, card=card, named=stressed
            ),
        )

    def bridge(self, lang: Lang) -> Utterance | None:
        """A phrase that leads back to the script."""
        return self._plain(self._lines.bridge(lang), ClipKind.BRIDGE, Priority.BRIDGE, lang)

    def disclosure(self, lang: Lang) -> Utterance | None:
        """The spoken AI-content label."""
        return self._plain(self._lines.disclosure(lang), ClipKind.ANNOUNCEMENT, Priority.SCRIPT, lang, interruptible=False)

    def silence(self, duration_ms: int) -> Utterance:
        """A clip without words."""
        lang = self._studio.spec.lang
        return Utterance(self._floor.new_id("s"), "", ClipKind.SCRIPT, GAP_PRIORITY, "", lang, gap_after_ms=duration_ms)

    def _plain(self, text: str, kind: ClipKind, priority: int, lang: Lang, *, interruptible: bool = True) -> Utterance | None:
        checked = self._studio.gate.check(text, lang=lang, product_ids=None, now=self._studio.now())
        if not checked.allowed:
            self._studio.report_gate(text, checked)
            return None
        act, setting = ("bridge", "transition") if kind is ClipKind.BRIDGE else ("disclosure", "announcement")
        return Utterance(
            self._floor.new_id("s"), "", kind, priority, checked.text, lang,
            interruptible=interruptible, occasion=Occasion(act, setting),
        )  # fmt: skip
