"""New facts in the middle of a show: what states an old value is taken back, made anew, or answered again."""

from __future__ import annotations

from datetime import datetime

from gpu_engine.mind.answering import Answering
from gpu_engine.mind.composer import ClipProgress
from gpu_engine.mind.facts import current_value
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.script import cursor_from
from gpu_engine.mind.script_runner import ScriptRunner
from gpu_engine.mind.studio import Studio
from gpu_engine.session.spec import Knowledge
from gpu_engine.session.timeline import ClipKind, CutMode, Fact

REASON = "a fact changed"


class Changes:
    """Applies a new knowledge version. The gate and the answerer already hold it when :meth:`apply` is called."""

    def __init__(self, studio: Studio, floor: Floor, script: ScriptRunner, answering: Answering) -> None:
        self._studio = studio
        self._floor = floor
        self._script = script
        self._answering = answering

    def apply(self, knowledge: Knowledge) -> None:
        """Replace the facts at once. What waits and states an old value is dropped and made again; what plays is cut at its
        next phrase and said again; questions answered with an old value may be asked again."""
        self._studio.knowledge = knowledge
        now = self._studio.now()
        self._studio.inbox.facts_changed(lambda fact: self._holds(fact, now))
        stale = next((c for c in self._script.waiting_in_order() if self._is_stale(c, now)), None)
        if stale is not None:
            self._script.rewind(None, REASON, from_clip=stale.utterance.clip_id)
        self._cut_stale_sentence(now)
        for turn in list(self._answering.turns.values()):
            if not self._is_stale(turn.clip, now):
                continue
            if turn.clip.started_media_ms is None:
                self._answering.cancel(turn, REASON, retry=True)
                continue
            turn.outdated = True
            if turn.question is not None:
                self._studio.inbox.outdate(turn.question)
            if turn.clip is self._floor.playing and not self._floor.cut_pending:
                self._floor.cut(CutMode.PHRASE, REASON)
        self._script.shelf.show()

    def _cut_stale_sentence(self, now: datetime) -> None:
        playing = self._floor.playing
        if playing is None or playing.utterance.kind is not ClipKind.SCRIPT or not self._is_stale(playing, now):
            return
        cursor = cursor_from(playing.utterance.cursor)
        if cursor is not None and playing.utterance.interruptible and not self._floor.cut_pending:
            self._script.rewind(cursor, REASON)
            self._script.let_go(self._floor.playing_id)
            self._floor.cut(CutMode.PHRASE, REASON)

    def _is_stale(self, clip: ClipProgress, now: datetime) -> bool:
        said = clip.utterance
        if any(current_value(fact, self._studio.knowledge, said.lang, now) != fact.value for fact in said.facts):
            return True
        if not said.text:
            return False
        gate = self._studio.gate
        return not gate.check(said.text, lang=said.lang, product_ids=gate.products_of(said.facts), now=now).allowed

    def _holds(self, fact: Fact, now: datetime) -> bool:
        """Whether a fact still reads as it was said, in either language."""
        knowledge = self._studio.knowledge
        return fact.value in (current_value(fact, knowledge, "zh", now), current_value(fact, knowledge, "en", now))
