"""Money is an integer number of minor units and an ISO 4217 code; a float never holds an amount."""

from __future__ import annotations

from decimal import Decimal

MINOR_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "ISK": 0, "BHD": 3, "JOD": 3, "KWD": 3, "OMR": 3, "TND": 3}
"""Currencies whose minor unit is not a hundredth (ISO 4217)."""

SYMBOLS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "HKD": "HK$", "TWD": "NT$", "KRW": "₩"}


def minor_digits(currency: str) -> int:
    """Decimal places of ``currency``."""
    return MINOR_DIGITS.get(currency, 2)


def to_minor(amount: Decimal, currency: str) -> int:
    """``Decimal("19.9"), "CNY"`` → 1990.

    Raises:
        ValueError: the amount is finer than the currency's minor unit; rounding a price is never silent.
    """
    scaled = amount.scaleb(minor_digits(currency))
    if scaled != scaled.to_integral_value():
        raise ValueError(f"{amount} has more decimal places than {currency} ({minor_digits(currency)})")
    return int(scaled)


def to_major(minor: int, currency: str) -> Decimal:
    """1990, "CNY" → ``Decimal("19.90")``."""
    return Decimal(minor).scaleb(-minor_digits(currency))


def render(minor: int, currency: str) -> str:
    """For people: ``¥1,299.00``."""
    return f"{SYMBOLS.get(currency, currency + ' ')}{to_major(minor, currency):,}"
