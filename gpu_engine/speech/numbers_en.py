"""Numbers as English words, without hyphens (the front end reads single words best)."""

from __future__ import annotations

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = ("", "thousand", "million", "billion", "trillion", "quadrillion")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip


def spell_digits(digits: str) -> str:
    """Each digit on its own: '100' -> 'one zero zero'."""
    return " ".join(_ONES[int(d)] for d in digits if d.isascii() and d.isdigit())


def cardinal(value: int) -> str:
    """1299 -> 'one thousand two hundred ninety nine'; over 18 digits it is spelt digit by digit."""
    if value < 0:
        return "minus " + cardinal(-value)
    if value < 20:
        return _ONES[value]
    if value >= 10**18:
        return spell_digits(str(value))
    groups: list[str] = []
    scale = 0
    while value:
        value, group = divmod(value, 1000)
        if group:
            groups.append(" ".join(filter(None, (_group(group), _SCALES[scale]))))
        scale += 1
    return " ".join(reversed(groups))


def _group(value: int) -> str:
    words = []
    if value >= 100:
        words += [_ONES[value // 100], "hundred"]
        value %= 100
    if value >= 20:
        words.append(_TENS[value // 10])
        value %= 10
    if value:
        words.append(_ONES[value])
    return " ".join(words)


def ordinal(value: int) -> str:
    """21 -> 'twenty first'."""
    head, _, last = cardinal(value).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return f"{head} {last}".strip()


def year(value: int) -> str:
    """2025 -> 'twenty twenty five', 2007 -> 'two thousand seven', 1900 -> 'nineteen hundred'."""
    high, low = divmod(value, 100)
    if high % 10 == 0 and low < 10:
        return cardinal(value)
    if low == 0:
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low < 10 else ''}{cardinal(low)}"


def number(written: str, *, drop_zeros: bool = False) -> str:
    """A written number ('1,299', '19.90', '007') as words; an integer with a leading zero is spelt."""
    whole, _, fraction = written.replace(",", "").partition(".")
    if drop_zeros:
        fraction = fraction.rstrip("0")
    spoken = spell_digits(whole) if len(whole) > 1 and whole.startswith("0") else cardinal(int(whole or "0"))
    return spoken + (f" point {spell_digits(fraction)}" if fraction else "")


def plural(noun: str) -> str:
    """'ounce' -> 'ounces', 'inch' -> 'inches', 'foot' -> 'feet'; units that never change stay."""
    irregular = {"foot": "feet", "hertz": "hertz", "yuan": "yuan", "yen": "yen", "won": "won", "baht": "baht", "dong": "dong"}
    head, _, tail = noun.partition(" ")
    if head in irregular:
        head = irregular[head]
    elif head in ("degree",):
        head += "s"
    elif head.endswith(("hertz", "watts", "K", "G")):
        pass
    elif head.endswith(("ch", "sh", "s", "x")):
        head += "es"
    else:
        head += "s"
    return f"{head} {tail}".strip()
