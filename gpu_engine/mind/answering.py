"""Turns beside the script: which comment is answered next, when the script is cut for it, and how each turn ended."""

from __future__ import annotations

import time

from gpu_engine.chat.inbox import Question
from gpu_engine.mind.composer import ClipProgress, Utterance
from gpu_engine.mind.facts import product_card
from gpu_engine.mind.feeling import answer_occasion
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.script_runner import ScriptRunner
from gpu_engine.mind.studio import Studio
from gpu_engine.mind.turns import LatencyWindow, SpeechWait, Turn
from gpu_engine.session.timeline import ClipEnded, ClipKind, ClipStarted, CutMode, EndReason, Priority

ANSWERS_IN_A_ROW = 3
NEXT_ANSWER_LEAD_MS = 2_500
KEEP_TAIL_MS = 900
"""A sentence with less than this left is heard to its end instead of being cut."""
EARLY_CUT_MS = 250
"""A cut point is not let go by for an answer whose sound is expected at most this much later: a breath of silence."""
DECIDE_MS = 300
"""Which is decided so shortly before it: the body reports its place five times a second."""


class Answering:
    """Opens, follows and closes turns. At most one answer is in the making while another sounds."""

    def __init__(self, studio: Studio, floor: Floor, script: ScriptRunner) -> None:
        self._studio = studio
        self._floor = floor
        self._script = script
        self.turns: dict[str, Turn] = {}
        self.latency = LatencyWindow()
        self.last_first_word_ms = -1.0
        self._speech_wait = SpeechWait()

    def waiting(self) -> list[Turn]:
        """Turns that do not sound yet."""
        return [t for t in self.turns.values() if t.clip.started_media_ms is None]

    # --- choosing -----------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Take the best questions as long as there is room for their answers."""
        inbox, floor = self._studio.inbox, self._floor
        inbox.expire(self._studio.inbox_ms(floor.media_ms))
        while self._room():
            question = inbox.take(self._studio.inbox_ms(floor.media_ms), self._script.card_product)
            if question is None:
                return
            self._answer(question)

    def _room(self) -> bool:
        open_turns = list(self.turns.values())
        if len(open_turns) > 1:
            return False
        for turn in open_turns:
            clip = turn.clip
            if turn.kind != "answer" or clip.started_media_ms is None or not clip.sealed:
                return False
            if self._floor.left_ms(clip) > NEXT_ANSWER_LEAD_MS:
                return False
        script_moves = not self._script.paused and not self._script.finished and not self._script.in_gap
        return not (script_moves and self._script.answers_since + len(open_turns) >= ANSWERS_IN_A_ROW)

    def _answer(self, question: Question) -> None:
        studio, now = self._studio, self._studio.now()
        plan = studio.answerer.plan(question.understanding, self._script.card_product, now)
        if plan is None:
            self._finish_question(question, "dropped", "nothing to say", "")
            return
        checked = studio.gate.check(plan.text, lang=plan.lang, product_ids=plan.product_ids or None, now=now)
        studio.report_gate(plan.text, checked)
        text, facts = checked.text, plan.facts
        if not checked.allowed:
            text, facts = studio.answerer.safe_line(plan.lang), ()
            if not studio.gate.check(text, lang=plan.lang, product_ids=None, now=now).allowed:
                self._finish_question(question, "dropped", "blocked by the gate", "")
                return
        product = studio.knowledge.product(plan.product_ids[0]) if len(plan.product_ids) == 1 else None
        card = product_card(product, plan.lang, now) if product else None
        stressed = studio.stressed(plan.product_ids, plan.lang)
        turn_id = self._floor.new_id("t")
        utterance = Utterance(
            clip_id=self._floor.new_id("a"),
            turn_id=turn_id,
            kind=ClipKind.ANSWER,
            priority=Priority.ANSWER,
            text=text,
            lang=plan.lang,
            facts=facts,
            card=card,
            emotion=plan.emotion,
            stressed=stressed,
            occasion=answer_occasion(plan.intent, plan.behaviour),
            gesture=studio.hands.answer(plan.intent, text, plan.lang, card=card, named=stressed),
        )
        turn = Turn(
            turn_id, "answer", text, ClipProgress(utterance), question, plan, facts,
            received_ns=question.received_ns, chosen_ns=time.monotonic_ns(),
        )  # fmt: skip
        self.open(turn)

    def open(self, turn: Turn) -> None:
        """Announce a turn to the body and have it spoken."""
        self.turns[turn.turn_id] = turn
        self._floor.clips[turn.clip.utterance.clip_id] = turn.clip
        self._report(turn)
        if not self._studio.virtual:
            self._floor.announce(turn.clip)
        turn.task = self._floor.spawn(self._make(turn))

    async def _make(self, turn: Turn) -> None:
        def ready() -> None:
            turn.ready_ns = time.monotonic_ns()
            if not turn.clip.cached:
                self._speech_wait.add((turn.ready_ns - turn.chosen_ns) / 1e6)
            if not self._studio.virtual:
                self.cut_for_turn()

        await self._floor.make(turn.clip, ready)
        if turn.clip.dead and turn.turn_id in self.turns:
            self.finish(turn, "dropped", "could not be spoken")

    # --- cutting in ---------------------------------------------------------------------------------------------------

    def cut_for_turn(self) -> None:
        """Cut what plays for the first turn that is ready to sound, or will be at the cut point."""
        playing = self._floor.playing
        if playing is None or self._floor.cut_pending or playing.uncuttable or not playing.utterance.interruptible:
            return
        waiting = self.waiting()
        if any(t.kind == "say" for t in waiting):
            if playing.utterance.kind is not ClipKind.SAY:
                self._floor.cut(CutMode.NOW, "operator speaks")
            return
        if playing.utterance.kind is not ClipKind.SCRIPT or self._floor.left_ms(playing) <= KEEP_TAIL_MS:
            return
        if any(t.interrupts and (t.clip.first_audio or self._ready_in_time(t, playing)) for t in waiting):
            self._floor.cut(CutMode.PHRASE, "a question")

    def _ready_in_time(self, turn: Turn, playing: ClipProgress) -> bool:
        """Whether the playing clip's next cut point would be missed by a little if the turn's sound were waited for."""
        until_cut_ms = self._floor.to_cut_point_ms(playing)
        if self._studio.virtual or until_cut_ms is None or until_cut_ms > DECIDE_MS:
            return False
        asked_ms = (time.monotonic_ns() - turn.chosen_ns) / 1e6
        return 0 <= self._speech_wait.expected_ms - asked_ms <= until_cut_ms + EARLY_CUT_MS

    # --- the body's reports -------------------------------------------------------------------------------------------

    def started(self, turn: Turn, message: ClipStarted) -> None:
        """A turn's first sample was encoded."""
        turn.started_ns = message.wall_ns
        turn.outcome = "speaking"
        if turn.kind == "answer":
            self._script.answers_since += 1
            if not self._script.ends_whole and not self._script.paused and turn.interrupts:
                self._script.want_bridge()
            if self._script.gap_until_ms > message.media_ms:
                self._script.give_back_gap()
        if turn.question is not None and turn.interrupts:
            self.last_first_word_ms = turn.latency().first_word_ms
            self.latency.add(self.last_first_word_ms)
        self._report(turn)

    def something_ended(self) -> None:
        """A clip has ended: turns that were ready have waited for it until now."""
        now_ns = time.monotonic_ns()
        for turn in self.turns.values():
            if turn.ready_ns and not turn.started_ns and not turn.wait_ended_ns:
                turn.wait_ended_ns = now_ns

    def ended(self, turn: Turn, message: ClipEnded) -> None:
        """A turn's clip left the playhead."""
        if message.reason is EndReason.COMPLETED:
            self.finish(turn, "spoken", "", retry=turn.outdated)
            return
        heard = self._floor.heard_share(turn.clip, message)
        if message.reason is EndReason.DROPPED:
            self.finish(turn, "dropped", "dropped by the picture", retry=True)
        elif turn.outdated:
            self.finish(turn, "cut", "a fact changed", retry=True)
        else:
            self.finish(turn, "cut", "cut off", retry=heard < 0.5, heard=heard >= 0.5)

    # --- ending -------------------------------------------------------------------------------------------------------

    def cancel(self, turn: Turn, reason: str, *, retry: bool = False) -> None:
        """Forget a turn that is not playing; ``retry``: its question is answered anew."""
        self._floor.discard(turn.clip, reason)
        self.finish(turn, "dropped", reason, retry=retry)

    def finish(self, turn: Turn, outcome: str, reason: str, *, retry: bool = False, heard: bool = False) -> None:
        """Close a turn and its question's account."""
        self.turns.pop(turn.turn_id, None)
        turn.outcome = outcome
        turn.clip.dead = True
        self._floor.clips.pop(turn.clip.utterance.clip_id, None)
        if turn.task is not None and not turn.task.done():
            turn.task.cancel()
        self._report(turn)
        question = turn.question
        if question is None:
            return
        if retry and self._studio.inbox.requeue(question):
            return
        if outcome == "spoken" or heard:
            self._finish_question(question, "answered", "", turn.turn_id, turn)
        else:
            self._finish_question(question, "dropped", reason or outcome, turn.turn_id)

    def _finish_question(self, question: Question, outcome: str, reason: str, turn_id: str, turn: Turn | None = None) -> None:
        at_ms = self._studio.inbox_ms(self._floor.media_ms)
        self._studio.inbox.finish(question, outcome, reason, turn_id, at_ms, turn.facts if turn else ())

    def _report(self, turn: Turn) -> None:
        times = turn.latency() if turn.started_ns and turn.received_ns else None
        self._studio.emit(
            "turn",
            turn_id=turn.turn_id,
            kind=turn.kind,
            question=turn.question.comment.text if turn.question else "",
            answer=turn.text,
            intent=str(turn.question.understanding.intent) if turn.question else "",
            facts=[[f.product_id, f.field, f.value, f.version] for f in turn.facts],
            first_word_ms=round(times.first_word_ms, 1) if times else -1,
            cut_wait_ms=round(times.cut_wait_ms, 1) if times else -1,
            queue_wait_ms=round(times.queue_wait_ms, 1) if times else -1,
            total_ms=round(times.total_ms, 1) if times else -1,
            cached=turn.clip.cached,
            outcome=turn.outcome,
        )
