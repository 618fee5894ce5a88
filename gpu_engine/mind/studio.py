"""What every part of the direction shares: the session, today's facts, the gate, and where events go."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from gpu_engine.chat.inbox import Inbox
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.facts import short_title
from gpu_engine.mind.gate import Gate, Verdict
from gpu_engine.mind.gestures import GestureCues
from gpu_engine.session.spec import Knowledge, Lang, SessionSpec
from gpu_engine.session.timeline import MindMessage


class Emit(Protocol):
    """Reports an event of :mod:`gpu_engine.session.control`."""

    def __call__(self, kind: str, /, **data: Any) -> None: ...


@dataclass(slots=True)
class Studio:
    """``send`` queues a message to the body; ``knowledge`` is replaced whole when facts change."""

    spec: SessionSpec
    knowledge: Knowledge
    gate: Gate
    answerer: Answerer
    inbox: Inbox
    send: Callable[[MindMessage], None]
    emit: Emit
    now: Callable[[], datetime]
    hands: GestureCues = field(default_factory=GestureCues)

    @property
    def virtual(self) -> bool:
        """Whether the session's clock is virtual."""
        return self.spec.clock == "virtual"

    def inbox_ms(self, media_ms: int) -> int:
        """The inbox's clock: wall time, or the media time of a virtual session."""
        return media_ms if self.virtual else time.monotonic_ns() // 1_000_000

    def report_gate(self, text: str, verdict: Verdict) -> None:
        """Report what the gate found in a text."""
        for finding in verdict.findings:
            self.emit("gate", text=text, rule=finding.rule, word=finding.word, span=list(finding.span), action=finding.action)

    def stressed(self, product_ids: tuple[str, ...], lang: Lang) -> tuple[str, ...]:
        """Names the voice and the body stress."""
        products = (self.knowledge.product(p) for p in product_ids)
        return tuple(short_title(p, lang) for p in products if p is not None)
