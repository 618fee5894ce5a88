"""Length-prefixed msgpack over local stream sockets, for processes of one session on one machine.

Frame: 4-byte big-endian length, then the message. The body uses :class:`NonBlockingLink` (never waits, bounded, says
what it dropped); mind, outlet and supervisor use asyncio streams through :func:`read_frame` and :func:`write_frame`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import OrderedDict, deque
from collections.abc import Iterator
from pathlib import Path

MAX_FRAME_BYTES = 16 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_MAX_SOCKET_PATH = 100
_MAX_DIRECTORIES = 64
_directories: OrderedDict[Path, int] = OrderedDict()


def _directory_fd(directory: Path) -> int:
    """A descriptor of the directory that is there now; the few used last stay open, since names go through them."""
    descriptor = _directories.pop(directory, None)
    if descriptor is not None and not _is_still(directory, descriptor):
        os.close(descriptor)
        descriptor = None
    if descriptor is None:
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    _directories[directory] = descriptor
    if len(_directories) > _MAX_DIRECTORIES:
        os.close(_directories.popitem(last=False)[1])
    return descriptor


def _is_still(directory: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(directory), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def socket_path(path: Path) -> str:
    """A name for ``path`` that fits a Unix socket address (108 bytes): a long one goes through its directory's descriptor."""
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        return str(path)
    return f"/proc/self/fd/{_directory_fd(path.parent)}/{path.name}"


class LinkError(ConnectionError):
    """The peer broke the framing or went away."""


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame's payload.

    Raises:
        LinkError: the peer closed, or announced a frame over ``MAX_FRAME_BYTES``.
    """
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(4))
        if length > MAX_FRAME_BYTES:
            raise LinkError(f"peer announced a frame of {length} bytes, over {MAX_FRAME_BYTES}")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError) as error:
        raise LinkError("peer closed the link") from error


def write_frame(writer: asyncio.StreamWriter, payload: bytes) -> None:
    """Queue one frame on an asyncio writer (the caller drains or bounds it)."""
    writer.write(_LENGTH.pack(len(payload)) + payload)


class NonBlockingLink:
    """One connected stream socket, polled by a loop that must not wait.

    ``send`` queues up to ``max_queued_bytes`` and returns False when the frame was refused (the caller counts it);
    ``pump`` writes what the kernel takes and yields the frames that arrived.
    """

    def __init__(self, sock: socket.socket, *, max_queued_bytes: int) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._max_queued_bytes = max_queued_bytes
        self._out: deque[memoryview] = deque()
        self._queued_bytes = 0
        self._in = bytearray()
        self.closed = False

    @property
    def queued_bytes(self) -> int:
        """Bytes accepted by ``send`` and not yet taken by the kernel."""
        return self._queued_bytes

    def fileno(self) -> int:
        """The socket's descriptor, for selectors."""
        return self._sock.fileno()

    def send(self, payload: bytes) -> bool:
        """Queue one frame; False if the link is closed or its queue is full."""
        if self.closed or self._queued_bytes + len(payload) + 4 > self._max_queued_bytes:
            return False
        self._out.append(memoryview(_LENGTH.pack(len(payload)) + payload))
        self._queued_bytes += len(payload) + 4
        return True

    def pump(self) -> Iterator[bytes]:
        """Write without waiting, then yield each complete frame received. Sets ``closed`` when the peer is gone."""
        self._flush()
        while not self.closed:
            try:
                data = self._sock.recv(262_144)
            except BlockingIOError:
                break
            except OSError:
                self.close()
                break
            if not data:
                self.close()
                break
            self._in += data
            if len(data) < 262_144:
                break
        start = 0
        while len(self._in) - start >= 4:
            (length,) = _LENGTH.unpack_from(self._in, start)
            if length > MAX_FRAME_BYTES:
                self.close()
                break
            if len(self._in) - start - 4 < length:
                break
            yield bytes(self._in[start + 4 : start + 4 + length])
            start += 4 + length
        if start:
            del self._in[:start]

    def _flush(self) -> None:
        while self._out and not self.closed:
            view = self._out[0]
            try:
                sent = self._sock.send(view)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self._queued_bytes -= sent
            if sent == len(view):
                self._out.popleft()
            else:
                self._out[0] = view[sent:]

    def close(self) -> None:
        """Close the socket and forget what was queued."""
        if not self.closed:
            self.closed = True
            self._out.clear()
            self._queued_bytes = 0
            self._sock.close()
