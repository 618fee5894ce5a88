"""A platform of one dictionary: speaks the node socket and hands out specs, so that an agent can be tested alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from workers.contracts import node as wire


class FakePlatform:
    """Grants leases of ``epochs`` (session → epoch), acknowledges everything, keeps what it was told."""

    def __init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.specs: dict[str, dict[str, Any]] = {}
        self.hellos: list[wire.Hello] = []
        self.states: list[tuple[str, int, str]] = []
        self.events: dict[tuple[str, int], dict[int, wire.Event]] = {}
        self.usage: dict[tuple[str, int], dict[int, wire.UsageSegment]] = {}
        self.repeated_usage = 0
        self.metrics: list[wire.Metrics] = []
        self.replies: dict[str, wire.CallReply] = {}
        self.acknowledge = True
        self.motion_keys: dict[str, Any] = {}
        self._connections: set[ServerConnection] = set()
        self._server: Server | None = None
        self.port = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FakePlatform]:
        """Listen on a free port, the same one after :meth:`outage`."""
        await self._open()
        try:
            yield self
        finally:
            await self._close()

    @contextlib.asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Nobody answers meanwhile."""
        await self._close()
        try:
            yield
        finally:
            await self._open()

    async def _open(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", self.port)
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def spec(self, session: str, epoch: int) -> dict[str, Any]:
        """What the agent's HTTP client is replaced by."""
        from workers.node.platform_client import PlatformUnavailable, SpecRefused

        if self._server is None or not self._server.is_serving():
            raise PlatformUnavailable("outage")
        if self.epochs.get(session) != epoch:
            raise SpecRefused(f"{session} {epoch}")
        return {**self.specs[session], "session_id": session, "epoch": epoch}

    async def send(self, message: wire.PlatformMessage) -> None:
        """To every connected agent."""
        for connection in list(self._connections):
            await connection.send(wire.encode(message))

    async def _serve(self, connection: ServerConnection) -> None:
        self._connections.add(connection)
        try:
            async for frame in connection:
                for answer in self._answers(wire.decode_from_node(frame)):
                    await connection.send(wire.encode(answer))
        except ConnectionClosed:
            pass
        finally:
            self._connections.discard(connection)

    def _answers(self, message: wire.NodeMessage) -> list[wire.PlatformMessage]:
        match message:
            case wire.Hello():
                self.hellos.append(message)
                return [wire.Welcome(lease_ttl_s=6.0, renew_s=0.2, motion_keys=self.motion_keys)]
            case wire.Renew():
                ok = self.epochs.get(message.session) == message.epoch
                return [wire.Lease(message.session, message.epoch, ok=ok)]
            case wire.Metrics():
                self.metrics.append(message)
            case wire.Event():
                self.events.setdefault((message.session, message.epoch), {})[message.seq] = message
                if self.acknowledge:
                    return [wire.EventAck(message.session, message.epoch, message.seq)]
            case wire.Usage():
                known = self.usage.setdefault((message.session, message.epoch), {})
                for segment in message.segments:
                    self.repeated_usage += segment.seq in known
                    known[segment.seq] = segment
                if self.acknowledge:
                    return [wire.UsageAck(message.session, message.epoch, message.segments[-1].seq)]
            case wire.State():
                self.states.append((message.session, message.epoch, str(message.state)))
                if self.acknowledge:
                    return [wire.StateAck(message.session, message.epoch, message.state)]
            case wire.CallReply():
                self.replies[message.id] = message
        return []

    def seconds(self, session: str, epoch: int) -> int:
        """Media seconds in the ledger; a hole in the numbers is an error."""
        known = self.usage.get((session, epoch), {})
        assert sorted(known) == list(range(1, len(known) + 1)), f"usage of {session} has holes: {sorted(known)}"
        return sum(segment.to_s - segment.from_s for segment in known.values())

    def seen(self, session: str, epoch: int) -> list[str]:
        """States told of one run, repetitions in a row dropped."""
        told: list[str] = []
        for other, number, state in self.states:
            if (other, number) == (session, epoch) and told[-1:] != [state]:
                told.append(state)
        return told


async def until(condition: Any, timeout_s: float = 20.0, what: str = "") -> None:
    """Poll ``condition`` until it is true.

    Raises:
        AssertionError: not within ``timeout_s``.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {timeout_s} s: {what or condition}"
        await asyncio.sleep(0.02)
