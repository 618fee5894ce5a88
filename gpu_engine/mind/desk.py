"""Ask as a viewer: one comment read, answered and gated exactly as on air, without a show, a voice or a body."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from gpu_engine.chat.events import clean_text
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.gate import Finding, Gate
from gpu_engine.mind.intent import Understanding
from gpu_engine.mind.reader import Reader
from gpu_engine.mind.retrieval import Encoder, KnowledgeIndex
from gpu_engine.session.spec import Knowledge
from gpu_engine.session.timeline import Fact


@dataclass(frozen=True, slots=True)
class Reply:
    """What the host would do. ``text`` is '' when it would say nothing; ``findings`` are the gate's."""

    behaviour: Literal["answer", "check_with_shop", "decline", "ignore"]
    text: str
    understanding: Understanding
    facts: tuple[Fact, ...] = ()
    product_ids: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Desk:
    """Answers comments from one knowledge version. With an ``encoder`` the FAQ is also found by meaning (vectors are
    computed here, or taken from ``cache_dir``)."""

    def __init__(
        self, knowledge: Knowledge, *, encoder: Encoder | None = None, cache_dir: Path | None = None, seed: int = 1
    ) -> None:
        self.knowledge = knowledge
        self._read = Reader(knowledge)
        self._gate = Gate(knowledge)
        index = KnowledgeIndex(knowledge, encoder=encoder, cache_dir=cache_dir)
        index.encode()
        self._answerer = Answerer(knowledge, index, seed=seed)

    def ask(self, text: str, *, card_product: str | None = None, now: datetime | None = None) -> Reply:
        """The host's reply to ``text`` while ``card_product`` is on the card. Never raises, whatever the text holds."""
        now = now or datetime.now(UTC)
        understood = self._read(clean_text(text), card_product)
        plan = self._answerer.plan(understood, card_product, now)
        if plan is None:
            return Reply("ignore", "", understood)
        verdict = self._gate.check(plan.text, lang=plan.lang, product_ids=plan.product_ids or None, now=now)
        if not verdict.allowed:
            return Reply("check_with_shop", self._answerer.safe_line(plan.lang), understood, findings=verdict.findings)
        return Reply(plan.behaviour, verdict.text, understood, plan.facts, plan.product_ids, verdict.findings)
