"""Secrets an embedded installation makes for itself, kept in ``var/secrets`` with mode 0600."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path


def read_or_create(file: Path, make: Callable[[], str] = lambda: secrets.token_urlsafe(48)) -> str:
    """The secret in ``file``; made by ``make`` when there is none yet.

    Several processes may start at once: exactly one of their values wins and all read that one.
    """
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mine = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(make())
        stream.flush()
        os.fsync(stream.fileno())
    try:
        os.link(mine, file)
    except FileExistsError:
        pass
    finally:
        mine.unlink()
    return file.read_text(encoding="utf-8")
