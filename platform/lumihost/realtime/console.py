"""The console's socket: ``/ws/console/{tenant_id}/``."""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar

from channels.db import database_sync_to_async

from lumihost.live import selectors
from lumihost.realtime.conflate import Conflator
from lumihost.realtime.groups import session_group, tenant_group
from lumihost.telemetry.snapshots import snapshots
from tenants.channels import TenantConsumer
from tenants.roles import Permission

CLOSE_MALFORMED = 4400
CLOSE_SLOW_READER = 4408
SEND_TIMEOUT_S = 10.0
_MAX_WATCHED = 20
_MAX_MESSAGE_BYTES = 16_384


class ConsoleConsumer(TenantConsumer):
    """Shows a member the sessions it asked for. Everything goes out through one sender task, so order is kept."""

    permission: ClassVar[Permission] = Permission.SESSIONS_VIEW
    send_timeout_s: ClassVar[float] = SEND_TIMEOUT_S

    _sender: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket. A server that stops cancels this without a disconnect: the sender ends with it all the same."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._end_sender()

    async def opened(self) -> None:
        """Join the tenant's group and start the sender."""
        self._watched: set[str] = set()
        self._joined: list[str] = []
        self._waiting = Conflator()
        self._wake = asyncio.Event()
        await self._join(tenant_group())
        self._sender = asyncio.create_task(self._send_due())
        self._queue({"type": "welcome"})

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:
        """Close; a member shown the door gets nothing more even if the client never answers the close."""
        await super().close(code=code, reason=reason)
        await self._leave()

    async def disconnect(self, code: int) -> None:
        """The client is gone."""
        await self._leave()

    async def _join(self, group: str) -> None:
        self._joined.append(group)
        await self.channel_layer.group_add(group, self.channel_name)

    async def _leave(self) -> None:
        """Leave every group and end the sender; may be called again."""
        if self._sender is None:
            return
        joined, self._joined = self._joined, []
        await self._end_sender()
        for group in joined:
            await self.channel_layer.group_discard(group, self.channel_name)

    async def _end_sender(self) -> None:
        """It is kept after its end: one that closes the socket itself may still wait for the client when the server stops."""
        sender = self._sender
        if sender is not None and sender is not asyncio.current_task():
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Refuse what is not a small JSON text before it is parsed."""
        if text_data is None or len(text_data) > _MAX_MESSAGE_BYTES:
            await self.close(code=CLOSE_MALFORMED)
            return
        try:
            content = await self.decode_json(text_data)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            await self.close(code=CLOSE_MALFORMED)
            return
        await self.receive_json(content)

    async def receive_json(self, content: dict[str, Any], **kwargs: Any) -> None:
        """Client messages: ``hello`` and ``ping``; others are answered with an error, the socket stays."""
        match content.get("type"):
            case "ping":
                self._queue({"type": "pong"})
            case "hello":
                await self._hello(content.get("session"), content.get("after_seq", 0))
            case other:
                self._queue({"type": "error", "code": "unknown_type", "detail": f"no message type {str(other)[:40]!r}"})

    async def _hello(self, session_id: object, after_seq: object) -> None:
        if session_id is None:
            return
        if not isinstance(session_id, str) or not isinstance(after_seq, int) or isinstance(after_seq, bool):
            self._queue({"type": "error", "code": "malformed", "detail": "session is a text, after_seq a whole number"})
            return
        if session_id not in self._watched and len(self._watched) >= _MAX_WATCHED:
            self._queue({"type": "error", "code": "too_many", "detail": f"one socket watches up to {_MAX_WATCHED} sessions"})
            return
        # The group first, the past second: what happens in between arrives twice and is told apart by seq, never lost.
        group = session_group(session_id)
        found = await database_sync_to_async(_session_json)(session_id)
        if found is None:
            self._queue({"type": "error", "code": "not_found", "detail": f"there is no session '{session_id[:40]}'"})
            return
        if session_id not in self._watched:
            self._watched.add(session_id)
            await self._join(group)
        events = await database_sync_to_async(_events)(session_id, after_seq)
        self._queue({"type": "session", "session": found})
        for event in events:
            self._queue(event)
        snapshot = snapshots.get(session_id)
        if snapshot is not None:
            self._waiting.snapshot(snapshot.as_dict(session_id))
        self._wake.set()

    # --- from groups ----------------------------------------------------------------------------------------------------

    async def session_snapshot(self, message: dict[str, Any]) -> None:
        """Newest figures of a watched session."""
        self._waiting.snapshot(message["content"])
        self._wake.set()

    async def session_event(self, message: dict[str, Any]) -> None:
        """Something happened in a watched session."""
        self._queue(message["content"])

    async def session_changed(self, message: dict[str, Any]) -> None:
        """A session of the tenant changed state."""
        self._queue({"type": "session", "session": message["content"]})

    # --- sending --------------------------------------------------------------------------------------------------------

    def _queue(self, message: dict[str, Any]) -> None:
        self._waiting.event(message)
        self._wake.set()

    async def _send_due(self) -> None:
        while True:
            self._wake.clear()
            for message in self._waiting.due(time.monotonic()):
                try:
                    async with asyncio.timeout(self.send_timeout_s):
                        await self.send_json(message)
                except TimeoutError:
                    await self.close(code=CLOSE_SLOW_READER)
                    return
            try:
                async with asyncio.timeout(self._waiting.wait_s(time.monotonic())):
                    await self._wake.wait()
            except TimeoutError:
                continue


def _session_json(session_id: str) -> dict[str, Any] | None:
    session = selectors.sessions().filter(pk=session_id).first()
    return selectors.session_json(session) if session is not None else None


def _events(session_id: str, after_seq: int) -> list[dict[str, Any]]:
    return [{"type": "event", **selectors.event_json(event)} for event in selectors.events_after(session_id, after_seq)]
