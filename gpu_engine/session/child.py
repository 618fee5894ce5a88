"""The side of a child (mind, outlet) towards its supervisor: serve requests, emit events, report metrics."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

from gpu_engine.session.control import Reply, Request
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame

log = structlog.get_logger(__name__)

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
_MAX_PENDING_BYTES = 4 * 1024 * 1024


class RequestRefused(Exception):
    """A handler refuses: ``code`` is one of control.Reply's error codes, ``detail`` is for the person who asked."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """First frame of a child."""

    name: str
    pid: int


class ChildEvent(msgspec.Struct, frozen=True, tag="cev"):
    """An event the supervisor numbers and passes on (kinds: control.Event)."""

    kind: str
    data: dict[str, Any]


class ChildMetrics(msgspec.Struct, frozen=True, tag="cme"):
    """A part of control.Metrics: any of its fields, plus counters the supervisor sums."""

    part: dict[str, Any]


ChildMessage = Hello | ChildEvent | ChildMetrics | Reply
_encoder = msgspec.msgpack.Encoder()
_request_decoder = msgspec.msgpack.Decoder(Request)


class ChildLink:
    """Connects to ``<run_dir>/supervisor.sock``. ``serve`` returns when the supervisor is gone: then the child must exit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None
        self.dropped = 0

    async def connect(self, run_dir: Path) -> None:
        """Connect and say who we are."""
        self._reader, self._writer = await asyncio.open_unix_connection(socket_path(run_dir / "supervisor.sock"))
        self._send(Hello(self._name, os.getpid()))

    def emit(self, kind: str, /, **data: Any) -> None:
        """Report an event; dropped (and counted) when the supervisor does not read."""
        self._send(ChildEvent(kind, data))

    def metrics(self, **part: Any) -> None:
        """Report metric values, about once a second."""
        self._send(ChildMetrics(part))

    async def drain(self) -> None:
        """Wait until what was emitted has left for the supervisor (or it is gone): before an ordered exit."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.transport.set_write_buffer_limits(high=0)
            with contextlib.suppress(OSError):
                await asyncio.wait_for(self._writer.drain(), 2.0)

    async def serve(self, handlers: Mapping[str, Handler]) -> None:
        """Answer requests until the supervisor closes the link. A handler's failure is a reply, never the end of serving."""
        assert self._reader is not None, "connect first"
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    request = _request_decoder.decode(await read_frame(self._reader))
                except LinkError:
                    break
                group.create_task(self._answer(request, handlers))

    async def _answer(self, request: Request, handlers: Mapping[str, Handler]) -> None:
        if request.method == "ping":
            self._send(Reply(request.id))
            return
        handler = handlers.get(request.method)
        if handler is None:
            self._send(Reply(request.id, error="not_found", detail=f"{self._name} has no method '{request.method}'"))
            return
        try:
            result = await handler(request.params)
        except RequestRefused as refusal:
            self._send(Reply(request.id, error=refusal.code, detail=refusal.detail))
        except Exception as error:
            log.exception("request failed", method=request.method)
            self._send(Reply(request.id, error="internal", detail=f"{type(error).__name__}: {error}"))
        else:
            self._send(Reply(request.id, result=result))

    def _send(self, message: ChildMessage) -> None:
        writer = self._writer
        if writer is None or writer.is_closing() or writer.transport.get_write_buffer_size() > _MAX_PENDING_BYTES:
            self.dropped += 1
            return
        write_frame(writer, _encoder.encode(message))
