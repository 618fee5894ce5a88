"""The neutral event of every comment source, and how text from strangers is made harmless."""

from __future__ import annotations

import html
import re
import unicodedata
from enum import StrEnum

import msgspec

MAX_TEXT_CHARS = 200
_RAW_CHARS = 2_000
"""Nothing beyond this is even looked at."""


class ChatKind(StrEnum):
    """What happened in the room."""

    COMMENT = "comment"
    SUPER_CHAT = "super_chat"
    GIFT = "gift"
    FOLLOW = "follow"
    ENTER = "enter"
    LIKE = "like"
    ORDER = "order"
    DELETE = "delete"


class Role(StrEnum):
    """What the platform says about a viewer."""

    BUYER = "buyer"
    MEMBER = "member"
    MODERATOR = "mod"


class ChatEvent(msgspec.Struct, frozen=True):
    """One event. Only ``id`` and, for comments, ``text`` matter; every other field may be missing at the source.

    ``at_ms``: Unix time in milliseconds at the platform, ``None`` when it does not say. ``target_id``: for deletions.
    ``own``: posted by the host's own account. Money is integer minor units.
    """

    id: str
    kind: ChatKind = ChatKind.COMMENT
    text: str = ""
    user: str = ""
    user_id: str = ""
    source: str = ""
    at_ms: int | None = None
    roles: tuple[Role, ...] = ()
    own: bool = False
    target_id: str = ""
    paid_minor: int = 0
    currency: str = "CNY"

    @property
    def viewer(self) -> str:
        """Who this is for fairness: the platform's id, else the name, within the source."""
        return f"{self.source}:{self.user_id or self.user}"


_INVISIBLE = {"Cf", "Cc", "Co", "Cn", "Cs"}
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]{0,300}>")
_SPACES = re.compile(r"\s+")
_REPEAT = re.compile(r"(.)\1{3,}", re.DOTALL)
_REPEAT_WORD = re.compile(r"(.{2,8}?)\1{3,}", re.DOTALL)


def clean_text(text: str) -> str:
    """Untrusted text made plain: NFKC, no markup, no control, zero-width or bidi characters, no long repeats, ≤ 200 chars."""
    text = unicodedata.normalize("NFKC", text[:_RAW_CHARS])
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", _COMMENT.sub(" ", text))
    if not text.isascii() or not text.isprintable():
        text = "".join(
            c if c not in "\n\r\t" else " " for c in text if c in "\n\r\t" or unicodedata.category(c) not in _INVISIBLE
        )
    text = _SPACES.sub(" ", text).strip()
    text = _REPEAT_WORD.sub(r"\1\1", _REPEAT.sub(r"\1\1\1", text))
    return text[:MAX_TEXT_CHARS].strip()


def has_words(text: str) -> bool:
    """True when there is something to read: a letter, an ideograph or a digit."""
    return any(c.isalnum() for c in text)
