"""The show director: keeps the script ahead of the playhead, lets answers and the operator in, and finds the way back.

It runs on events alone (what the body reported, comments, operator requests) and holds no clock of its own: ``media_ms``
is the body's. The parts each own one job: :mod:`.floor` the clips, :mod:`.script_runner` the script, :mod:`.answering` the
turns, :mod:`.operator` the commands, :mod:`.changes` new facts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from gpu_engine.chat.inbox import Inbox
from gpu_engine.mind.answering import Answering
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.changes import Changes
from gpu_engine.mind.composer import Composer
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.gate import Gate, Verdict
from gpu_engine.mind.operator import Operator
from gpu_engine.mind.script_runner import ScriptRunner
from gpu_engine.mind.studio import Emit, Studio
from gpu_engine.mind.turns import LatencyWindow
from gpu_engine.session.spec import Cursor, Knowledge, Lang, Product, SessionSpec
from gpu_engine.session.timeline import (
    BodyMessage,
    ClipDrop,
    ClipEnded,
    ClipKind,
    ClipStarted,
    CutAck,
    MindMessage,
    Playhead,
)

PREPARE_SENTENCES = 8


class Director:
    """What is said next. ``send`` queues a message to the body; ``emit`` reports events."""

    def __init__(
        self,
        spec: SessionSpec,
        *,
        composer: Composer,
        send: Callable[[MindMessage], None],
        emit: Emit,
        inbox: Inbox,
        answerer: Answerer,
        gate: Gate,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._studio = Studio(spec, spec.knowledge, gate, answerer, inbox, send, emit, now)
        self._floor = Floor(self._studio, composer)
        self._floor.changed = self.step
        self._script = ScriptRunner(self._studio, self._floor)
        self._answering = Answering(self._studio, self._floor, self._script)
        self._operator = Operator(self._studio, self._floor, self._script, self._answering)
        self._changes = Changes(self._studio, self._floor, self._script, self._answering)
        self._stepping = False

    # --- state others ask for ----------------------------------------------------------------------------------------

    @property
    def media_ms(self) -> int:
        """The body's media time as last reported."""
        return self._floor.media_ms

    @property
    def knowledge(self) -> Knowledge:
        """The facts in force."""
        return self._studio.knowledge

    @property
    def next_cursor(self) -> Cursor:
        """The first sentence not yet on the timeline."""
        return self._script.next_cursor

    @property
    def card_product(self) -> str | None:
        """The product on the card: what 'this' means."""
        return self._script.card_product

    @property
    def paused(self) -> bool:
        """Whether the script waits for the operator."""
        return self._script.paused

    @property
    def finished(self) -> bool:
        """True when the script has nothing left to say and nothing of it is waiting."""
        return self._script.finished

    @property
    def busy(self) -> bool:
        """True while a turn is on its way or being spoken."""
        return bool(self._answering.turns)

    @property
    def in_gap(self) -> bool:
        """True in a segment's time for questions."""
        return self._script.in_gap

    @property
    def latency(self) -> LatencyWindow:
        """First-word times of the last answers."""
        return self._answering.latency

    @property
    def last_first_word_ms(self) -> float:
        """The last answer's first-word time, -1 before the first."""
        return self._answering.last_first_word_ms

    def ahead_ms(self) -> float:
        """Script audio made and not yet heard."""
        return self._script.ahead_ms()

    def upcoming_texts(self) -> list[tuple[Lang, str]]:
        """What will probably be said next, likeliest first: script sentences, then the answers viewers ask for most."""
        if self._studio.virtual:
            return []
        products = [p.id for p in self._script.products()]
        script = self._script.next_texts(PREPARE_SENTENCES)
        lang = self._script.language_here()
        answers = self._studio.answerer.predictable(products, lang, self._studio.now())
        return list(dict.fromkeys([*script[:4], *answers[:6], *script[4:], *answers[6:]]))

    async def settle(self) -> None:
        """Work until nothing is left to make at this media time (virtual clock, tests)."""
        self.step()
        while await self._floor.settled():
            self.step()

    async def close(self) -> None:
        """Cancel what is being made."""
        await self._floor.close()

    # --- the body ----------------------------------------------------------------------------------------------------

    def attach(self, head: Playhead) -> None:
        """Go on from what the body plays, after (re)connecting. Clips of an earlier mind that only wait are dropped."""
        floor = self._floor
        floor.media_ms = head.media_ms
        floor.epoch = head.media_ms
        foreign = tuple(c for c in (head.clip_id, *head.waiting) if c)
        if foreign:
            self._studio.send(ClipDrop(foreign, "mind restarted"))
        for turn in list(self._answering.turns.values()):
            self._answering.finish(turn, "dropped", "connection to the picture was lost", retry=True)
        floor.forget_all()
        self._script.attach(head, foreign=bool(foreign))
        floor.connected = True
        self.step()

    def detach(self) -> None:
        """The body is gone: nothing is sent until :meth:`attach`."""
        self._floor.connected = False

    def on_body(self, message: BodyMessage) -> None:
        """Take one report of the body."""
        match message:
            case Playhead():
                self._floor.media_ms = message.media_ms
            case ClipStarted():
                self._on_started(message)
            case ClipEnded():
                self._on_ended(message)
            case CutAck():
                self._operator.cut_answered(message)
        if not self._studio.virtual:
            self.step()

    def _on_started(self, message: ClipStarted) -> None:
        self._floor.media_ms = max(self._floor.media_ms, message.media_ms)
        self._floor.playing_id = message.clip_id
        clip = self._floor.playing
        if clip is None:
            return
        clip.started_media_ms = message.media_ms
        if clip.utterance.kind is ClipKind.SCRIPT:
            self._script.started(clip.utterance)
        turn = self._answering.turns.get(clip.utterance.turn_id)
        if turn is not None:
            self._answering.started(turn, message)

    def _on_ended(self, message: ClipEnded) -> None:
        floor = self._floor
        floor.media_ms = max(floor.media_ms, message.media_ms)
        if floor.playing_id == message.clip_id:
            floor.playing_id = ""
        if floor.cut_pending == message.clip_id:
            floor.cut_pending = ""
        clip = floor.clips.pop(message.clip_id, None)
        if message.played_ms > 0:
            self._studio.emit(
                "spoken",
                clip_id=message.clip_id,
                turn_id=message.turn_id,
                kind=str(clip.utterance.kind) if clip else "",
                text=message.text,
                media_ms=message.media_ms,
                reason=str(message.reason),
            )
        self._answering.something_ended()
        if clip is None:
            self._script.foreign_ended(message)
            return
        turn = self._answering.turns.get(clip.utterance.turn_id)
        if turn is not None and turn.clip is clip:
            self._answering.ended(turn, message)
        elif clip.utterance.kind in (ClipKind.SCRIPT, ClipKind.ANNOUNCEMENT):
            self._script.ended(clip, message)

    def step(self) -> None:
        """Look at everything once: choose an answer, cut for it, keep the script ahead. Cheap; called on every event."""
        if not self._floor.connected or self._stepping:
            return
        self._stepping = True
        try:
            self._answering.choose()
            self._answering.cut_for_turn()
            self._script.keep_lead()
        finally:
            self._stepping = False

    # --- requests -----------------------------------------------------------------------------------------------------

    def say(self, text: str, lang: Lang) -> tuple[str, Verdict]:
        """Speak an operator's words now. Returns the turn's id ('' when the gate refuses) and the gate's verdict."""
        said = self._operator.say(text, lang)
        self.step()
        return said

    async def cut(self, reason: str) -> bool:
        """Silence: drop every waiting answer and operator line, end what plays. True once the body has confirmed."""
        done = await self._operator.cut(reason)
        self.step()
        return done

    def pin(self, product: Product) -> None:
        """Show a product's card until the script moves to another segment."""
        self._script.shelf.pin(product)

    def pause(self) -> None:
        """Stop the script after the sentence that plays; answers go on."""
        self._script.pause()

    def resume(self) -> None:
        """Go on with the script."""
        self._script.paused = False
        self.step()

    def next_segment(self) -> None:
        """Leave the present segment at the next phrase."""
        self._operator.next_segment()
        self.step()

    def set_knowledge(self, knowledge: Knowledge) -> None:
        """Replace the facts at once; clips that state a value that has changed are taken back and made anew."""
        self._changes.apply(knowledge)
        self.step()
