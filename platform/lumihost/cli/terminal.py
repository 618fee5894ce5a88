"""Lines for people: coloured where the terminal wants it."""

from __future__ import annotations

import os
import sys

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "grey": 90, "bold": 1}
NAME_WIDTH = 10


def coloured(text: str, colour: str) -> str:
    """``text`` in ``colour``, unless output is no terminal or NO_COLOR is set (https://no-color.org)."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def say(text: str, *, colour: str | None = None) -> None:
    """One line on standard output, at once."""
    sys.stdout.write((coloured(text, colour) if colour else text) + "\n")
    sys.stdout.flush()


def say_as(name: str, text: str, colour: str) -> None:
    """One line of a child's log."""
    say(f"{coloured(name.ljust(NAME_WIDTH), colour)} {text}")


def complain(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
