"""Which comments deserve an answer: bounded, fair, and every comment accounted for.

A comment ends exactly once as answered, merged or dropped (with a reason); ``Counts`` always adds up. What is waiting is a
bounded set of questions, one per meaning (product, intent, attribute), so a flood changes counters and not memory.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gpu_engine.chat.events import ChatEvent, ChatKind, Role, clean_text
from gpu_engine.mind.intent import Intent, Understanding
from gpu_engine.session.timeline import Fact

MAX_WAITING = 64
MAX_AGE_MS = 60_000
"""A comment the platform stamped longer ago than this is a replay, not a question."""
WAIT_LIMIT_MS = 90_000
QUIET_MS = 8_000
SOCIAL_QUIET_MS = 45_000
"""For so long after an answer its meaning is not answered again (greetings are answered once in a while)."""
SAME_TEXT_MS = 8_000
VIEWER_BURST = 5
VIEWER_REFILL_MS = 2_000
MAX_VIEWERS = 4_096
MAX_IDS = 65_536
MAX_KNOWN_TEXTS = 2_048
UNDERSTAND_PER_S = 400
RESERVE_EVERY = 5

WEIGHT: dict[Intent, float] = {
    Intent.AFTER_SALES: 1.2, Intent.COMPLAINT: 1.2, Intent.PRICE: 1.0, Intent.STOCK: 1.0, Intent.ATTRIBUTE: 1.0,
    Intent.PROMOTION: 1.0, Intent.COMPARE: 1.0, Intent.RECOMMEND: 0.9, Intent.SHIPPING: 0.8, Intent.IDENTITY: 0.8,
    Intent.UNKNOWN: 0.5, Intent.CHITCHAT: 0.2, Intent.GREETING: 0.2, Intent.THANKS: 0.15,
}  # fmt: skip
IGNORED: dict[Intent, str] = {Intent.ABUSE: "abuse", Intent.SPAM: "spam", Intent.INJECTION: "injection"}
SOCIAL = (Intent.GREETING, Intent.THANKS, Intent.CHITCHAT)


class Understand(Protocol):
    """Reads a cleaned comment; ``card_product`` is what 'this' means now."""

    def __call__(self, text: str, card_product: str | None) -> Understanding: ...


Report = Callable[[ChatEvent, str, str, str], None]
"""(comment, outcome, reason, turn_id)"""


@dataclass(slots=True, eq=False)
class Question:
    """One meaning that waits, with the comment that asked it first (merged ones are only counted)."""

    comment: ChatEvent
    understanding: Understanding
    key: tuple[str, ...]
    first_ms: int
    received_ns: int
    viewers: set[str] = field(default_factory=set)
    buyer: bool = False
    paid: bool = False
    newcomer: bool = False
    requeued: bool = False
    outdated: bool = False
    """What its answer stated has changed since it was chosen: the same question asked now is another one."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """When a meaning was answered, and with which facts."""

    at_ms: int
    facts: tuple[Fact, ...]


@dataclass(slots=True)
class Counts:
    """``received == answered + merged + dropped + waiting`` at every moment (``waiting`` includes those being answered)."""

    received: int = 0
    answered: int = 0
    merged: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def dropped_total(self) -> int:
        """All drops."""
        return sum(self.dropped.values())


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an offered comment: 'queued', 'merged' or 'dropped' and why."""

    outcome: str
    reason: str = ""


class Inbox:
    """Times are milliseconds of any clock that only grows, given by the caller; ``wall_ms`` is Unix time."""

    def __init__(
        self,
        understand: Understand,
        report: Report,
        *,
        max_waiting: int = MAX_WAITING,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._understand = understand
        self._report = report
        self._max_waiting = max_waiting
        self._wall_ms = wall_ms
        self.counts = Counts()
        self._waiting: dict[tuple[str, ...], Question] = {}
        self._open: set[Question] = set()
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._viewers: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._said: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._texts: OrderedDict[tuple[str, str | None], Understanding] = OrderedDict()
        self._answered: OrderedDict[tuple[str, ...], _Answered] = OrderedDict()
        self._seen_viewers: OrderedDict[str, None] = OrderedDict()
        self._read_at: deque[int] = deque()
        self._taken = 0

    @property
    def waiting(self) -> int:
        """Questions waiting to be chosen."""
        return len(self._waiting)

    @property
    def unfinished(self) -> int:
        """Questions waiting or being answered."""
        return len(self._waiting) + len(self._open)

    def facts_changed(self, holds: Callable[[Fact], bool] = lambda _: False) -> None:
        """New knowledge: what was understood no longer holds, nor do answers that stated a fact for which ``holds`` is false.

        A question whose answer has changed, or stated no fact, may be asked again at once, by the same viewer too.
        Questions being answered are marked by :meth:`outdate`.
        """
        self._texts.clear()
        self._said.clear()
        for key, answered in list(self._answered.items()):
            social = key and key[0] in SOCIAL
            if not social and not (answered.facts and all(holds(f) for f in answered.facts)):
                del self._answered[key]

    @staticmethod
    def outdate(question: Question) -> None:
        """The answer being given to this question is no longer true: who asks the same now is answered anew."""
        question.outdated = True

    # --- in -----------------------------------------------------------------------------------------------------------

    def offer(self, event: ChatEvent, now_ms: int, card_product: str | None, received_ns: int = 0) -> Verdict:
        """Take one event. Never raises, whatever the text holds."""
        self.counts.received += 1
        if event.kind is ChatKind.DELETE:
            return self._deleted(event)
        if event.kind not in (ChatKind.COMMENT, ChatKind.SUPER_CHAT):
            return self._drop(event, f"not a comment: {event.kind}")
        if event.own:
            return self._drop(event, "own account")
        if event.id and not self._first_time(event.id):
            return self._drop(event, "duplicate id")
        if event.at_ms is not None and self._wall_ms() - event.at_ms > MAX_AGE_MS:
            return self._drop(event, "too old")
        text = clean_text(event.text)
        if not text:
            return self._drop(event, "empty")
        viewer = event.viewer
        if not self._viewer_may(viewer, now_ms):
            return self._drop(event, "too many from one viewer")
        if self._said_lately(viewer, text, now_ms):
            return self._drop(event, "said already")
        understanding = self._read(text, card_product, now_ms)
        if understanding is None:
            return self._drop(event, "flood")
        return self._admit(event, understanding, viewer, now_ms, card_product, received_ns)

    def _admit(
        self, event: ChatEvent, understood: Understanding, viewer: str, now_ms: int, card: str | None, received_ns: int
    ) -> Verdict:
        intent = understood.intent
        if intent in IGNORED:
            return self._drop(event, IGNORED[intent])
        if understood.is_noise:
            return self._drop(event, "nothing asked")
        key = understood.meaning(card)
        waiting = self._waiting.get(key) or next((q for q in self._open if q.key == key and not q.outdated), None)
        newcomer = self._is_newcomer(viewer)
        if waiting is not None:
            waiting.viewers.add(viewer) if len(waiting.viewers) < 1_000 else None
            waiting.buyer = waiting.buyer or Role.BUYER in event.roles
            self.counts.merged += 1
            self._report(event, "merged", "same question", "")
            return Verdict("merged", "same question")
        answered = self._answered.get(key)
        quiet_ms = SOCIAL_QUIET_MS if intent in SOCIAL else QUIET_MS
        if answered is not None and now_ms - answered.at_ms < quiet_ms:
            return self._drop(event, "answered a moment ago")
        question = Question(
            event, understood, key, now_ms, received_ns or time.monotonic_ns(), {viewer},
            buyer=Role.BUYER in event.roles, paid=event.kind is ChatKind.SUPER_CHAT, newcomer=newcomer,
        )  # fmt: skip
        self._waiting[key] = question
        if len(self._waiting) > self._max_waiting:
            worst = min(self._waiting.values(), key=lambda q: self._score(q, now_ms, card))
            del self._waiting[worst.key]
            self._drop(worst.comment, "inbox full")
            if worst is question:
                return Verdict("dropped", "inbox full")
        self._report(event, "queued", "", "")
        return Verdict("queued")

    def _drop(self, event: ChatEvent, reason: str, turn_id: str = "") -> Verdict:
        self.counts.dropped[reason] += 1
        self._report(event, "dropped", reason, turn_id)
        return Verdict("dropped", reason)

    def _deleted(self, event: ChatEvent) -> Verdict:
        for key, question in list(self._waiting.items()):
            if question.comment.id == event.target_id:
                del self._waiting[key]
                self._drop(question.comment, "deleted by the platform")
        return self._drop(event, "not a comment: delete")

    def _first_time(self, event_id: str) -> bool:
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > MAX_IDS:
            self._ids.popitem(last=False)
        return True

    def _viewer_may(self, viewer: str, now_ms: int) -> bool:
        tokens, at_ms = self._viewers.pop(viewer, (float(VIEWER_BURST), now_ms))
        tokens = min(float(VIEWER_BURST), tokens + (now_ms - at_ms) / VIEWER_REFILL_MS)
        allowed = tokens >= 1.0
        self._viewers[viewer] = (tokens - 1.0 if allowed else tokens, now_ms)
        if len(self._viewers) > MAX_VIEWERS:
            self._viewers.popitem(last=False)
        return allowed

    def _said_lately(self, viewer: str, text: str, now_ms: int) -> bool:
        key = (viewer, text)
        before = self._said.pop(key, None)
        self._said[key] = now_ms
        if len(self._said) > MAX_VIEWERS:
            self._said.popitem(last=False)
        return before is not None and now_ms - before < SAME_TEXT_MS

    def _is_newcomer(self, viewer: str) -> bool:
        new = viewer not in self._seen_viewers
        self._seen_viewers[viewer] = None
        if len(self._seen_viewers) > MAX_VIEWERS:
            self._seen_viewers.popitem(last=False)
        return new

    def _read(self, text: str, card: str | None, now_ms: int) -> Understanding | None:
        known = self._texts.get((text, card))
        if known is not None:
            self._texts.move_to_end((text, card))
            return known
        while self._read_at and now_ms - self._read_at[0] >= 1_000:
            self._read_at.popleft()
        if len(self._read_at) >= UNDERSTAND_PER_S:
            return None
        self._read_at.append(now_ms)
        understood = self._understand(text, card)
        self._texts[(text, card)] = understood
        if len(self._texts) > MAX_KNOWN_TEXTS:
            self._texts.popitem(last=False)
        return understood

    # --- out ----------------------------------------------------------------------------------------------------------

    def take(self, now_ms: int, card_product: str | None) -> Question | None:
        """The question to answer next; one choice in five goes to the one that has waited longest."""
        if not self._waiting:
            return None
        self._taken += 1
        serious = [q for q in self._waiting.values() if q.understanding.intent not in SOCIAL]
        if self._taken % RESERVE_EVERY == 0 and serious:
            chosen = min(serious, key=lambda q: q.first_ms)
        else:
            chosen = max(self._waiting.values(), key=lambda q: (self._score(q, now_ms, card_product), -q.first_ms))
        del self._waiting[chosen.key]
        self._open.add(chosen)
        return chosen

    def _score(self, question: Question, now_ms: int, card: str | None) -> float:
        understood = question.understanding
        age_s = max(0, now_ms - question.first_ms) / 1000
        crowd = 1.0 if understood.intent in SOCIAL else math.log2(1 + len(question.viewers))
        score = WEIGHT.get(understood.intent, 0.3) * crowd * math.exp(-age_s / 60)
        if card is not None and understood.product_id in (None, card):
            score *= 1.3
        return score + 0.5 * question.paid + 0.3 * question.buyer + 0.1 * question.newcomer

    def finish(
        self, question: Question, outcome: str, reason: str, turn_id: str, now_ms: int, facts: tuple[Fact, ...] = ()
    ) -> None:
        """A taken question ended: 'answered' (stating ``facts``), or 'dropped' with a reason."""
        self._open.discard(question)
        if outcome == "answered":
            self.counts.answered += 1
            if not question.outdated:
                self._answered[question.key] = _Answered(now_ms, facts)
                self._answered.move_to_end(question.key)
            if len(self._answered) > 512:
                self._answered.popitem(last=False)
            self._report(question.comment, "answered", "", turn_id)
        else:
            self._drop(question.comment, reason, turn_id)

    def requeue(self, question: Question) -> bool:
        """Put a taken question back (once). False when it had its second chance or its meaning waits again."""
        if question.requeued or question.key in self._waiting:
            return False
        question.requeued = True
        question.outdated = False
        self._open.discard(question)
        self._waiting[question.key] = question
        return True

    def expire(self, now_ms: int) -> None:
        """Drop what has waited too long."""
        for key, question in list(self._waiting.items()):
            if now_ms - question.first_ms > WAIT_LIMIT_MS:
                del self._waiting[key]
                self._drop(question.comment, "waited too long")
