"""The client against a gateway that says more than it knows."""

from __future__ import annotations

import asyncio
import time

import pytest
from websockets.asyncio.server import ServerConnection, serve

from gpu_engine.dmcp import SUBPROTOCOL
from gpu_engine.dmcp import messages as m
from gpu_engine.dmcp.client import DmcpClient, Refused
from gpu_engine.dmcp.limits import Limits
from gpu_engine.dmcp.motion import Motion, encode_binary
from gpu_engine.motion.vocabulary import rest_frame
from tests.dmcp.frames import WHOLE

pytestmark = pytest.mark.process


async def newer_gateway(connection: ServerConnection) -> None:
    await connection.recv()
    limits = Limits().as_told()
    await connection.send(m.encode(m.Welcome("ses_a", "watch", 0, 0.0, 0, "binary", limits, "none", 1_000)).decode())
    await connection.send('{"type":"weather","is":"fine"}')
    await connection.send(b"DM\x13" + bytes(300))
    rest = rest_frame()
    await connection.send(encode_binary(Motion(int(time.time() * 1000), 7, WHOLE, rest.weights, rest.joints)))
    await connection.wait_closed()


async def test_what_a_later_version_says_is_left_out() -> None:
    async with serve(newer_gateway, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        async with DmcpClient.connect(f"ws://127.0.0.1:{port}/dmcp", "ses_a", "token") as client:
            motion = await asyncio.wait_for(client.next_motion(), 5)

            assert motion.sequence == 7
            assert client.unreadable == 2


async def busy_room(connection: ServerConnection) -> None:
    await connection.recv()
    limits = Limits().as_told()
    await connection.send(m.encode(m.Welcome("ses_a", "control", 0, 0.0, 0, "binary", limits, "none", 1_000)).decode())
    await connection.recv()
    for holder in ("other", "you", "you"):
        await connection.send(f'{{"type":"control","holder":"{holder}"}}')
    await connection.wait_closed()


async def test_word_of_anothers_take_is_not_taken_for_the_answer() -> None:
    async with serve(busy_room, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        async with DmcpClient.connect(f"ws://127.0.0.1:{port}/dmcp", "ses_a", "token", role="control") as client:
            await client.take()

            assert client.holder == "you"


async def test_what_is_no_gateway_is_said_so() -> None:
    async with serve(newer_gateway, "127.0.0.1", 0, subprotocols=["other"]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Refused):
            async with DmcpClient.connect(f"ws://127.0.0.1:{port}/dmcp", "ses_a", "token"):
                pass
