"""Numbers as Mandarin words."""

from __future__ import annotations

DIGITS = "零一二三四五六七八九"
_PHONE_DIGITS = "零幺二三四五六七八九"
_GROUPS = ("", "万", "亿", "万亿", "亿亿")
_MAX_DIGITS = 16


def spell_digits(digits: str, *, phone: bool = False) -> str:
    """Each digit on its own; ``phone`` reads 1 as 幺. Anything that is no ASCII digit is left out."""
    table = _PHONE_DIGITS if phone else DIGITS
    return "".join(table[int(d)] for d in digits if d.isascii() and d.isdigit())


def cardinal(value: int) -> str:
    """1299 -> 一千二百九十九; a leading 2 before 千, 万 and 亿 is 两; over 16 digits it is spelt digit by digit."""
    if value < 0:
        return "负" + cardinal(-value)
    if value < 10:
        return DIGITS[value]
    text = str(value)
    if len(text) > _MAX_DIGITS:
        return spell_digits(text)
    groups: list[int] = []
    rest = value
    while rest:
        groups.append(rest % 10_000)
        rest //= 10_000
    out = ""
    gap = False
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        if not group:
            gap = bool(out)
            continue
        if out and (gap or group < 1000):
            out += "零"
        gap = False
        words = _group(group, leading=not out)
        if group == 2 and index and not out:
            words = "两"
        out += words + _GROUPS[index]
    return out


def _group(value: int, *, leading: bool) -> str:
    out = ""
    zero = False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // unit % 10
        if not digit:
            zero = bool(out)
            continue
        if zero:
            out += "零"
            zero = False
        if unit == 10 and digit == 1 and not out and leading:
            out += "十"
        elif unit == 1000 and digit == 2 and leading:
            out += "两千"
        else:
            out += DIGITS[digit] + name
    return out


def number(written: str, *, drop_zeros: bool = False) -> str:
    """A written number ('1,299', '19.90', '007') as words; ``drop_zeros`` forgets the zeros that end a fraction (prices).

    An integer with a leading zero is read digit by digit.
    """
    whole, _, fraction = written.replace(",", "").partition(".")
    if drop_zeros:
        fraction = fraction.rstrip("0")
    spoken = spell_digits(whole) if len(whole) > 1 and whole.startswith("0") else cardinal(int(whole or "0"))
    return spoken + ("点" + spell_digits(fraction) if fraction else "")


def counted(written: str, *, drop_zeros: bool = False) -> str:
    """A number before a measure word: 2 is 两."""
    return "两" if written == "2" else number(written, drop_zeros=drop_zeros)
