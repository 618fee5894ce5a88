"""The body's local channels: mind, outlet and supervisor, all non-blocking, all allowed to be absent."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import msgspec

from gpu_engine.session.child import ChildEvent, ChildMetrics, Hello
from gpu_engine.session.control import Reply, Request
from gpu_engine.session.link import NonBlockingLink, socket_path
from gpu_engine.session.packets import BodyPacket, EndOfStream, Media, OutletMessage, Packet, StreamInfo
from gpu_engine.session.timeline import BodyMessage, MindMessage, Playhead

_encode = msgspec.msgpack.Encoder().encode
_mind_decoder: msgspec.msgpack.Decoder[MindMessage] = msgspec.msgpack.Decoder(MindMessage)
_outlet_decoder: msgspec.msgpack.Decoder[OutletMessage] = msgspec.msgpack.Decoder(OutletMessage)
_request_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)

MIND_QUEUE_BYTES = 256 * 1024
OUTLET_QUEUE_BYTES = 4 * 1024 * 1024
SUPERVISOR_QUEUE_BYTES = 1024 * 1024


def listen(path: Path) -> socket.socket:
    """A non-blocking listening Unix socket at ``path``; a stale file of an earlier run is replaced."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(socket_path(path))
    server.listen(2)
    server.setblocking(False)
    return server


class _Served:
    """One peer at a time on a listening socket: a newcomer replaces the peer before it."""

    def __init__(self, path: Path, queue_bytes: int) -> None:
        self._server = listen(path)
        self._queue_bytes = queue_bytes
        self.link: NonBlockingLink | None = None

    def accept(self) -> bool:
        """True when a new peer has just connected."""
        try:
            sock, _ = self._server.accept()
        except BlockingIOError:
            return False
        if self.link is not None:
            self.link.close()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, min(self._queue_bytes, 1024 * 1024))
        self.link = NonBlockingLink(sock, max_queued_bytes=self._queue_bytes)
        return True

    def frames(self) -> list[bytes]:
        """Frames received since the last call; forgets a peer that is gone."""
        if self.link is None:
            return []
        received = list(self.link.pump())
        if self.link.closed:
            self.link = None
        return received


class MindPort:
    """Timeline messages from and to the mind."""

    def __init__(self, run_dir: Path) -> None:
        self._port = _Served(run_dir / "mind.sock", MIND_QUEUE_BYTES)
        self.bad_frames = 0
        self.dropped = 0

    @property
    def connected(self) -> bool:
        """A mind is there."""
        return self._port.link is not None

    def poll(self, playhead: Playhead) -> list[MindMessage]:
        """Accept a (new) mind, greet it with the playhead, return its messages."""
        if self._port.accept():
            self.send(playhead)
        messages: list[MindMessage] = []
        for frame in self._port.frames():
            try:
                messages.append(_mind_decoder.decode(frame))
            except msgspec.DecodeError:
                self.bad_frames += 1
        return messages

    def send(self, message: BodyMessage) -> None:
        """Queue a report; without a mind it is forgotten (it will read the playhead), with a stuck one it is counted."""
        if self._port.link is not None and not self._port.link.send(_encode(message)):
            self.dropped += 1


class OutletPort:
    """Packets to the outlet. When it is slow, whole GOPs are dropped, never parts of one."""

    def __init__(self, run_dir: Path) -> None:
        self._port = _Served(run_dir / "outlet.sock", OUTLET_QUEUE_BYTES)
        self._waiting_for_key = True
        self.dropped_frames = 0
        """Pictures and sound packets alike."""
        self.keyframe_wanted = False

    @property
    def connected(self) -> bool:
        """An outlet is there."""
        return self._port.link is not None

    @property
    def queued_bytes(self) -> int:
        """Bytes the outlet has not read yet."""
        return self._port.link.queued_bytes if self._port.link else 0

    def poll(self, info: StreamInfo) -> None:
        """Accept a (new) outlet, describe the stream to it, note its requests, write what it takes."""
        if self._port.accept():
            self._waiting_for_key = True
            self.keyframe_wanted = True
            self.send(info)
        for frame in self._port.frames():
            with contextlib.suppress(msgspec.DecodeError):
                _outlet_decoder.decode(frame)
                self.keyframe_wanted = True

    def send(self, packet: BodyPacket) -> None:
        """Queue a packet."""
        link = self._port.link
        if link is None:
            return
        if isinstance(packet, Packet) and packet.media is Media.H264:
            if self._waiting_for_key and not packet.key:
                self.dropped_frames += 1
                return
            self._waiting_for_key = not link.send(_encode(packet))
            if self._waiting_for_key:
                self.dropped_frames += 1
                self.keyframe_wanted = True
        elif not link.send(_encode(packet)):
            self.dropped_frames += 1

    def finish(self, reason: str) -> bool:
        """Say that the stream ends; False while the queue has no room for it."""
        return self._port.link is None or self._port.link.send(_encode(EndOfStream(reason)))


class SupervisorPort:
    """Events and metrics to the supervisor, requests from it."""

    def __init__(self, run_dir: Path, pid: int) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(socket_path(run_dir / "supervisor.sock"))
        self._link = NonBlockingLink(sock, max_queued_bytes=SUPERVISOR_QUEUE_BYTES)
        self._link.send(_encode(Hello("body", pid)))
        self.dropped = 0

    @property
    def gone(self) -> bool:
        """The supervisor closed the link or died."""
        return self._link.closed

    def emit(self, kind: str, **data: object) -> None:
        """Report an event."""
        self._send(_encode(ChildEvent(kind, dict(data))))

    def metrics(self, **part: object) -> None:
        """Report metric values."""
        self._send(_encode(ChildMetrics(dict(part))))

    def poll(self) -> list[Request]:
        """Requests received; answered with ``reply``."""
        requests: list[Request] = []
        for frame in self._link.pump():
            with contextlib.suppress(msgspec.DecodeError):
                requests.append(_request_decoder.decode(frame))
        return requests

    def reply(self, request: Request, error: str = "", detail: str = "") -> None:
        """Answer a request."""
        self._send(_encode(Reply(request.id, error=error, detail=detail)))

    def flush(self) -> None:
        """Write what the kernel takes."""
        for _ in self._link.pump():
            pass

    def _send(self, payload: bytes) -> None:
        if not self._link.send(payload):
            self.dropped += 1
