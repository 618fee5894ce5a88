"""Public identifiers: a prefix that names the kind of thing, then 100 random bits."""

from __future__ import annotations

import secrets

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base32 in lower case: no i, l, o, u, so an id read aloud survives."""

RANDOM_CHARS = 20
MAX_LENGTH = 32


def new_id(prefix: str) -> str:
    """A fresh id such as ``ses_7k2m…`` (``prefix``, underscore, 20 base32 characters)."""
    return f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARS))
