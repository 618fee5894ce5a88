"""The last gate: every text that is spoken or shown passes here, whoever wrote it.

In order: markup and private data are taken out; forbidden words (:mod:`gpu_engine.mind.adlaw`); every amount, percentage,
discount, stock and sales figure must be a fact of the knowledge base now; promises such as free shipping must be written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from gpu_engine.mind.adlaw import find_forbidden, find_reference_price, find_urgency
from gpu_engine.mind.facts import major, promotion_in_force
from gpu_engine.mind.quantities import Quantity, QuantityKind, find_quantities
from gpu_engine.session.spec import Knowledge, Lang, Product, Text
from gpu_engine.session.timeline import Fact


@dataclass(frozen=True, slots=True)
class Finding:
    """What the gate found: rule, word, span in the text given, and what was done ('blocked', 'redacted', 'skipped')."""

    rule: str
    word: str
    span: tuple[int, int]
    action: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """``text`` is what may be spoken (redacted) when ``allowed``."""

    allowed: bool
    text: str
    findings: tuple[Finding, ...] = ()


_PII = (
    ("phone", re.compile(r"(?<!\d)(?:\+?86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)")),
    ("id_number", re.compile(r"(?<!\d)\d{17}[\dXx](?!\d)")),
    ("email", re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")),
    ("url", re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)),
    ("contact", re.compile(r"(?:微信|weixin|wechat|vx|QQ)\s*(?:号|群)?\s*[:：]?\s*[A-Za-z0-9_-]{5,}", re.IGNORECASE)),
    ("long_number", re.compile(r"(?<![\d.,])\d{11,}(?![\d.,])")),
)
_TERMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("free_shipping", re.compile(r"包邮|免邮|免运费|免费配送|free (?:shipping|delivery)|ships? free", re.IGNORECASE)),
    ("freight_insurance", re.compile(r"运费险|freight insurance", re.IGNORECASE)),
    ("free", re.compile(r"免费送|白送|不要钱|零元购|0元购|免单|for free\b|free of charge|free gift", re.IGNORECASE)),
    ("gift", re.compile(r"买[一二两三\d]送[一二两三\d]|买就送|buy (?:one|two|\d) get", re.IGNORECASE)),
    ("price_match", re.compile(r"保价|价保|price (?:match|protection)", re.IGNORECASE)),
    ("interest_free", re.compile(r"免息|interest[- ]free", re.IGNORECASE)),
)
_SHOP_TALK = re.compile(
    r"满|包邮|运费|邮费|免邮|起送|以上|减|补差|保价|赔|over|from|above|below|under|otherwise|shipping|postage|delivery|freight|charge|fee|refund",
    re.IGNORECASE,
)
_MAX_CHARS = 600


@dataclass(slots=True)
class _Allowed:
    """What may be said about one product, or of the whole shop."""

    money: set[tuple[Decimal, str]] = field(default_factory=set)
    percent: set[Decimal] = field(default_factory=set)
    discount: set[Decimal] = field(default_factory=set)
    stock: set[Decimal] = field(default_factory=set)
    sold: set[Decimal] = field(default_factory=set)
    list_money: set[Decimal] = field(default_factory=set)
    terms: set[str] = field(default_factory=set)

    def read(self, texts: Iterable[str]) -> None:
        """Take the figures and terms merchants wrote into their own texts."""
        for text in texts:
            for quantity in find_quantities(text):
                self._add(quantity)
            self.terms.update(name for name, pattern in _TERMS if pattern.search(text))

    def _add(self, quantity: Quantity) -> None:
        match quantity.kind:
            case QuantityKind.MONEY:
                self.money.add((quantity.value, quantity.currency))
            case QuantityKind.PERCENT:
                self.percent.add(quantity.value)
            case QuantityKind.DISCOUNT:
                self.discount.add(quantity.value)
            case QuantityKind.STOCK:
                self.stock.add(quantity.value)
            case QuantityKind.SOLD:
                self.sold.add(quantity.value)

    def permits(self, quantity: Quantity) -> bool:
        """True when the figure is one of these facts (currencies must agree where the text names one)."""
        value = quantity.value
        match quantity.kind:
            case QuantityKind.MONEY:
                return any(v == value and _same_currency(quantity.currency, c) for v, c in self.money)
            case QuantityKind.PERCENT:
                return value in self.percent
            case QuantityKind.DISCOUNT:
                return value in self.discount
            case QuantityKind.STOCK:
                return value in self.stock
            case QuantityKind.SOLD:
                return value in self.sold


def _same_currency(said: str, known: str) -> bool:
    if not said or not known or said == known:
        return True
    return {said, known} <= {"¥", "CNY"} or {said, known} <= {"¥", "JPY"}


def _texts(*texts: Text) -> list[str]:
    return [t for text in texts for t in (text.zh, text.en) if t]


class Gate:
    """Checks texts against the present knowledge. Milliseconds a sentence; what may be said is worked out per version."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.update(knowledge)

    def update(self, knowledge: Knowledge) -> None:
        """Replace the facts; from here on only the new ones pass."""
        self._knowledge = knowledge
        self._shop = _Allowed()
        self._shop_texts = _texts(knowledge.shipping, knowledge.after_sales, knowledge.shop_name)
        self._shop_texts += [t for f in knowledge.faq if f.product_id is None for t in _texts(f.answer)]
        self._shop.read(self._shop_texts)
        self._products: dict[str, _Allowed] = {}
        self._promotions: dict[str, _Allowed] = {}
        self._names: list[tuple[str, str]] = []
        for product in knowledge.products:
            self._products[product.id] = self._product_facts(product, knowledge)
            if product.promotion is not None:
                promotion = _Allowed()
                promotion.read(_texts(product.promotion.text))
                self._promotions[product.id] = promotion
            names = [product.title.zh, product.title.en, *product.aliases]
            self._names.extend((name.lower(), product.id) for name in names if len(name) >= 2)

    @staticmethod
    def _product_facts(product: Product, knowledge: Knowledge) -> _Allowed:
        allowed = _Allowed()
        price = major(product.price_minor, product.currency)
        allowed.money.add((price, product.currency))
        if product.list_price_minor is not None:
            listed = major(product.list_price_minor, product.currency)
            allowed.money.add((listed, product.currency))
            allowed.list_money.add(listed)
        if product.stock is not None:
            allowed.stock.add(Decimal(product.stock))
        texts = _texts(
            product.title, product.shipping, product.after_sales, *product.selling_points, *product.attributes.values()
        )
        allowed.read([*texts, *product.aliases])
        allowed.read(t for f in knowledge.faq if f.product_id == product.id for t in _texts(f.answer))
        return allowed

    @staticmethod
    def products_of(facts: tuple[Fact, ...]) -> tuple[str, ...] | None:
        """The products some facts are about, ``None`` when they name none."""
        return tuple(dict.fromkeys(f.product_id for f in facts if f.product_id)) or None

    def check(self, text: str, *, lang: Lang, product_ids: tuple[str, ...] | None, now: datetime | None = None) -> Verdict:
        """Judge a text about ``product_ids`` (``None``: any product of the shop).

        Products named in the text count as meant. The verdict's spans are in ``text`` as given (before redaction).
        """
        now = now or datetime.now(UTC)
        findings: list[Finding] = []
        clean = self._redact(text, findings)
        if len(clean) > _MAX_CHARS:
            findings.append(Finding("too_long", clean[_MAX_CHARS : _MAX_CHARS + 10], (_MAX_CHARS, len(clean)), "blocked"))
            return Verdict(False, "", tuple(findings))
        findings += [Finding(h.rule, h.word, h.span, "blocked") for h in find_forbidden(clean)]
        scope = self._scope(clean, product_ids, now)
        for quantity in find_quantities(clean):
            if not self._is_fact(quantity, clean, scope):
                findings.append(Finding(f"unsupported_{quantity.kind}", quantity.text, quantity.span, "blocked"))
        for name, pattern in _TERMS:
            match = pattern.search(clean)
            if match is not None and not any(name in a.terms for a in scope):
                findings.append(Finding(f"unsupported_{name}", match[0], match.span(), "blocked"))
        findings += self._promises(clean, scope, product_ids, now)
        blocked = any(f.action == "blocked" for f in findings)
        return Verdict(not blocked, "" if blocked else clean, tuple(findings))

    def named(self, text: str) -> tuple[str, ...]:
        """Products whose names stand in the text."""
        return tuple(self._named(text))

    def _is_fact(self, quantity: Quantity, text: str, scope: list[_Allowed]) -> bool:
        """True for a figure of the products meant; the shop's own amounts only where shipping and the like are the talk."""
        if any(a.permits(quantity) for a in scope if a is not self._shop):
            return True
        if not self._shop.permits(quantity):
            return False
        if quantity.kind is not QuantityKind.MONEY:
            return True
        start, end = quantity.span
        quoted = text[max(0, start - 10) : end + 3]
        return any(quoted in t for t in self._shop_texts) or _SHOP_TALK.search(text[max(0, start - 14) : end + 14]) is not None

    def _redact(self, text: str, findings: list[Finding]) -> str:
        clean = text
        if "<" in clean or not clean.isprintable():
            clean = _strip_markup(clean)
        for name, pattern in _PII:
            for match in pattern.finditer(clean):
                findings.append(Finding(f"pii_{name}", match[0][:3] + "…", match.span(), "redacted"))
            clean = pattern.sub("", clean)
        return clean.strip()

    def _scope(self, text: str, product_ids: tuple[str, ...] | None, now: datetime) -> list[_Allowed]:
        ids = list(self._products if product_ids is None else dict.fromkeys([*product_ids, *self._named(text)]))
        scope = [self._shop, *(self._products[i] for i in ids if i in self._products)]
        for product_id in ids:
            product = self._knowledge.product(product_id)
            if product is not None and product_id in self._promotions and promotion_in_force(product.promotion, now):
                scope.append(self._promotions[product_id])
        return scope

    def _promises(self, text: str, scope: list[_Allowed], product_ids: tuple[str, ...] | None, now: datetime) -> list[Finding]:
        found: list[Finding] = []
        if (urgency := find_urgency(text)) is not None and not self._ending_promotion(text, product_ids, now):
            found.append(Finding(urgency.rule, urgency.word, urgency.span, "blocked"))
        if (reference := find_reference_price(text)) is not None:
            said = [
                q.value
                for q in find_quantities(text)
                if q.kind is QuantityKind.MONEY and 0 <= q.span[0] - reference.span[1] <= 6
            ]
            declared = {v for a in scope for v in a.list_money}
            if any(v not in declared for v in said):
                found.append(Finding(reference.rule, reference.word, reference.span, "blocked"))
        return found

    def _ending_promotion(self, text: str, product_ids: tuple[str, ...] | None, now: datetime) -> bool:
        """Whether a product that is meant or named has a promotion in force that ends."""
        products = [self._knowledge.product(i) for i in (*(product_ids or ()), *self._named(text))]
        return any(
            p is not None and p.promotion is not None and bool(p.promotion.ends_at) and promotion_in_force(p.promotion, now)
            for p in products
        )

    def _named(self, text: str) -> list[str]:
        lower = text.lower()
        return [product_id for name, product_id in self._names if name in lower]


_MARKUP = re.compile(r"<!--.*?(?:-->|$)|</?[a-zA-Z!?][^<>]{0,300}>", re.DOTALL)


def _strip_markup(text: str) -> str:
    without = _MARKUP.sub(" ", text)
    return "".join(c if c.isprintable() else " " for c in without)
