"""Sockets in one event loop, with a tenant, a node and a session behind them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator

from lumihost.fleet.models import Node
from lumihost.live.models import LiveSession
from lumihost.realtime.flusher import flusher
from tenants.context import scope
from tenants.models import Tenant
from tenants.testing.tenants import TwoTenants, make_two_tenants
from tests.fakes.live_rows import assigned, make_node, token_of
from workers.contracts import node as wire

_open: list[Socket] = []


class Socket(WebsocketCommunicator):
    """A connection with our few habits; ended with its test."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _open.append(self)

    async def expect(self, kind: str, *, skip: int = 20) -> dict[str, Any]:
        """The next message of this type; others are passed over."""
        for _ in range(skip):
            message: dict[str, Any] = await self.receive_json_from(timeout=3)
            if message["type"] == kind:
                return message
        raise AssertionError(f"no '{kind}' among {skip} messages")

    async def closed_with(self) -> int:
        """The code the server closes with."""
        while True:
            output = await self.receive_output(timeout=3)
            if output["type"] == "websocket.close":
                return int(output["code"])


class NodeSocket(Socket):
    """A node's connection."""

    async def say(self, message: wire.NodeMessage) -> None:
        """Send."""
        await self.send_to(text_data=wire.encode(message))


async def node_socket(node_id: str, *, token: str | None = None) -> NodeSocket:
    """Connect as a node."""
    from lumihost.config.asgi import application

    bearer = f"Bearer {token_of(node_id) if token is None else token}".encode()
    socket = NodeSocket(application, "/ws/node/", headers=[(b"authorization", bearer)])
    connected, _ = await socket.connect()
    assert connected
    return socket


async def greeted(node_id: str, *sessions: wire.HeldSession) -> NodeSocket:
    """Connect as a node and say hello."""
    socket = await node_socket(node_id)
    await socket.say(wire.Hello(node_id, 2, {}, "test", sessions))
    await socket.expect("welcome")
    return socket


async def console_socket(user: Any, tenant: Tenant, *, origin: bytes = b"http://testserver", session: Any = None) -> Socket:
    """Connect as a member (None: nobody), with ``session`` as the signed-in one."""
    from django.contrib.auth.models import AnonymousUser

    from lumihost.realtime.console import ConsoleConsumer

    socket = Socket(
        ConsoleConsumer.as_asgi(), f"/ws/console/{tenant.pk}/", headers=[(b"origin", origin), (b"host", b"testserver")]
    )
    socket.scope["user"] = user or AnonymousUser()
    if session is not None:
        socket.scope["session"] = session
    socket.scope["url_route"] = {"args": (), "kwargs": {"tenant_id": tenant.pk}}
    connected, _ = await socket.connect()
    assert connected
    return socket


@pytest.fixture
async def tenants(transactional_db: None) -> AsyncIterator[TwoTenants]:
    """Two tenants, and no leftovers of another test's loop."""
    channel_layers.backends.clear()
    yield await database_sync_to_async(make_two_tenants)()
    while _open:
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await _open.pop().disconnect()
    await flusher.stop()


@pytest.fixture
async def node(tenants: TwoTenants) -> Node:
    """An online node ``n1`` with two slots."""
    made: Node = await database_sync_to_async(make_node)("n1", capacity=2)
    return made


@pytest.fixture
async def session(tenants: TwoTenants, node: Node) -> LiveSession:
    """A session of tenant A, assigned to ``n1`` in epoch 1."""

    def make() -> LiveSession:
        with scope(tenants.a.tenant):
            return assigned(node)

    made: LiveSession = await database_sync_to_async(make)()
    return made
