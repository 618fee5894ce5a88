# ruff: noqa: E501 - patterns read better on long lines
"""Grounded answers: an understanding in, a sentence made of typed facts (each cited) out. It invents nothing.

Prices, stock and promotions come from :class:`Product` fields; descriptions from attributes, selling points and FAQ answers
as the merchant wrote them. What is not there is said to be unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gpu_engine.mind import lexicon
from gpu_engine.mind.attributes import attribute_name, resolve_attribute
from gpu_engine.mind.facts import list_price_fact, price_fact, promotion_in_force, short_title, stock_fact
from gpu_engine.mind.intent import Intent, Understanding, find_attributes
from gpu_engine.mind.lines import Wordings
from gpu_engine.mind.recommend import Recommender
from gpu_engine.mind.retrieval import KnowledgeIndex, Match
from gpu_engine.mind.wordings import PHRASES
from gpu_engine.session.spec import Knowledge, Lang, Product, Text
from gpu_engine.session.timeline import Emotion, Fact

NEUTRAL = Emotion()
Behaviour = Literal["answer", "check_with_shop", "decline"]
MAX_VALUE_CHARS = 140
MAX_VALUE_CHARS_EN = 280
FAQ_SURE = 0.55
FAQ_OWN = 0.3
FAQ_LIKELY = 0.42
MARGIN_SURE = 0.02
MARGIN_LIKELY = 0.006

_EMOTIONS: dict[Intent, Emotion] = {
    Intent.COMPLAINT: Emotion(-0.1, 0.0, 0.2),
    Intent.AFTER_SALES: Emotion(0.05, 0.0, 0.2),
    Intent.GREETING: Emotion(0.7, 0.5, 0.2),
    Intent.THANKS: Emotion(0.7, 0.3, 0.2),
    Intent.CHITCHAT: Emotion(0.6, 0.4, 0.2),
    Intent.PROMOTION: Emotion(0.6, 0.5, 0.4),
    Intent.PRICE: Emotion(0.55, 0.4, 0.4),
}
_SOCIAL = frozenset({Intent.GREETING, Intent.THANKS, Intent.CHITCHAT})
_SHIPPING_QUESTIONS: dict[Lang, tuple[str, ...]] = {
    "zh": ("包邮吗", "什么时候发货", "发什么快递"),
    "en": ("is shipping free", "when do you ship"),
}
_LIST_PRICE = re.compile(
    r"原价|划线价|标价|吊牌价|original price|list price|before the discount|was it before|usual price|regular price"
)
_ORDER = re.compile(
    r"查.{0,6}(?:订单|物流|快递)|(?:订单|物流|快递).{0,6}(?:查|到哪|状态|不动|没更新|停)|(?:我的|帮我).{0,6}订单|"
    r"track(?:ing)?\b|(?:status|where).{0,12}my (?:order|package|parcel)|my order"
)
_TROUBLE = re.compile(
    r"坏了|坏的|裂|断了|掉了|生锈|不好用|上次买|买回|用了.{0,6}就|有问题|破|碎|漏|少发|发错|少了|缺件|用不了|不能用|开不了|不亮|不工作|"
    r"没反应|瑕疵|划痕|开线|脱线|还没|没收到|几天了|催|订单|broken|broke|damaged|defect|doesn'?t work|not working|stopped|missing|"
    r"wrong|leak|crack|haven'?t|hasn'?t|not (?:arrived|received)|never|my (?:package|parcel)|faulty"
)


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """What to say and on what ground.

    ``behaviour``: 'answer' states facts or replies to small talk, 'check_with_shop' says that it will check and states no
    value, 'decline' is a polite line without facts. ``needs_human``: a person of the shop must follow up.
    """

    text: str
    lang: Lang
    intent: Intent
    facts: tuple[Fact, ...] = ()
    product_ids: tuple[str, ...] = ()
    emotion: Emotion = NEUTRAL
    interrupts: bool = True
    behaviour: Behaviour = "answer"
    needs_human: bool = False


class Answerer:
    """Plans answers for one shop. ``update`` replaces the facts at once; the index may be shared with other readers."""

    def __init__(self, knowledge: Knowledge, index: KnowledgeIndex, *, seed: int) -> None:
        self._words = Wordings(seed)
        self.update(knowledge, index)

    def update(self, knowledge: Knowledge, index: KnowledgeIndex) -> None:
        """Answer from these facts from now on."""
        self._knowledge = knowledge
        self._index = index
        self._recommender = Recommender(knowledge)

    def safe_line(self, lang: Lang) -> str:
        """What is said instead of an answer the gate refused."""
        return PHRASES["safe"][lang][0]

    def predictable(self, product_ids: Sequence[str], lang: Lang, now: datetime) -> list[tuple[Lang, str]]:
        """What answers will probably say, likeliest first, so that their speech can be made ahead: whole answers in the
        wordings that come next, sentences without facts, and the first clauses of answers that cannot be known (such an
        answer begins at once and is made while its beginning is heard). ``product_ids``: the show's, the card's first."""
        products = [p for p in (self._knowledge.product(i) for i in product_ids) if p is not None]
        other: Lang = "en" if lang == "zh" else "zh"
        first, rest = products[:1], products[1:]

        def whole(intent: Intent, about: list[Product], wordings: int = 1, text: str = "", said: Lang = lang) -> list[str]:
            asked = Understanding(intent, text, said, folded=text, rest=text)
            plans = (self._compose(asked, tuple(about), now, ahead=n) for n in range(wordings))
            return [plan.text for plan in plans if plan is not None]

        ours = [t for p in first for t in (*whole(Intent.PRICE, [p], 2), *_leads("attribute", lang, short_title(p, lang)))]
        ours += [*_leads("faq", lang), *PHRASES["check"][lang]]
        ours += [t for p in rest for t in whole(Intent.PRICE, [p])]
        ours += whole(Intent.STOCK, first)
        ours += [t for q in _SHIPPING_QUESTIONS[lang] for t in whole(Intent.SHIPPING, first, text=q)]
        ours += [*_leads("shipping", lang), *_leads("after_sales", lang), *PHRASES["unknown_product"][lang]]
        ours += [*whole(Intent.IDENTITY, [], 2), *whole(Intent.GREETING, [], 2), *PHRASES["which"][lang]]
        ours += [*PHRASES["complaint"][lang], *PHRASES["after_sales_trouble"][lang]]
        theirs = [
            *whole(Intent.PRICE, first, said=other),
            *_leads("faq", other),
            *whole(Intent.IDENTITY, [], said=other),
        ]
        later = [t for p in rest for t in _leads("attribute", lang, short_title(p, lang))]
        later += [t for p in rest for t in (*whole(Intent.STOCK, [p]), *whole(Intent.PRICE, [p], 2))]
        last = [t for p in rest for t in whole(Intent.PRICE, [p], said=other)]
        spoken = (
            [(lang, t) for t in ours] + [(other, t) for t in theirs] + [(lang, t) for t in later] + [(other, t) for t in last]
        )
        return list(dict.fromkeys(spoken))

    def plan(self, asked: Understanding, card_product: str | None, now: datetime) -> AnswerPlan | None:
        """The answer, or ``None`` when nothing should be said (abuse, spam, orders to the host)."""
        if asked.intent in (Intent.ABUSE, Intent.SPAM, Intent.INJECTION):
            return None
        if asked.is_noise:
            return None
        return self._compose(asked, self._targets(asked, card_product), now)

    def _targets(self, asked: Understanding, card_product: str | None) -> tuple[Product, ...]:
        found = [p for p in (self._knowledge.product(i) for i in asked.product_ids) if p is not None]
        card = self._knowledge.product(card_product) if card_product else None
        if asked.unknown_product:
            return ()
        if asked.intent is Intent.COMPARE and len(found) == 1 and card is not None and card.id != found[0].id:
            found = [card, found[0]] if asked.pointing else [found[0], card]
        elif (card is not None and len(found) > 1 and card in found and asked.intent is not Intent.COMPARE) or (
            not found and card is not None
        ):
            found = [card]
        return tuple(found[:2])

    def _compose(
        self, asked: Understanding, products: tuple[Product, ...], now: datetime, *, ahead: int | None = None
    ) -> AnswerPlan | None:
        """``ahead``: use up no wording; take the one that comes next (0), or after that (1)."""
        draft = _Draft(self._words, self._knowledge, asked, now, ahead)
        if asked.unknown_product:
            draft.check("unknown_product")
            return draft.plan()
        match asked.intent:
            case Intent.PRICE:
                self._price(draft, products)
            case Intent.STOCK:
                self._stock(draft, products)
            case Intent.PROMOTION:
                self._promotion(draft, products)
            case Intent.SHIPPING:
                self._shipping(draft, products)
            case Intent.AFTER_SALES:
                self._after_sales(draft, products)
            case Intent.COMPARE:
                self._compare(draft, products)
            case Intent.RECOMMEND:
                self._recommend(draft, products)
            case Intent.ATTRIBUTE | Intent.UNKNOWN:
                self._attribute(draft, products)
            case Intent.COMPLAINT:
                draft.say("complaint")
                draft.needs_human = True
            case Intent.IDENTITY | Intent.GREETING | Intent.THANKS | Intent.CHITCHAT:
                if asked.intent is Intent.CHITCHAT:
                    draft.decline("chitchat")
                else:
                    draft.say(str(asked.intent))
        for intent in asked.also:
            if intent is Intent.PRICE and products:
                self._price(draft, products)
            elif intent is Intent.STOCK and products:
                self._stock(draft, products)
            elif intent is Intent.SHIPPING:
                self._shipping(draft, products)
        if asked.intent in (Intent.PRICE, Intent.STOCK, Intent.SHIPPING) and asked.product_ids and products:
            for name in [n for n in find_attributes(asked.rest) if n != "selling_points"][:2]:
                self._typed_attribute(draft, products[0], name)
        return draft.plan()

    # --- by intent ----------------------------------------------------------------------------------------------------

    def _price(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        if not products:
            draft.decline("which")
            return
        for product in products:
            wants_list = _LIST_PRICE.search(draft.asked.folded) is not None
            if wants_list and product.list_price_minor is not None:
                draft.price(product, listed=True)
            else:
                draft.price(product)
            if product.stock == 0:
                draft.stock_value(product)
                draft.say("sold_out_too")
            elif len(products) == 1 and product.promotion and promotion_in_force(product.promotion, draft.now):
                draft.say("promotion_too", promotion=draft.promotion_value(product))

    def _stock(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        if not products:
            draft.decline("which")
        for product in products:
            title = draft.title(product)
            if product.stock is None:
                draft.check("stock_unknown", title=title)
            elif product.stock == 0:
                draft.stock_value(product)
                draft.say("stock_none", title=title)
            else:
                draft.say("stock", title=title, stock=draft.stock_value(product))

    def _promotion(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        if not draft.asked.product_ids and self._faq(draft, None, sure=True):
            return
        if not products:
            products = tuple(p for p in self._knowledge.products if promotion_in_force(p.promotion, draft.now))[:2]
            if not products:
                if not self._faq(draft, None, sure=True):
                    draft.say("promotion_none_shop")
                return
        for product in products:
            if promotion_in_force(product.promotion, draft.now):
                draft.say("promotion", title=draft.title(product), promotion=draft.promotion_value(product))
            elif not (len(products) == 1 and self._faq(draft, product, sure=True)):
                price = draft.fact(price_fact(product, draft.lang, draft.version))
                draft.say("promotion_none", title=draft.title(product), price=price)

    def _shipping(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        product = products[0] if products else None
        if self._faq(draft, product, sure=True):
            return
        if product is not None and draft.written("shipping", product.shipping, product, "shipping"):
            return
        if draft.written("shipping", self._knowledge.shipping, None, "shipping"):
            return
        if not self._faq(draft, product, sure=False):
            draft.check("check")

    def _after_sales(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        product = products[0] if products else None
        if _ORDER.search(draft.asked.folded):
            draft.check("order")
            draft.needs_human = True
            return
        trouble = _TROUBLE.search(draft.asked.folded) is not None
        if trouble:
            draft.say("after_sales_trouble")
            draft.needs_human = True
        if draft.asked.attribute == "warranty" and product is not None and self._typed_attribute(draft, product, "warranty"):
            return
        if self._faq(draft, product, sure=not trouble):
            return
        if product is not None and draft.written("after_sales", product.after_sales, product, "after_sales"):
            return
        if draft.written("after_sales", self._knowledge.after_sales, None, "after_sales"):
            return
        if not trouble and not self._faq(draft, product, sure=False):
            draft.check("check")

    def _compare(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        if len(products) < 2:
            if self._faq(draft, products[0] if products else None, sure=False):
                return
            draft.decline("compare_which")
            return
        one, other = products[:2]
        names = {"title": draft.title(one), "other_title": draft.title(other)}
        wanted = find_attributes(draft.asked.rest)
        price_only = not wanted or re.search(r"便宜|贵|价|cheap|expensive|price|cost", draft.asked.folded)
        if price_only:
            prices = [draft.fact(price_fact(p, draft.lang, draft.version)) for p in (one, other)]
            draft.say("compare_price", **names, price=prices[0], other_price=prices[1])
        shared = [k for k in one.attributes if k in other.attributes]
        if wanted:
            keys = [k for w in wanted for k in [resolve_attribute(one, w, "")] if k in shared]
        else:
            keys = [k for k in shared if one.attributes[k] != other.attributes[k]]
        for key in list(dict.fromkeys(k for k in keys if k))[:2]:
            draft.say(
                "compare_attribute",
                name=attribute_name(key, draft.lang),
                **names,
                value=draft.attribute_value(one, key),
                other_value=draft.attribute_value(other, key),
            )
        if not draft.sentences:
            draft.check("check")

    def _recommend(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        if self._faq(draft, None, sure=True):
            return
        named = [p for p in products if p.id in draft.asked.product_ids]
        chosen = named[0] if named else self._suits(draft.asked, products)
        if chosen is None:
            draft.decline("which")
            return
        price = draft.fact(price_fact(chosen, draft.lang, draft.version))
        point = draft.selling_point(chosen, 0)
        if point:
            draft.say("recommend", title=draft.title(chosen), value=point, price=price)
        else:
            draft.say("recommend_plain", title=draft.title(chosen), price=price)

    def _suits(self, asked: Understanding, products: tuple[Product, ...]) -> Product | None:
        """The product in stock that fits the wish best; without any sign the card's."""
        best = self._recommender.best(asked.rest or asked.folded)
        if best is not None:
            return best
        return products[0] if products else next((p for p in self._knowledge.products if p.stock != 0), None)

    def _attribute(self, draft: _Draft, products: tuple[Product, ...]) -> None:
        product = products[0] if products else None
        asked = draft.asked
        names = find_attributes(asked.rest) if asked.rest else [asked.attribute]
        if product is not None and self._faq(draft, product, sure=False, own=True):
            return
        if product is None and self._faq(draft, None, sure=True):
            return
        if product is not None:
            several = products if len(asked.product_ids) > 1 else products[:1]
            for one in several:
                for name in [n for n in names if n and n != "selling_points"][:3]:
                    self._typed_attribute(draft, one, name)
            if draft.sentences or self._typed_attribute(draft, product, ""):
                return
            if self._faq(draft, product, sure=False):
                return
            if asked.attribute == "selling_points" and self._points(draft, product):
                return
            if self._described(draft, product):
                return
        elif self._faq(draft, None, sure=False):
            return
        if product is None and asked.intent is Intent.ATTRIBUTE:
            draft.decline("which")
        elif product is not None and asked.attribute in lexicon.ATTRIBUTE_NAMES:
            zh, en = lexicon.ATTRIBUTE_NAMES[asked.attribute]
            draft.check("attribute_missing", title=draft.title(product), name=zh if draft.lang == "zh" else en)
        else:
            draft.check("check")

    def _typed_attribute(self, draft: _Draft, product: Product, name: str) -> bool:
        key = resolve_attribute(product, name, draft.asked.rest)
        if key is None:
            return False
        if f"attr:{key}" in {f.field for f in draft.facts if f.product_id == product.id}:
            return True
        told = any(f.product_id == product.id and f.field.startswith("attr:") for f in draft.facts)
        value = draft.attribute_value(product, key)
        name = attribute_name(key, draft.lang)
        if told:
            draft.say("attribute_too", name=name, value=value)
        else:
            draft.say("attribute", title=draft.title(product), name=name, value=value)
        return True

    def _points(self, draft: _Draft, product: Product) -> bool:
        points = [p for p in (draft.selling_point(product, i) for i in range(2)) if p]
        if not points:
            return False
        draft.say("points", title=draft.title(product), value=("；" if draft.lang == "zh" else "; ").join(points))
        return True

    def _described(self, draft: _Draft, product: Product) -> bool:
        """A selling point that speaks of what was asked."""
        matches = self._index.search(draft.asked.text, product_id=product.id, kinds=("selling_point",), limit=3)
        own = [m for m in matches if m.card.product_id == product.id and m.lexical >= 0.34]
        if not own:
            return False
        point = draft.selling_point(product, int(own[0].card.key))
        if not point:
            return False
        draft.say("point", title=draft.title(product), value=point)
        return True

    def _faq(self, draft: _Draft, product: Product | None, *, sure: bool, own: bool = False) -> bool:
        """Answer from the FAQ if an entry asks the same; ``own``: only entries about this product."""
        found = self._index.search(
            draft.asked.text or draft.asked.folded, product_id=product.id if product else None, kinds=("faq",)
        )
        if not draft.asked.text or not found:
            return False
        best = found[0]
        if own and (best.card.product_id is None or best.lexical < FAQ_OWN):
            return False
        if not (_is_sure(best, found) if sure else _is_likely(best)):
            return False
        entry = next(f for f in self._knowledge.faq if f.id == best.card.key)
        answer = entry.answer.in_lang(draft.lang)
        draft.facts.append(Fact(entry.product_id or "", f"faq:{entry.id}", answer, draft.version))
        draft.product_ids += [entry.product_id] if entry.product_id else []
        draft.say("faq", value=answer)
        return True


def _is_sure(best: Match, found: list[Match]) -> bool:
    runner = next((m for m in found[1:] if m.card.key != best.card.key), None)
    clear = runner is None or best.lexical - runner.lexical >= 0.1 or best.margin >= MARGIN_LIKELY
    return (best.lexical >= FAQ_SURE and clear) or (best.lexical >= FAQ_LIKELY and best.margin >= MARGIN_SURE)


def _is_likely(best: Match) -> bool:
    return best.lexical >= FAQ_LIKELY or (best.lexical >= 0.2 and best.margin >= MARGIN_SURE)


class _Draft:
    """An answer being put together: sentences and the facts they state."""

    def __init__(self, words: Wordings, knowledge: Knowledge, asked: Understanding, now: datetime, ahead: int | None) -> None:
        self._words = words
        self._ahead = ahead
        self.asked = asked
        self.lang: Lang = asked.lang
        self.version = knowledge.version
        self.now = now
        self.sentences: list[str] = []
        self.facts: list[Fact] = []
        self.product_ids: list[str] = list(asked.product_ids[:2])
        self.behaviour: Behaviour = "answer"
        self.needs_human = False

    def say(self, phrase: str, **slots: str) -> None:
        """Add a sentence of ``PHRASES``."""
        options = PHRASES[phrase][self.lang]
        key = f"{phrase}:{self.lang}:{slots.get('title', '')}"
        wording = self._words.pick(key, options) if self._ahead is None else self._words.peek(key, options, self._ahead)
        self.sentences.append(_tidy(wording.format(**slots)))

    def check(self, phrase: str, **slots: str) -> None:
        """A sentence that says the host will check with the shop."""
        self.behaviour = "check_with_shop"
        self.say(phrase, **slots)

    def decline(self, phrase: str) -> None:
        """A polite sentence without facts."""
        self.behaviour = "decline"
        self.say(phrase)

    def fact(self, fact: Fact) -> str:
        """State a fact: remembered, and its value returned."""
        self.facts.append(fact)
        if fact.product_id and fact.product_id not in self.product_ids:
            self.product_ids.append(fact.product_id)
        return fact.value

    def title(self, product: Product) -> str:
        """The product's short name."""
        return self.fact(Fact(product.id, "title", short_title(product, self.lang), self.version))

    def price(self, product: Product, *, listed: bool = False) -> None:
        """A sentence with the price (and the list price)."""
        slots = {"title": self.title(product), "price": self.fact(price_fact(product, self.lang, self.version))}
        if listed:
            self.say("price_listed", **slots, list_price=self.fact(list_price_fact(product, self.lang, self.version)))
        elif product.link_no:
            link = self.fact(Fact(product.id, "link_no", str(product.link_no), self.version))
            self.say("price_link", **slots, link=link)
        else:
            self.say("price", **slots)

    def stock_value(self, product: Product) -> str:
        """The stock count."""
        return self.fact(stock_fact(product, self.version))

    def promotion_value(self, product: Product) -> str:
        """The promotion's text (the caller has checked its window)."""
        assert product.promotion is not None
        return _clip(self.fact(Fact(product.id, "promotion", product.promotion.text.in_lang(self.lang), self.version)))

    def attribute_value(self, product: Product, key: str) -> str:
        """An attribute as written."""
        return _clip(self.fact(Fact(product.id, f"attr:{key}", product.attributes[key].in_lang(self.lang), self.version)))

    def selling_point(self, product: Product, index: int) -> str:
        """A selling point as written, '' when there is none."""
        if index >= len(product.selling_points):
            return ""
        text = product.selling_points[index].in_lang(self.lang)
        return _clip(self.fact(Fact(product.id, f"selling_point:{index}", text, self.version)))

    def written(self, phrase: str, text: Text, product: Product | None, field: str) -> bool:
        """A sentence around a text the merchant wrote; False when there is none."""
        value = text.in_lang(self.lang)
        if not value.strip():
            return False
        self.say(phrase, value=_clip(self.fact(Fact(product.id if product else "", field, value, self.version))))
        return True

    def plan(self) -> AnswerPlan | None:
        """The finished answer, ``None`` when there is nothing to say."""
        text = ("" if self.lang == "zh" else " ").join(s for s in self.sentences if s)
        if not text:
            return None
        return AnswerPlan(
            text=text,
            lang=self.lang,
            intent=self.asked.intent,
            facts=tuple(dict.fromkeys(self.facts)),
            product_ids=tuple(dict.fromkeys(self.product_ids)),
            emotion=_EMOTIONS.get(self.asked.intent, Emotion(0.45, 0.25, 0.3)),
            interrupts=self.asked.intent not in _SOCIAL,
            behaviour=self.behaviour,
            needs_human=self.needs_human,
        )


def _clip(value: str) -> str:
    """A written value fit for the middle of a sentence: no closing stop, bounded at a phrase end."""
    value = re.sub(r"\s*\n\s*", "，" if re.search(r"[\u3400-\u9fff]", value) else ", ", value.strip())
    limit = MAX_VALUE_CHARS if re.search(r"[\u3400-\u9fff]", value) else MAX_VALUE_CHARS_EN
    if len(value) > limit:
        cut = max((value.rfind(c, 0, limit) for c in "。；;，,.!！"), default=-1)
        value = value[: cut if cut > 40 else limit]
    return value.rstrip("。.；;，,!！ ")


def _leads(phrase: str, lang: Lang, title: str = "") -> list[str]:
    """The wordings of a phrase up to their first slot (but the title), where that is a clause of its own."""
    leads = (w.replace("{title}", title).partition("{")[0].strip() for w in PHRASES[phrase][lang])
    return [lead for lead in leads if lead.endswith(("，", "：", ",", ":"))]


def _tidy(text: str) -> str:
    text = re.sub(r"([，。；！？,.;!?])(?=[。！？])", "", text)
    return re.sub(r"\s+([,.;!?])", r"\1", text)
