"""The node's socket on the platform's side."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async

from lumihost.fleet import services as fleet
from lumihost.fleet.models import Node
from lumihost.live import services
from lumihost.live.models import LiveSession, SessionEvent
from lumihost.metering.models import UsageEvent
from lumihost.realtime import broadcast
from lumihost.realtime.calls import EngineAddress, call_engine
from lumihost.realtime.node import NodeConsumer
from tenants.context import scope
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR, make_node
from tests.realtime.conftest import NodeSocket, console_socket, greeted, node_socket
from workers.contracts import node as wire

pytestmark = [pytest.mark.realtime, pytest.mark.django_db(transaction=True)]


async def row(tenants: TwoTenants, session: LiveSession) -> LiveSession:
    def read() -> LiveSession:
        with scope(tenants.a.tenant):
            found: LiveSession = LiveSession.objects.get(pk=session.pk)
        return found

    result: LiveSession = await database_sync_to_async(read)()
    return result


async def count(tenants: TwoTenants, model: Any, **conditions: Any) -> int:
    def read() -> int:
        with scope(tenants.a.tenant):
            return int(model.objects.filter(**conditions).count())

    return int(await database_sync_to_async(read)())


def held(session: LiveSession, state: str = "live", epoch: int = 1) -> wire.HeldSession:
    return wire.HeldSession(session.pk, epoch, wire.NodeSessionState(state), pid=1, cursor={"line_index": 4})


async def reassign(tenants: TwoTenants, session: LiveSession, node: Node) -> None:
    def do() -> None:
        with scope(tenants.a.tenant):
            services.interrupt(session_id=session.pk, epoch=session.epoch, reason="test", actor=ACTOR)
            services.assign(session_id=session.pk, node=node, actor=ACTOR)

    await database_sync_to_async(do)()


@pytest.mark.parametrize("token", ["", "wrong", "n1-token-"])
async def test_an_unknown_token_is_shown_the_door(node: Node, token: str) -> None:
    socket = await node_socket("n1", token=token)
    assert await socket.closed_with() == 4401


async def test_a_node_may_not_speak_for_another(node: Node) -> None:
    socket = await node_socket("n1")
    await socket.say(wire.Hello("n2", 1, {}, "test"))
    assert await socket.closed_with() == 4403


async def test_nothing_is_taken_before_hello(node: Node, session: LiveSession) -> None:
    socket = await node_socket("n1")
    await socket.say(wire.Renew(session.pk, 1))
    assert await socket.closed_with() == 4400


async def test_frames_that_are_no_messages_end_the_connection_after_a_while(node: Node) -> None:
    socket = await greeted("n1")
    for frame in ["{}", "[]", "nonsense", '{"type":"usage"}', "\x00"] * 2:
        await socket.send_to(text_data=frame)
    assert await socket.closed_with() == 4400


async def test_hello_adopts_what_is_current_and_refuses_what_is_not(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await node_socket("n1")
    stale = wire.HeldSession(session.pk, 9, wire.NodeSessionState.LIVE)
    unknown = wire.HeldSession("ses_unknown", 1, wire.NodeSessionState.LIVE)
    await socket.say(wire.Hello("n1", 2, {"cpus": 2}, "test", (held(session), stale, unknown)))
    await socket.expect("welcome")
    leases = [await socket.expect("lease") for _ in range(3)]
    assert {(m["session"], m["epoch"]): m["ok"] for m in leases} == {
        (session.pk, 1): True, (session.pk, 9): False, ("ses_unknown", 1): False,
    }  # fmt: skip
    found = await row(tenants, session)
    assert (found.state, found.cursor) == ("live", {"line_index": 4})


async def test_a_renewal_of_an_old_epoch_is_refused(tenants: TwoTenants, session: LiveSession, node: Node) -> None:
    socket = await greeted("n1", held(session))
    await socket.say(wire.Renew(session.pk, 1))
    assert (await socket.expect("lease"))["ok"] is True
    await reassign(tenants, session, node)
    answers = []
    for _ in range(100):
        await socket.say(wire.Renew(session.pk, 1))
        answers.append((await socket.expect("lease"))["ok"])
        if not answers[-1]:
            break
        await asyncio.sleep(0.05)
    assert answers[-1] is False


async def test_usage_is_acknowledged_and_counted_once(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await greeted("n1", held(session))
    usage = wire.Usage(
        session.pk, 1, tuple(wire.UsageSegment(n, 1, n * 5, n * 5 + 5, 1_796_000_000_000 + n * 5000, 720) for n in (1, 2))
    )
    for _ in range(2):
        await socket.say(usage)
        assert (await socket.expect("usage_ack"))["seq"] == 2
    assert await count(tenants, UsageEvent) == 2


async def test_usage_of_an_epoch_this_node_never_held_is_not_stored(tenants: TwoTenants, session: LiveSession) -> None:
    await database_sync_to_async(make_node)("n2")
    socket = await greeted("n2")
    await socket.say(wire.Usage(session.pk, 1, (wire.UsageSegment(1, 1, 0, 5, 1_796_000_000_000, 720),)))
    await socket.expect("usage_ack")
    assert await count(tenants, UsageEvent) == 0


async def test_events_are_stored_once_and_acknowledged(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await greeted("n1", held(session))
    for seq in (1, 2, 2, 3):
        await socket.say(wire.Event(session.pk, 1, seq, "turn", {"n": seq}, 1_796_000_000_000))
    while (await socket.expect("event_ack"))["seq"] < 3:
        pass
    assert await count(tenants, SessionEvent, kind="turn") == 3


async def test_a_state_is_stored_and_a_stale_one_acknowledged_but_not_stored(
    tenants: TwoTenants, session: LiveSession, node: Node
) -> None:
    socket = await greeted("n1", held(session))
    await socket.say(wire.State(session.pk, 1, wire.NodeSessionState.INTERRUPTED, "the engine died"))
    assert (await socket.expect("state_ack"))["state"] == "interrupted"
    assert (await row(tenants, session)).state == "interrupted"
    await database_sync_to_async(lambda: _assign_again(tenants, session, node))()
    await socket.say(wire.State(session.pk, 1, wire.NodeSessionState.FAILED, "late"))
    await socket.expect("state_ack")
    found = await row(tenants, session)
    assert (found.state, found.epoch) == ("assigned", 2)


def _assign_again(tenants: TwoTenants, session: LiveSession, node: Node) -> None:
    with scope(tenants.a.tenant):
        services.assign(session_id=session.pk, node=node, actor=ACTOR)


async def test_a_newer_connection_takes_the_place_of_an_older_one(node: Node) -> None:
    old = await greeted("n1")
    await greeted("n1")
    assert await old.closed_with() == 4409


async def test_a_call_goes_to_the_node_and_its_answer_comes_back(session: LiveSession) -> None:
    socket = await greeted("n1", held(session))
    address = EngineAddress("n1", session.pk, 1)
    task = asyncio.create_task(call_engine(address, "say", {"text": "hello"}, timeout_s=3))
    call = await socket.expect("call")
    while call["method"] != "say":
        call = await socket.expect("call")
    assert (call["session"], call["epoch"], call["params"], call["deadline_ms"]) == (session.pk, 1, {"text": "hello"}, 3000)
    await socket.say(wire.CallReply(call["id"], False, error="refused", detail="not now"))
    outcome = await task
    assert (outcome.ok, outcome.error, outcome.detail) == (False, "refused", "not now")


async def test_a_call_nobody_answers_ends_at_its_deadline(session: LiveSession) -> None:
    outcome = await call_engine(EngineAddress("n1", session.pk, 1), "say", {"text": "x"}, timeout_s=0.1)
    assert outcome.error == "deadline"


async def test_a_node_that_goes_is_offline_at_once(node: Node) -> None:
    socket = await greeted("n1")
    await socket.disconnect()
    states: list[str] = []

    async def read() -> bool:
        states.append(await database_sync_to_async(lambda: Node.objects.get(pk="n1").state)())
        return states[-1] == "offline"

    for _ in range(100):
        if await read():
            break
    assert states[-1] == "offline"


async def test_metrics_and_events_reach_the_console_that_watches(tenants: TwoTenants, session: LiveSession) -> None:
    socket: NodeSocket = await greeted("n1", held(session))
    console = await console_socket(tenants.a.owner, tenants.a.tenant)
    await console.send_json_to({"type": "hello", "session": session.pk, "after_seq": 0})
    await console.expect("session")
    await socket.say(wire.Metrics(session.pk, 1, {"fps": 25.0, "media_s": 3.0, "total_media_s": 3.0}))
    await socket.say(wire.Event(session.pk, 1, 7, "spoken", {"text": "你好"}, 1_796_000_000_000))
    got = {message["type"]: message for message in [await console.receive_json_from(timeout=3) for _ in range(2)]}
    event, snapshot = got["event"], got["snapshot"]
    assert (event["kind"], event["data"], event["seq"]) == ("spoken", {"text": "你好"}, 1_000_000_000_007)
    assert (snapshot["session"], snapshot["metrics"]["fps"]) == (session.pk, 25.0)
    assert {"billable_s", "cost_minor"} <= snapshot["metrics"].keys()


async def test_metrics_of_an_old_epoch_reach_nobody(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await greeted("n1", held(session))
    console = await console_socket(tenants.a.owner, tenants.a.tenant)
    await console.send_json_to({"type": "hello", "session": session.pk, "after_seq": 0})
    await console.expect("session")
    await socket.say(wire.Metrics(session.pk, 5, {"fps": 1.0}))
    await socket.say(wire.Metrics(session.pk, 1, {"fps": 2.0}))
    assert (await console.expect("snapshot"))["metrics"]["fps"] == 2.0


async def test_a_node_that_was_taken_for_lost_says_what_it_is_when_it_renews(tenants: TwoTenants, session: LiveSession) -> None:
    socket = await greeted("n1", held(session))
    assert (await row(tenants, session)).state == "live"

    def lose() -> None:
        with scope(tenants.a.tenant):
            services.interrupt(session_id=session.pk, epoch=1, reason="silent", actor=ACTOR)

    await database_sync_to_async(lose)()
    await asyncio.sleep(1.0)  # what the connection read of the session is believed for a second
    await socket.say(wire.Renew(session.pk, 1))
    while not (lease := await socket.expect("lease"))["tell_state"]:
        pass
    assert lease["ok"]
    await socket.say(wire.State(session.pk, 1, wire.NodeSessionState.LIVE))
    await socket.expect("state_ack")
    assert (await row(tenants, session)).state == "live"


async def test_a_second_agent_under_the_same_id_is_turned_away(tenants: TwoTenants, session: LiveSession) -> None:
    first = await node_socket("n1")
    await first.say(wire.Hello("n1", 2, {}, "test", (held(session),), instance="one"))
    await first.expect("welcome")
    second = await node_socket("n1")
    await second.say(wire.Hello("n1", 2, {}, "test", (), instance="two"))
    assert await second.closed_with() == 4410
    assert (await row(tenants, session)).node_id == "n1"
    await first.say(wire.Renew(session.pk, 1))
    assert (await first.expect("lease"))["ok"]


async def test_an_agent_that_comes_back_takes_its_place_at_once(tenants: TwoTenants, session: LiveSession) -> None:
    first = await node_socket("n1")
    await first.say(wire.Hello("n1", 2, {}, "test", (held(session),), instance="one"))
    await first.expect("welcome")
    again = await node_socket("n1")
    await again.say(wire.Hello("n1", 2, {}, "test", (held(session),), instance="one"))
    await again.expect("welcome")
    assert await first.closed_with() == 4409


async def test_a_token_that_was_renewed_keeps_nothing_open(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NodeConsumer, "token_check_s", 0.0)
    socket = await greeted("n1")
    await socket.say(wire.Heartbeat(2))
    await socket.receive_nothing()
    await database_sync_to_async(fleet.register_node)(node_id="n1", name="n1", token="another-" + "x" * 40)
    await socket.say(wire.Heartbeat(2))
    assert await socket.closed_with() == 4401


async def test_a_large_catalogue_is_fetched_and_not_pushed_through_the_socket(
    tenants: TwoTenants, session: LiveSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "_MAX_KNOWLEDGE_BYTES", 10)
    socket = await greeted("n1", held(session))
    call = await socket.expect("call")
    assert (call["method"], call["params"]) == ("knowledge", {"fetch": True})


async def test_a_call_too_large_for_the_wire_is_refused_and_the_connection_stays(
    tenants: TwoTenants, session: LiveSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = await greeted("n1", held(session))
    monkeypatch.setattr(wire, "MAX_FRAME_BYTES", 1000)
    outcome = await call_engine(EngineAddress("n1", session.pk, 1), "say", {"text": "x" * 2000})
    assert outcome.error == "bad_request"
    await socket.say(wire.Renew(session.pk, 1))
    assert (await socket.expect("lease"))["ok"]
