"""The agent's end of an engine's control socket (gpu_engine/session/control.py): calls with deadlines, events, metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from gpu_engine.session.control import ControlMessage, Event, Metrics, Reply, Request
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame

_MAX_CALLS = 128
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ControlMessage)


class EngineUnavailable(ConnectionError):
    """The engine cannot be asked now; ``code`` is the error code to pass on."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class EngineLink:
    """One connection. ``serve`` reads until the engine closes; ``call`` may be used meanwhile from any task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._last_id = 0
        self.bad_frames = 0

    @classmethod
    async def connect(cls, path: Path) -> EngineLink:
        """Connect to ``control.sock``; OSError while the engine is not listening yet."""
        reader, writer = await asyncio.open_unix_connection(socket_path(path))
        return cls(reader, writer)

    async def serve(self, *, on_event: Callable[[Event], None], on_metrics: Callable[[Metrics], None]) -> None:
        """Read until the link ends; pending calls then fail as unavailable."""
        try:
            while True:
                frame = await read_frame(self._reader)
                try:
                    message = _decoder.decode(frame)
                except msgspec.DecodeError:
                    self.bad_frames += 1
                    continue
                if isinstance(message, Reply):
                    waiter = self._waiting.pop(message.id, None)
                    if waiter is not None and not waiter.done():
                        waiter.set_result(message)
                elif isinstance(message, Event):
                    on_event(message)
                elif isinstance(message, Metrics):
                    on_metrics(message)
        except LinkError:
            return
        finally:
            self.close()

    async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> Reply:
        """Ask the engine.

        Raises:
            EngineUnavailable: too many calls wait, the link broke, or no answer came within ``timeout_s``.
        """
        if len(self._waiting) >= _MAX_CALLS:
            raise EngineUnavailable("unavailable", f"{_MAX_CALLS} calls already wait for the engine: try again")
        self._last_id += 1
        number = self._last_id
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiter
        try:
            write_frame(self._writer, _encoder.encode(Request(number, method, params)))
            async with asyncio.timeout(timeout_s):
                await self._writer.drain()
                return await waiter
        except TimeoutError:
            raise EngineUnavailable("deadline", f"the engine did not answer '{method}' within {timeout_s:g} s") from None
        except OSError as error:
            raise EngineUnavailable("unavailable", f"the engine's control socket broke: {error}") from error
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        """Close the socket and fail what waits."""
        with contextlib.suppress(OSError):
            self._writer.close()
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting.values():
            if not waiter.done():
                waiter.set_exception(EngineUnavailable("unavailable", "the engine closed its control socket"))
