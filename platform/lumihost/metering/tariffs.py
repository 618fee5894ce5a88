"""What a billable second costs. Amounts are millionths of the currency's major unit; rounding happens once, on a total."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from django.conf import settings

from lumihost.core.money import minor_digits

DEFAULT_TARIFFS: Final[dict[str, dict[int, int]]] = {
    "CNY": {720: 3_600, 1080: 7_200},
    "USD": {720: 500, 1080: 1_000},
}
"""Currency → {rendition up to this height in pixels: micros a second}. ``settings.METERING_TARIFFS`` replaces it."""


def micros_per_second(currency: str, height_px: int) -> int:
    """Price of one second at ``height_px`` in ``currency``; the largest rendition's price also covers anything above.

    Raises:
        LookupError: no tariff for the currency.
    """
    tariffs: dict[str, dict[int, int]] = getattr(settings, "METERING_TARIFFS", DEFAULT_TARIFFS)
    steps = tariffs.get(currency)
    if not steps:
        raise LookupError(f"no tariff in {currency}: add it to METERING_TARIFFS (there are: {', '.join(sorted(tariffs))})")
    fitting = [height for height in steps if height >= height_px]
    return steps[min(fitting)] if fitting else steps[max(steps)]


def cost_minor(cost_micros: int, currency: str) -> int:
    """Micros as minor units of ``currency``, halves rounded up."""
    scaled = Decimal(cost_micros).scaleb(minor_digits(currency) - 6)
    return int(scaled.quantize(Decimal(1), rounding=ROUND_HALF_UP))
