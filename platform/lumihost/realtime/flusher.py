"""The background task of a web process that writes heartbeats; started by the first message that needs it."""

from __future__ import annotations

import asyncio
import contextvars
import logging

from channels.db import database_sync_to_async
from django.db import DatabaseError

from lumihost.fleet.heartbeats import FLUSH_S, HeartbeatBook

log = logging.getLogger(__name__)


class Flusher:
    """One task per event loop; restarted if its loop is gone (tests run many loops in one process)."""

    def __init__(self) -> None:
        self.book = HeartbeatBook()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ensure_running(self) -> HeartbeatBook:
        """The book, which from now on is flushed."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._loop is not loop:
            self.book = HeartbeatBook()
            self._loop = loop
            # A context of its own: the request that happens to start it must not lend it its thread or its tenant.
            self._task = loop.create_task(self._run(self.book), context=contextvars.Context())
        return self.book

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None and self._loop is asyncio.get_running_loop():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _run(self, book: HeartbeatBook) -> None:
        while True:
            try:
                await database_sync_to_async(book.flush)()
            except DatabaseError as error:
                # What was not written is superseded within seconds; the reconciler trusts no lease while no beat is fresh.
                log.error("heartbeats not written: %s", error)
            except Exception:
                log.exception("heartbeats not written")
            await asyncio.sleep(FLUSH_S)


flusher = Flusher()
"""This process's flusher."""
