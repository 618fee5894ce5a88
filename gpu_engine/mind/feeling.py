"""What the host feels with each utterance: the gate fed with the words, the voice as it comes out, and the state of the show.

A clip's header goes out before its voice exists, so its emotion is fused without one; when the first clause has been made
the three are fused again and the face follows from the next chunk on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gpu_engine.mind.intent import Intent
from gpu_engine.motion.affect import TOPICS, context_features, text_features, voice_features
from gpu_engine.motion.gate import SOURCES, Fusion, Gate, load_gate
from gpu_engine.motion.prosody import Ear, UsualVoice
from gpu_engine.session.spec import Lang, SegmentKind

MEMORY_COMMENTS = 30.0
"""After so many comments an older one counts 1/e."""
MEMORY_MS = 60_000.0
BUSY_PER_MINUTE = 90.0
"""Comments a minute from which a chat is as busy as can be."""

_TOPIC: dict[Intent, str] = {
    Intent.PRICE: "product", Intent.STOCK: "product", Intent.ATTRIBUTE: "product", Intent.PROMOTION: "product",
    Intent.COMPARE: "product", Intent.RECOMMEND: "product", Intent.SHIPPING: "service", Intent.AFTER_SALES: "service",
    Intent.IDENTITY: "social", Intent.GREETING: "social", Intent.CHITCHAT: "social", Intent.THANKS: "praise",
    Intent.COMPLAINT: "complaint", Intent.ABUSE: "unrest", Intent.SPAM: "unrest", Intent.INJECTION: "unrest",
}  # fmt: skip
_ACT_OF_INTENT: dict[Intent, str] = {
    Intent.PRICE: "price", Intent.PROMOTION: "promotion", Intent.STOCK: "service", Intent.SHIPPING: "service",
    Intent.AFTER_SALES: "service", Intent.ATTRIBUTE: "inform", Intent.COMPARE: "recommend", Intent.RECOMMEND: "recommend",
    Intent.IDENTITY: "disclosure", Intent.GREETING: "greeting", Intent.THANKS: "thanks", Intent.CHITCHAT: "chitchat",
    Intent.COMPLAINT: "complaint",
}  # fmt: skip
_ACT_OF_SEGMENT: dict[SegmentKind, str] = {
    SegmentKind.PRICE: "price", SegmentKind.CTA: "call", SegmentKind.QA: "question", SegmentKind.TRANSITION: "bridge",
    SegmentKind.ANNOUNCEMENT: "disclosure", SegmentKind.BREAK: "chitchat",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Occasion:
    """What an utterance is for: its act and where in the show (:mod:`gpu_engine.motion.affect`)."""

    act: str
    setting: str = "answer"


def script_occasion(kind: SegmentKind, text: str, *, begins: bool) -> Occasion:
    """Of a sentence of the script; ``begins``: its segment starts with it."""
    act = _ACT_OF_SEGMENT.get(kind, "inform")
    if kind is SegmentKind.OPENING and begins:
        act = "greeting"
    elif act == "inform" and text.rstrip().endswith(("?", "？")):
        act = "question"
    return Occasion(act, str(kind))


def answer_occasion(intent: Intent, behaviour: str) -> Occasion:
    """Of an answer; one that states nothing declines, unless it is about a complaint."""
    if intent is Intent.COMPLAINT:
        return Occasion("complaint")
    return Occasion("decline" if behaviour != "answer" else _ACT_OF_INTENT.get(intent, "decline"))


class ChatMood:
    """What the chat has been about lately, and how busy it is. Constant memory, constant time a comment."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(TOPICS, 0.0)
        self._recent = 0.0
        self._at_ms = 0

    def hear(self, intent: Intent, at_ms: int) -> None:
        """A comment was understood."""
        self._pass_to(at_ms)
        self._recent += 1.0
        topic = _TOPIC.get(intent)
        if topic is None:
            return
        keep = math.exp(-1.0 / MEMORY_COMMENTS)
        for name in self._counts:
            self._counts[name] *= keep
        self._counts[topic] += 1.0

    def now(self, at_ms: int) -> tuple[dict[str, float], float]:
        """Shares by topic (empty before the first comment) and activity in [0, 1]."""
        self._pass_to(at_ms)
        total = sum(self._counts.values())
        shares = {name: count / total for name, count in self._counts.items()} if total > 0.05 else {}
        return shares, min(1.0, math.log1p(self._recent) / math.log1p(BUSY_PER_MINUTE))

    def _pass_to(self, at_ms: int) -> None:
        self._recent *= math.exp(-max(0, at_ms - self._at_ms) / MEMORY_MS)
        self._at_ms = max(self._at_ms, at_ms)


class Feeling:
    """One per session. ``clock_ms``: the time comments and utterances happen at."""

    def __init__(self, clock_ms: Callable[[], int], gate: Gate | None = None) -> None:
        self.chat = ChatMood()
        self._clock_ms = clock_ms
        self._gate = gate or load_gate()
        self._usual = UsualVoice()

    def listen(self, intent: Intent) -> None:
        """A viewer's comment was understood."""
        self.chat.hear(intent, self._clock_ms())

    def before(self, text: str, occasion: Occasion) -> Fusion:
        """The emotion of an utterance that is not spoken yet."""
        return self._fuse(text, occasion, voice_features(None))

    def after(self, text: str, occasion: Occasion, lang: Lang, ear: Ear) -> Fusion | None:
        """The emotion with the clause that ``ear`` has just heard; ``None`` when there was no voice in it."""
        heard = ear.clause()
        if heard is None:
            return None
        return self._fuse(text, occasion, voice_features(self._usual.sketch(heard, lang)))

    def _fuse(self, text: str, occasion: Occasion, voice: tuple[float, ...]) -> Fusion:
        chat, activity = self.chat.now(self._clock_ms())
        return self._gate.fuse(text_features(text, occasion.act), voice, context_features(occasion.setting, chat, activity))


def report(fusion: Fusion) -> dict[str, float]:
    """An ``emotion_gate`` event's figures: the three weights and the emotion."""
    weights = {name: round(w, 3) for name, w in zip(SOURCES, fusion.weights, strict=True)}
    felt = fusion.emotion
    return {**weights, "valence": felt.valence, "arousal": felt.arousal, "dominance": felt.dominance}
