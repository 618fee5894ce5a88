"""One cell → one typed value. Nothing is guessed: what is not clearly an amount, a number or a date is an error."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

from lumihost.core.money import minor_digits, to_minor
from lumihost.knowledge.importers.report import CellError
from lumihost.knowledge.importers.table import Cell, Formula, SheetError

MAX_MINOR = 10**12
"""Ten thousand million yuan: beyond it a price is a slip."""
MAX_COUNT = 2**31 - 1
FLOAT_NOISE = Decimal("1e-6")
"""``100*0.29`` is 28.999999999999996 in a spreadsheet; what differs less than this from a price is that price."""

CURRENCIES = frozenset(
    [
        "CNY",
        "USD",
        "EUR",
        "GBP",
        "JPY",
        "KRW",
        "HKD",
        "TWD",
        "MOP",
        "SGD",
        "MYR",
        "THB",
        "VND",
        "PHP",
        "IDR",
        "INR",
        "AUD",
        "NZD",
        "CAD",
        "CHF",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "BRL",
        "MXN",
        "AED",
        "SAR",
        "TRY",
        "ZAR",
        "KWD",
    ]
)
CURRENCY_WORDS = {
    "人民币": "CNY",
    "rmb": "CNY",
    "元": "CNY",
    "美元": "USD",
    "港币": "HKD",
    "欧元": "EUR",
    "英镑": "GBP",
    "日元": "JPY",
}
SYMBOLS: dict[str, frozenset[str]] = {
    "¥": frozenset({"CNY", "JPY"}),
    "元": frozenset({"CNY", "TWD", "HKD", "MOP"}),
    "圆": frozenset({"CNY"}),
    "块": frozenset({"CNY"}),
    "块钱": frozenset({"CNY"}),
    "yuan": frozenset({"CNY"}),
    "rmb": frozenset({"CNY"}),
    "人民币": frozenset({"CNY"}),
    "$": frozenset({"USD", "HKD", "TWD", "SGD", "AUD", "NZD", "CAD", "MXN"}),
    "us$": frozenset({"USD"}),
    "hk$": frozenset({"HKD"}),
    "nt$": frozenset({"TWD"}),
    "€": frozenset({"EUR"}),
    "£": frozenset({"GBP"}),
    "₩": frozenset({"KRW"}),
}
_UNIT = "|".join(sorted((re.escape(s) for s in SYMBOLS), key=len, reverse=True)) + "|[a-z]{3}"
MONEY = re.compile(
    rf"(?P<before>{_UNIT})?\s*(?P<sign>[-−])?\s*(?P<before2>{_UNIT})?\s*"
    r"(?P<number>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<fraction>\d+))?\s*"
    rf"(?P<after>{_UNIT})?\s*(?P<note>包邮|/件|每件)?",
    re.IGNORECASE,
)
COUNT = re.compile(r"(?P<sign>[-−])?(?P<number>\d{1,3}(?:,\d{3})+|\d+)(?:\.0+)?")
DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?")
FORMULA_TEXT = re.compile(r"\s*(?:[=@]|[+\-][A-Za-z]+[(|])")
MARKUP = re.compile(r"<[A-Za-z/!?]|&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);")
BLOCKS = frozenset(
    ["p", "br", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article"]
)
SILENT = frozenset({"script", "style", "template", "iframe", "object", "noscript"})
LIST_SEPARATOR = re.compile(r"[|；;\n]")


def raw_text(cell: Cell) -> str:
    """The cell as the merchant sees it."""
    if cell is None:
        return ""
    if isinstance(cell, Formula | SheetError):
        return cell.text
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and math.isfinite(cell) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


def present(cell: Cell) -> bool:
    """Whether something stands in the cell.

    Raises:
        CellError: it holds a formula without a value, or an error value.
    """
    if isinstance(cell, Formula):
        raise CellError("uncalculated_formula")
    if isinstance(cell, SheetError):
        raise CellError("formula_error")
    return raw_text(cell).strip() != ""


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.removed = False
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.removed = True
        if tag in SILENT:
            self._silent += 1
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.removed = True
        if tag in SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.removed = True

    def handle_decl(self, decl: str) -> None:
        self.removed = True

    def handle_pi(self, data: str) -> None:
        self.removed = True

    def unknown_decl(self, data: str) -> None:
        self.removed = True


def plain(text: str) -> tuple[str, bool]:
    """``text`` without markup (scripts and comments with their content) and control characters; lines kept.

    Returns:
        The text, and whether markup was removed.
    """
    removed = False
    if MARKUP.search(text):
        parser = _Text()
        parser.feed(text)
        parser.close()
        text, removed = "".join(parser.parts), parser.removed
    text = "".join(ch for ch in text if ch == "\n" or ch == "\t" or unicodedata.category(ch) not in ("Cc", "Cs", "Co", "Cn"))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line), removed


def text_value(cell: Cell, *, most: int) -> tuple[str, bool]:
    """A text of at most ``most`` characters on one line, and whether markup was removed from it."""
    text, removed = _lines(cell, most)
    return " ".join(text.split("\n")), removed


def list_value(cell: Cell, *, most: int, each: int) -> tuple[list[str], bool]:
    """Entries separated by ``|``, ``；``, ``;`` or line breaks, at most ``most`` of at most ``each`` characters."""
    text, removed = _lines(cell, most * (each + 1))
    entries = [entry.strip() for entry in LIST_SEPARATOR.split(text)]
    entries = [entry for entry in entries if entry]
    if len(entries) > most:
        raise CellError("too_many", hint_zh=f"最多 {most} 条", hint_en=f"at most {most}")
    if any(len(entry) > each for entry in entries):
        raise CellError("too_long", hint_zh=f"每条最多 {each} 字", hint_en=f"at most {each} characters each")
    return entries, removed


def _lines(cell: Cell, most: int) -> tuple[str, bool]:
    if not present(cell):
        return "", False
    raw = raw_text(cell)
    if isinstance(cell, str) and FORMULA_TEXT.match(raw):
        raise CellError("formula_text")
    text, removed = plain(raw)
    if len(text) > most:
        raise CellError("too_long", hint_zh=f"最多 {most} 字", hint_en=f"at most {most} characters")
    return text, removed


def sku_value(cell: Cell, *, most: int) -> str:
    """A SKU exactly as written: ``00123`` and ``1E5`` stay text, a number cell 4501 is ``4501``."""
    text, _ = text_value(cell, most=most)
    if not text:
        raise CellError("missing")
    return text


def currency_value(cell: Cell, default: str) -> str:
    """An ISO 4217 code; blank means ``default``."""
    if not present(cell):
        return default
    text = unicodedata.normalize("NFKC", raw_text(cell)).strip()
    code = CURRENCY_WORDS.get(text.lower(), text.upper())
    if code not in CURRENCIES:
        raise CellError("unknown_currency")
    return code


def money_value(cell: Cell, currency: str) -> tuple[int | None, bool]:
    """An amount in minor units of ``currency``, ``None`` when blank; and whether a note such as 包邮 was dropped.

    Raises:
        CellError: ``negative``, ``too_large``, ``currency_mismatch`` or ``not_an_amount`` (a range, a word, a date, more
            decimal places than the currency has).
    """
    if not present(cell):
        return None, False
    if isinstance(cell, bool | date | datetime):
        raise CellError("not_an_amount")
    note = False
    if isinstance(cell, int | float):
        amount = _amount_of_number(cell, currency)
    else:
        match = MONEY.fullmatch(unicodedata.normalize("NFKC", raw_text(cell)).strip())
        if match is None:
            raise CellError("not_an_amount")
        for unit in (match["before"], match["before2"], match["after"]):
            _check_unit(unit, currency)
        note = match["note"] == "包邮"
        if match["fraction"] and len(match["fraction"]) > minor_digits(currency):
            raise CellError("not_an_amount", hint_zh="小数位过多", hint_en="too many decimal places")
        amount = Decimal(match["number"].replace(",", "") + "." + (match["fraction"] or "0"))
        if match["sign"]:
            amount = -amount
    if amount < 0:
        raise CellError("negative")
    if amount > MAX_MINOR:
        raise CellError("too_large")
    minor = to_minor(amount, currency)
    if minor > MAX_MINOR:
        raise CellError("too_large")
    return minor, note


def _amount_of_number(value: int | float, currency: str) -> Decimal:
    try:
        exact = Decimal(repr(value))
        if not exact.is_finite():
            raise CellError("not_an_amount")
        if abs(exact) > MAX_MINOR:
            raise CellError("negative" if exact < 0 else "too_large")
        rounded = exact.quantize(Decimal(1).scaleb(-minor_digits(currency)))
    except InvalidOperation:
        raise CellError("not_an_amount") from None
    if abs(exact - rounded) > FLOAT_NOISE:
        raise CellError("not_an_amount", hint_zh="小数位过多", hint_en="too many decimal places")
    return rounded


def _check_unit(unit: str | None, currency: str) -> None:
    if not unit:
        return
    fits = SYMBOLS.get(unit.lower())
    if fits is None:
        if unit.upper() not in CURRENCIES:
            raise CellError("not_an_amount")
        fits = frozenset({unit.upper()})
    if currency not in fits:
        raise CellError("currency_mismatch", hint_zh=f"{unit} 与 {currency}", hint_en=f"{unit} and {currency}")


def count_value(cell: Cell) -> int | None:
    """A whole number of at least 0; ``None`` when blank (not known, never 0)."""
    if not present(cell):
        return None
    if isinstance(cell, bool | date | datetime):
        raise CellError("not_a_whole_number")
    if isinstance(cell, float) and not cell.is_integer():
        raise CellError("not_a_whole_number")
    match = COUNT.fullmatch(unicodedata.normalize("NFKC", raw_text(cell)).strip())
    if match is None:
        raise CellError("not_a_whole_number")
    value = int(match["number"].replace(",", ""))
    if match["sign"] and value:
        raise CellError("negative")
    if value > MAX_COUNT:
        raise CellError("too_large")
    return value


def instant_value(cell: Cell, zone: ZoneInfo, *, end: bool) -> datetime | None:
    """An instant in UTC. A date without a time is 00:00:00 in the shop's zone, or 23:59:59 where it ends something."""
    if not present(cell):
        return None
    if isinstance(cell, datetime):
        moment: datetime | date = cell.date() if cell.time() == time() else cell
    elif isinstance(cell, date):
        moment = cell
    elif isinstance(cell, str):
        moment = _parsed(unicodedata.normalize("NFKC", cell).strip())
    else:
        raise CellError("not_a_date")
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(23, 59, 59) if end else time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)


def _parsed(text: str) -> datetime | date:
    try:
        match = DATE.fullmatch(text)
        if match:
            return date(int(match[1]), int(match[2]), int(match[3]))
        head = DATE.match(text)
        if head:
            text = f"{int(head[1]):04}-{int(head[2]):02}-{int(head[3]):02}" + text[head.end() :]
        return datetime.fromisoformat(text)
    except ValueError:
        raise CellError("not_a_date") from None
