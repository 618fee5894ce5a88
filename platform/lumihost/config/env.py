"""Typed environment variables: read in settings only, wrong values refused by name."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


def text(name: str, default: str | None = None) -> str:
    """The variable as text.

    Raises:
        ImproperlyConfigured: it is not set and has no default.
    """
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"environment variable {name} is not set and is needed by these settings")
    return value


def flag(name: str, default: bool) -> bool:
    """The variable as true (1, true, yes, on) or false (0, false, no, off, empty)."""
    value = os.environ.get(name)
    if value is None:
        return default
    lowered = value.strip().lower()
    if lowered in TRUE:
        return True
    if lowered in FALSE:
        return False
    raise ImproperlyConfigured(f"environment variable {name}={value!r} is neither true nor false: use 1 or 0")


def number(name: str, default: int, *, minimum: int = 0) -> int:
    """The variable as an integer of at least ``minimum``."""
    value = os.environ.get(name)
    if value is None:
        return default
    try:
        parsed = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"environment variable {name}={value!r} is not a whole number") from None
    if parsed < minimum:
        raise ImproperlyConfigured(f"environment variable {name}={parsed} is below {minimum}")
    return parsed


def path(name: str, default: Path) -> Path:
    """The variable as an absolute path."""
    value = os.environ.get(name)
    return (Path(value).expanduser() if value else default).resolve()


def words(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """The variable as a list, split at commas."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [word.strip() for word in value.split(",") if word.strip()]
