"""One turn of the host outside the script: its clip, its comment, and how long the viewer waited."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from gpu_engine.chat.inbox import Question
from gpu_engine.mind.answers import AnswerPlan
from gpu_engine.mind.composer import ClipProgress
from gpu_engine.session.timeline import Fact

_NS_PER_MS = 1_000_000


@dataclass(slots=True, eq=False)
class Turn:
    """An answer to a comment or an operator's line, from its choice until the body has played it.

    Instants are time.monotonic_ns() (0 = has not happened). ``wait_ended_ns``: the clip that was playing before it ended.
    """

    turn_id: str
    kind: str
    text: str
    clip: ClipProgress
    question: Question | None = None
    plan: AnswerPlan | None = None
    facts: tuple[Fact, ...] = ()
    received_ns: int = 0
    chosen_ns: int = 0
    ready_ns: int = 0
    wait_ended_ns: int = 0
    started_ns: int = 0
    task: asyncio.Task[None] | None = None
    outcome: str = "planned"
    outdated: bool = False
    """A fact it states has changed while it was heard."""

    @property
    def interrupts(self) -> bool:
        """Whether the script is cut for it, or it waits for the end of the sentence."""
        return self.plan is None or self.plan.interrupts

    def latency(self) -> Latency:
        """The waterfall once its first sample was encoded."""
        total = max(0, self.started_ns - self.received_ns)
        queued = max(0, self.chosen_ns - self.received_ns)
        cut_wait = max(0, self.wait_ended_ns - self.ready_ns) if self.wait_ended_ns and self.ready_ns else 0
        return Latency(
            first_word_ms=max(0, total - queued - cut_wait) / _NS_PER_MS,
            cut_wait_ms=cut_wait / _NS_PER_MS,
            queue_wait_ms=queued / _NS_PER_MS,
            total_ms=total / _NS_PER_MS,
        )


@dataclass(frozen=True, slots=True)
class Latency:
    """Comment received to first sample encoded (``total_ms``), of which waiting behind other questions
    (``queue_wait_ms``) and, with the answer ready, for the script's cut point (``cut_wait_ms``); the rest is ours
    (``first_word_ms``)."""

    first_word_ms: float
    cut_wait_ms: float
    queue_wait_ms: float
    total_ms: float


@dataclass(slots=True)
class LatencyWindow:
    """The last answers' first-word times."""

    size: int = 200
    values: deque[float] = field(default_factory=deque)

    def add(self, value_ms: float) -> None:
        """Remember one."""
        self.values.append(value_ms)
        while len(self.values) > self.size:
            self.values.popleft()

    def percentile(self, share: float) -> float:
        """Nearest-rank percentile in ms, -1 when nothing was measured."""
        if not self.values:
            return -1.0
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(slots=True)
class SpeechWait:
    """How long an answer that is not in the cache takes to its first sound, as a moving average."""

    expected_ms: float = 500.0

    def add(self, value_ms: float) -> None:
        """Take one measured value in."""
        self.expected_ms += 0.3 * (min(value_ms, 3_000.0) - self.expected_ms)
