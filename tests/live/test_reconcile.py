"""The reconciler under a clock of our own: no process, no waiting."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from lumihost.core import clock, outbox
from lumihost.core.models import Outbox
from lumihost.fleet import services as fleet
from lumihost.fleet.models import Node, NodeState
from lumihost.live import services
from lumihost.live.models import LiveSession
from lumihost.live.notify import NotifyFailed
from lumihost.live.reconcile import Reconciler, take_lock
from tenants.context import scope, scopes_disabled
from tenants.models import Tenant
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR, make_node, start
from workers.contracts.node import NodeSessionState as N

pytestmark = [pytest.mark.services, pytest.mark.django_db]


@dataclass
class World:
    """Virtual time, a reconciler, and what it sent. ``alive`` nodes beat and renew while time passes."""

    tenant: Tenant
    now: datetime = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
    sent: list[tuple[Any, ...]] = field(default_factory=list)
    told: list[tuple[Any, ...]] = field(default_factory=list)
    web_is_up: bool = True
    web_started: datetime = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
    alive: set[str] = field(default_factory=set)
    renewing: dict[str, int] = field(default_factory=dict)
    knowledge_fails: int = 0

    def __post_init__(self) -> None:
        self.reconciler = Reconciler(holder="test", dispatcher=self, notifier=self)  # type: ignore[arg-type]

    # the dispatcher
    def start(self, node_id: str, session_id: str, epoch: int) -> None:
        self.sent.append(("start", node_id, session_id, epoch))

    def stop(self, node_id: str, session_id: str, epoch: int, reason: str) -> None:
        self.sent.append(("stop", node_id, session_id, epoch, reason))

    # the notifier
    def try_beat(self) -> bool:
        return self.web_is_up

    def try_session_changed(self, tenant_id: str, session_id: str) -> bool:
        self.told.append(("session", tenant_id, session_id))
        return True

    def try_stop(self, *arguments: Any) -> bool:
        self.told.append(("stop", *arguments))
        return True

    def knowledge_changed(self, tenant_id: str) -> dict[str, Any]:
        if self.knowledge_fails:
            self.knowledge_fails -= 1
            raise NotifyFailed("the web process is away")
        self.told.append(("knowledge", tenant_id))
        return {}

    def close(self) -> None: ...

    def run(self, seconds: float) -> None:
        """Let time pass in steps of half a second."""
        for _ in range(int(seconds * 2)):
            self.now += timedelta(seconds=0.5)
            if self.web_is_up:
                fleet.ingest_beat(ingest_id="web", started_at=self.web_started)
                with scopes_disabled("nodes beat for all tenants"):
                    for node_id in self.alive:
                        Node.objects.filter(pk=node_id).update(last_seen=self.now, state=NodeState.ONLINE)
                    leases = {key: self.now + timedelta(seconds=6) for key in self.renewing.items()}
                    services.extend_leases(renewals=leases, media_s={})
            self.reconciler.step()

    def session(self, session_id: str) -> LiveSession:
        with scope(self.tenant):
            found: LiveSession = LiveSession.objects.get(pk=session_id)
        return found

    def go_live(self, session_id: str, epoch: int = 1) -> None:
        with scope(self.tenant):
            for reported in (N.STARTING, N.LIVE):
                services.record_state(session_id=session_id, epoch=epoch, reported=reported, actor=ACTOR)
        self.renewing[session_id] = epoch


@pytest.fixture
def world(two_tenants: TwoTenants) -> Iterator[World]:
    made = World(two_tenants.a.tenant)
    with clock.running(lambda: made.now):
        yield made


def test_a_request_goes_to_a_node_within_a_second(world: World) -> None:
    make_node()
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    assert world.sent == [("start", "n1", session.pk, 1)]
    assert world.session(session.pk).state == "assigned"
    assert ("session", world.tenant.pk, session.pk) in world.told


def test_without_a_free_slot_it_waits_and_goes_when_one_is_free(world: World) -> None:
    make_node(capacity=1)
    world.alive = {"n1"}
    with scope(world.tenant):
        first = start()
    world.run(1)
    world.go_live(first.pk)
    with scope(world.tenant):
        second = start()
    world.run(8)
    assert world.session(second.pk).state == "requested"
    with scope(world.tenant):
        services.record_state(session_id=first.pk, epoch=1, reported=N.ENDED, actor=ACTOR)
    world.run(1)
    assert world.sent == [("start", "n1", first.pk, 1), ("start", "n1", second.pk, 1)]


def test_a_lost_command_is_sent_again_in_the_same_epoch(world: World) -> None:
    make_node()
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.renewing[session.pk] = 1
    world.run(6)
    assert world.sent == [("start", "n1", session.pk, 1)] * 2


def test_a_node_that_never_takes_it_loses_it_to_another(world: World) -> None:
    make_node("n1", capacity=2)
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    make_node("n2")
    world.alive = {"n1", "n2"}
    world.run(10)
    assert world.sent[0] == ("start", "n1", session.pk, 1)
    assert ("start", "n2", session.pk, 2) in world.sent


def test_a_lost_node_is_replaced_within_ten_seconds_from_the_cursor(world: World) -> None:
    make_node("n1")
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    with scope(world.tenant):
        services.record_state(session_id=session.pk, epoch=1, reported=N.LIVE, cursor={"line_index": 7}, actor=ACTOR)
    make_node("n2")
    world.alive.add("n2")
    world.run(20)
    assert world.session(session.pk).state == "live"

    world.alive.remove("n1")
    world.renewing.clear()
    lost_at = world.now
    while ("start", "n2", session.pk, 2) not in world.sent:
        world.run(0.5)
        assert world.now - lost_at <= timedelta(seconds=10)
    assert world.session(session.pk).cursor == {"line_index": 7}


def test_with_a_single_node_an_expired_lease_stops_nothing(world: World) -> None:
    node = make_node()
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    world.run(5)
    world.alive, world.renewing = set(), {}
    world.run(40)
    found = world.session(session.pk)
    assert (found.state, found.epoch) == ("interrupted", 1)
    assert world.sent == [("start", "n1", session.pk, 1)]
    with scope(world.tenant):
        assert services.adopt(session_id=session.pk, epoch=1, node=node, reported=N.LIVE, cursor=None, actor=ACTOR)
    world.alive, world.renewing = {"n1"}, {session.pk: 1}
    world.run(30)
    assert (world.session(session.pk).state, world.session(session.pk).epoch) == ("live", 1)


def test_an_outage_of_the_web_process_takes_no_session_from_its_node(world: World) -> None:
    make_node("n1")
    make_node("n2")
    world.alive = {"n1", "n2"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    epoch_node = world.session(session.pk).node_id
    world.go_live(session.pk)
    world.run(5)
    world.web_is_up = False
    world.run(30)
    world.web_is_up, world.web_started = True, world.now
    world.run(20)
    found = world.session(session.pk)
    assert (found.state, found.epoch, found.node_id) == ("live", 1, epoch_node)


def test_an_engine_restarting_on_its_node_is_left_there(world: World) -> None:
    make_node("n1")
    make_node("n2")
    world.alive = {"n1", "n2"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    with scope(world.tenant):
        services.record_state(session_id=session.pk, epoch=1, reported=N.INTERRUPTED, actor=ACTOR)
    world.run(30)
    assert (world.session(session.pk).state, world.session(session.pk).epoch) == ("interrupted", 1)


def test_a_stop_is_repeated_until_the_node_obeys(world: World) -> None:
    make_node()
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    with scope(world.tenant):
        services.stop_session(session_id=session.pk, reason="enough", actor=ACTOR)
    world.run(11)
    stops = [message for message in world.sent if message[0] == "stop"]
    assert stops == [("stop", "n1", session.pk, 1, "enough")] * 3
    assert ("stop", "n1", session.pk, 1, "enough") in world.told
    world.renewing.clear()
    world.run(10)
    assert world.session(session.pk).state == "ended"


def test_a_stop_while_the_node_is_lost_ends_the_session(world: World) -> None:
    make_node()
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    world.alive, world.renewing = set(), {}
    world.run(20)
    with scope(world.tenant):
        services.stop_session(session_id=session.pk, reason="enough", actor=ACTOR)
    assert world.session(session.pk).state == "ended"


def test_a_draining_node_gets_nothing_new(world: World) -> None:
    make_node()
    fleet.node_arrived(node_id="n1", capacity_sessions=1, hardware={}, draining=True)
    with scope(world.tenant):
        session = start()
    world.run(5)
    assert world.session(session.pk).state == "requested"


def test_of_many_knowledge_changes_the_last_is_told_and_a_failure_is_tried_again(world: World) -> None:
    from django.db import transaction

    with scope(world.tenant), transaction.atomic():
        for version in range(5):
            outbox.emit("knowledge.changed", {"version": version})
    world.knowledge_fails = 1
    world.run(0.5)
    assert ("knowledge", world.tenant.pk) not in world.told
    world.run(3)
    assert world.told.count(("knowledge", world.tenant.pk)) == 1


def test_one_reconciler_works_and_another_takes_over_when_it_dies(world: World) -> None:
    world.run(1)
    other = Reconciler(holder="other", dispatcher=world, notifier=world)  # type: ignore[arg-type]
    assert other.step() is False
    world.now += timedelta(seconds=16)
    assert other.step() is True
    assert take_lock("test") is False


def test_one_sessions_trouble_does_not_hold_up_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    make_node(capacity=5)
    world.alive = {"n1"}
    with scope(world.tenant):
        broken, whole = start(), start()
    real = services.assign

    def assign(*, session_id: str, **rest: Any) -> LiveSession:
        if session_id == broken.pk:
            raise RuntimeError("a defect")
        return real(session_id=session_id, **rest)

    monkeypatch.setattr(services, "assign", assign)
    world.run(1)
    assert world.session(broken.pk).state == "requested"
    assert world.session(whole.pk).state == "assigned"


def test_a_node_that_refuses_is_asked_less_and_less_and_then_not_at_all(world: World) -> None:
    make_node(capacity=1)
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    asked: list[float] = []
    began = world.now
    for _ in range(600):
        world.run(0.5)
        found = world.session(session.pk)
        if found.state == "assigned":
            asked.append((world.now - began).total_seconds())
            with scope(world.tenant):
                services.record_state(session_id=session.pk, epoch=found.epoch, reported=N.REFUSED, actor=ACTOR)
    pauses = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert pauses[:2] == [0.5, 0.5]
    assert all(2.0 <= pause <= 20.5 for pause in pauses[2:])
    assert len(asked) == 10
    assert world.session(session.pk).state == "failed"
    assert "no node could start it in 10 attempts" in world.session(session.pk).end_reason


def test_a_show_that_was_on_the_air_is_never_given_up(world: World) -> None:
    make_node(capacity=1)
    world.alive = {"n1"}
    with scope(world.tenant):
        session = start()
    world.run(1)
    world.go_live(session.pk)
    world.renewing.clear()
    for _ in range(400):
        world.run(0.5)
        found = world.session(session.pk)
        if found.state in ("assigned", "live"):
            with scope(world.tenant):
                services.record_state(session_id=session.pk, epoch=found.epoch, reported=N.REFUSED, actor=ACTOR)
    assert world.session(session.pk).epoch > 12
    assert world.session(session.pk).state in ("interrupted", "assigned")


def test_a_message_that_can_never_be_delivered_is_given_up(world: World) -> None:
    with scope(world.tenant), transaction.atomic():
        outbox.emit("doomed", {})

    def fail(message: Outbox) -> None:
        raise ValueError("no such tenant")

    tried = 0
    while Outbox.objects.filter(topic="doomed", done_at=None).exists():
        world.now += timedelta(seconds=301)
        outbox.deliver({"doomed": fail})
        tried += 1
        assert tried <= outbox.MAX_ATTEMPTS
    message = Outbox.objects.get(topic="doomed")
    assert (tried, message.attempts, message.last_error) == (outbox.MAX_ATTEMPTS, tried, "given up: no such tenant")


def test_slow_messages_do_not_keep_the_reconciler_from_its_other_duties(world: World) -> None:
    with scope(world.tenant), transaction.atomic():
        for _ in range(5):
            outbox.emit("slow", {})
    handled: list[int] = []
    assert outbox.deliver({"slow": lambda message: handled.append(message.pk)}, budget_s=-1.0) == 0
    assert outbox.deliver({"slow": lambda message: handled.append(message.pk)}) == 5
