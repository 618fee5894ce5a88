"""An RTMP(S) publisher on asyncio (Adobe RTMP 1.0 specification; AMF0 commands as FMLE-class encoders send them).

Every wait has a deadline, so a peer that accepts and says nothing, or stops reading, costs an error and never a hang. The
stream key appears in no message of an error.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from gpu_engine.outputs import flv

OPEN_LIMIT_S = 10.0
SEND_AGE_LIMIT_S = 3.0
CLOSE_LIMIT_S = 2.0
CHUNK_BYTES = 4_096
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_CHUNK_STREAMS = 64
_SET_CHUNK_SIZE, _ACKNOWLEDGEMENT, _USER_CONTROL, _WINDOW_SIZE, _PEER_BANDWIDTH = 1, 3, 4, 5, 6
_DATA, _COMMAND = 18, 20
_PING_REQUEST, _PING_RESPONSE = 6, 7
_CHANNELS = {flv.AUDIO: 4, flv.VIDEO: 6, flv.DATA: 5}
_TIMESTAMP_ESCAPE = 0xFFFFFF
Reason = Literal["bad_url", "unreachable", "refused", "busy", "closed", "stalled", "protocol"]


class RtmpError(ConnectionError):
    """Publishing failed. ``reason`` is for the program, the text for the merchant; neither holds the stream key."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True)
class RtmpUrl:
    """``rtmp(s)://host[:port]/app[/…]/key[?query]``; ``str()`` leaves the key out."""

    tls: bool
    host: str
    port: int
    app: str
    key: str

    @classmethod
    def parse(cls, url: str) -> RtmpUrl:
        """Take a URL apart.

        Raises:
            RtmpError: not RTMP(S), or without host, application and key.
        """
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError as error:
            raise RtmpError("bad_url", "the RTMP address cannot be read: use rtmp://host/app/key") from error
        app, _, key = parts.path.strip("/").rpartition("/")
        if parts.scheme not in ("rtmp", "rtmps") or not parts.hostname or not app or not key:
            raise RtmpError("bad_url", "the RTMP address must look like rtmp://host/app/key or rtmps://host/app/key")
        if parts.query:
            key += "?" + parts.query
        tls = parts.scheme == "rtmps"
        return cls(tls, parts.hostname, port or (443 if tls else 1935), app, key)

    @property
    def tc_url(self) -> str:
        """The address of the application, without the key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.tls else 1935
        return f"rtmp{'s' if self.tls else ''}://{host}{'' if self.port == default else f':{self.port}'}/{self.app}"

    def __str__(self) -> str:
        return self.tc_url

    def __repr__(self) -> str:
        return f"RtmpUrl({self.tc_url!r})"

    def redact(self, text: str) -> str:
        """Leave the key out of a text that a server wrote."""
        for secret in (self.key, self.key.partition("?")[0]):
            if len(secret) >= 3:
                text = text.replace(secret, "…")
        return text[:200]


@dataclass
class _Incoming:
    """A chunk stream of the peer: the last header and the message under way."""

    timestamp: int = 0
    length: int = 0
    kind: int = 0
    extended: bool = False
    body: bytearray = field(default_factory=bytearray)


class RtmpConnection:
    """One publishing connection, made by :meth:`publish`."""

    def __init__(self, url: RtmpUrl, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._url = url
        self._reader = reader
        self._writer = writer
        self._read_chunk_bytes = 128
        self._streams: dict[int, _Incoming] = {}
        self._received = 0
        self._acknowledged = 0
        self._window = 0
        self._stream_id = 0
        self._write_chunk_bytes = 128
        self._watch: asyncio.Task[None] | None = None
        self.failure: RtmpError | None = None

    @classmethod
    async def publish(
        cls, url: RtmpUrl, *, send_buffer_bytes: int, tls: ssl.SSLContext | None = None, limit_s: float = OPEN_LIMIT_S
    ) -> RtmpConnection:
        """Connect and become the publisher of the key.

        Raises:
            RtmpError: with why, within ``limit_s`` seconds.
        """
        writer: asyncio.StreamWriter | None = None
        step = "could not be reached"
        try:
            async with asyncio.timeout(limit_s):
                context = (tls or ssl.create_default_context()) if url.tls else None
                reader, writer = await asyncio.open_connection(url.host, url.port, ssl=context)
                connection = cls(url, reader, writer)
                connection._bound_buffers(send_buffer_bytes)
                step = "did not finish the RTMP handshake"
                await connection._handshake()
                step = "did not answer the connect command"
                await connection._connect()
                step = "did not answer the publish command"
                await connection._publish()
        except TimeoutError as error:
            _abort(writer)
            raise RtmpError("unreachable", f"{url} {step} within {limit_s:g} s") from error
        except ssl.SSLCertVerificationError as error:
            _abort(writer)
            raise RtmpError("unreachable", f"{url}: the certificate is not trusted ({error.verify_message})") from error
        except ssl.SSLError as error:
            _abort(writer)
            raise RtmpError("unreachable", f"{url}: secure connection failed: {error.reason or error}") from error
        except (OSError, asyncio.IncompleteReadError) as error:
            _abort(writer)
            if isinstance(error, RtmpError):
                raise
            raise _lost_while_opening(url, step, error) from error
        except BaseException:
            _abort(writer)
            raise
        connection._watch = asyncio.create_task(connection._read_until_closed())
        return connection

    def _bound_buffers(self, send_buffer_bytes: int) -> None:
        # The default would swallow ten seconds of media before a dead peer is noticed.
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes // 2)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Not high=0: asyncio's TLS transport then pauses for ever.
        self._writer.transport.set_write_buffer_limits(high=1, low=0)

    # --- opening ------------------------------------------------------------------------------------------------------

    async def _handshake(self) -> None:
        own = b"\x00" * 8 + os.urandom(1_528)
        self._writer.write(b"\x03" + own)
        answer = await self._reader.readexactly(1 + 1_536)
        if answer[0] != 3:
            raise RtmpError("protocol", f"{self._url} speaks RTMP version {answer[0]}, not 3: is it an RTMP server?")
        self._writer.write(answer[1:])
        await self._reader.readexactly(1_536)

    async def _connect(self) -> None:
        command: dict[str, flv.AmfValue] = {
            "app": self._url.app,
            "type": "nonprivate",
            "flashVer": "FMLE/3.0 (compatible; Lumihost)",
            "tcUrl": self._url.tc_url,
        }
        self._command("connect", 1.0, command)
        await self._answer(1.0)
        self._message(2, _SET_CHUNK_SIZE, struct.pack(">I", CHUNK_BYTES), 0, 0)
        self._write_chunk_bytes = CHUNK_BYTES

    async def _publish(self) -> None:
        self._command("releaseStream", 2.0, None, self._url.key)
        self._command("FCPublish", 3.0, None, self._url.key)
        self._command("createStream", 4.0, None)
        values = await self._answer(4.0)
        number = values[3] if len(values) > 3 else 1.0
        if not isinstance(number, float) or not 0 <= number < 2**32:
            raise RtmpError("protocol", f"{self._url} gave the stream number {number!r}")
        self._stream_id = int(number)
        self._command("publish", 5.0, None, self._url.key, "live", stream_id=self._stream_id)
        while True:
            values = await self._next_command()
            if values[0] == "onStatus":
                code = self._status(values)
                if code == "NetStream.Publish.Start":
                    return
            elif values[0] == "_error" and len(values) > 1 and values[1] == 5.0:
                raise self._refusal(values)

    async def _answer(self, transaction: float) -> list[object]:
        while True:
            values = await self._next_command()
            if len(values) > 1 and values[1] == transaction:
                if values[0] == "_result":
                    return values
                if values[0] == "_error":
                    raise self._refusal(values)
            if values[0] == "onStatus":
                self._status(values)

    async def _next_command(self) -> list[object]:
        while True:
            kind, body = await self._read_message()
            if kind == _COMMAND and body:
                try:
                    values = flv.read_amf0(body)
                except flv.AmfError as error:
                    raise RtmpError("protocol", f"{self._url} sent a command that cannot be read: {error}") from error
                if values and values[0] == "close":
                    raise RtmpError("closed", f"{self._url} closed the connection")
                if values:
                    return values

    def _status(self, values: list[object]) -> str:
        detail = next((v for v in values[2:] if isinstance(v, dict)), {})
        code = str(detail.get("code", ""))
        if detail.get("level") == "error" or code in _BUSY_CODES | _REFUSED_CODES:
            raise self._refusal(values)
        return code

    def _refusal(self, values: list[object]) -> RtmpError:
        detail = next((v for v in values[2:] if isinstance(v, dict)), {})
        code, description = str(detail.get("code", "")), str(detail.get("description", ""))
        said = self._url.redact(f"{code} {description}".strip()) or "no reason given"
        if code in _BUSY_CODES:
            return RtmpError("busy", f"{self._url} says the stream key is in use ({said}): end the other stream that uses it")
        if "NetConnection.Connect" in code and "auth" not in description.lower():
            return RtmpError("refused", f"{self._url} refused the connection ({said}): check the server address")
        return RtmpError("refused", f"{self._url} refused the stream key ({said}): check the key, it may have expired")

    # --- sending ------------------------------------------------------------------------------------------------------

    def _command(self, name: str, transaction: float, *arguments: flv.AmfValue, stream_id: int = 0) -> None:
        body = flv.amf0(name) + flv.amf0(transaction) + b"".join(flv.amf0(value) for value in arguments)
        self._message(3, _COMMAND, body, 0, stream_id)

    def _message(self, channel: int, kind: int, body: bytes, timestamp: int, stream_id: int) -> None:
        timestamp &= 0xFFFFFFFF
        extended = struct.pack(">I", timestamp) if timestamp >= _TIMESTAMP_ESCAPE else b""
        head = struct.pack(">I", min(timestamp, _TIMESTAMP_ESCAPE))[1:] + struct.pack(">I", len(body))[1:] + bytes([kind])
        out = bytearray([channel]) + head + struct.pack("<I", stream_id) + extended
        size = self._write_chunk_bytes
        out += body[:size]
        for at in range(size, len(body), size):
            out += bytes([0xC0 | channel]) + extended + body[at : at + size]
        self._writer.write(bytes(out))

    def send_metadata(self, values: dict[str, flv.AmfValue]) -> None:
        """``@setDataFrame onMetaData``; followed by :meth:`drain`."""
        body = flv.amf0("@setDataFrame") + flv.amf0("onMetaData") + flv.amf0_array(values)
        self._message(_CHANNELS[flv.DATA], _DATA, body, 0, self._stream_id)

    def send(self, kind: int, body: bytes, timestamp_ms: int) -> None:
        """Queue an audio or video body (:mod:`gpu_engine.outputs.flv`) at a time that wraps at 2**32 ms."""
        self._message(_CHANNELS[kind], kind, body, timestamp_ms, self._stream_id)

    async def drain(self, limit_s: float = SEND_AGE_LIMIT_S) -> None:
        """Return when the kernel has taken all that was sent.

        Raises:
            RtmpError: the peer has closed or refused, or has not read for ``limit_s`` seconds.
        """
        if self.failure is not None:
            raise self.failure
        try:
            async with asyncio.timeout(limit_s):
                await self._writer.drain()
        except TimeoutError as error:
            raise RtmpError("stalled", f"{self._url} has taken nothing for {limit_s:g} s") from error
        except OSError as error:
            raise self.failure or RtmpError("closed", f"{self._url} closed the connection") from error

    # --- receiving ----------------------------------------------------------------------------------------------------

    async def _read_until_closed(self) -> None:
        """Answer pings and windows while publishing; remember why the peer ended it."""
        try:
            while True:
                values = await self._next_command()
                if values[0] in ("onStatus", "_error"):
                    self._status(values)
        except RtmpError as error:
            self.failure = error
        except (OSError, asyncio.IncompleteReadError):
            self.failure = RtmpError("closed", f"{self._url} closed the connection")

    async def _read_message(self) -> tuple[int, bytes]:
        while True:
            kind, body = await self._read_chunk()
            if body is None:
                continue
            self._acknowledge()
            if kind == _SET_CHUNK_SIZE and len(body) >= 4:
                self._read_chunk_bytes = max(1, min(struct.unpack_from(">I", body)[0] & 0x7FFFFFFF, MAX_MESSAGE_BYTES))
            elif kind == _WINDOW_SIZE and len(body) >= 4:
                self._window = struct.unpack_from(">I", body)[0]
            elif kind == _PEER_BANDWIDTH and len(body) >= 4:
                self._message(2, _WINDOW_SIZE, body[:4], 0, 0)
            elif kind == _USER_CONTROL and len(body) >= 6 and struct.unpack_from(">H", body)[0] == _PING_REQUEST:
                self._message(2, _USER_CONTROL, struct.pack(">H", _PING_RESPONSE) + body[2:6], 0, 0)
            else:
                return kind, body

    async def _read_chunk(self) -> tuple[int, bytes | None]:
        first = (await self._take(1))[0]
        form, channel = first >> 6, first & 0x3F
        if channel == 0:
            channel = (await self._take(1))[0] + 64
        elif channel == 1:
            low, high = await self._take(2)
            channel = high * 256 + low + 64
        stream = self._streams.setdefault(channel, _Incoming())
        if len(self._streams) > MAX_CHUNK_STREAMS:
            raise RtmpError("protocol", f"{self._url} uses over {MAX_CHUNK_STREAMS} chunk streams")
        if form < 3:
            head = await self._take((11, 7, 3)[form])
            stream.timestamp = int.from_bytes(head[:3], "big")
            stream.extended = stream.timestamp == _TIMESTAMP_ESCAPE
            if form < 2:
                stream.length, stream.kind = int.from_bytes(head[3:6], "big"), head[6]
            if stream.length > MAX_MESSAGE_BYTES or stream.length < len(stream.body):
                raise RtmpError("protocol", f"{self._url} announced a message of {stream.length} bytes")
        if stream.extended:
            await self._take(4)
        stream.body += await self._take(min(self._read_chunk_bytes, stream.length - len(stream.body)))
        if len(stream.body) < stream.length:
            return stream.kind, None
        body, stream.body = bytes(stream.body), bytearray()
        return stream.kind, body

    async def _take(self, count: int) -> bytes:
        data = await self._reader.readexactly(count)
        self._received += count
        return data

    def _acknowledge(self) -> None:
        if self._window and self._received - self._acknowledged >= self._window // 2:
            self._acknowledged = self._received
            self._message(2, _ACKNOWLEDGEMENT, struct.pack(">I", self._received & 0xFFFFFFFF), 0, 0)

    # --- closing ------------------------------------------------------------------------------------------------------

    async def close(self, *, polite: bool) -> None:
        """End the connection; ``polite`` first tells the server that the stream is over, so that the key is free at once."""
        if self._watch is not None:
            self._watch.cancel()
        if not polite or self.failure is not None:
            _abort(self._writer)
            return
        self._command("FCUnpublish", 6.0, None, self._url.key)
        self._command("deleteStream", 7.0, None, float(self._stream_id))
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self._writer.drain()
                self._writer.close()
                await self._writer.wait_closed()
        except OSError:
            _abort(self._writer)


_BUSY_CODES = frozenset({"NetStream.Publish.BadName"})
_REFUSED_CODES = frozenset({"NetStream.Publish.Denied", "NetStream.Publish.Rejected", "NetStream.Publish.Failed"})


def _lost_while_opening(url: RtmpUrl, step: str, error: Exception) -> RtmpError:
    if "publish" in step:
        # Servers that check keys by a hook, and SRS for a busy key, drop the connection without a word.
        return RtmpError(
            "refused", f"{url} closed the connection when given the stream key: it is wrong, expired or still in use"
        )
    if isinstance(error, socket.gaierror):
        return RtmpError("unreachable", f"{url}: the server's name cannot be found: check the address and the network")
    reason = getattr(error, "strerror", None) or ("connection closed" if "reached" not in step else str(error))
    return RtmpError("unreachable", f"{url} {step}: {reason}")


def _abort(writer: asyncio.StreamWriter | None) -> None:
    if writer is not None:
        writer.transport.abort()
