"""The real gateway process over real sockets: who gets in, what reaches whom, what is refused, and what survives what."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from gpu_engine.dmcp.client import Closed, DmcpClient, Refused
from gpu_engine.dmcp.codes import Code
from gpu_engine.dmcp.motion import Motion, encode_binary, encode_json
from gpu_engine.dmcp.token import SigningKey, jwk_set
from gpu_engine.motion.live import IN_RING
from gpu_engine.motion.ring import MOTION_RECORD, MotionFlag, RingReader
from gpu_engine.motion.vocabulary import WEIGHT_INDEX, MotionFrame, rest_frame
from tests.dmcp.frames import WHOLE
from tests.dmcp.harness import Site, eventually, site

pytestmark = pytest.mark.process

JAW = WEIGHT_INDEX["jawOpen"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway with two sessions, for tests that do it no harm."""
    with site(tmp_path_factory.mktemp("dmcp")) as made:
        made.start_body("ses_a")
        made.start_body("ses_b", epoch=None)
        yield made


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Site]:
    """A gateway with one session, for a test that breaks something."""
    with site(tmp_path) as made:
        made.start_body("ses_a")
        yield made


def client(site: Site, session: str = "ses_a", role: Any = "watch", encoding: Any = "binary", **token: Any) -> Any:
    return DmcpClient.connect(site.url, session, site.token(session, role, **token), role=role, encoding=encoding)


def opened(jaw: float) -> MotionFrame:
    frame = rest_frame()
    frame.weights[JAW] = jaw
    return frame


async def raw(
    site: Site, hello: dict[str, Any] | str | bytes | None = None, session: str = "ses_a", role: Any = "control"
) -> Any:
    """A connection that has said hello (or something else) by hand."""
    connection = await connect(site.url, subprotocols=["dmcp.1.2"], compression=None, proxy=None)  # type: ignore[list-item]
    if hello is None:
        hello = {"type": "hello", "token": site.token(session, role), "sid": session, "role": role, "clock_ms": now_ms()}
    await connection.send(json.dumps(hello) if isinstance(hello, dict) else hello)
    return connection


def now_ms() -> int:
    return int(time.time() * 1000)


async def answer(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """The next message of this type."""
    async with asyncio.timeout(5):
        while True:
            message = await connection.recv()
            if isinstance(message, str) and (made := json.loads(message)).get("type") == kind:
                return dict(made)


async def ending(connection: ClientConnection) -> tuple[int, str]:
    """Code and reason of the close frame."""
    async with asyncio.timeout(8):
        with contextlib.suppress(ConnectionClosedError):
            async for _ in connection:
                pass
    assert connection.close_code is not None
    return connection.close_code, connection.close_reason or ""


async def closing(watcher: DmcpClient, within_s: float = 5.0) -> int:
    """Read telemetry until the gateway ends the connection; its code."""
    async with asyncio.timeout(within_s):
        async for _ in watcher:
            pass
    with pytest.raises(Closed) as closed:
        await watcher.next_motion()
    return closed.value.code


def flood(connection: ClientConnection, data: bytes, frames: int) -> None:
    """Write whole frames straight to the socket, faster than any honest sender."""
    frame = b"\x82" + bytes([0x80 | 126]) + struct.pack(">H", len(data)) + b"\0\0\0\0" + data
    assert connection.transport is not None
    connection.transport.write(frame * frames)


async def send_motion(connection: ClientConnection, **changes: Any) -> None:
    fields: dict[str, Any] = {"ts_ms": now_ms(), "sequence": None, "flags": WHOLE}
    frame = rest_frame()
    await connection.send(
        encode_json("ses_a", Motion(**(fields | changes), weights=frame.weights, joints=frame.joints)).decode()
    )


# --- getting in -----------------------------------------------------------------------------------------------------------


async def test_a_version_that_is_not_spoken_is_refused_naming_what_is(shared: Site) -> None:
    for offered in (["dmcp.9.9"], None):
        with pytest.raises(InvalidStatus) as refused:
            await connect(shared.url, subprotocols=offered, proxy=None)  # type: ignore[arg-type]
        body = json.loads(refused.value.response.body or b"")
        assert (refused.value.response.status_code, body["code"], body["speaks"]) == (400, 4001, ["dmcp.1.2"])


async def test_of_several_versions_the_one_that_is_spoken_is_taken(shared: Site) -> None:
    async with connect(shared.url, subprotocols=["dmcp.2.0", "dmcp.1.2"], proxy=None) as connection:  # type: ignore[list-item]
        assert connection.subprotocol == "dmcp.1.2"


async def test_the_welcome_says_what_a_client_needs(shared: Site) -> None:
    async with client(shared) as watcher:
        welcome = watcher.welcome

    assert (welcome.version, welcome.sid, welcome.role, welcome.holder) == ("1.2", "ses_a", "watch", "none")
    assert (len(welcome.weights), len(welcome.joints)) == (32, 21)
    assert abs(welcome.clock_offset_ms) < 500
    assert welcome.limits.max_frame_bytes == 16_384


HELLO = {"type": "hello", "role": "watch", "clock_ms": 1, "sid": "ses_a"}
STRANGER = SigningKey.generate()


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("hi", Code.HELLO_EXPECTED),
        (b"\0" * 250, Code.HELLO_EXPECTED),
        ({"type": "ping", "id": 1, "t": 1}, Code.HELLO_EXPECTED),
        ({**HELLO}, Code.HELLO_EXPECTED),
        ({**HELLO, "token": "x"}, Code.TOKEN_INVALID),
        ({**HELLO, "token": "TOKEN", "client": "x" * 5000}, Code.HELLO_EXPECTED),
        ({**HELLO, "token": "STRANGE"}, Code.TOKEN_INVALID),
        ({**HELLO, "token": "OLD"}, Code.TOKEN_EXPIRED),
        ({**HELLO, "token": "TOKEN", "role": "control"}, Code.ROLE_NOT_GRANTED),
        ({**HELLO, "token": "TOKEN", "sid": "ses_b"}, Code.SESSION_MISMATCH),
        ({**HELLO, "token": "NOWHERE", "sid": "ses_none"}, Code.SESSION_UNKNOWN),
        ({**HELLO, "token": "OUTSIDE", "sid": "../runs/ses_a"}, Code.SESSION_UNKNOWN),
    ],
    ids=lambda value: value.title if isinstance(value, Code) else "",
)  # fmt: skip
async def test_who_may_not_in_is_told_why(shared: Site, first: Any, code: Code) -> None:
    tokens = {
        "TOKEN": lambda: shared.token("ses_a"),
        "STRANGE": lambda: shared.token("ses_a", key=STRANGER),
        "OLD": lambda: shared.key.issue(session="ses_a", tenant="t", role="watch", life_s=5, now_s=time.time() - 60)[0],
        "NOWHERE": lambda: shared.token("ses_none"),
        "OUTSIDE": lambda: shared.token("../runs/ses_a"),
    }
    if isinstance(first, dict) and first.get("token") in tokens:
        first = {**first, "token": tokens[first["token"]]()}
    connection = await raw(shared, first)

    error = await answer(connection, "error")
    assert (error["code"], error["name"], error["closing"]) == (code.value, code.title, True)
    assert await ending(connection) == (code.value, code.title)


async def test_who_says_nothing_is_shown_out(shared: Site) -> None:
    connection = await connect(shared.url, subprotocols=["dmcp.1.2"], proxy=None)  # type: ignore[list-item]

    assert (await ending(connection))[0] == Code.HELLO_TIMEOUT


async def test_one_token_opens_a_bounded_number_of_connections(shared: Site) -> None:
    token = shared.token("ses_a")
    hello = {**HELLO, "token": token, "clock_ms": now_ms()}
    held = [await raw(shared, hello) for _ in range(8)]
    for connection in held:
        await answer(connection, "welcome")

    assert await ending(await raw(shared, hello)) == (4014, "token_overused")
    await held[0].close()
    await eventually(lambda: shared.log.count('"event": "left"') > 0, "the first is gone")
    again = await raw(shared, hello)
    await answer(again, "welcome")
    for connection in (*held, again):
        await connection.close()


# --- watching and driving -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["json", "binary"])
async def test_telemetry_comes_at_the_bodys_rate_in_the_form_asked_for(shared: Site, encoding: Any) -> None:
    async with client(shared, encoding=encoding) as watcher:
        frames = [await asyncio.wait_for(watcher.next_motion(), 2) for _ in range(12)]

    assert {f.flags for f in frames} == {WHOLE} or encoding == "json"
    assert frames[0].weights[JAW] == pytest.approx(0.125, abs=1e-4)
    assert watcher.reception.lost == 0
    spread = np.diff([f.ts_ms for f in frames])
    assert abs(float(spread.mean()) - 40.0) < 2.0
    assert abs(frames[-1].ts_ms - now_ms()) < 500


async def test_a_watcher_can_ask_for_fewer_frames_or_none(shared: Site) -> None:
    async with client(shared) as watcher:
        await watcher.set_rate(5)
        first = await watcher.next_motion()
        rest = [await asyncio.wait_for(watcher.next_motion(), 2) for _ in range(4)]
        assert 140 <= (rest[-1].ts_ms - first.ts_ms) / 4 <= 260
        await watcher.set_rate(0)
        await watcher.ping()
        watcher._newest = None
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watcher.next_motion(), 0.3)
        with pytest.raises(Refused, match="4108"):
            await watcher.set_rate(61)


@pytest.mark.parametrize("encoding", ["json", "binary"])
async def test_motion_reaches_the_body_and_comes_back_as_telemetry(shared: Site, encoding: Any) -> None:
    async with client(shared) as watcher, client(shared, role="control", encoding=encoding) as driver:
        shared.changes("ses_a")
        await driver.take()
        assert driver.holder == "you"
        await eventually(lambda: watcher.holder == "other", "everyone is told")
        for _ in range(40):
            await driver.send_motion(opened(0.75))
            await asyncio.sleep(0.02)
        motion = await watcher.next_motion()
        assert motion.flags & MotionFlag.LIVE
        assert motion.weights[JAW] == pytest.approx(0.75, abs=0.01)
        await eventually(lambda: driver.last_report is not None and driver.last_report.received >= 10, "a report comes", 3)
        assert (driver.last_report.lost, driver.last_report.refused) == (0, 0)

        await driver.release()
        await eventually(lambda: watcher.holder == "none", "everyone is told")
        await asyncio.sleep(0.6)
        motion = await watcher.next_motion()
        assert (motion.flags, motion.weights[JAW]) == (WHOLE, pytest.approx(0.125, abs=1e-4))
    assert shared.changes("ses_a") == [("live", "taken"), ("autonomous", "released")]


async def test_only_one_drives_at_a_time(shared: Site) -> None:
    async with client(shared, role="control") as first, client(shared, role="control") as second:
        await first.take()
        with pytest.raises(Refused, match="4106"):
            await second.take()
        await second.take(force=True)
        await eventually(lambda: first.holder == "other", "the first is told")
        await first.send_motion(opened(0.9))
        await eventually(lambda: first.errors and first.errors[-1].code == Code.NOT_IN_CONTROL, "its frames are refused")


async def test_taking_what_one_has_is_answered(shared: Site) -> None:
    connection = await raw(shared)
    for _ in range(2):
        await connection.send('{"type":"take","force":true}')
        assert (await answer(connection, "control"))["holder"] == "you"
    await connection.close()


async def test_a_watcher_cannot_drive(shared: Site) -> None:
    async with client(shared) as watcher:
        with pytest.raises(Refused, match="4107"):
            await watcher.take()
        await watcher.send_motion(opened(1.0))
        await eventually(lambda: len(watcher.errors) == 2, "both are refused")
        assert {e.code for e in watcher.errors} == {Code.MAY_NOT_CONTROL}


async def test_losses_are_reported(shared: Site) -> None:
    async with client(shared, role="control") as driver:
        await driver.take()
        for sequence in (0, 1, 5, 3, 5, 6):
            driver._sequence = sequence
            await driver.send_motion(opened(0.5))
        await eventually(lambda: driver.last_report is not None, "a report comes", 3)
        r = driver.last_report

    assert (r.received, r.lost, r.reordered, r.duplicate, r.last_seq) == (5, 2, 1, 1, 6)


async def test_a_connection_ends_with_its_token_unless_it_is_renewed(shared: Site) -> None:
    async with client(shared) as watcher:
        before = watcher.welcome.expires_ms
        await watcher.renew(shared.token("ses_a", life_s=600))
        for token in (shared.token("ses_b"), shared.token("ses_a", "control"), "x"):
            with pytest.raises(Refused):
                await watcher.renew(token)
        assert [e.code for e in watcher.errors] == [Code.SESSION_MISMATCH, Code.ROLE_NOT_GRANTED, Code.TOKEN_INVALID]
        assert before < now_ms() + 61_000
        assert (await asyncio.wait_for(watcher.next_motion(), 2)).flags == WHOLE


# --- isolation ------------------------------------------------------------------------------------------------------------


async def test_two_sessions_know_nothing_of_each_other(shared: Site) -> None:
    into_b = RingReader(shared.runs / "ses_b" / IN_RING, MOTION_RECORD)
    async with client(shared, "ses_a", "control") as a, client(shared, "ses_b") as b:
        await a.take()
        for _ in range(25):
            await a.send_motion(opened(0.9))
            # A frame that names the other session is refused, whoever sends it.
            frame = opened(0.9)
            await a.send_raw(encode_json("ses_b", Motion(now_ms(), None, WHOLE, frame.weights, frame.joints)).decode())
            await asyncio.sleep(0.6)
            if len(a.errors) >= 3:
                break
        motions = [await asyncio.wait_for(b.next_motion(), 2) for _ in range(5)]

        assert {e.code for e in a.errors} == {Code.SESSION_MISMATCH}
        assert b.holder == "none"
        assert {float(m.weights[JAW]) for m in motions} == {motions[0].weights[JAW]}
        assert motions[0].weights[JAW] == pytest.approx(0.125, abs=1e-4)
    assert len(into_b.read().records) == 0
    assert shared.changes("ses_b") == []


# --- bad input ------------------------------------------------------------------------------------------------------------


async def test_single_bad_frames_are_answered_and_many_end_the_connection_alone(shared: Site) -> None:
    async with client(shared) as bystander:
        connection = await raw(shared)
        await answer(connection, "welcome")
        await connection.send('{"type":"take","force":true}')
        await answer(connection, "control")
        bad: list[tuple[Any, Code]] = [
            ("{", Code.MALFORMED),
            ('{"type":"dance"}', Code.MESSAGE_UNKNOWN),
            (b"DM", Code.BINARY_LENGTH),
            (b"XX" + bytes(248), Code.BINARY_HEADER),
            ('{"payload":NaN}', Code.WEIGHT_NOT_FINITE),
        ]
        for message, code in bad:
            await connection.send(message)
            error = await answer(connection, "error")
            assert (error["code"], error.get("closing", False)) == (code.value, False)
        for changes, code in (
            ({"ts_ms": now_ms() + 86_400_000}, Code.TIMESTAMP_FUTURE),
            ({"ts_ms": now_ms() - 86_400_000}, Code.TIMESTAMP_LATE),
        ):
            await send_motion(connection, **changes)
            assert (await answer(connection, "error"))["code"] == code
        await send_motion(connection, ts_ms=now_ms())
        await send_motion(connection, ts_ms=now_ms() - 100)
        assert (await answer(connection, "error"))["code"] == Code.TIMESTAMP_BACKWARDS
        await connection.send('{"type":"ping","id":3,"t":0}')
        assert (await answer(connection, "pong"))["id"] == 3

        for _ in range(12):
            await connection.send("{")
        assert await ending(connection) == (4015, "too_many_bad_frames")
        assert (await asyncio.wait_for(bystander.next_motion(), 2)).flags & WHOLE
        assert bystander.errors == []


async def test_a_frame_of_ten_megabytes_is_refused_by_its_header(shared: Site) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    transport = connection.transport
    assert transport is not None
    transport.write(b"\x82" + bytes([0x80 | 127]) + struct.pack(">Q", 10_000_000) + b"\0\0\0\0" + b"x" * 100)

    assert (await ending(connection))[0] == 1009


async def test_fragments_are_put_together_up_to_the_limit(shared: Site) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    await connection.send(iter(['{"type":"pi', 'ng","id":9,', '"t":0}']))
    assert (await answer(connection, "pong"))["id"] == 9
    await connection.send(iter(["x" * 9_000, "x" * 9_000]))

    assert (await ending(connection))[0] == Code.MALFORMED


async def test_a_sender_over_its_rate_loses_the_surplus_and_a_flood_its_connection(shared: Site) -> None:
    async with client(shared, role="control") as driver:
        await driver.take(force=True)
        for _ in range(150):
            await driver.send_motion(opened(0.2))
        await eventually(lambda: driver.errors, "it is told")
        assert {e.code for e in driver.errors} == {Code.FRAME_RATE_EXCEEDED}
        assert len(driver.errors) == 1
    connection = await raw(shared)
    await answer(connection, "welcome")
    await connection.send('{"type":"take","force":true}')
    await answer(connection, "control")
    frame = rest_frame()
    data = encode_binary(Motion(now_ms(), 1, WHOLE, frame.weights, frame.joints))
    flood(connection, data, 2_000)
    assert await ending(connection) == (4016, "flooding")


async def test_pings_are_answered_and_a_flood_of_them_ends_the_connection(shared: Site) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    await asyncio.wait_for(await connection.ping(b"here"), 5)
    assert connection.transport is not None
    connection.transport.write((b"\x89\xfd\0\0\0\0" + bytes(125)) * 3_000)

    assert await ending(connection) == (4016, "flooding")


@pytest.mark.parametrize(
    "frames", [((0x80, b"{}"),), ((0x01, b"{"), (0x01, b"{")), ((0x01, b"{"), (0x81, b"{}"))],
    ids=["nothing to continue", "begun twice", "one inside another"],
)  # fmt: skip
async def test_fragments_in_no_order_end_the_connection(shared: Site, frames: tuple[tuple[int, bytes], ...]) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    assert connection.transport is not None
    for head, data in frames:
        connection.transport.write(bytes([head, 0x80 | len(data)]) + b"\0\0\0\0" + data)

    assert await ending(connection) == (4101, "malformed")


async def test_text_that_no_decoder_likes_is_answered_and_forgotten(shared: Site) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    for text in ('{"type":"ping","x":' + "[" * 8_000 + "]" * 8_000 + "}", '{"type":"ping","id":1,"t":' + "9" * 400 + "}"):
        await connection.send(text)
        assert (await answer(connection, "error"))["code"] == Code.MALFORMED
    await connection.send('{"type":"ping","id":4,"t":0}')
    assert (await answer(connection, "pong"))["id"] == 4


async def test_a_close_without_a_code_is_answered_with_one(shared: Site) -> None:
    connection = await raw(shared)
    await answer(connection, "welcome")
    assert connection.transport is not None
    connection.transport.write(b"\x88\x80\0\0\0\0")

    assert (await ending(connection))[0] == 1000


async def test_control_cannot_be_tossed_about(alone: Site) -> None:
    async with client(alone) as watcher, client(alone, role="control") as driver:
        changes = 0
        while not driver.errors and changes < 40:
            with contextlib.suppress(Refused):
                await driver.take()
                await driver.release()
                changes += 1
        assert [error.code for error in driver.errors] == [Code.TAKEN_TOO_OFTEN]
        assert 10 <= changes < 40
        assert watcher.errors == []


async def test_garbage_on_the_socket_disturbs_nobody(shared: Site) -> None:
    random = np.random.default_rng(3)
    async with client(shared) as bystander:
        for n in range(40):
            with socket.create_connection(("127.0.0.1", shared.port), 2) as sock:
                if n % 2:
                    key = b"GET /dmcp HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    sock.sendall(key + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n")
                    sock.sendall(b"Sec-WebSocket-Protocol: dmcp.1.2\r\n\r\n")
                sock.sendall(random.bytes(int(random.integers(1, 3_000))))
        assert (await asyncio.wait_for(bystander.next_motion(), 2)).flags & WHOLE
        assert await bystander.ping() < 1_000
    assert shared.gateway is not None and shared.gateway.poll() is None


async def test_a_watcher_that_does_not_read_gets_the_newest_state_and_holds_up_nobody(shared: Site) -> None:
    before = shared.metric("conflated_total")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    sock.connect(("127.0.0.1", shared.port))
    slow = await connect(
        shared.url, sock=sock, subprotocols=["dmcp.1.2"], compression=None, proxy=None, max_queue=1,  # type: ignore[list-item]
    )  # fmt: skip
    hello = {**HELLO, "token": shared.token("ses_a"), "clock_ms": now_ms(), "encoding": "json"}
    await slow.send(json.dumps(hello))
    await asyncio.sleep(0.1)
    assert slow.transport is not None
    slow.transport.pause_reading()
    async with client(shared) as quick:
        await eventually(lambda: shared.metric("conflated_total") > before + 5, "frames are left out for it", 15)
        lost_before = quick.reception.lost
        for _ in range(10):
            await asyncio.wait_for(quick.next_motion(), 1)
        assert quick.reception.lost == lost_before == 0
    slow.transport.resume_reading()
    async with asyncio.timeout(5):
        while True:
            message = json.loads(await slow.recv())
            if "payload" in message and now_ms() - message["ts"] < 200:
                break
    await slow.close()


# --- life and death -------------------------------------------------------------------------------------------------------


async def test_kill_9_of_the_gateway_leaves_the_show_to_itself_and_another_takes_its_place(alone: Site) -> None:
    reader = RingReader(alone.runs / "ses_a.1" / "dmcp-out.ring", MOTION_RECORD)
    async with client(alone, role="control") as driver:
        await driver.take()
        for _ in range(30):
            await driver.send_motion(opened(0.75))
            await asyncio.sleep(0.02)
        reader.read()
        assert alone.gateway is not None
        alone.gateway.send_signal(signal.SIGKILL)
        alone.gateway.wait()
        await closing(driver)
    await asyncio.sleep(1.2)
    assert alone.changes("ses_a")[-1] == ("autonomous", "nothing came for 500 ms")
    records = reader.read().records
    assert len(records) >= 25
    jaw = records["weights"][:, JAW]
    # The last frames of the source were still on their way to the pose, then the way back: never a jump.
    assert np.abs(np.diff(jaw)).max() <= 1.875 * 40 / 400 * (0.75 - 0.125) * 1.05
    assert jaw[-1] == pytest.approx(0.125, abs=1e-4)

    alone.start_gateway()
    async with client(alone, role="control") as driver:
        await driver.take()
        for _ in range(30):
            await driver.send_motion(opened(0.5))
            await asyncio.sleep(0.02)
        assert (await driver.next_motion()).weights[JAW] == pytest.approx(0.5, abs=0.02)


async def test_a_body_that_starts_again_is_followed_and_a_session_that_is_over_is_ended(alone: Site) -> None:
    async with client(alone) as watcher:
        await watcher.next_motion()
        first = alone.bodies["ses_a"]
        first.kill()
        first.wait()
        alone.start_body("ses_a", epoch=2)
        await asyncio.sleep(1.5)
        watcher._newest = None
        motion = await asyncio.wait_for(watcher.next_motion(), 5)
        assert abs(motion.ts_ms - now_ms()) < 500

        alone.bodies["ses_a"].kill()
        assert await closing(watcher, 20) == Code.SESSION_ENDED


async def test_sigterm_says_goodbye_and_ends_in_order(alone: Site) -> None:
    async with client(alone) as watcher, client(alone, role="control") as driver:
        await driver.take()
        assert alone.gateway is not None
        alone.gateway.send_signal(signal.SIGTERM)
        assert await closing(watcher) == Code.DRAINING
    assert await asyncio.to_thread(alone.gateway.wait, 10) == 0


async def test_changed_keys_are_read_without_a_restart(alone: Site) -> None:
    newer = SigningKey.generate()
    with pytest.raises(Refused, match="4004"):
        async with client(alone, key=newer):
            pass
    fresh = alone.keys.with_suffix(".new")
    fresh.write_text(json.dumps(jwk_set(alone.key, newer)))
    os.replace(fresh, alone.keys)
    await eventually(lambda: '"keys read"' in alone.log, "the file is read")

    async with client(alone, key=newer) as a, client(alone) as b:
        assert (a.welcome.sid, b.welcome.sid) == ("ses_a", "ses_a")
    alone.keys.write_text("{")
    await eventually(lambda: '"keys not changed"' in alone.log, "a bad file is said and left")
    async with client(alone, key=newer) as c:
        assert c.welcome.sid == "ses_a"


async def test_logs_name_the_token_but_never_show_it(alone: Site) -> None:
    token = alone.token("ses_a")
    async with DmcpClient.connect(alone.url, "ses_a", token, role="watch"):
        pass

    joined = [json.loads(line) for line in alone.log.splitlines() if '"joined"' in line]
    assert [(line["session"], line["role"]) for line in joined] == [("ses_a", "watch")]
    assert token not in alone.log and token.split(".")[2] not in alone.log


def test_health_and_metrics_name_no_session(shared: Site) -> None:
    health = json.loads(shared.http("/healthz"))

    assert (health["status"], health["protocol"]) == ("ok", "dmcp.1.2")
    page = shared.http("/metrics")
    assert "ses_a" not in page and "ses_b" not in page
    assert 'dmcp_refusals_total{code="4001",name="version_unsupported"}' in page
