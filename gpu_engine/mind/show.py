"""One show's mind put together: facts, inbox, director, and the link to the body that drives them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from gpu_engine.chat.events import ChatEvent
from gpu_engine.chat.inbox import Inbox
from gpu_engine.chat.inbox import Verdict as Taken
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.body_link import BodyLink
from gpu_engine.mind.composer import Composer, Utterance
from gpu_engine.mind.director import Director
from gpu_engine.mind.feeling import Feeling, report
from gpu_engine.mind.gate import Gate
from gpu_engine.mind.pass_clock import PassClock
from gpu_engine.mind.reader import Reader
from gpu_engine.mind.retrieval import Encoder, KnowledgeIndex
from gpu_engine.mind.studio import Emit
from gpu_engine.mind.voice import LipsFactory, Voice
from gpu_engine.motion.gate import Fusion
from gpu_engine.session.spec import Knowledge, SessionSpec
from gpu_engine.session.timeline import BodyMessage, Pass, Playhead

log = structlog.get_logger(__name__)

COMMENT_EVENTS_PER_S = 60
QUIET_STEP_MS = 5_000
KEEP_AHEAD_MS = 2_000
PREPARE_AGAIN_S = 2.0


class Show:
    """Runs one session's mind. ``emit`` reports events of :mod:`gpu_engine.session.control`."""

    def __init__(
        self,
        spec: SessionSpec,
        *,
        voice: Voice,
        lips: LipsFactory,
        link: BodyLink,
        emit: Emit,
        encoder: Encoder | None = None,
        may_index: Callable[[], bool] = lambda: True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``may_index``: asked from another thread, whether there is time now to compute vectors of the knowledge."""
        self._spec = spec
        self._may_index = may_index
        self._voice = voice
        self._link = link
        self._emit = emit
        self._encoder = encoder
        self._now = now
        self._cache_dir = Path(spec.cache_dir) if spec.cache_dir else None
        self._virtual = spec.clock == "virtual"
        self._reader = Reader(spec.knowledge)
        self._gate = Gate(spec.knowledge)
        self._knowledge_index = self._index(spec.knowledge)
        self._answerer = Answerer(spec.knowledge, self._knowledge_index, seed=spec.seed)
        self._feeling = Feeling(self._clock_ms)
        self.inbox = Inbox(self._understand, self._report_comment)
        self.director = Director(
            spec,
            composer=Composer(voice, lips, link.send, feeling=self._feeling, on_felt=self._report_feeling),
            send=link.send,
            emit=emit,
            inbox=self.inbox,
            answerer=self._answerer,
            gate=self._gate,
            now=now,
        )
        self._scheduled = sorted(spec.comments, key=lambda c: c.at_s)
        self._fired = 0
        self._attached = False
        self._clock = PassClock(spec.video.fps)
        self._reported: Counter[str] = Counter()
        self._prepared: tuple[object, ...] = ()
        self._prepared_at = 0.0
        self._report_second = 0
        self._reports_left = COMMENT_EVENTS_PER_S

    def _index(self, knowledge: Knowledge) -> KnowledgeIndex:
        index = KnowledgeIndex(knowledge, encoder=self._encoder, cache_dir=self._cache_dir)
        if self._virtual:
            # A run that must repeat itself cannot depend on when a thread finishes.
            index.encode()
        else:
            index.start_encoding(self._may_index)
        return index

    def _understand(self, text: str, card_product: str | None) -> Any:
        understood = self._reader(text, card_product)
        self._feeling.listen(understood.intent)
        return understood

    def _clock_ms(self) -> int:
        return self.director.media_ms if self._virtual else time.monotonic_ns() // 1_000_000

    def _report_feeling(self, said: Utterance, fusion: Fusion) -> None:
        self._emit("emotion_gate", clip_id=said.clip_id, turn_id=said.turn_id, **report(fusion))

    # --- in -----------------------------------------------------------------------------------------------------------

    def take_comment(self, event: ChatEvent, *, received_ns: int = 0) -> Taken:
        """Offer a comment to the inbox and look whether it changes what is said next."""
        verdict = self.inbox.offer(event, self._clock_ms(), self.director.card_product, received_ns)
        if verdict.outcome == "queued" and not self._virtual:
            self.director.step()
        return verdict

    def set_knowledge(self, knowledge: Knowledge) -> None:
        """Replace every fact at once."""
        self._reader = Reader(knowledge)
        self._gate.update(knowledge)
        self._knowledge_index.give_up()
        self._knowledge_index = self._index(knowledge)
        self._answerer.update(knowledge, self._knowledge_index)
        self.director.set_knowledge(knowledge)

    def _report_comment(self, event: ChatEvent, outcome: str, reason: str, turn_id: str) -> None:
        second = time.monotonic_ns() // 1_000_000_000
        if second != self._report_second:
            self._flush_reports()
            self._report_second = second
            self._reports_left = COMMENT_EVENTS_PER_S
        if outcome == "dropped" and self._reports_left <= 0 and not turn_id:
            self._reported[reason] += 1
            return
        self._reports_left -= 1
        self._emit(
            "comment",
            id=event.id,
            text=event.text[:200],
            user=event.user[:60],
            outcome=outcome,
            reason=reason,
            turn_id=turn_id,
            source=event.source,
        )

    def _flush_reports(self) -> None:
        for reason, count in self._reported.items():
            self._emit("drop", what="comment", count=count, reason=reason)
        self._reported.clear()

    # --- the body -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the body for as long as the process lives; reconnects when it goes away."""
        while True:
            self._attached = False
            async for message in self._link.messages():
                await self.on_body(message)
            self.director.detach()

    async def on_body(self, message: BodyMessage) -> None:
        """Take one report; in a virtual session also work and pass the body on when it has arrived."""
        if not self._attached:
            if isinstance(message, Playhead):
                await self._attach(message)
            return
        self.director.on_body(message)
        if not isinstance(message, Playhead):
            return
        if not self._virtual:
            self._fire_scheduled()
            self._prepare_ahead()
            return
        if self._clock.arrived(message.media_ms):
            self._fire_scheduled()
            await self.director.settle()
            self._link.send(Pass(self._clock.next(self._wanted_ms())))

    async def _attach(self, head: Playhead) -> None:
        self._attached = True
        if head.cursor is not None or head.clip_id:
            self._fired = max(self._fired, sum(c.at_s * 1000 <= head.media_ms for c in self._scheduled))
        self.director.attach(head)
        if self._virtual:
            await self.director.settle()
            self._link.send(Pass(self._clock.attached(head.media_ms)))

    def _fire_scheduled(self) -> None:
        while self._fired < len(self._scheduled) and self._scheduled[self._fired].at_s * 1000 <= self.director.media_ms:
            planned = self._scheduled[self._fired]
            self._fired += 1
            event = ChatEvent(id=f"scheduled:{self._fired}", text=planned.text, user=planned.user, source="scheduled")
            self.take_comment(event, received_ns=time.monotonic_ns())

    def _wanted_ms(self) -> float:
        """The media time before which the mind has nothing to add."""
        director = self.director
        now = director.media_ms
        if director.busy or self.inbox.waiting:
            return now
        wanted = now + director.ahead_ms() - KEEP_AHEAD_MS
        if director.paused or director.finished or director.in_gap:
            wanted = max(wanted, now + QUIET_STEP_MS)
        wanted = min(wanted, now + 2 * QUIET_STEP_MS)
        if self._fired < len(self._scheduled):
            wanted = min(wanted, self._scheduled[self._fired].at_s * 1000)
        return wanted

    def _prepare_ahead(self) -> None:
        """Have the speech of what comes next made while nothing else is wanted; looked at again when something moved."""
        director = self.director
        state = (director.next_cursor, director.card_product, id(director.knowledge), director.busy)
        now = time.monotonic()
        if state == self._prepared and now - self._prepared_at < PREPARE_AGAIN_S:
            return
        self._prepared, self._prepared_at = state, now
        for lang, text in self.director.upcoming_texts():
            self._voice.prepare((text,), lang)

    # --- figures ------------------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, Any]:
        """The mind's part of control.Metrics."""
        window = self.director.latency
        return {
            "inbox": self.inbox.waiting,
            "first_word_ms": round(self.director.last_first_word_ms, 1),
            "first_word_p50_ms": round(window.percentile(0.5), 1),
            "first_word_p99_ms": round(window.percentile(0.99), 1),
        }

    def tick(self) -> None:
        """Once a second: report drops that were only counted."""
        self._flush_reports()
