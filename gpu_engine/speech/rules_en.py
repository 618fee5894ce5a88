"""Reading rules for English sentences, first match wins."""

from __future__ import annotations

import re

from gpu_engine.speech import money, numbers_en
from gpu_engine.speech.rules import EDGE, NUM, SHOUTED, SIGN, SIGNS, Rule, after, before, rule, valid_date
from gpu_engine.speech.units import UNITS_EN, alternation

_number = numbers_en.number
_digits = numbers_en.spell_digits
_cardinal = numbers_en.cardinal
_UNIT = rf"(?:{alternation(UNITS_EN)})(?![A-Za-z])"
_TO = r"\s?(?:-|~|—|to)\s?"
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH_RE = r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"  # noqa: E501
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|by|year|of|from|until|till|before|after|©|summer|winter|spring|fall|autumn)\s$", re.IGNORECASE
)
_YEAR_AFTER = re.compile(r"\s(?:new|model|edition|collection|version|season|release|design|style)", re.IGNORECASE)
_ID_BEFORE = re.compile(
    r"\b(?:order|order (?:no|number|id)|code|coupon|id|model|sku|pin|tracking(?: number)?|serial|part|zip|room|flight|phone|call|hotline|at)[.:#\s]*$",  # noqa: E501
    re.IGNORECASE,
)
_SCALES = {
    "k": "thousand",
    "K": "thousand",
    "M": "million",
    "m": "million",
    "B": "billion",
    "bn": "billion",
    "million": "million",
    "billion": "billion",
}
_SCALE_RE = r"(?P<scale>\s?(?:million|billion)|(?:k|K|M|B|bn|m))?(?![A-Za-z])"


def _money(m: re.Match[str]) -> str:
    currency = money.by_sign(m["sign"])
    scale = _SCALES.get((m["scale"] or "").strip(), "")
    negative = "minus " if m["neg"] else ""
    if m["b"]:
        low = _number(m["a"], drop_zeros=True)
        return f"{negative}{low} to {money.say_amount(m['b'], currency, 'en', scale=scale)}"
    return negative + money.say_amount(m["a"], currency, "en", scale=scale)


def _money_behind(m: re.Match[str]) -> str:
    return money.say_amount(m["a"], money.by_sign(m["sign"]), "en")


def _money_code(m: re.Match[str]) -> str:
    code = m["code1"] or m["code2"]
    return money.say_amount(m["a"] or m["b"], money.currency_of("CNY" if code == "RMB" else code), "en")


def _percent(m: re.Match[str]) -> str:
    out = ("minus " if m["neg"] else "") + _number(m["a"])
    return f"{out}{' to ' + _number(m['b']) if m['b'] else ''} percent"


def _quantity(m: re.Match[str]) -> str | None:
    # '5 in 1', '2 in stock', '3 A items': these letters are a unit only when they touch the number.
    if m["unit"] in ("in", "A", "s", "h") and m["blank"]:
        return None
    unit = UNITS_EN[m["unit"]]
    last = m["b"] or m["a"]
    noun = unit if (last == "1" and not m["b"]) or m["dash"] else numbers_en.plural(unit)
    out = ("minus " if m["neg"] else "") + _number(m["a"])
    return f"{out}{' to ' + _number(m['b']) if m['b'] else ''} {noun}"


def _time(m: re.Match[str]) -> str | None:
    hour, minute = int(m["h"]), int(m["m"])
    if hour > 24 or minute > 59:
        return None
    suffix = f" {m['ap'][0].lower()} m" if m["ap"] else ""
    if minute == 0:
        return _cardinal(hour) + (suffix or " o'clock")
    return f"{_cardinal(hour)} {'oh ' if minute < 10 else ''}{_cardinal(minute)}{suffix}"


def _hour(m: re.Match[str]) -> str:
    return f"{_number(m['h'])} {m['ap'][0].lower()} m"


def _iso_date(m: re.Match[str]) -> str | None:
    if not valid_date(m["m"], m["d"]):
        return None
    return f"{_MONTHS[int(m['m']) - 1]} {numbers_en.ordinal(int(m['d']))} {numbers_en.year(int(m['y']))}"


def _us_date(m: re.Match[str]) -> str | None:
    if not valid_date(m["m"], m["d"]):
        return None
    return f"{_MONTHS[int(m['m']) - 1]} {numbers_en.ordinal(int(m['d']))} {numbers_en.year(int(m['y']))}"


def _named_date(m: re.Match[str]) -> str | None:
    month = next(name for name in _MONTHS if name.startswith(m["month"][:3]))
    if not 1 <= int(m["d"]) <= 31:
        return None
    return f"{month} {numbers_en.ordinal(int(m['d']))}" + (f" {numbers_en.year(int(m['y']))}" if m["y"] else "")


def _slash(m: re.Match[str]) -> str:
    a, b = int(m["a"]), int(m["b"])
    simple = {(1, 2): "one half", (1, 4): "one quarter", (3, 4): "three quarters"}
    if (a, b) in simple:
        return simple[(a, b)]
    if 0 < a < b <= 20 and before(m, 4).strip() not in ("on", "by"):
        return f"{_cardinal(a)} {numbers_en.ordinal(b)}{'s' if a > 1 else ''}"
    if valid_date(m["a"], m["b"]) and (a, b) != (24, 7):
        return f"{_MONTHS[a - 1]} {numbers_en.ordinal(b)}"
    return f"{_cardinal(a)} {_cardinal(b)}"


def _phone(m: re.Match[str]) -> str:
    groups = [_digits(part) for part in re.split(r"\D+", m.group()) if part]
    return ("plus " if m.group().startswith("+") else "") + ", ".join(groups)


def _identifier(m: re.Match[str]) -> str | None:
    return _phone(m) if _ID_BEFORE.search(before(m, 20)) else None


def _code(m: re.Match[str]) -> str:
    letters, digits, tail = m["letters"].rstrip("-"), m["digits"], m["tail"] or ""
    spoken = _digits(digits) if len(digits) >= 3 or digits.startswith("0") else _number(digits)
    return f"{letters} {spoken}" + (f" point {_digits(tail[1:])}" if tail else "")


def _model(m: re.Match[str]) -> str | None:
    return None if m["word"] in SHOUTED else f"{m['word']} {_digits(m['n'])}"


def _lines(m: re.Match[str]) -> str:
    return {"1080": "ten eighty", "720": "seven twenty", "1440": "fourteen forty", "2160": "twenty one sixty"}[m["n"]] + " p"


def _range(m: re.Match[str]) -> str:
    return f"{_number(m['a'])} to {_number(m['b'])}"


def _decade(m: re.Match[str]) -> str:
    value = m.group()[:-1].rstrip("'")
    words = numbers_en.year(int(value)) if len(value) == 4 else _cardinal(int(value))
    return words.removesuffix("y") + "ies" if words.endswith("y") else words + "s"


def _plain(m: re.Match[str]) -> str:
    written = m["n"]
    bare = written.replace(",", "")
    negative = "minus " if m["neg"] else ""
    plus = " plus" if m["plus"] else ""
    if "." not in bare and len(bare) >= 11:
        return negative + _digits(bare) + plus
    if re.fullmatch(r"(?:19|20)\d\d", written) and (_YEAR_BEFORE.search(before(m, 8)) or _YEAR_AFTER.match(after(m, 12))):
        return numbers_en.year(int(written)) + plus
    return negative + _number(written) + plus


def _scaled(m: re.Match[str]) -> str:
    return f"{_number(m['n'])} {_SCALES[m['scale']]}{' plus' if m['plus'] else ''}"


RULES: tuple[Rule, ...] = (
    rule(EDGE + r"(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d.])", _iso_date),
    rule(EDGE + r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>(?:19|20)\d\d)(?!\d)", _us_date),
    rule(
        r"(?<![A-Za-z])" + _MONTH_RE + r"\s(?P<d>\d{1,2})(?:st|nd|rd|th)?(?:,?\s(?P<y>(?:19|20)\d\d)(?!\d))?(?![\d.,:]\d)",
        _named_date,
    ),
    rule(r"(?<![\d:])(?P<h>\d{1,2}):(?P<m>\d{2})(?![\d:])(?:\s?(?P<ap>[AaPp]\.?[Mm])\b\.?)?", _time),
    rule(EDGE + r"(?P<h>1[0-2]|[1-9])\s?(?P<ap>[AaPp]\.?[Mm])(?![A-Za-z])\.?", _hour),
    rule(EDGE + r"(?P<a>\d+):(?P<b>\d+)(?!\d)", lambda m: f"{_number(m['a'])} to {_number(m['b'])}"),
    rule(
        r"(?<![\d.])\+?\d{1,3}[- ]\(?\d{3}\)?[- ]\d{3}[- ]\d{4}(?!\d)|(?<![\d.])\(?\d{3}\)?[- ]\d{3}[- ]\d{4}(?!\d)|(?<![\d.])1[3-9]\d{9}(?!\d)",  # noqa: E501
        _phone,
    ),
    rule(EDGE + r"\d{3,}(?:[- ]\d{3,})*(?![\d.,%])", _identifier),
    rule(r"(?P<neg>(?<![\dA-Za-z])-)?" + EDGE + rf"(?P<a>{NUM})(?:%?{_TO}(?P<b>{NUM}))?\s?%", _percent),
    rule(rf"(?P<neg>(?<!\d)-)?(?P<sign>{SIGNS})\s?(?P<a>{NUM})(?:{_TO}{SIGNS}?\s?(?P<b>{NUM}))?" + _SCALE_RE, _money),
    rule(rf"(?P<neg>(?<!\d)-)?(?P<sign>{SIGNS})\s?(?P<a>{NUM})(?P<b>)(?P<scale>)", _money),
    rule(EDGE + rf"(?P<a>{NUM})\s?(?P<sign>{SIGN})(?!\s?\d)", _money_behind),
    rule(
        rf"(?<![A-Za-z])(?:(?P<code1>USD|CNY|RMB|EUR|GBP|JPY|HKD|SGD|AUD|CAD)\s?(?P<a>{NUM})|{EDGE}(?P<b>{NUM})\s?(?P<code2>USD|CNY|RMB|EUR|GBP|JPY|HKD|SGD|AUD|CAD)(?![A-Za-z]))",
        _money_code,
    ),
    rule(
        EDGE + rf"(?P<b>{NUM})\s?(?P<code2>USD|CNY|RMB|EUR|GBP|JPY|HKD|SGD|AUD|CAD)(?![A-Za-z])(?P<a>)(?P<code1>)", _money_code
    ),
    rule(EDGE + r"(?:(?:19|20)\d0'?|(?<=')\d0)s(?![A-Za-z])", _decade),
    rule(EDGE + r"(?P<n>1080|720|1440|2160)[pP](?![A-Za-z])", _lines),
    rule(
        r"(?P<neg>(?<![\dA-Za-z])-)?"
        + EDGE
        + rf"(?P<a>{NUM})(?:{_TO}-?(?P<b>{NUM}))?(?P<dash>-)?(?P<blank>\s?)(?P<unit>{_UNIT})(?!')",
        _quantity,
    ),
    rule(
        EDGE + r"(?P<n>\d+(?:\.\d+)?)(?P<scale>k|K|M|B|bn)(?![A-Za-z])(?P<plus>\+)?",
        lambda m: None if m["n"] in ("2", "4", "5", "8") and m["scale"] == "K" else _scaled(m),
    ),
    rule(EDGE + r"(?P<n>\d+)(?:st|nd|rd|th)(?![A-Za-z])", lambda m: numbers_en.ordinal(int(m["n"]))),
    rule(EDGE + r"(?P<a>\d{1,2})/(?P<b>\d{1,3})(?![\d/])", _slash),
    rule(EDGE + r"\d+(?:\.\d+){2,}", lambda m: " point ".join(_number(p) for p in m.group().split("."))),
    rule(
        r"(?<=[\dA-Za-z])\s?[*×]\s?(?=\d)|(?<=\d)\s?[xX]\s?(?=\d)", lambda m: " by " if m.group().strip() in "xX" else " times "
    ),
    rule(EDGE + rf"(?P<a>{NUM})(?:-|~|—)(?P<b>{NUM})(?![\d/])", _range),
    rule(
        r"(?<![A-Za-z])SPF\s?(?P<n>\d+)(?P<plus>\+)?",
        lambda m: f"SPF {_number(m['n'])}{' plus' if m['plus'] else ''}",
        re.IGNORECASE,
    ),
    rule(r"(?<![A-Za-z])PA(?P<plus>\++)", lambda m: f"PA{' plus' * len(m['plus'])}"),
    rule(
        r"(?<![A-Za-z])(?:No\.?\s?|#)(?P<n>\d+)(?![\d.])",
        lambda m: f"number {_number(m['n']) if len(m['n']) < 4 else _digits(m['n'])}",
        re.IGNORECASE,
    ),
    rule(r"(?P<letters>(?<![A-Za-z])[A-Za-z]+-?)(?P<digits>\d+)(?P<tail>\.\d+)?(?![\d,.]\d)", _code),
    rule(r"(?<![A-Za-z])(?P<word>[A-Z]{2,5})\s(?P<n>\d{3,5})(?![\d.,:%-])", _model),
    rule(r"(?P<neg>(?<![\dA-Za-z])-)?" + EDGE + rf"(?P<n>{NUM})(?P<plus>\+(?!\d))?", _plain),
    rule(
        r"(?<=[\d\w])/(?=(?:bottle|box|pack|piece|month|year|day|hour|person|night|week|pair|set|kg|oz|lb|mo|yr)\b)",
        lambda m: " per ",
    ),
)

SYMBOLS: dict[str, str] = {
    "%": " percent ", "‰": " per mille ", "℃": " degrees Celsius ", "℉": " degrees Fahrenheit ", "°": " degrees ",
    "×": " times ", "÷": " divided by ",
    "=": " equals ", "&": " and ", "±": " plus or minus ", "≥": " at least ", "≤": " at most ", "≈": " about ",
    "²": " squared ", "³": " cubed ",
    "㎡": " square meters ", "μ": " micro ", "/": ", ", "|": ", ", "→": ", ", "+": " plus ", "@": " at ", "~": "",
    "*": "", "#": "", "^": "", "_": " ",
    "\\": " ", "<": "", ">": "", "[": ", ", "]": ", ", "{": ", ", "}": ", ", "`": "", "·": " ", "，": ", ", "。": ". ",
    "！": "! ", "？": "? ",
    "：": ": ", "；": "; ", "、": ", ", "（": " (", "）": ") ",
}  # fmt: skip
