"""The console's socket: who may watch what, in which order, how much."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from lumihost.core import clock
from lumihost.live import services
from lumihost.live.models import LiveSession, SessionEvent
from lumihost.realtime.console import ConsoleConsumer
from tenants.context import scope
from tenants.models import Membership
from tenants.testing.tenants import CANARY, TwoTenants
from tests.realtime.conftest import Socket, console_socket

pytestmark = [pytest.mark.realtime, pytest.mark.django_db(transaction=True)]


async def store_events(tenants: TwoTenants, session: LiveSession, *numbers: int) -> None:
    def do() -> None:
        with scope(tenants.a.tenant):
            services.record_events(
                session_id=session.pk, epoch=1,
                events=[
                    SessionEvent(tenant=tenants.a.tenant, session_id=session.pk, epoch=1, seq=n, kind="turn", at=clock.now(),
                                 data={"answer": CANARY})
                    for n in numbers
                ],
            )  # fmt: skip

    await database_sync_to_async(do)()


async def group_send(tenants: TwoTenants, session: LiveSession, content: dict[str, Any]) -> None:
    group = f"t.{tenants.a.tenant.pk}.s.{session.pk}"
    await get_channel_layer().group_send(group, {"type": f"session.{content['type']}", "content": content})


async def watching(tenants: TwoTenants, session: LiveSession, after_seq: int = 0) -> Socket:
    socket = await console_socket(tenants.a.owner, tenants.a.tenant)
    await socket.expect("welcome")
    await socket.send_json_to({"type": "hello", "session": session.pk, "after_seq": after_seq})
    return socket


async def test_nobody_and_strangers_are_shown_the_door(tenants: TwoTenants) -> None:
    assert await (await console_socket(None, tenants.a.tenant)).closed_with() == 4401
    assert await (await console_socket(tenants.b.owner, tenants.a.tenant)).closed_with() == 4404


async def test_a_console_from_another_site_is_refused(tenants: TwoTenants) -> None:
    socket = await console_socket(tenants.a.owner, tenants.a.tenant, origin=b"https://evil.example")
    assert await socket.closed_with() == 4403


async def test_hello_gives_the_session_and_its_past_in_order(tenants: TwoTenants, session: LiveSession) -> None:
    await store_events(tenants, session, 1, 2, 3)
    socket = await watching(tenants, session)
    assert (await socket.expect("session"))["session"]["id"] == session.pk
    numbers = [(await socket.expect("event"))["seq"] for _ in range(3)]
    assert numbers == [1_000_000_000_001, 1_000_000_000_002, 1_000_000_000_003]


async def test_a_client_that_comes_back_gets_what_it_missed(tenants: TwoTenants, session: LiveSession) -> None:
    await store_events(tenants, session, 1, 2, 3)
    socket = await watching(tenants, session, after_seq=1_000_000_000_002)
    assert (await socket.expect("event"))["seq"] == 1_000_000_000_003
    assert await socket.receive_nothing(timeout=0.2)


async def test_another_tenants_session_does_not_exist(tenants: TwoTenants, session: LiveSession) -> None:
    await store_events(tenants, session, 1)
    socket = await console_socket(tenants.b.owner, tenants.b.tenant)
    await socket.expect("welcome")
    await socket.send_json_to({"type": "hello", "session": session.pk, "after_seq": 0})
    assert (await socket.expect("error"))["code"] == "not_found"
    await group_send(tenants, session, {"type": "event", "session": session.pk, "seq": 9, "data": {"x": CANARY}})
    assert await socket.receive_nothing(timeout=0.5)


async def test_snapshots_are_conflated_to_two_a_second_newest_wins(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await watching(tenants, session)
    await socket.expect("session")
    for n in range(40):
        await group_send(tenants, session, {"type": "snapshot", "session": session.pk, "seq": n, "metrics": {}})
        await asyncio.sleep(0.025)
    got = []
    while True:
        try:
            got.append((await socket.receive_json_from(timeout=0.7))["seq"])
        except TimeoutError:
            break
    assert got[-1] == 39
    assert len(got) <= 4
    assert got == sorted(got)


async def test_events_are_not_held_back_by_snapshots(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await watching(tenants, session)
    await socket.expect("session")
    for n in (1, 2):
        await group_send(tenants, session, {"type": "snapshot", "session": session.pk, "seq": n, "metrics": {}})
    await socket.expect("snapshot")
    await group_send(tenants, session, {"type": "event", "session": session.pk, "seq": 5, "kind": "turn", "data": {}})
    assert (await socket.receive_json_from(timeout=0.3))["type"] == "event"


async def test_a_revoked_member_is_cut_off(tenants: TwoTenants, session: LiveSession, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(ConsoleConsumer, "clock", staticmethod(lambda: now))
    socket = await watching(tenants, session)
    await socket.expect("session")
    await database_sync_to_async(Membership.objects.filter(tenant=tenants.a.tenant).delete)()
    now = 61.0
    await group_send(tenants, session, {"type": "event", "session": session.pk, "seq": 5, "data": {"x": CANARY}})
    output = await socket.receive_output(timeout=3)
    assert (output["type"], output["code"]) == ("websocket.close", 4404)


@pytest.mark.parametrize("frame", ["[]", "nonsense", '"text"', "x" * 20_000])
async def test_a_malformed_frame_closes_the_socket(tenants: TwoTenants, frame: str) -> None:
    socket = await console_socket(tenants.a.owner, tenants.a.tenant)
    await socket.expect("welcome")
    await socket.send_to(text_data=frame)
    assert await socket.closed_with() == 4400


@pytest.mark.parametrize("session_id", [7, {"a": 1}, True, "x" * 5000, "\x00", "😀"])
async def test_an_absurd_hello_is_answered_and_the_socket_stays(tenants: TwoTenants, session_id: object) -> None:
    socket = await console_socket(tenants.a.owner, tenants.a.tenant)
    await socket.send_json_to({"type": "hello", "session": session_id})
    await socket.expect("error")
    await socket.send_json_to({"type": "ping"})
    await socket.expect("pong")


async def test_a_reader_that_does_not_read_is_closed(
    tenants: TwoTenants, session: LiveSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that waits for its readers (daphne does not: its pings close the stalled ones)."""
    monkeypatch.setattr(ConsoleConsumer, "send_timeout_s", 0.2)
    stalled = asyncio.Event()
    real = ConsoleConsumer.send_json

    async def send_json(self: ConsoleConsumer, content: Any, close: bool = False) -> None:
        if content["type"] == "event":
            await stalled.wait()
        await real(self, content, close)

    monkeypatch.setattr(ConsoleConsumer, "send_json", send_json)
    socket = await watching(tenants, session)
    await socket.expect("session")
    await group_send(tenants, session, {"type": "event", "session": session.pk, "seq": 5, "data": {}})
    assert await socket.closed_with() == 4408


async def test_signing_out_ends_the_socket(tenants: TwoTenants, session: LiveSession, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SessionStore()

    def sign_in() -> None:
        store[SESSION_KEY] = str(tenants.a.owner.pk)
        store.create()

    await database_sync_to_async(sign_in)()
    socket = await console_socket(tenants.a.owner, tenants.a.tenant, session=store)
    await socket.expect("welcome")
    monkeypatch.setattr(ConsoleConsumer, "recheck_s", 0.0)
    await socket.send_json_to({"type": "ping"})
    await socket.expect("pong")
    await database_sync_to_async(SessionStore(store.session_key).flush)()
    await socket.send_json_to({"type": "ping"})
    assert await socket.closed_with() == 4401


async def test_a_server_that_stops_leaves_no_sender_behind(tenants: TwoTenants) -> None:
    before = asyncio.all_tasks()
    socket = await console_socket(tenants.a.owner, tenants.a.tenant)
    await socket.expect("welcome")
    senders = [task for task in asyncio.all_tasks() - before if "_send_due" in repr(task.get_coro())]
    assert [task.done() for task in senders] == [False]

    socket.future.cancel()
    await asyncio.gather(socket.future, return_exceptions=True)

    assert [task.done() for task in senders] == [True]
