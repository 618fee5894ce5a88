"""Lines of the host outside the merchant's script, and a script sentence made ready to be said."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpu_engine.mind.facts import MissingFact, fill_line
from gpu_engine.mind.gate import Finding, Gate, Verdict
from gpu_engine.mind.script import Sentence
from gpu_engine.session.spec import Knowledge, Lang, SegmentKind
from gpu_engine.session.timeline import Emotion, Fact

DISCLOSURE: dict[Lang, tuple[str, ...]] = {
    "zh": (
        "我是AI数字人主播，本场内容由人工智能生成。",
        "提醒大家，我是AI数字人，画面和声音由人工智能生成。",
        "给新来的朋友说明一下，我是AI数字人主播，内容由人工智能生成。",
    ),
    "en": (
        "I am an AI digital host; this stream is AI-generated.",
        "A quick note: I am an AI digital human, and this picture and voice are AI-generated.",
        "For those who just joined, I am an AI host and this content is AI-generated.",
    ),
}
BRIDGES: dict[Lang, tuple[str, ...]] = {
    "zh": (
        "好，我们接着说。",
        "咱们回到刚才的介绍。",
        "好的，继续给大家讲。",
        "那我们接着往下看。",
        "我们继续。",
        "刚才说到一半，接着来。",
    ),
    "en": (
        "Alright, back to where we were.",
        "Let's pick up where we left off.",
        "Okay, let me carry on.",
        "Now, back to the product.",
        "Right, let's continue.",
    ),
}
SEGMENT_EMOTIONS: dict[SegmentKind, Emotion] = {
    SegmentKind.OPENING: Emotion(0.6, 0.5, 0.4),
    SegmentKind.HOOK: Emotion(0.3, 0.6, 0.3),
    SegmentKind.POINTS: Emotion(0.45, 0.25, 0.3),
    SegmentKind.DEMO: Emotion(0.5, 0.3, 0.3),
    SegmentKind.OBJECTION: Emotion(0.3, 0.1, 0.35),
    SegmentKind.PRICE: Emotion(0.7, 0.8, 0.6),
    SegmentKind.CTA: Emotion(0.6, 0.7, 0.5),
    SegmentKind.QA: Emotion(0.45, 0.2, 0.2),
    SegmentKind.TRANSITION: Emotion(0.4, 0.2, 0.2),
    SegmentKind.ANNOUNCEMENT: Emotion(0.2, 0.1, 0.3),
    SegmentKind.BREAK: Emotion(0.3, -0.1, 0.1),
}
"""Valence, arousal, dominance by beat."""


class Wordings:
    """Picks among wordings of one meaning: a seeded order, walked round, so neighbours differ and a rerun is the same."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._orders: dict[tuple[str, int], list[int]] = {}
        self._next: dict[str, int] = {}

    def pick(self, key: str, options: Sequence[str]) -> str:
        """The next wording of ``key``."""
        wording = self.peek(key, options)
        self._next[key] = self._next.get(key, 0) + 1
        return wording

    def peek(self, key: str, options: Sequence[str], ahead: int = 0) -> str:
        """The wording :meth:`pick` would return (after ``ahead`` others), without using it up."""
        order = self._orders.get((key, len(options)))
        if order is None:
            order = list(range(len(options)))
            random.Random(f"{self._seed}:{key}").shuffle(order)
            self._orders[(key, len(options))] = order
        return options[order[(self._next.get(key, 0) + ahead) % len(options)]]


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence as it will be spoken."""

    text: str
    facts: tuple[Fact, ...]
    emotion: Emotion


class ScriptLines:
    """Fills and gates script sentences; picks bridging phrases and disclosures in turn."""

    def __init__(self, seed: int) -> None:
        self._wordings = Wordings(seed)

    def bridge(self, lang: Lang) -> str:
        """A phrase that leads back to the script."""
        return self._wordings.pick(f"bridge:{lang}", BRIDGES[lang])

    def next_bridge(self, lang: Lang) -> str:
        """The phrase :meth:`bridge` will return."""
        return self._wordings.peek(f"bridge:{lang}", BRIDGES[lang])

    def disclosure(self, lang: Lang) -> str:
        """The spoken AI-content label (GB 45438-2025 §5.3, EU AI Act art. 50)."""
        return self._wordings.pick(f"disclosure:{lang}", DISCLOSURE[lang])

    def say(
        self,
        sentence: Sentence,
        knowledge: Knowledge,
        gate: Gate,
        now: datetime,
        report: Callable[[str, Verdict], None],
    ) -> Said | None:
        """The sentence with today's facts, or ``None`` (reported) when a fact is missing or the gate blocks it."""
        product_id = sentence.segment.product_id
        product = knowledge.product(product_id) if product_id else None
        emotion = SEGMENT_EMOTIONS[sentence.segment.kind]
        if not sentence.template:
            return Said("", (), emotion)
        try:
            text, facts = fill_line(sentence.template, sentence.lang, product, knowledge.version)
        except MissingFact as missing:
            finding = Finding("missing_fact", str(missing), (0, len(sentence.template)), "skipped")
            report(sentence.template, Verdict(False, sentence.template, (finding,)))
            return None
        checked = gate.check(text, lang=sentence.lang, product_ids=(product_id,) if product_id else None, now=now)
        report(text, checked)
        if not checked.allowed or not checked.text:
            return None
        return Said(checked.text, facts, emotion)
