"""A comment read against the catalogue: intent rules first, then products and attributes that exist, then the FAQ."""

from __future__ import annotations

from dataclasses import replace

from gpu_engine.mind.catalogue import Catalogue, Named
from gpu_engine.mind.intent import (
    Intent,
    Understanding,
    asked_thing,
    classify,
    find_attributes,
    fold,
    is_chitchat,
    is_pointing,
    language,
)
from gpu_engine.session.spec import Knowledge

_ABOUT_ONE = frozenset(
    {
        Intent.PRICE,
        Intent.STOCK,
        Intent.PROMOTION,
        Intent.ATTRIBUTE,
        Intent.SHIPPING,
        Intent.COMPARE,
        Intent.RECOMMEND,
        Intent.UNKNOWN,
    }
)


class Reader:
    """Understands comments for one knowledge version."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.catalogue = Catalogue(knowledge)

    def __call__(self, text: str, card_product: str | None) -> Understanding:
        """Read a cleaned comment. Never raises; what it cannot place is ``Intent.UNKNOWN``."""
        folded = fold(text)
        lang = language(text, folded)
        if lang == "en":
            folded = self.catalogue.correct(folded)
        intent = classify(text, folded)
        base = Understanding(intent, text, lang, folded=folded)
        if intent in (Intent.INJECTION, Intent.ABUSE, Intent.SPAM, Intent.IDENTITY):
            return base
        named = self.catalogue.find(folded)
        base = replace(base, product_ids=named.product_ids, pointing=is_pointing(folded), rest=named.rest)
        attributes = find_attributes(named.rest)
        if intent in (Intent.GREETING, Intent.THANKS):
            return base
        if intent is Intent.UNKNOWN:
            base = self._open_question(base, named, attributes)
        elif intent is Intent.PRICE and "capacity" in attributes and lang == "en" and "hold" in folded:
            base = replace(base, intent=Intent.ATTRIBUTE, attribute="capacity")
        elif intent is Intent.COMPARE:
            base = replace(base, attribute=attributes[0] if attributes else "")
        elif intent is Intent.AFTER_SALES and "warranty" in attributes:
            base = replace(base, attribute="warranty")
        if base.intent in _ABOUT_ONE:
            base = self._mark_unknown(base, named, folded)
        return base

    def _open_question(self, base: Understanding, named: Named, attributes: list[str]) -> Understanding:
        if attributes:
            return replace(base, intent=Intent.ATTRIBUTE, attribute=attributes[0])
        thing = asked_thing(base.folded)
        if thing:
            if named.product_ids:
                return replace(base, intent=Intent.STOCK)
            return base
        if is_chitchat(base.folded) and not named.product_ids:
            return replace(base, intent=Intent.CHITCHAT)
        return base

    def _mark_unknown(self, base: Understanding, named: Named, folded: str) -> Understanding:
        if named.product_ids:
            return base
        if named.missing_link:
            return replace(base, unknown_product=True)
        if base.intent in (Intent.COMPARE, Intent.RECOMMEND, Intent.SHIPPING, Intent.PROMOTION):
            return base
        thing = asked_thing(folded)
        if thing and base.intent is Intent.UNKNOWN and not self.catalogue.knows(thing) and not base.pointing:
            if self.catalogue.unknown_thing(thing):
                return replace(base, unknown_product=True)
            return base
        if base.pointing or base.intent is Intent.UNKNOWN:
            return base
        if self.catalogue.unknown_thing(named.rest):
            return replace(base, unknown_product=True)
        return base
