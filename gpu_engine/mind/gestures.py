"""What the hands are asked to do with a text: greet at the opening, thank, show the card when it is new or named, count."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_engine.mind.intent import Intent
from gpu_engine.session.spec import Lang, SegmentKind
from gpu_engine.session.timeline import Card, Gesture, GestureKind

MS_PER_CHAR: dict[Lang, float] = {"zh": 205.0, "en": 66.0}
"""Measured over the shipped voices; the body moves the hand to the stressed word nearest to the estimate."""
SETTLE_MS = 250
"""Nobody waves on the very first sound."""

_THANKS = re.compile(r"谢谢|感谢|多谢|thank(?:s| you)|appreciate it", re.IGNORECASE)
_COUNTING = re.compile(
    r"第一[，,、是点个]|首先|[两三四]个(?:理由|原因|优点|好处|特点)|[三四]点|"
    r"first(?:ly)?,|(?:two|three|four) (?:reasons|things)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[¥$€£]\s?\d|\d[\d,.]*\s?(?:元|块|yuan|dollars)", re.IGNORECASE)


class GestureCues:
    """One per session: it remembers which product's card was shown last."""

    def __init__(self) -> None:
        self._shown = ""

    def script(
        self, kind: SegmentKind, text: str, lang: Lang, *, begins: bool, card: Card | None, named: Sequence[str] = ()
    ) -> tuple[Gesture, ...]:
        """Of a sentence of the script; ``begins``: its segment starts with it. ``named``: how the card's product is called."""
        if not text:
            return ()
        if kind is SegmentKind.OPENING and begins:
            self._card_is_new(card)
            return (Gesture(GestureKind.GREET, SETTLE_MS),)
        return self._with(text, lang, card, named, amounts=kind in (SegmentKind.PRICE, SegmentKind.CTA))

    def answer(
        self, intent: Intent, text: str, lang: Lang, *, card: Card | None, named: Sequence[str] = ()
    ) -> tuple[Gesture, ...]:
        """Of an answer to a comment."""
        if intent is Intent.GREETING:
            return (Gesture(GestureKind.GREET, SETTLE_MS),)
        if intent is Intent.THANKS:
            return (Gesture(GestureKind.THANK, SETTLE_MS),)
        return self._with(text, lang, card, named, amounts=intent in (Intent.PRICE, Intent.PROMOTION))

    def _with(self, text: str, lang: Lang, card: Card | None, named: Sequence[str], *, amounts: bool) -> tuple[Gesture, ...]:
        if found := _THANKS.search(text):
            return (Gesture(GestureKind.THANK, self._ms(found.start(), lang)),)
        if self._card_is_new(card):
            return (Gesture(GestureKind.POINT, SETTLE_MS + 350),)
        if found := _COUNTING.search(text):
            return (Gesture(GestureKind.COUNT, self._ms(found.start(), lang)),)
        if not self._shown:
            return ()
        if amounts and (found := _AMOUNT.search(text)):
            return (Gesture(GestureKind.POINT, self._ms(found.start(), lang)),)
        places = [text.find(name) for name in named if name and name in text]
        return (Gesture(GestureKind.POINT, self._ms(min(places), lang)),) if places else ()

    def _card_is_new(self, card: Card | None) -> bool:
        if card is None:
            return False
        new = bool(card.product_id) and card.product_id != self._shown
        self._shown = card.product_id
        return new

    @staticmethod
    def _ms(place: int, lang: Lang) -> int:
        return SETTLE_MS + int(place * MS_PER_CHAR[lang])
