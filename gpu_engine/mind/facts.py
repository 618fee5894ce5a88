"""Typed values of a product, rendered as the text a host may say or show.

Money never comes from free text: it is written here from integer minor units, and nowhere else.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

from gpu_engine.session.spec import Knowledge, Lang, Product, Promotion
from gpu_engine.session.timeline import Card, Fact

_MINOR_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0}
_SYMBOL = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "HKD": "HK$", "SGD": "S$"}
_NAME_ZH = {"CNY": "元", "USD": "美元", "EUR": "欧元", "GBP": "英镑", "JPY": "日元", "HKD": "港元", "SGD": "新加坡元"}
_NAME_EN = {"CNY": "yuan", "JPY": "yen"}
_PLACEHOLDER = re.compile(r"\{(price|list_price|stock|title|link_no)\}")
_DOUBLED_UNIT = re.compile(r"(元|yuan)\s*(?:元|块钱|块|yuan)")
_DOUBLED_SYMBOL = re.compile(r"[¥￥]\s*(?=[\d,.]+\s*(?:元|yuan))")


class MissingFact(LookupError):
    """A line asks for a value the product does not have; the sentence must not be spoken."""


def minor_digits(currency: str) -> int:
    """Decimal places of a currency's minor unit (2 unless known to differ)."""
    return _MINOR_DIGITS.get(currency, 2)


def major(minor: int, currency: str) -> Decimal:
    """Minor units as an exact amount in major units, e.g. (1990, 'CNY') -> 19.9."""
    return Decimal(minor).scaleb(-minor_digits(currency)).normalize()


def number_text(value: Decimal, *, grouped: bool = False) -> str:
    """'79', '19.9', '1299' (or '1,299' when grouped); never an exponent, never trailing zeros."""
    text = f"{value:,f}" if grouped else f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money_text(minor: int, currency: str, lang: Lang) -> str:
    """The spoken and captioned form: '19.9元', '79 yuan', '$19.99'."""
    value = major(minor, currency)
    if lang == "zh":
        return f"{number_text(value)}{_NAME_ZH.get(currency, currency)}"
    if currency in _NAME_EN:
        return f"{number_text(value)} {_NAME_EN[currency]}"
    return _with_symbol(value, currency)


def money_label(minor: int, currency: str) -> str:
    """The form on the product card: '¥1,299', '$19.99'."""
    return _with_symbol(major(minor, currency), currency)


def _with_symbol(value: Decimal, currency: str) -> str:
    digits = minor_digits(currency)
    whole = value == value.to_integral_value()
    text = number_text(value, grouped=True) if whole or currency == "CNY" else f"{value:,.{digits}f}"
    return f"{_SYMBOL.get(currency, currency + ' ')}{text}"


def promotion_in_force(promotion: Promotion | None, now: datetime) -> bool:
    """True inside the window; a bound that cannot be read counts as closed (never promise what may be over)."""
    if promotion is None or not (promotion.text.zh or promotion.text.en):
        return False
    try:
        starts = _instant(promotion.starts_at)
        ends = _instant(promotion.ends_at)
    except ValueError:
        return False
    return (starts is None or starts <= now) and (ends is None or now < ends)


def _instant(text: str | None) -> datetime | None:
    if not text:
        return None
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def price_fact(product: Product, lang: Lang, version: int) -> Fact:
    """The price as it will be written in ``lang``."""
    return Fact(product.id, "price", money_text(product.price_minor, product.currency, lang), version)


def list_price_fact(product: Product, lang: Lang, version: int) -> Fact:
    """The crossed-out price.

    Raises:
        MissingFact: the product has none.
    """
    if product.list_price_minor is None:
        raise MissingFact(f"product '{product.id}' has no list price: clear {{list_price}} from the line or set it")
    return Fact(product.id, "list_price", money_text(product.list_price_minor, product.currency, lang), version)


def stock_fact(product: Product, version: int) -> Fact:
    """The stock count.

    Raises:
        MissingFact: the stock is not known.
    """
    if product.stock is None:
        raise MissingFact(f"product '{product.id}' has no stock figure: clear {{stock}} from the line or set it")
    return Fact(product.id, "stock", str(product.stock), version)


def short_title(product: Product, lang: Lang) -> str:
    """The title without bracketed remarks, as a person would name the product."""
    title = product.title.in_lang(lang)
    short = re.sub(r"[【\[(（][^】\])）]*[】\])）]", "", title).strip()
    return short or title


def fill_line(text: str, lang: Lang, product: Product | None, version: int) -> tuple[str, tuple[Fact, ...]]:
    """Fill a line's placeholders from its product; the facts are those the text now states.

    Raises:
        MissingFact: a placeholder has no value now (no product, no stock figure, no list price, no link number).
    """
    facts: dict[str, Fact] = {}

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if product is None:
            raise MissingFact(f"{{{name}}} is used in a segment without a product: set the segment's product")
        match name:
            case "price":
                fact = price_fact(product, lang, version)
            case "list_price":
                fact = list_price_fact(product, lang, version)
            case "stock":
                fact = stock_fact(product, version)
            case "title":
                fact = Fact(product.id, "title", short_title(product, lang), version)
            case _:
                if not product.link_no:
                    raise MissingFact(f"product '{product.id}' has no link number: clear {{link_no}} or set it")
                fact = Fact(product.id, "link_no", str(product.link_no), version)
        facts[name] = fact
        return fact.value

    filled = _PLACEHOLDER.sub(value, text)
    if facts:
        filled = _DOUBLED_SYMBOL.sub("", _DOUBLED_UNIT.sub(r"\1", filled))
    return filled, tuple(facts.values())


def current_value(fact: Fact, knowledge: Knowledge, lang: Lang, now: datetime) -> str | None:
    """What ``fact`` would read from ``knowledge``, or ``None`` if it no longer exists."""
    kind, _, key = fact.field.partition(":")
    if kind == "faq":
        entry = next((f for f in knowledge.faq if f.id == key), None)
        return entry.answer.in_lang(lang) if entry else None
    if not fact.product_id:
        text = {"shipping": knowledge.shipping, "after_sales": knowledge.after_sales, "shop_name": knowledge.shop_name}.get(
            kind
        )
        return text.in_lang(lang) if text else None
    product = knowledge.product(fact.product_id)
    if product is None:
        return None
    match kind:
        case "price":
            return money_text(product.price_minor, product.currency, lang)
        case "list_price":
            listed = product.list_price_minor
            return None if listed is None else money_text(listed, product.currency, lang)
        case "stock":
            return None if product.stock is None else str(product.stock)
        case "title":
            return short_title(product, lang)
        case "link_no":
            return str(product.link_no) if product.link_no else None
        case "attr":
            value = product.attributes.get(key)
            return value.in_lang(lang) if value else None
        case "promotion":
            promotion = product.promotion
            return promotion.text.in_lang(lang) if promotion and promotion_in_force(promotion, now) else None
        case "shipping":
            return (product.shipping.in_lang(lang)) or None
        case "after_sales":
            return (product.after_sales.in_lang(lang)) or None
        case "selling_point":
            index = int(key)
            return product.selling_points[index].in_lang(lang) if index < len(product.selling_points) else None
    return None


def product_card(product: Product | None, lang: Lang, now: datetime) -> Card:
    """The card of a product with its prices rendered; an empty card hides it."""
    if product is None:
        return Card()
    note = ""
    if product.stock == 0:
        note = "已售罄" if lang == "zh" else "Sold out"
    elif product.promotion is not None and promotion_in_force(product.promotion, now):
        note = product.promotion.text.in_lang(lang)
    listed = product.list_price_minor
    return Card(
        product_id=product.id,
        title=short_title(product, lang),
        price=money_label(product.price_minor, product.currency),
        list_price=money_label(listed, product.currency) if listed is not None and listed > product.price_minor else "",
        note=note,
        link_no=product.link_no,
        image=product.image or "",
    )
