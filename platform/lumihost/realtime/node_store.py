"""The node consumer's database work, each piece in a thread and in the right tenant's scope."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from channels.db import database_sync_to_async

from lumihost.core.audit import Actor
from lumihost.fleet import services as fleet
from lumihost.fleet.models import Node
from lumihost.live import services, state
from lumihost.live.models import Desired, LiveSession, SessionAssignment, SessionEvent, SessionState
from lumihost.metering import usage as usage_reads
from lumihost.metering.services import record_usage
from tenants.context import scope, scopes_disabled
from tenants.models import Tenant
from workers.contracts import node as wire

_WHY = "a node serves every tenant; its sessions are found by id before a tenant is known"
_running: set[asyncio.Future[Any]] = set()


@dataclass(frozen=True)
class Held:
    """A session as a node may see it."""

    epoch: int
    on_this_node: bool
    owned: bool
    """Whether an engine of the current epoch on this node may run."""
    stop_reason: str | None
    """Set when it is to end and the node does not seem to know."""
    interrupted: bool = False
    """It counts as lost; a node that renews it is asked what it is."""


@dataclass
class Greeting:
    """What a hello led to."""

    adopted: list[wire.HeldSession] = field(default_factory=list)
    refused: list[wire.HeldSession] = field(default_factory=list)
    changed: list[tuple[Tenant, str]] = field(default_factory=list)


def keep(task: asyncio.Future[Any]) -> None:
    """Own a task until it is done, so that it is neither collected nor forgotten."""
    _running.add(task)
    task.add_done_callback(_running.discard)


def actor_of(node_id: str) -> Actor:
    """The node in the audit trail."""
    return Actor(f"node:{node_id}")


@database_sync_to_async
def node_of_token(token: str) -> Node | None:
    """The node this token belongs to."""
    return fleet.node_of_token(token)


@database_sync_to_async
def token_opens(token_hash: str, node_id: str) -> bool:
    """Whether a token with this hash is still the node's."""
    return Node.objects.filter(pk=node_id, token_hash=token_hash).exists()


@database_sync_to_async
def node_left(node_id: str) -> None:
    """The node's connection ended."""
    fleet.node_left(node_id=node_id)


@database_sync_to_async
def tenant_of(session_id: str) -> Tenant | None:
    """The tenant of a session."""
    with scopes_disabled(_WHY):
        session = LiveSession.objects.select_related("tenant").filter(pk=session_id).first()
    return session.tenant if session is not None else None


@database_sync_to_async
def held_sessions(node_id: str, session_ids: Collection[str]) -> dict[str, Held]:
    """What is true of these sessions now, for this node. Sessions that are over or unknown are owned by nobody."""
    result = {session_id: Held(epoch=-1, on_this_node=False, owned=False, stop_reason=None) for session_id in session_ids}
    with scopes_disabled(_WHY):
        for session in LiveSession.objects.filter(pk__in=list(session_ids)):
            here = session.node_id == node_id
            over = session.state in state.FINAL
            unaware = session.desired == Desired.STOPPED and session.state != SessionState.STOPPING
            result[session.pk] = Held(
                epoch=session.epoch, on_this_node=here, owned=here and not over,
                stop_reason=(session.end_reason or "stopped") if unaware else None,
                interrupted=session.state == SessionState.INTERRUPTED,
            )  # fmt: skip
    return result


@database_sync_to_async
def greet(node: Node, hello: wire.Hello) -> Greeting:
    """Mark the node online; adopt what it has, take note of what is over, give away what it lost.

    Raises:
        fleet.NodeTaken: another agent is connected under this id.
    """
    greeting = Greeting()
    fleet.node_arrived(
        node_id=node.pk, capacity_sessions=hello.capacity, hardware=hello.hardware, draining=hello.draining,
        instance=hello.instance,
    )  # fmt: skip
    actor = actor_of(node.pk)
    for held in hello.sessions:
        with scopes_disabled(_WHY):
            session = LiveSession.objects.select_related("tenant").filter(pk=held.session).first()
        if session is None:
            greeting.refused.append(held)
            continue
        with scope(session.tenant):
            if held.state in wire.FINAL_STATES:
                # The node says so again in a state message, which is acknowledged; nothing runs that needs a lease.
                continue
            taken = services.adopt(
                session_id=held.session, epoch=held.epoch, node=node, reported=held.state, cursor=held.cursor, actor=actor
            )  # fmt: skip
        (greeting.adopted if taken else greeting.refused).append(held)
        if taken:
            greeting.changed.append((session.tenant, session.pk))
    with scopes_disabled(_WHY):
        present = {(held.session, held.epoch) for held in hello.sessions}
        for lost in services.lost_on_node(node=node, held=present, actor=actor):
            greeting.changed.append((lost.tenant, lost.pk))
    return greeting


@database_sync_to_async
def store_events(tenant: Tenant, session_id: str, epoch: int, events: list[wire.Event]) -> None:
    """Store a batch; events of an epoch that is over are dropped."""
    with scope(tenant):
        rows = [
            SessionEvent(
                tenant=tenant, session_id=session_id, epoch=epoch, seq=event.seq, kind=event.kind[:32], data=event.data,
                at=datetime.fromtimestamp(event.at_ms / 1000, UTC),
            )
            for event in events
        ]  # fmt: skip
        try:
            services.record_events(session_id=session_id, epoch=epoch, events=rows)
        except services.StaleEpoch:
            return


@database_sync_to_async
def store_usage(tenant: Tenant, node_id: str, usage: wire.Usage) -> tuple[int, usage_reads.Charge | None]:
    """Store segments if this node ever held this epoch; what need not be sent again, and the session's charge so far."""
    with scope(tenant):
        if not SessionAssignment.objects.filter(session_id=usage.session, epoch=usage.epoch, node_id=node_id).exists():
            return max((s.seq for s in usage.segments), default=0), None
        acked = record_usage(session_id=usage.session, epoch=usage.epoch, segments=usage.segments)
        return acked, usage_reads.charge_of(usage.session)


@database_sync_to_async
def store_state(tenant: Tenant, node_id: str, message: wire.State) -> bool:
    """Store a state; whether it changed anything. A stale epoch changes nothing and is not an error of this connection."""
    with scope(tenant):
        if not SessionAssignment.objects.filter(session_id=message.session, epoch=message.epoch, node_id=node_id).exists():
            return False
        try:
            session = services.record_state(
                session_id=message.session, epoch=message.epoch, reported=message.state, reason=message.reason,
                cursor=message.cursor, actor=actor_of(node_id),
            )  # fmt: skip
        except services.StaleEpoch:
            return False
    return session is not None
