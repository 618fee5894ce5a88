"""``python -m lumihost.web.daphne_server``: daphne, with memory that does not grow with what it sends or takes in.

Daphne as it is hands a response to the socket as fast as the application makes it and a request's whole body to the
application's queue, so one slow download or one upload of a recording holds the file in memory. Here sending waits until the
reader has taken what was sent before, bodies are read from their temporary file as they are asked for, and a body over its
limit is refused before it fills the disk. Arguments are daphne's own.
"""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import IO, Any

from daphne.cli import CommandLineInterface
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer  # type: ignore[import-untyped]

MAX_BODY_BYTES = 12 * 1024 * 1024
"""The largest request of the API is a product file of 10 MB."""
MAX_NODE_BODY_BYTES = 16 * 1024**3
"""A recording: over ten hours at 3.5 Mbit/s."""
STALLED_AFTER_S = 120.0
"""A reader that takes nothing for so long is cut off."""
_CHUNK_BYTES = 256 * 1024
_NODE_PATH = b"/nodes/"
_TOO_LARGE = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@implementer(IPushProducer)
class Flow:
    """What the transport says of its buffer: sending goes on while ``open`` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()

    def pauseProducing(self) -> None:  # noqa: N802 - the interface's name
        """The buffer is full."""
        self.open.clear()

    def resumeProducing(self) -> None:  # noqa: N802 - the interface's name
        """The reader has caught up."""
        self.open.set()

    def stopProducing(self) -> None:  # noqa: N802 - the interface's name
        """The reader is gone: whoever waits goes on and finds out."""
        self.open.set()


class BodyQueue(asyncio.Queue[dict[str, Any]]):
    """What the application receives: the body out of its file, a piece at a time, then what daphne puts in."""

    def __init__(self, body: IO[bytes]) -> None:
        super().__init__()
        self._body: IO[bytes] | None = body

    def put_nowait(self, item: dict[str, Any]) -> None:
        """Take a message; daphne's own idea of the body (empty, its file is here) is left out."""
        if item["type"] != "http.request":
            super().put_nowait(item)

    async def receive(self) -> dict[str, Any]:
        """The next message for the application."""
        if self._body is None:
            return await self.get()
        piece = self._body.read(_CHUNK_BYTES)
        more = len(piece) == _CHUNK_BYTES
        if not more:
            self.close()
        return {"type": "http.request", "body": piece, "more_body": more}

    def close(self) -> None:
        """Let the file go."""
        if self._body is not None:
            self._body.close()
            self._body = None


class BoundedRequest(WebRequest):
    """Refuses a body over the limit of its path, whether it is announced or merely sent."""

    _refused = False
    _received = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - the interface's name
        """The body's announced length, before its first byte."""
        path = getattr(self.channel, "_path", b"") or b""
        self._most = MAX_NODE_BODY_BYTES if path.startswith(_NODE_PATH) else MAX_BODY_BYTES
        if length is not None and length > self._most:
            self._refuse()
        super().gotLength(0 if self._refused else length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - the interface's name
        """A piece of the body."""
        self._received += len(data)
        if self._received > self._most:
            self._refuse()
        if not self._refused:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Hand the request to the application, unless its body was refused."""
        return None if self._refused else super().process()

    def _refuse(self) -> None:
        if not self._refused and self.channel is not None:
            self._refused = True
            self.channel.transport.write(_TOO_LARGE)
            self.channel.loseConnection()


class _Factory(HTTPFactory):
    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 - the interface's name
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol


class FlowServer(Server):
    """Daphne's server with back-pressure both ways."""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """As daphne's, but the body of a request stays in its file until it is asked for."""
        if scope["type"] != "http":
            return super().create_application(protocol, scope)
        body, protocol.content = protocol.content, io.BytesIO()
        queue = BodyQueue(body)
        scope.setdefault("asgi", {"version": "3.0"})
        running = self.application(scope=scope, receive=queue.receive, send=partial(self.handle_reply, protocol))
        if protocol not in self.connections:
            running.close()
            queue.close()
            return None
        task = asyncio.ensure_future(running)
        task.add_done_callback(lambda _: queue.close())
        self.connections[protocol]["application_instance"] = task
        return queue

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send once the reader has taken what was sent before."""
        flow: Flow | None = getattr(protocol, "flow", None)
        if message["type"] == "http.response.body" and getattr(protocol, "channel", None) is not None:
            if flow is None and message.get("more_body"):
                flow = protocol.flow = Flow()
                protocol.registerProducer(flow, True)
            elif flow is not None and not message.get("more_body"):
                protocol.unregisterProducer()
        await super().handle_reply(protocol, message)
        if flow is not None:
            try:
                await asyncio.wait_for(flow.open.wait(), STALLED_AFTER_S)
            except TimeoutError:
                if protocol.channel is not None:
                    protocol.channel.forceAbortClient()

    def protocol_disconnected(self, protocol: Any) -> None:
        """The reader is gone: let a response that waits for it go on, and end."""
        super().protocol_disconnected(protocol)
        flow = getattr(protocol, "flow", None)
        if flow is not None:
            flow.open.set()


class _CommandLine(CommandLineInterface):
    server_class = FlowServer


def main() -> None:
    """Run daphne's command line with this server."""
    import daphne.server

    var = os.environ.get("LUMIHOST_VAR")
    if var:
        # Uploads pass through temporary files, and /tmp is memory on many systems.
        folder = Path(var) / "tmp"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.tempdir = str(folder)
    # Daphne names its factory at module level and offers no other way to choose it.
    daphne.server.HTTPFactory = _Factory
    _CommandLine.entrypoint()


if __name__ == "__main__":
    main()
