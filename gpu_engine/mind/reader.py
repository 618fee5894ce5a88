"""A comment read against the catalogue: intent rules first, then products and attributes that exist, then the FAQ."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from gpu_engine.chat.events import has_words
from gpu_engine.mind.catalogue import Catalogue, Named
from gpu_engine.mind.intent import (
    Intent,
    Understanding,
    also_asks,
    asked_thing,
    classify,
    find_attributes,
    fold,
    is_bare_price,
    is_chitchat,
    is_hello,
    is_pointing,
    is_price_for_sure,
    is_question,
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
        if not has_words(text):
            emoji = any(unicodedata.category(c) == "So" for c in text)
            return Understanding(Intent.CHITCHAT if emoji else Intent.UNKNOWN, text)
        folded = fold(text)
        lang = language(text, folded)
        if lang == "en":
            folded = self.catalogue.correct(folded)
        intent = classify(text, folded)
        base = Understanding(intent, text, lang, folded=folded, rest=folded)
        if intent in (Intent.INJECTION, Intent.ABUSE, Intent.SPAM, Intent.IDENTITY):
            return base
        named = self.catalogue.find(folded)
        base = replace(base, product_ids=named.product_ids, pointing=is_pointing(folded), rest=named.rest)
        attributes = find_attributes(named.rest)
        if intent in (Intent.GREETING, Intent.THANKS):
            return base
        if intent is Intent.UNKNOWN:
            base = self._open_question(base, named, attributes)
        elif intent is Intent.PRICE and self._wants_what_others_sell(base, named, attributes):
            return replace(base, unknown_product=True)
        elif intent is Intent.PRICE and attributes and not is_price_for_sure(folded):
            base = replace(base, intent=Intent.ATTRIBUTE, attribute=attributes[0])
        elif intent is Intent.COMPARE:
            base = replace(base, attribute=attributes[0] if attributes else "")
        elif intent is Intent.AFTER_SALES and "warranty" in attributes:
            base = replace(base, attribute="warranty")
        if base.intent in _ABOUT_ONE:
            base = self._mark_unknown(base, named, folded)
        return replace(base, also=also_asks(named.rest, base.intent))

    def _open_question(self, base: Understanding, named: Named, attributes: list[str]) -> Understanding:
        if self._wants_what_others_sell(base, named, attributes):
            return replace(base, unknown_product=True)
        several = len(named.product_ids) == 2 and not named.partial
        amount = not attributes and "多少" in named.rest and not self.catalogue.unknown_thing(named.rest)
        if is_bare_price(named.rest) or (amount and named.product_ids):
            return replace(base, intent=Intent.PRICE)
        if attributes and attributes != ["selling_points"]:
            return replace(base, intent=Intent.COMPARE if several else Intent.ATTRIBUTE, attribute=attributes[0])
        if attributes:
            thing = self.catalogue.unknown_thing(named.rest)
            return replace(base, intent=Intent.ATTRIBUTE, attribute="" if thing else "selling_points")
        if asked_thing(base.folded):
            return replace(base, intent=Intent.STOCK) if named.product_ids else base
        if named.product_ids and (is_question(base.folded) or base.folded != named.rest):
            return replace(base, intent=Intent.ATTRIBUTE)
        if base.pointing and is_question(base.folded):
            return replace(base, intent=Intent.ATTRIBUTE)
        if is_hello(base.folded):
            return replace(base, intent=Intent.GREETING)
        if is_chitchat(base.folded):
            return replace(base, intent=Intent.CHITCHAT)
        return base

    def _wants_what_others_sell(self, base: Understanding, named: Named, attributes: list[str]) -> bool:
        """'Do you sell an iPhone': a word that elsewhere asks what a product works with is here the thing itself."""
        if named.product_ids or base.pointing or attributes[:1] != ["compatibility"]:
            return False
        return bool(self.catalogue.unknown_thing(asked_thing(base.folded), strict=True))

    def _mark_unknown(self, base: Understanding, named: Named, folded: str) -> Understanding:
        if named.missing_link:
            return replace(base, unknown_product=True)
        if named.product_ids:
            other = named.partial and base.intent in (Intent.PRICE, Intent.STOCK) and self.catalogue.unknown_thing(named.rest)
            return replace(base, product_ids=(), unknown_product=True) if other else base
        if base.intent in (Intent.COMPARE, Intent.RECOMMEND, Intent.SHIPPING, Intent.PROMOTION):
            return base
        thing = asked_thing(folded)
        if thing and base.intent is Intent.UNKNOWN and not base.pointing:
            unknown = not self.catalogue.knows(thing) and self.catalogue.unknown_thing(thing)
            return replace(base, unknown_product=True) if unknown else base
        if base.pointing or base.intent not in (Intent.PRICE, Intent.STOCK):
            return base
        return replace(base, unknown_product=True) if self.catalogue.unknown_thing(named.rest, strict=True) else base
