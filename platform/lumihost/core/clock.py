"""The wall clock, replaceable in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from django.utils import timezone

_source: ContextVar[Callable[[], datetime]] = ContextVar("clock", default=timezone.now)


def now() -> datetime:
    """The present instant, aware, in UTC."""
    return _source.get()()


@contextmanager
def running(source: Callable[[], datetime]) -> Iterator[None]:
    """Let ``source`` give the time within the block."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)
