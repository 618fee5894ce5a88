"""What may stand behind the host: the shipped studios, or a picture of the merchant's own."""

from __future__ import annotations

BACKDROPS = ("daylight", "boutique", "studio")
"""Shipped studios: a bright room, a warm shop in the evening, a broadcast set."""

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


def check_name(backdrop: str) -> str:
    """``backdrop`` if it names a shipped studio or looks like a picture's path.

    Raises:
        ValueError: it does neither. Whether a picture can be read is found out when the stage is set.
    """
    if backdrop in BACKDROPS or backdrop.lower().endswith(PICTURE_SUFFIXES):
        return backdrop
    raise ValueError(
        f"backdrop '{backdrop}' is unknown: use {', '.join(BACKDROPS)} or the path of a picture ({', '.join(PICTURE_SUFFIXES)})"
    )
