"""Make raw text readable before its numbers are read: markup, links, emoji, control characters, width variants.

Every cleaned character keeps the index of the written character it came from.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

_TAG_NAMES = (
    "a|abbr|b|big|blockquote|body|br|button|center|code|div|em|font|form|h[1-6]|head|hr|html|i|iframe|img|input|li|link|mark|meta|ol|p|pre|"
    "s|script|small|span|strong|style|sub|sup|table|tbody|td|th|tr|u|ul|video"
)
_ATTRIBUTE = r"""\s+[A-Za-z:_-]+(?:\s*=\s*(?:"[^"<>]{0,500}"|'[^'<>]{0,500}'|[^\s"'<>=]{1,500}))?"""
_TAG = re.compile(rf"</?(?:{_TAG_NAMES})(?:{_ATTRIBUTE}){{0,20}}\s*/?>|<!--.{{0,500}}?-->", re.IGNORECASE | re.ASCII)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_URL = re.compile(r"(?:https?://|www\.)[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", re.IGNORECASE)
_KEPT_WIDE = "，。！？：；（）、"
_QUOTES = {"‘": "'", "’": "'", "＇": "'", "′": "'", "“": '"', "”": '"', "″": '"'}
_DASHES = "‐‑‒–—―−－─"
_TILDES = "～〜∼˜"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """``text`` and, for each of its characters, the written index it stands for."""

    text: str
    origin: tuple[int, ...]


def clean(written: str, *, link_word: str) -> Cleaned:
    """Drop what cannot be said, unify what can; a web address becomes ``link_word``."""
    out: list[str] = []
    origin: list[int] = []

    def put(text: str, index: int) -> None:
        out.append(text)
        origin.extend([index] * len(text))

    position = 0
    while position < len(written):
        char = written[position]
        if char == "<" and (tag := _TAG.match(written, position)):
            put(" ", position)
            position = tag.end()
            continue
        if char == "&" and (entity := _ENTITY.match(written, position)):
            meaning = html.unescape(entity.group())
            if meaning != entity.group():
                for inner in meaning:
                    put(_one(inner), position)
                position = entity.end()
                continue
        if char in "hHwW" and (url := _URL.match(written, position)):
            put(f" {link_word} ", position)
            position = url.end()
            continue
        put(_one(char), position)
        position += 1
    return Cleaned("".join(out), tuple(origin))


def _one(char: str) -> str:
    """The speakable form of one written character, possibly empty."""
    if char.isascii():
        return char if char.isprintable() else " "
    if char in _KEPT_WIDE or "\u4e00" <= char <= "\u9fff":
        return char
    if char == "〇":
        return "零"
    if char in _QUOTES:
        return _QUOTES[char]
    if char in _DASHES:
        return "-" if char not in "—―─" else "—"
    if char in _TILDES:
        return "~"
    if char in "￥¥":
        return "¥"
    if char == "\u20e3" or "\ufe00" <= char <= "\ufe0f":
        return ""
    category = unicodedata.category(char)
    if category[0] in "CM":
        return " " if category == "Cc" else ""
    if char in "℃℉㎡²³°±×÷≥≤≈μ‰…·→":
        return {"²": "²", "³": "³"}.get(char, char)
    if category[0] == "N":
        digit = unicodedata.digit(char, None)
        return str(digit) if digit is not None else unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    if category == "Sc":
        return unicodedata.normalize("NFKC", char)
    if category in ("So", "Sk"):
        folded = unicodedata.normalize("NFKC", char)
        return folded if folded != char and any(c.isalnum() for c in folded) else " "
    return unicodedata.normalize("NFKC", char)
