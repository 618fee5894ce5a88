"""The node's end of the node socket: connects for ever, renews leases, sends what is owed, hands over what comes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from workers.contracts import node as wire
from workers.node.lease import Lease
from workers.node.outgoing import Outgoing

log = structlog.get_logger(__name__)

_TICK_S = 0.1
_MAX_REPLIES = 256
_OPEN_TIMEOUT_S = 5.0
_PING_S = 5.0
_RETRY_S = (0.3, 5.0)
_REFUSED = {
    4401: "it does not know the token: `manage.py register_node` on the platform writes the token file",
    4410: "another agent is connected under this node id: give this one an id of its own, or stop the other",
    4403: "the token belongs to another node id: give --node-id the name it was registered under",
}


class Channel(Protocol):
    """One session as the uplink sees it."""

    @property
    def lease(self) -> Lease:
        """Its lease."""

    @property
    def owed(self) -> Outgoing:
        """What it has to say."""

    @property
    def wants_lease(self) -> bool:
        """Whether its lease is to be renewed."""

    @property
    def key(self) -> tuple[str, int]:
        """(session, epoch)."""


class Agent(Protocol):
    """What the uplink asks of the agent."""

    def hello(self) -> wire.Hello:
        """The first message."""

    def heartbeat(self) -> wire.Heartbeat:
        """Sign of life."""

    def channels(self) -> Iterable[Channel]:
        """Every session that still has something to say."""

    def received(self, message: wire.PlatformMessage) -> None:
        """A message from the platform; must not block."""


class Uplink:
    """Reconnects with back-off and jitter. ``wake`` may be called whenever something new is owed."""

    def __init__(self, url: str, token: str, agent: Agent, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._url = _socket_url(url)
        self._token = token
        self._agent = agent
        self._clock_s = clock_s
        self._wake = asyncio.Event()
        self._replies: list[wire.CallReply] = []
        self._times = wire.Welcome()
        self.connected = False
        self.last_connected_s = clock_s()
        self.connections = 0

    def wake(self) -> None:
        """Look for something to send now."""
        self._wake.set()

    def reply(self, reply: wire.CallReply) -> None:
        """Queue an answer; without a connection it is dropped, whoever asked is gone by then."""
        if self.connected and len(self._replies) < _MAX_REPLIES:
            self._replies.append(reply)
            self.wake()

    async def run(self) -> None:
        """Connect and talk, for ever."""
        delay_s = _RETRY_S[0]
        while True:
            started_s = self._clock_s()
            try:
                async with connect(
                    self._url, additional_headers={"Authorization": f"Bearer {self._token}"}, proxy=None,
                    open_timeout=_OPEN_TIMEOUT_S, ping_interval=_PING_S, ping_timeout=_PING_S, close_timeout=1.0,
                    max_size=wire.MAX_FRAME_BYTES, max_queue=64, compression=None,
                ) as connection:  # fmt: skip
                    await self._talk(connection)
            except InvalidStatus as refusal:
                log.error("platform refused this node", status=refusal.response.status_code, url=self._url)
            except ConnectionClosed as closed:
                if closed.rcvd is not None and closed.rcvd.code in _REFUSED:
                    log.error(f"the platform refused this node: {_REFUSED[closed.rcvd.code]}")
                log.warning("node socket closed", code=closed.rcvd.code if closed.rcvd else None,
                            reason=closed.rcvd.reason if closed.rcvd else "")  # fmt: skip
            except (OSError, TimeoutError, WebSocketException) as error:
                log.info("platform not reachable", url=self._url, error=f"{type(error).__name__}: {error}")
            delay_s = _RETRY_S[0] if self._clock_s() - started_s > _RETRY_S[1] else min(delay_s * 1.7, _RETRY_S[1])
            await asyncio.sleep(delay_s * random.uniform(0.7, 1.3))

    async def _talk(self, connection: ClientConnection) -> None:
        await connection.send(wire.encode(self._agent.hello()))
        for channel in self._agent.channels():
            channel.owed.reconnected()
        self._replies.clear()
        self.connected = True
        self.connections += 1
        log.info("connected to the platform", url=self._url)
        sender = asyncio.create_task(self._send(connection))
        receiver = asyncio.create_task(self._receive(connection))
        try:
            done, _ = await asyncio.wait({sender, receiver}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.connected = False
            self.last_connected_s = self._clock_s()
            for channel in self._agent.channels():
                channel.lease.connection_lost()
            for task in (sender, receiver):
                task.cancel()
            await asyncio.gather(sender, receiver, return_exceptions=True)

    async def _receive(self, connection: ClientConnection) -> None:
        async for frame in connection:
            try:
                message = wire.decode_from_platform(frame)
            except wire.WireError as error:
                log.warning("frame not understood", error=str(error))
                continue
            if isinstance(message, wire.Welcome):
                self._times = message
            self._agent.received(message)

    async def _send(self, connection: ClientConnection) -> None:
        renewed_s = float("-inf")
        while True:
            now_s = self._clock_s()
            if now_s - renewed_s >= self._times.renew_s:
                renewed_s = now_s
                await connection.send(wire.encode(self._agent.heartbeat()))
                for channel in list(self._agent.channels()):
                    if channel.wants_lease:
                        channel.lease.asked()
                        await connection.send(wire.encode(wire.Renew(*channel.key)))
            replies, self._replies = self._replies, []
            for reply in replies:
                await connection.send(wire.encode(reply))
            for channel in list(self._agent.channels()):
                for message in channel.owed.due():
                    await connection.send(wire.encode(message))
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), _TICK_S)
            except TimeoutError:
                continue


def _socket_url(url: str) -> str:
    """``http(s)://host`` → ``ws(s)://host/ws/node/``."""
    scheme, separator, rest = url.rstrip("/").partition("://")
    if not separator or scheme not in ("http", "https"):
        raise ValueError(f"platform URL {url!r} must start with http:// or https://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}{wire.PATH}"
