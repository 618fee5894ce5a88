"""The mind's end of ``mind.sock``: typed messages both ways, reconnecting for as long as the session lives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame
from gpu_engine.session.timeline import BodyMessage, MindMessage

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(BodyMessage)
MAX_PENDING_BYTES = 64 * 1024 * 1024
RETRY_S = 0.2


class BodyLink:
    """One connection at a time to the body's timeline socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: asyncio.StreamWriter | None = None
        self.dropped = 0

    async def messages(self) -> AsyncIterator[BodyMessage]:
        """Connect (waiting until the socket is there) and yield reports until the body closes the link."""
        reader = await self._connect()
        try:
            while True:
                try:
                    frame = await read_frame(reader)
                except LinkError:
                    return
                yield _decoder.decode(frame)
        finally:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()

    async def _connect(self) -> asyncio.StreamReader:
        while True:
            try:
                reader, self._writer = await asyncio.open_unix_connection(socket_path(self._path))
            except OSError:
                await asyncio.sleep(RETRY_S)
            else:
                return reader

    def send(self, message: MindMessage) -> None:
        """Queue a message; counted as dropped while there is no body or it has not read for long."""
        writer = self._writer
        if writer is None or writer.is_closing() or writer.transport.get_write_buffer_size() > MAX_PENDING_BYTES:
            self.dropped += 1
            return
        write_frame(writer, _encoder.encode(message))
