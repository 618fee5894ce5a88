"""An RTMP server with manners to choose: good, silent, deaf after publishing, busy, refusing, dropping.

Written from the specification, apart from the client under test: handshake, chunks (types 0 and 3, extended timestamps), and
the commands of a publisher. What it hears is kept as (message type, timestamp, body).
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from enum import StrEnum

from gpu_engine.outputs.flv import amf0, read_amf0


class Manner(StrEnum):
    """How the server behaves."""

    GOOD = "good"
    SILENT = "accepts and says nothing"
    DEAF = "stops reading once the stream is published"
    BUSY = "says that the key is in use"
    REFUSING = "says that the key is denied"
    DROPPING = "closes the connection at publish"
    APP_REJECTED = "rejects the connect command"


class FakeRtmpServer:
    """``async with FakeRtmpServer(manner) as server``: push to ``server.url(key)``."""

    def __init__(self, manner: Manner = Manner.GOOD, *, tls: ssl.SSLContext | None = None) -> None:
        self.manner = manner
        self.connections = 0
        self.keys: list[str] = []
        self.messages: list[tuple[int, int, bytes]] = []
        self.acknowledged = 0
        self.pongs = 0
        self.closed_politely = False
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []
        self._port = 0

    async def __aenter__(self) -> FakeRtmpServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self._tls, limit=4096)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    def url(self, key: str = "key") -> str:
        """Where to push."""
        return f"rtmp{'s' if self._tls else ''}://127.0.0.1:{self._port}/live/{key}"

    def of(self, kind: int) -> list[tuple[int, bytes]]:
        """(timestamp, body) of messages of a type."""
        return [(timestamp, body) for found, timestamp, body in self.messages if found == kind]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            if self.manner is Manner.SILENT:
                await asyncio.Event().wait()
            await reader.readexactly(1537)
            writer.write(b"\x03" + b"S" * 1536 + b"T" * 1536)
            await reader.readexactly(1536)
            await self._messages(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _messages(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = 128
        heads: dict[int, tuple[int, int, int, bool]] = {}
        bodies: dict[int, bytearray] = {}
        while True:
            first = (await reader.readexactly(1))[0]
            channel = first & 0x3F
            if first >> 6 == 0:
                head = await reader.readexactly(11)
                timestamp, length = int.from_bytes(head[:3], "big"), int.from_bytes(head[3:6], "big")
                extended = timestamp == 0xFFFFFF
                if extended:
                    (timestamp,) = struct.unpack(">I", await reader.readexactly(4))
                heads[channel], bodies[channel] = (timestamp, length, head[6], extended), bytearray()
            else:
                assert first >> 6 == 3, "only chunk types 0 and 3 are understood"
                if heads[channel][3]:
                    (again,) = struct.unpack(">I", await reader.readexactly(4))
                    assert again == heads[channel][0]
            timestamp, length, kind, _ = heads[channel]
            bodies[channel] += await reader.readexactly(min(size, length - len(bodies[channel])))
            if len(bodies[channel]) < length:
                continue
            body = bytes(bodies[channel])
            if kind == 1:
                (size,) = struct.unpack(">I", body)
            elif kind == 3:
                (self.acknowledged,) = struct.unpack(">I", body)
            elif kind == 4 and body[:2] == b"\x00\x07":
                self.pongs += 1
            elif kind == 20:
                await self._command(read_amf0(body), writer)
            elif kind in (8, 9, 18):
                self.messages.append((kind, timestamp, body))
                if self.manner is Manner.DEAF:
                    await asyncio.Event().wait()

    async def _command(self, values: list[object], writer: asyncio.StreamWriter) -> None:
        name, transaction = values[0], float(str(values[1]))
        if name == "connect":
            _send(writer, 5, struct.pack(">I", 2_000))
            _send(writer, 6, struct.pack(">IB", 2_000, 2))
            _send(writer, 4, struct.pack(">HI", 6, 77))
            if self.manner is Manner.APP_REJECTED:
                said = {"level": "error", "code": "NetConnection.Connect.Rejected", "description": "no such app"}
                _send(writer, 20, amf0("_error") + amf0(transaction) + amf0(None) + amf0(said))
            else:
                _send(writer, 20, amf0("_result") + amf0(transaction) + amf0({"fmsVer": "x"}) + amf0({"code": "ok"}))
        elif name == "createStream":
            _send(writer, 20, amf0("_result") + amf0(transaction) + amf0(None) + amf0(1.0))
        elif name == "publish":
            key = str(values[3])
            self.keys.append(key)
            if self.manner is Manner.DROPPING:
                raise ConnectionResetError
            level, code, description = {
                Manner.BUSY: ("error", "NetStream.Publish.BadName", f"stream {key} is already publishing"),
                Manner.REFUSING: ("error", "NetStream.Publish.Denied", f"key {key} has expired"),
            }.get(self.manner, ("status", "NetStream.Publish.Start", "go"))
            said = {"level": level, "code": code, "description": description}
            _send(writer, 20, amf0("onStatus") + amf0(0.0) + amf0(None) + amf0(said))
        elif name == "deleteStream":
            self.closed_politely = True


def _send(writer: asyncio.StreamWriter, kind: int, body: bytes) -> None:
    """In chunks of 128 bytes, the default, so that the client has to put messages together."""
    out = bytearray(b"\x03\x00\x00\x00" + struct.pack(">I", len(body))[1:] + bytes([kind]) + b"\x00\x00\x00\x00" + body[:128])
    for at in range(128, len(body), 128):
        out += b"\xc3" + body[at : at + 128]
    writer.write(bytes(out))
