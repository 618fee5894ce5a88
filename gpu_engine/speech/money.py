"""Money: how it is written on screen and how it is said, from integer minor units or from a written amount."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from gpu_engine.speech import numbers_en, numbers_zh

Lang = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Currency:
    """Names of one currency; ``exponent`` is the number of minor digits (ISO 4217)."""

    code: str
    sign: str
    zh: str
    en: str
    minor_en: str
    exponent: int = 2


_TABLE = (
    Currency("CNY", "¥", "元", "yuan", ""),
    Currency("USD", "$", "美元", "dollar", "cent"),
    Currency("EUR", "€", "欧元", "euro", "cent"),
    Currency("GBP", "£", "英镑", "pound", "penny"),
    Currency("HKD", "HK$", "港元", "Hong Kong dollar", "cent"),
    Currency("TWD", "NT$", "新台币", "Taiwan dollar", "cent"),
    Currency("SGD", "S$", "新加坡元", "Singapore dollar", "cent"),
    Currency("AUD", "A$", "澳元", "Australian dollar", "cent"),
    Currency("CAD", "C$", "加元", "Canadian dollar", "cent"),
    Currency("JPY", "JP¥", "日元", "yen", "", 0),
    Currency("KRW", "₩", "韩元", "won", "", 0),
    Currency("INR", "₹", "卢比", "rupee", "paisa"),
    Currency("RUB", "₽", "卢布", "ruble", "kopeck"),
    Currency("THB", "฿", "泰铢", "baht", ""),
    Currency("VND", "₫", "越南盾", "dong", "", 0),
    Currency("PHP", "₱", "比索", "peso", "centavo"),
    Currency("MYR", "RM", "林吉特", "ringgit", "sen"),
    Currency("IDR", "Rp", "印尼盾", "rupiah", "", 0),
    Currency("BRL", "R$", "雷亚尔", "real", "centavo"),
)
CURRENCIES: dict[str, Currency] = {currency.code: currency for currency in _TABLE}
BY_SIGN: dict[str, Currency] = {c.sign: c for c in _TABLE} | {
    "US$": CURRENCIES["USD"],
    "CN¥": CURRENCIES["CNY"],
    "RMB": CURRENCIES["CNY"],
    "￥": CURRENCIES["CNY"],
}


class UnknownCurrency(ValueError):
    """The currency code is not in :data:`CURRENCIES`."""


def currency_of(code: str) -> Currency:
    """The currency with this ISO 4217 code.

    Raises:
        UnknownCurrency: the code is not known here.
    """
    try:
        return CURRENCIES[code.upper()]
    except KeyError:
        raise UnknownCurrency(f"currency '{code}' is not known: use one of {', '.join(sorted(CURRENCIES))}") from None


def by_sign(sign: str) -> Currency:
    """The currency behind a sign; an unlisted sign of Unicode class Sc gets its Unicode name."""
    if sign in BY_SIGN:
        return BY_SIGN[sign]
    name = unicodedata.name(sign, "currency sign").lower().removesuffix(" sign")
    return Currency("", sign, "货币单位", name, "")


def amount_text(minor: int, currency: str) -> str:
    """'1299.5' or '99': the decimal amount without grouping and without zeros that end a fraction."""
    exponent = currency_of(currency).exponent
    whole, fraction = divmod(abs(minor), 10**exponent)
    tail = f"{fraction:0{exponent}d}".rstrip("0") if exponent else ""
    return ("-" if minor < 0 else "") + f"{whole}" + (f".{tail}" if tail else "")


def write_money(minor: int, currency: str, lang: Lang) -> str:
    """The written form for captions and cards: CNY in Chinese '1299元', elsewhere sign and grouping: '$1,299.50'."""
    entry = currency_of(currency)
    if lang == "zh":
        return amount_text(minor, currency) + entry.zh
    whole, fraction = divmod(abs(minor), 10**entry.exponent)
    tail = f".{fraction:0{entry.exponent}d}" if entry.exponent and fraction else ""
    return ("-" if minor < 0 else "") + f"{entry.sign}{whole:,}{tail}"


def render_money(minor: int, currency: str, lang: Lang) -> str:
    """The spoken form: 1990 CNY -> '十九点九元' / 'nineteen point nine yuan'; 1999 USD -> 'nineteen dollars and ninety
    nine cents'."""
    entry = currency_of(currency)
    spoken = say_amount(amount_text(abs(minor), currency), entry, lang)
    return (("负" if lang == "zh" else "minus ") + spoken) if minor < 0 else spoken


def say_amount(written: str, currency: Currency, lang: Lang, *, scale: str = "") -> str:
    """A written decimal amount of ``currency`` as words; ``scale`` is a spoken multiplier ('万', 'million')."""
    if lang == "zh":
        return numbers_zh.counted(written, drop_zeros=True) + scale + currency.zh
    whole, _, fraction = written.replace(",", "").partition(".")
    if scale:
        return f"{numbers_en.number(written, drop_zeros=True)} {scale} {numbers_en.plural(currency.en)}"
    cents = fraction.rstrip("0")
    if not cents:
        return _counted(int(whole or "0"), currency.en)
    if not currency.minor_en or len(cents) > 2:
        return f"{numbers_en.number(f'{whole}.{cents}')} {numbers_en.plural(currency.en)}"
    minor = int(cents.ljust(2, "0"))
    minor_name = "pence" if currency.minor_en == "penny" and minor != 1 else currency.minor_en
    minor_words = f"{numbers_en.cardinal(minor)} pence" if minor_name == "pence" else _counted(minor, minor_name)
    if int(whole or "0") == 0:
        return minor_words
    return f"{_counted(int(whole), currency.en)} and {minor_words}"


def _counted(value: int, noun: str) -> str:
    head, _, last = noun.rpartition(" ")
    word = last if value == 1 else numbers_en.plural(last)
    return " ".join(filter(None, (numbers_en.cardinal(value), head, word)))
