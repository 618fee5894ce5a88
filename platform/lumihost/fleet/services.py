"""Registering nodes and keeping track of which are there."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from lumihost.core import clock
from lumihost.fleet.models import Ingest, Node, NodeState

NODE_SILENT_AFTER_S = 10.0
TWIN_FRESH_S = 6.0
INGEST_FRESH_S = 6.0
INGEST_FORGOTTEN_S = 120.0


def token_hash(token: str) -> str:
    """How a node token is stored and looked up."""
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def register_node(*, node_id: str, name: str, token: str | None = None, capacity_sessions: int = 1) -> tuple[Node, str]:
    """Create a node or renew its token and capacity; returns it with the token in clear, which is not stored.

    Raises:
        ValueError: the token is shorter than 32 characters.
    """
    token = token or secrets.token_urlsafe(48)
    if len(token) < 32:
        raise ValueError(f"a node token of {len(token)} characters can be guessed: use at least 32")
    node, _ = Node.objects.update_or_create(
        pk=node_id, defaults={"name": name, "token_hash": token_hash(token), "capacity_sessions": capacity_sessions}
    )
    return node, token


def node_of_token(token: str) -> Node | None:
    """The node this token belongs to. Looked up by hash, so timing tells nothing about the token."""
    return Node.objects.filter(token_hash=token_hash(token)).first() if token else None


class NodeTaken(Exception):
    """Another agent is connected under this node id."""


@transaction.atomic
def node_arrived(
    *, node_id: str, capacity_sessions: int, hardware: Mapping[str, Any], draining: bool, instance: str = ""
) -> None:
    """A node said hello.

    Raises:
        NodeTaken: a second agent under the same id; both would be told the other's sessions were lost.
    """
    node = Node.objects.select_for_update().get(pk=node_id)
    fresh = node.last_seen is not None and clock.now() - node.last_seen < timedelta(seconds=TWIN_FRESH_S)
    if instance and node.instance not in ("", instance) and node.state != NodeState.OFFLINE and fresh:
        raise NodeTaken(node_id)
    Node.objects.filter(pk=node_id).update(
        state=NodeState.DRAINING if draining else NodeState.ONLINE, capacity_sessions=capacity_sessions,
        hardware=dict(hardware), last_seen=clock.now(), instance=instance[:64],
    )  # fmt: skip


@transaction.atomic
def node_left(*, node_id: str) -> None:
    """A node's connection ended. Its leases run on; it is online again with its next hello."""
    Node.objects.filter(pk=node_id).update(state=NodeState.OFFLINE)


@dataclass(frozen=True)
class NodeSighting:
    """What a heartbeat said."""

    seen_at: datetime
    draining: bool
    load: dict[str, Any]


@transaction.atomic
def write_sightings(*, sightings: Mapping[str, NodeSighting]) -> None:
    """Store the newest heartbeat of each node."""
    for node_id, sighting in sightings.items():
        Node.objects.filter(pk=node_id).update(
            last_seen=sighting.seen_at, load=sighting.load,
            state=NodeState.DRAINING if sighting.draining else NodeState.ONLINE,
        )  # fmt: skip


@transaction.atomic
def ingest_beat(*, ingest_id: str, started_at: datetime) -> None:
    """A web process takes node messages."""
    now = clock.now()
    Ingest.objects.update_or_create(pk=ingest_id, defaults={"started_at": started_at, "beat_at": now})
    Ingest.objects.filter(beat_at__lt=now - timedelta(seconds=INGEST_FORGOTTEN_S)).delete()


def leases_can_be_trusted(settle_s: float) -> bool:
    """Whether an old lease means a lost node, rather than that nobody was there to take its renewals.

    True when every web process seen lately is fresh and has been up for ``settle_s``, time enough for nodes to come back.
    """
    now = clock.now()
    recent = list(Ingest.objects.filter(beat_at__gte=now - timedelta(seconds=INGEST_FRESH_S + settle_s)))
    fresh = [ingest for ingest in recent if now - ingest.beat_at <= timedelta(seconds=INGEST_FRESH_S)]
    if not fresh or len(fresh) < len(recent):
        return False
    return all(now - ingest.started_at >= timedelta(seconds=settle_s) for ingest in fresh)


@transaction.atomic
def mark_silent_nodes() -> list[str]:
    """Nodes not heard of for ``NODE_SILENT_AFTER_S`` are offline; returns their ids."""
    silent = Node.objects.exclude(state=NodeState.OFFLINE).exclude(
        last_seen__gte=clock.now() - timedelta(seconds=NODE_SILENT_AFTER_S)
    )
    ids = list(silent.values_list("pk", flat=True))
    if ids:
        Node.objects.filter(pk__in=ids).update(state=NodeState.OFFLINE)
    return ids
