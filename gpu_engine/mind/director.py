"""The show director: keeps the script ahead of the playhead, lets answers and the operator in, and finds the way back.

It runs on events alone (what the body reported, comments, operator requests) and holds no clock of its own: ``media_ms``
is the body's. Every clip it has sent and the body has not ended is in ``_clips``; the script's place is ``next_cursor``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from gpu_engine.chat.inbox import Inbox, Question
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.composer import ClipProgress, Composer, Utterance
from gpu_engine.mind.facts import current_value, product_card, short_title
from gpu_engine.mind.gate import Gate, Verdict
from gpu_engine.mind.lines import ScriptLines
from gpu_engine.mind.script import Script, cursor_from, cursor_tuple
from gpu_engine.mind.turns import LatencyWindow, Turn
from gpu_engine.session.spec import Cursor, Knowledge, Lang, Product, SessionSpec
from gpu_engine.session.timeline import (
    BodyMessage,
    ClipDrop,
    ClipEnded,
    ClipKind,
    ClipStarted,
    Cut,
    CutAck,
    CutMode,
    Emotion,
    EndReason,
    MindMessage,
    Playhead,
    Priority,
    ShowCard,
)

log = structlog.get_logger(__name__)

LEAD_MS = 6_000
LEAD_MAX_MS = 12_000
LEAD_SENTENCES = 2
RESUME_PRIORITY = 15
"""A sentence said again goes before the waiting script and after the bridging phrase."""
GAP_PRIORITY = 12
HEARD_ENOUGH = 0.7
ANSWERS_IN_A_ROW = 3
NEXT_ANSWER_LEAD_MS = 2_500
KEEP_TAIL_MS = 900
"""A sentence with less than this left is heard to its end instead of being cut."""
FADE_KNOWN_MS = 120
PREPARE_SENTENCES = 8
DISCLOSURE_EVERY_MS = 25 * 60_000
CUT_ACK_TIMEOUT_S = 1.0


class Emit(Protocol):
    """Reports an event of :mod:`gpu_engine.session.control`."""

    def __call__(self, kind: str, /, **data: Any) -> None: ...


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
        self._spec = spec
        self._composer = composer
        self._send = send
        self._emit = emit
        self._inbox = inbox
        self._answerer = answerer
        self._gate = gate
        self._now = now
        self._script = Script(spec.show)
        self._lines = ScriptLines(spec.seed)
        self.knowledge: Knowledge = spec.knowledge
        self.media_ms = 0
        self.connected = False
        self.paused = False
        self.next_cursor: Cursor = spec.cursor
        self._reached: Cursor = spec.cursor
        self.latency = LatencyWindow()
        self.last_first_word_ms = -1.0
        self.buffered_ms = 0
        self._virtual = spec.clock == "virtual"
        self._clips: dict[str, ClipProgress] = {}
        self._playing = ""
        self._epoch = 0
        self._count = 0
        self._hold_script_until_ms = 0
        self._turns: dict[str, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._serial = asyncio.Lock()
        self._script_task: asyncio.Task[None] | None = None
        self._making: ClipProgress | None = None
        self._resume: Cursor | None = None
        self._bridge_due = False
        self._gap_due = False
        self._gap_until_ms = 0
        self._answers_in_a_row = 0
        self._cut_number = 0
        self._cut_pending = ""
        self._cut_acks: dict[int, asyncio.Future[CutAck]] = {}
        self._skip_resume: set[str] = set()
        self._pinned: str | None = None
        self._card_segment = ""
        self._card_product: str | None = None
        self._last_script_final = True
        self._disclosed_ms: int | None = None
        self._mute_until_ms = -1
        self._stepping = False

    # --- state others ask for ----------------------------------------------------------------------------------------

    @property
    def card_product(self) -> str | None:
        """The product on the card: what 'this' means."""
        return self._pinned or self._card_product

    @property
    def finished(self) -> bool:
        """True when the script has nothing left to say and nothing of it is waiting."""
        return self._script.at(self.next_cursor) is None and not self._script_clips()

    @property
    def busy(self) -> bool:
        """True while a turn is on its way or being spoken."""
        return bool(self._turns)

    @property
    def in_gap(self) -> bool:
        """True in a segment's time for questions."""
        return self.media_ms < self._gap_until_ms

    @property
    def gap_until_ms(self) -> int:
        """When the running gap ends (media time)."""
        return self._gap_until_ms

    def ahead_ms(self) -> float:
        """Script audio made and not yet heard."""
        total = 0.0
        for clip in self._script_clips():
            total += clip.duration_ms
            if clip.started_media_ms is not None:
                total -= min(clip.duration_ms, self.media_ms - clip.started_media_ms)
        return total

    def upcoming_texts(self) -> dict[Lang, list[str]]:
        """What will probably be said next, in order: script sentences and the likeliest answers about the card's product."""
        texts: dict[Lang, list[str]] = {}
        if self._virtual:
            return texts
        now = self._now()
        for sentence in self._script.ahead(self.next_cursor, PREPARE_SENTENCES):
            said = self._lines.say(sentence, self.knowledge, self._gate, now, lambda *_: None)
            if said is not None and said.text:
                texts.setdefault(sentence.lang, []).append(said.text)
        lang = self._language_here()
        texts.setdefault(lang, []).append(self._lines.next_bridge(lang))
        if self.card_product is not None:
            texts[lang] += self._answerer.predictable(self.card_product, lang, now)
        return texts

    async def settle(self) -> None:
        """Work until nothing is left to make at this media time (virtual clock, tests)."""
        self.step()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
            await asyncio.sleep(0)
            self.step()

    async def close(self) -> None:
        """Cancel what is being made."""
        self.connected = False
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # --- the body ----------------------------------------------------------------------------------------------------

    def attach(self, head: Playhead) -> None:
        """Go on from what the body plays, after (re)connecting. Clips of an earlier mind that only wait are dropped."""
        self.media_ms = head.media_ms
        self._epoch = head.media_ms
        foreign = tuple(c for c in (head.clip_id, *head.waiting) if c)
        if foreign:
            self._send(ClipDrop(foreign, "mind restarted"))
        # Whether what plays is faded out (unfinished) or plays on is known a moment later.
        self._hold_script_until_ms = head.media_ms + FADE_KNOWN_MS if head.clip_id else 0
        self.next_cursor = self._after_absence(head)
        for turn in list(self._turns.values()):
            self._finish_turn(turn, "dropped", "connection to the picture was lost", retry=True)
        self._stop_script_task()
        for clip in self._clips.values():
            clip.dead = True
        self._clips.clear()
        self._playing = ""
        self._cut_pending = ""
        self._resume = None
        self._bridge_due = self._gap_due = False
        if foreign or head.cursor is not None:
            self._disclosed_ms = head.media_ms - DISCLOSURE_EVERY_MS + 5 * 60_000
        reached_segment = self._script.segment(cursor_from(head.cursor) or self.next_cursor)
        self._card_product = reached_segment.product_id if reached_segment and head.cursor is not None else None
        self.connected = True
        self.step()

    def _after_absence(self, head: Playhead) -> Cursor:
        """Where the script goes on. The body plays what waits while there is no mind, and nobody cuts it then.

        A sentence that was cut for a clip that is not script (an answer still sounding) is said again.
        """
        last = cursor_from(head.cursor)
        if last is None:
            return self._reached
        later = cursor_tuple(last) > cursor_tuple(self._reached)
        told = cursor_tuple(last) == cursor_tuple(self._reached) and not head.clip_id
        if head.clip_id.startswith("s") or later or told:
            return self._script.after(last)
        return self._reached

    def detach(self) -> None:
        """The body is gone: nothing is sent until :meth:`attach`."""
        self.connected = False

    def on_body(self, message: BodyMessage) -> None:
        """Take one report of the body."""
        match message:
            case Playhead():
                self.media_ms = message.media_ms
                self.buffered_ms = message.buffered_ms
            case ClipStarted():
                self._on_started(message)
            case ClipEnded():
                self._on_ended(message)
            case CutAck():
                self._on_cut_ack(message)
        if not self._virtual:
            self.step()

    def _on_started(self, message: ClipStarted) -> None:
        self.media_ms = max(self.media_ms, message.media_ms)
        self._playing = message.clip_id
        clip = self._clips.get(message.clip_id)
        if clip is None:
            return
        clip.started_media_ms = message.media_ms
        said = clip.utterance
        if said.kind is ClipKind.SCRIPT and said.cursor is not None:
            self._on_script_started(said)
        turn = self._turns.get(said.turn_id)
        if turn is not None:
            self._on_turn_started(turn, message)

    def _on_script_started(self, said: Utterance) -> None:
        cursor = cursor_from(said.cursor)
        assert cursor is not None
        segment = self._script.segment(cursor)
        if segment is None:
            return
        if segment.id != self._card_segment:
            self._card_segment = segment.id
            self._pinned = None
        self._card_product = segment.product_id
        self._emit_cursor(cursor)

    def _on_turn_started(self, turn: Turn, message: ClipStarted) -> None:
        turn.started_ns = message.wall_ns
        turn.outcome = "speaking"
        if turn.kind == "answer":
            self._answers_in_a_row += 1
            if not self._last_script_final and not self.paused and turn.interrupts:
                self._want_bridge()
            if self._gap_until_ms > message.media_ms:
                self._gap_due = True
        if turn.question is not None and turn.interrupts:
            self.last_first_word_ms = turn.latency().first_word_ms
            self.latency.add(self.last_first_word_ms)
        self._report_turn(turn)

    def _on_ended(self, message: ClipEnded) -> None:
        self.media_ms = max(self.media_ms, message.media_ms)
        if self._playing == message.clip_id:
            self._playing = ""
        if self._cut_pending == message.clip_id:
            self._cut_pending = ""
        clip = self._clips.pop(message.clip_id, None)
        if message.played_ms > 0:
            kind = str(clip.utterance.kind) if clip else ""
            self._emit(
                "spoken",
                clip_id=message.clip_id,
                turn_id=message.turn_id,
                kind=kind,
                text=message.text,
                media_ms=message.media_ms,
                reason=str(message.reason),
            )
        now_ns = time.monotonic_ns()
        for waiting in self._turns.values():
            if waiting.ready_ns and not waiting.started_ns and not waiting.wait_ended_ns:
                waiting.wait_ended_ns = now_ns
        if clip is None:
            self._foreign_ended(message)
            return
        turn = self._turns.get(clip.utterance.turn_id)
        if turn is not None and turn.clip is clip:
            self._turn_clip_ended(turn, clip, message)
        elif clip.utterance.kind in (ClipKind.SCRIPT, ClipKind.ANNOUNCEMENT):
            self._script_clip_ended(clip, message)

    def _foreign_ended(self, message: ClipEnded) -> None:
        """A clip of an earlier mind: say its sentence again if it was broken off."""
        cursor = cursor_from(message.cursor)
        if cursor is None or f"{self._epoch}-" in message.clip_id:
            return
        if message.reason is not EndReason.COMPLETED and cursor_tuple(cursor) < cursor_tuple(self.next_cursor):
            self._hold_script_until_ms = 0
            self._rewind(cursor, "said again")

    def _script_clip_ended(self, clip: ClipProgress, message: ClipEnded) -> None:
        said = clip.utterance
        if clip is self._making:
            self._kill(clip, "ended while being made")
        skipped = said.clip_id in self._skip_resume
        self._skip_resume.discard(said.clip_id)
        heard = self._heard_share(clip, message)
        if message.reason is EndReason.COMPLETED or heard >= HEARD_ENOUGH or skipped:
            self._answers_in_a_row = 0
            if said.gap_after_ms and message.reason is EndReason.COMPLETED:
                self._gap_until_ms = message.media_ms + said.gap_after_ms
            self._last_script_final = said.cursor is None or bool(said.gap_after_ms)
            if (cursor := cursor_from(said.cursor)) is not None:
                self._emit_cursor(self._upcoming() if skipped else self._script.after(cursor))
            if message.reason is EndReason.CUT and not skipped and not self.paused:
                self._want_bridge()
            return
        cursor = cursor_from(said.cursor)
        if cursor is None:
            return
        self._last_script_final = False
        if self.paused:
            if cursor_tuple(cursor) < cursor_tuple(self.next_cursor):
                self.next_cursor = cursor
            return
        self._resume = cursor
        self._want_bridge()

    def _want_bridge(self) -> None:
        """One phrase back to the script, however many answers there were."""
        self._bridge_due = not any(c.utterance.kind is ClipKind.BRIDGE for c in self._clips.values())

    def _heard_share(self, clip: ClipProgress, message: ClipEnded) -> float:
        if message.reason is EndReason.COMPLETED:
            return 1.0
        whole = clip.duration_ms
        if not clip.sealed:
            chars = sum(len(c) for c in clip.clauses) or 1
            whole = max(whole, clip.duration_ms * len(clip.utterance.text) / chars)
        return message.played_ms / whole if whole else 0.0

    def _turn_clip_ended(self, turn: Turn, clip: ClipProgress, message: ClipEnded) -> None:
        if message.reason is EndReason.COMPLETED:
            self._finish_turn(turn, "spoken", "")
            return
        heard = self._heard_share(clip, message)
        if message.reason is EndReason.DROPPED:
            self._finish_turn(turn, "dropped", "dropped by the picture", retry=True)
        else:
            self._finish_turn(turn, "cut", "cut off", retry=heard < 0.5, heard=heard >= 0.5)

    def _on_cut_ack(self, ack: CutAck) -> None:
        future = self._cut_acks.pop(ack.number, None)
        if future is not None and not future.done():
            future.set_result(ack)
        if not ack.accepted:
            self._cut_pending = ""
            clip = self._clips.get(ack.clip_id)
            if clip is not None:
                clip.uncuttable = True

    # --- what to do next ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Look at everything once: choose an answer, cut for it, keep the script ahead. Cheap; called on every event."""
        if not self.connected or self._stepping:
            return
        self._stepping = True
        try:
            self._inbox.expire(self._inbox_now())
            self._choose_answer()
            self._cut_for_ready_turn()
            self._keep_lead()
        finally:
            self._stepping = False

    def _inbox_now(self) -> int:
        return self.media_ms if self._virtual else time.monotonic_ns() // 1_000_000

    def _choose_answer(self) -> None:
        while self._room_for_answer():
            question = self._inbox.take(self._inbox_now(), self.card_product)
            if question is None:
                return
            self._start_answer(question)

    def _room_for_answer(self) -> bool:
        if self.media_ms < self._mute_until_ms:
            return False
        open_turns = list(self._turns.values())
        if len(open_turns) > 1:
            return False
        for turn in open_turns:
            clip = turn.clip
            if turn.kind != "answer" or clip.started_media_ms is None or not clip.sealed:
                return False
            if clip.duration_ms - (self.media_ms - clip.started_media_ms) > NEXT_ANSWER_LEAD_MS:
                return False
        script_moves = not self.paused and not self.finished and not self.in_gap
        return not (script_moves and self._answers_in_a_row + len(open_turns) >= ANSWERS_IN_A_ROW)

    def _start_answer(self, question: Question) -> None:
        plan = self._answerer.plan(question.understanding, self.card_product, self._now())
        if plan is None:
            self._inbox.finish(question, "dropped", "nothing to say", "", self._inbox_now())
            return
        checked = self._gate.check(plan.text, lang=plan.lang, product_ids=plan.product_ids or None, now=self._now())
        self._report_gate(plan.text, checked)
        text, facts = checked.text, plan.facts
        if not checked.allowed:
            text, facts = self._answerer.safe_line(plan.lang), ()
            if not self._gate.check(text, lang=plan.lang, product_ids=None, now=self._now()).allowed:
                self._inbox.finish(question, "dropped", "blocked by the gate", "", self._inbox_now())
                return
        product = self.knowledge.product(plan.product_ids[0]) if len(plan.product_ids) == 1 else None
        turn_id = self._new_id("t")
        utterance = Utterance(
            clip_id=self._new_id("a"),
            turn_id=turn_id,
            kind=ClipKind.ANSWER,
            priority=Priority.ANSWER,
            text=text,
            lang=plan.lang,
            facts=facts,
            card=product_card(product, plan.lang, self._now()) if product else None,
            emotion=plan.emotion,
            stressed=self._stressed(plan.product_ids, plan.lang),
        )
        turn = Turn(
            turn_id, "answer", text, ClipProgress(utterance), question, plan, facts,
            received_ns=question.received_ns, chosen_ns=time.monotonic_ns(),
        )  # fmt: skip
        self._open_turn(turn)

    def _open_turn(self, turn: Turn) -> None:
        self._turns[turn.turn_id] = turn
        self._clips[turn.clip.utterance.clip_id] = turn.clip
        self._report_turn(turn)
        if not self._virtual:
            self._composer.begin(turn.clip)
        turn.task = self._spawn(self._make_turn(turn))

    async def _make_turn(self, turn: Turn) -> None:
        def ready() -> None:
            turn.ready_ns = time.monotonic_ns()
            if not self._virtual:
                self._cut_for_ready_turn()

        await self._make(turn.clip, ready)
        if turn.clip.dead and turn.turn_id in self._turns:
            self._finish_turn(turn, "dropped", "could not be spoken")

    def _cut_for_ready_turn(self) -> None:
        """Cut what plays for the first turn that is ready to sound."""
        playing = self._clips.get(self._playing)
        if playing is None or self._cut_pending or playing.uncuttable or not playing.utterance.interruptible:
            return
        waiting = [t for t in self._turns.values() if t.clip.started_media_ms is None]
        if any(t.kind == "say" for t in waiting):
            if playing.utterance.kind is not ClipKind.SAY:
                self._cut(CutMode.NOW, "operator speaks")
            return
        if playing.utterance.kind is not ClipKind.SCRIPT:
            return
        if any(t.clip.first_audio and t.interrupts for t in waiting) and self._left_ms(playing) > KEEP_TAIL_MS:
            self._cut(CutMode.PHRASE, "a question")

    def _left_ms(self, clip: ClipProgress) -> float:
        if not clip.sealed or clip.started_media_ms is None:
            return float(LEAD_MS)
        return clip.duration_ms - (self.media_ms - clip.started_media_ms)

    def _cut(self, mode: CutMode, reason: str) -> int:
        self._cut_number += 1
        self._cut_pending = self._playing
        self._send(Cut(self._cut_number, mode, reason))
        return self._cut_number

    # --- the script ---------------------------------------------------------------------------------------------------

    def _script_clips(self) -> list[ClipProgress]:
        return [c for c in self._clips.values() if c.utterance.kind in (ClipKind.SCRIPT, ClipKind.ANNOUNCEMENT)]

    def _keep_lead(self) -> None:
        if self._script_task is None and self._script_wants():
            self._script_task = self._spawn(self._make_script())

    def _script_wants(self) -> bool:
        if self.paused or not self.connected or self.media_ms < self._hold_script_until_ms:
            return False
        if self._bridge_due or self._gap_due or self._resume is not None:
            return True
        ahead = self.ahead_ms()
        waiting = sum(1 for c in self._script_clips() if c.started_media_ms is None)
        short = ahead < LEAD_MS or waiting < LEAD_SENTENCES
        return short and ahead < LEAD_MAX_MS and self._script.at(self.next_cursor) is not None

    async def _make_script(self) -> None:
        try:
            while self._script_wants():
                utterance = self._next_script_utterance()
                if utterance is None:
                    return
                clip = ClipProgress(utterance)
                self._clips[utterance.clip_id] = clip
                self._making = clip
                await self._make(clip, lambda: None)
                self._making = None
        finally:
            self._making = None
            self._script_task = None

    def _next_script_utterance(self) -> Utterance | None:
        if self._gap_due and (gap := self._rest_of_gap()) is not None:
            return gap
        if self._bridge_due:
            self._bridge_due = False
            segment = self._script.segment(self._resume or self.next_cursor)
            if segment is not None and not self.in_gap:
                line = self._lines.bridge(self._language_here())
                return self._plain(line, ClipKind.BRIDGE, Priority.BRIDGE, self._language_here())
        if self._resume is not None:
            cursor, self._resume = self._resume, None
            said = self._sentence_at(cursor, RESUME_PRIORITY, advance=False)
            if said is not None:
                return said
        if self._disclosed_ms is None or self.media_ms + self.ahead_ms() - self._disclosed_ms >= DISCLOSURE_EVERY_MS:
            self._disclosed_ms = int(self.media_ms + self.ahead_ms())
            line = self._lines.disclosure(self._language_here())
            return self._plain(line, ClipKind.ANNOUNCEMENT, Priority.SCRIPT, self._language_here(), interruptible=False)
        return self._sentence_at(self.next_cursor, Priority.SCRIPT, advance=True)

    def _rest_of_gap(self) -> Utterance | None:
        """An answer ends a gap early: what is left of it comes back as a silent clip after the answer."""
        self._gap_due = False
        end_ms = float(self.media_ms)
        for turn in self._turns.values():
            clip = turn.clip
            if clip.started_media_ms is not None:
                end_ms = max(end_ms, clip.started_media_ms + clip.duration_ms)
        left = int(self._gap_until_ms - end_ms)
        if left < 500:
            self._gap_until_ms = 0
            return None
        return Utterance(self._new_id("s"), "", ClipKind.SCRIPT, GAP_PRIORITY, "", self._spec.lang, gap_after_ms=left)

    def _sentence_at(self, cursor: Cursor, priority: int, *, advance: bool) -> Utterance | None:
        """The first sentence at or after ``cursor`` that may be said now; others are skipped and reported."""
        for _ in range(200):
            sentence = self._script.at(cursor)
            if sentence is None:
                return None
            cursor = self._script.after(sentence.cursor)
            if advance:
                self.next_cursor = cursor
            said = self._lines.say(sentence, self.knowledge, self._gate, self._now(), self._report_gate)
            if said is None:
                if not advance:
                    return None
                continue
            product = self.knowledge.product(sentence.segment.product_id) if sentence.segment.product_id else None
            pinned = self._pinned if sentence.segment.id == self._card_segment else None
            shown = self.knowledge.product(pinned) if pinned else product
            return Utterance(
                clip_id=self._new_id("s"),
                turn_id="",
                kind=ClipKind.SCRIPT,
                priority=priority,
                text=said.text,
                lang=sentence.lang,
                facts=said.facts,
                card=product_card(shown, self._spec.lang, self._now()),
                emotion=said.emotion,
                interruptible=sentence.interruptible,
                cursor=cursor_tuple(sentence.cursor),
                gap_after_ms=sentence.gap_after_ms,
                stressed=self._stressed((product.id,) if product else (), sentence.lang),
            )
        return None

    def _plain(self, text: str, kind: ClipKind, priority: int, lang: Lang, *, interruptible: bool = True) -> Utterance | None:
        checked = self._gate.check(text, lang=lang, product_ids=None, now=self._now())
        if not checked.allowed:
            self._report_gate(text, checked)
            return None
        return Utterance(self._new_id("s"), "", kind, priority, checked.text, lang, interruptible=interruptible)

    def _language_here(self) -> Lang:
        sentence = self._script.at(self._resume or self.next_cursor)
        return sentence.lang if sentence else self._spec.lang

    def _stressed(self, product_ids: tuple[str, ...], lang: Lang) -> tuple[str, ...]:
        products = (self.knowledge.product(p) for p in product_ids)
        return tuple(short_title(p, lang) for p in products if p is not None)

    def _rewind(self, to: Cursor | None, reason: str, *, from_clip: str = "") -> None:
        """Drop waiting script clips (all, or ``from_clip`` and those after it) and go on from ``to`` or the first dropped."""
        first: Cursor | None = None
        found = not from_clip
        dropped: list[ClipProgress] = []
        for clip in sorted(self._waiting_script(), key=lambda c: -c.utterance.priority):
            found = found or clip.utterance.clip_id == from_clip
            if found:
                dropped.append(clip)
                if first is None:
                    first = cursor_from(clip.utterance.cursor)
        if self._resume is not None and not from_clip:
            first = min((c for c in (first, self._resume) if c is not None), key=cursor_tuple)
            self._resume = None
        if not from_clip:
            self._bridge_due = False
        for clip in dropped:
            self._kill(clip, reason)
        target = to or first
        if target is not None:
            self.next_cursor = target

    def _upcoming(self) -> Cursor:
        """The sentence that will be heard next."""
        waiting = [c for c in (cursor_from(clip.utterance.cursor) for clip in self._waiting_script()) if c is not None]
        return min([*waiting, self.next_cursor], key=cursor_tuple)

    def _waiting_script(self) -> list[ClipProgress]:
        kinds = (ClipKind.SCRIPT, ClipKind.BRIDGE)
        return [c for c in self._clips.values() if c.utterance.kind in kinds and c.utterance.clip_id != self._playing]

    def _kill(self, clip: ClipProgress, reason: str) -> None:
        """Stop making a clip and take it off the timeline."""
        clip.dead = True
        self._clips.pop(clip.utterance.clip_id, None)
        if clip.begun:
            self._send(ClipDrop((clip.utterance.clip_id,), reason))
        if clip is self._making:
            self._stop_script_task()

    def _stop_script_task(self) -> None:
        task, self._script_task, self._making = self._script_task, None, None
        if task is not None:
            task.cancel()

    # --- making clips -------------------------------------------------------------------------------------------------

    async def _make(self, clip: ClipProgress, on_first_audio: Callable[[], None]) -> None:
        try:
            if self._virtual:
                async with self._serial:
                    await self._composer.compose(clip, on_first_audio)
            else:
                await self._composer.compose(clip, on_first_audio)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - one clip that cannot be made must not silence the host
            log.warning("a clip could not be made", clip=clip.utterance.clip_id, error=f"{type(error).__name__}: {error}")
            self._emit("drop", what="clip", count=1, reason=f"{type(error).__name__}: {error}")
            self._kill_quietly(clip)

    def _kill_quietly(self, clip: ClipProgress) -> None:
        clip.dead = True
        if self._clips.pop(clip.utterance.clip_id, None) is not None and clip.begun:
            self._send(ClipDrop((clip.utterance.clip_id,), "speech failed"))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("making a clip failed", exc_info=error)
            self._emit("drop", what="clip", count=1, reason=f"{type(error).__name__}: {error}")
        if not self._virtual:
            self.step()

    # --- turns --------------------------------------------------------------------------------------------------------

    def _finish_turn(self, turn: Turn, outcome: str, reason: str, *, retry: bool = False, heard: bool = False) -> None:
        self._turns.pop(turn.turn_id, None)
        turn.outcome = outcome
        turn.clip.dead = True
        self._clips.pop(turn.clip.utterance.clip_id, None)
        if turn.task is not None and not turn.task.done():
            turn.task.cancel()
        self._report_turn(turn)
        if turn.question is None:
            return
        if outcome == "spoken" or heard:
            self._inbox.finish(turn.question, "answered", "", turn.turn_id, self._inbox_now())
        elif retry and self._inbox.requeue(turn.question):
            return
        else:
            self._inbox.finish(turn.question, "dropped", reason or outcome, turn.turn_id, self._inbox_now())

    def _cancel_turn(self, turn: Turn, reason: str, *, retry: bool = False) -> None:
        """Forget a turn that is not playing."""
        if turn.clip.begun:
            self._send(ClipDrop((turn.clip.utterance.clip_id,), reason))
        self._finish_turn(turn, "dropped", reason, retry=retry)

    def _report_turn(self, turn: Turn) -> None:
        times = turn.latency() if turn.started_ns and turn.received_ns else None
        self._emit(
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

    def _report_gate(self, text: str, verdict: Verdict) -> None:
        for finding in verdict.findings:
            self._emit("gate", text=text, rule=finding.rule, word=finding.word, span=list(finding.span), action=finding.action)

    def _emit_cursor(self, cursor: Cursor) -> None:
        self._reached = cursor
        sentence = self._script.at(cursor)
        place = sentence.cursor if sentence else cursor
        segment = self._script.segment(place)
        self._emit(
            "cursor",
            **place.model_dump(),
            segment_id=segment.id if segment else "",
            title=segment.title if segment else "",
        )

    def _new_id(self, letter: str) -> str:
        """Ids are unique across restarts of the mind and say what they are: s script, a answer, o operator, t turn."""
        self._count += 1
        return f"{letter}{self._epoch}-{self._count}"

    # --- the operator -------------------------------------------------------------------------------------------------

    def say(self, text: str, lang: Lang) -> tuple[str, Verdict]:
        """Speak an operator's words now. Returns the turn's id ('' when the gate refuses) and the gate's verdict."""
        checked = self._gate.check(text, lang=lang, product_ids=None, now=self._now())
        self._report_gate(text, checked)
        if not checked.allowed or not checked.text:
            return "", checked
        turn_id = self._new_id("t")
        utterance = Utterance(
            self._new_id("o"), turn_id, ClipKind.SAY, Priority.SAY, checked.text, lang, emotion=Emotion(0.4, 0.2, 0.3)
        )
        now_ns = time.monotonic_ns()
        turn = Turn(turn_id, "say", checked.text, ClipProgress(utterance), received_ns=now_ns, chosen_ns=now_ns)
        self._open_turn(turn)
        self.step()
        return turn_id, checked

    async def cut(self, reason: str) -> bool:
        """Silence: drop every waiting answer and operator line, end what plays. True once the body has confirmed."""
        for turn in [t for t in self._turns.values() if t.clip.started_media_ms is None]:
            self._cancel_turn(turn, reason)
        for clip in [c for c in self._waiting_script() if c.utterance.kind is ClipKind.BRIDGE]:
            self._kill(clip, reason)
        self._bridge_due = False
        playing = self._clips.get(self._playing)
        if playing is None:
            self.step()
            return True
        self._skip_resume.add(self._playing)
        question = next((t for t in self._turns.values() if t.clip is playing), None)
        if question is not None and question.question is not None:
            question.question.requeued = True
        number = self._cut(CutMode.NOW, reason)
        future: asyncio.Future[CutAck] = asyncio.get_running_loop().create_future()
        self._cut_acks[number] = future
        try:
            async with asyncio.timeout(CUT_ACK_TIMEOUT_S):
                ack = await future
                return ack.accepted or ack.why == "idle"
        except TimeoutError:
            return False
        finally:
            self._cut_acks.pop(number, None)

    def pin(self, product: Product) -> None:
        """Show a product's card until the script moves to another segment."""
        self._pinned = product.id
        self._card_segment = self._card_segment or "-"
        self._send(ShowCard(product_card(product, self._spec.lang, self._now())))

    def pause(self) -> None:
        """Stop the script after the sentence that plays; answers go on."""
        if not self.paused:
            self.paused = True
            self._rewind(None, "paused")

    def resume(self) -> None:
        """Go on with the script."""
        self.paused = False
        self.step()

    def next_segment(self) -> None:
        """Leave the present segment at the next phrase."""
        playing = self._clips.get(self._playing)
        here = cursor_from(playing.utterance.cursor) if playing else None
        waiting = [cursor_from(c.utterance.cursor) for c in self._waiting_script()]
        places = [c for c in (here, self._resume, *waiting) if c is not None] or [self.next_cursor]
        target = self._script.next_segment(min(places, key=cursor_tuple))
        self._rewind(target, "next segment")
        self._resume = None
        self._gap_until_ms = 0
        if playing is not None and playing.utterance.kind is ClipKind.SCRIPT:
            self._skip_resume.add(self._playing)
            if playing.utterance.interruptible and not self._cut_pending:
                self._cut(CutMode.PHRASE, "next segment")
        elif not self._playing:
            self._send(Cut(self._next_cut_number(), CutMode.NOW, "next segment"))
        self._last_script_final = True
        self.step()

    def _next_cut_number(self) -> int:
        self._cut_number += 1
        return self._cut_number

    # --- new facts ----------------------------------------------------------------------------------------------------

    def set_knowledge(self, knowledge: Knowledge) -> None:
        """Replace the facts at once; clips that state a value that has changed are taken back and made anew."""
        self.knowledge = knowledge
        now = self._now()
        stale = next((c for c in self._ordered_script() if self._is_stale(c, now)), None)
        if stale is not None:
            self._rewind(None, "a fact changed", from_clip=stale.utterance.clip_id)
        playing = self._clips.get(self._playing)
        if playing is not None and self._is_stale(playing, now) and playing.utterance.kind is ClipKind.SCRIPT:
            cursor = cursor_from(playing.utterance.cursor)
            if cursor is not None and playing.utterance.interruptible and not self._cut_pending:
                self._rewind(cursor, "a fact changed")
                self._skip_resume.add(self._playing)
                self._cut(CutMode.PHRASE, "a fact changed")
        for turn in list(self._turns.values()):
            if not self._is_stale(turn.clip, now):
                continue
            if turn.clip.started_media_ms is None:
                self._cancel_turn(turn, "a fact changed", retry=True)
        if self.card_product is not None:
            self._send(ShowCard(product_card(knowledge.product(self.card_product), self._spec.lang, now)))
        self.step()

    def _ordered_script(self) -> list[ClipProgress]:
        return sorted(self._waiting_script(), key=lambda c: -c.utterance.priority)

    def _is_stale(self, clip: ClipProgress, now: datetime) -> bool:
        said = clip.utterance
        if any(current_value(fact, self.knowledge, said.lang, now) != fact.value for fact in said.facts):
            return True
        if not said.text:
            return False
        return not self._gate.check(said.text, lang=said.lang, product_ids=self._gate.products_of(said.facts), now=now).allowed
