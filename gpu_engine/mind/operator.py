"""What the operator may do to a running show: speak, silence, pin, pause, go on, move on."""

from __future__ import annotations

import asyncio
import time

from gpu_engine.mind.answering import Answering
from gpu_engine.mind.composer import ClipProgress, Utterance
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.gate import Verdict
from gpu_engine.mind.script_runner import ScriptRunner
from gpu_engine.mind.studio import Studio
from gpu_engine.mind.turns import Turn
from gpu_engine.session.spec import Lang
from gpu_engine.session.timeline import ClipKind, Cut, CutAck, CutMode, Emotion, Priority

CUT_ACK_TIMEOUT_S = 1.0
SAY_EMOTION = Emotion(0.4, 0.2, 0.3)


class Operator:
    """Commands that concern more than one part of the direction."""

    def __init__(self, studio: Studio, floor: Floor, script: ScriptRunner, answering: Answering) -> None:
        self._studio = studio
        self._floor = floor
        self._script = script
        self._answering = answering
        self._acks: dict[int, asyncio.Future[CutAck]] = {}

    def say(self, text: str, lang: Lang) -> tuple[str, Verdict]:
        """Speak an operator's words now. Returns the turn's id ('' when the gate refuses) and the gate's verdict."""
        # An amount must belong to what is talked about: the products named, else the one on the card.
        card = self._script.card_product
        meant = self._studio.gate.named(text) or ((card,) if card else ())
        checked = self._studio.gate.check(text, lang=lang, product_ids=meant, now=self._studio.now())
        self._studio.report_gate(text, checked)
        if not checked.allowed or not checked.text:
            return "", checked
        turn_id = self._floor.new_id("t")
        utterance = Utterance(
            self._floor.new_id("o"), turn_id, ClipKind.SAY, Priority.SAY, checked.text, lang, emotion=SAY_EMOTION
        )
        now_ns = time.monotonic_ns()
        self._answering.open(Turn(turn_id, "say", checked.text, ClipProgress(utterance), received_ns=now_ns, chosen_ns=now_ns))
        return turn_id, checked

    async def cut(self, reason: str) -> bool:
        """Silence: drop every waiting answer and operator line, end what plays. True once the body has confirmed."""
        for turn in self._answering.waiting():
            self._answering.cancel(turn, reason)
        self._script.drop_bridge(reason)
        playing = self._floor.playing
        if playing is None:
            return True
        self._script.let_go(self._floor.playing_id)
        for turn in self._answering.turns.values():
            if turn.clip is playing and turn.question is not None:
                turn.question.requeued = True
        number = self._floor.cut(CutMode.NOW, reason)
        future: asyncio.Future[CutAck] = asyncio.get_running_loop().create_future()
        self._acks[number] = future
        try:
            async with asyncio.timeout(CUT_ACK_TIMEOUT_S):
                ack = await future
                return ack.accepted or ack.why == "idle"
        except TimeoutError:
            return False
        finally:
            self._acks.pop(number, None)

    def cut_answered(self, ack: CutAck) -> None:
        """The body's answer to any cut."""
        future = self._acks.pop(ack.number, None)
        if future is not None and not future.done():
            future.set_result(ack)
        if not ack.accepted:
            self._floor.cut_pending = ""
            clip = self._floor.clips.get(ack.clip_id)
            if clip is not None:
                clip.uncuttable = True

    def next_segment(self) -> None:
        """Leave the present segment at the next phrase."""
        self._script.leave_segment()
        playing = self._floor.playing
        if playing is not None and playing.utterance.kind is ClipKind.SCRIPT:
            self._script.let_go(self._floor.playing_id)
            if playing.utterance.interruptible and not self._floor.cut_pending:
                self._floor.cut(CutMode.PHRASE, "next segment")
        elif not self._floor.playing_id:
            self._studio.send(Cut(self._floor.next_cut_number(), CutMode.NOW, "next segment"))
