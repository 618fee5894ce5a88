"""Rows that tests of live sessions start from, made through the same services the product uses."""

from __future__ import annotations

from typing import Any

from lumihost.core.audit import Actor
from lumihost.fleet import services as fleet
from lumihost.fleet.models import Node
from lumihost.live import editing, services
from lumihost.live.models import LiveSession, Show

ACTOR = Actor("tester")
LINES = [{"id": "l1", "text": "欢迎来到直播间", "lang": "zh", "interruptible": True, "variants": []}]
SEGMENTS: list[dict[str, Any]] = [
    {"id": "s1", "kind": "opening", "title": "", "product_id": None, "lines": LINES, "gap_s": 0.0}
]


def make_node(node_id: str = "n1", *, capacity: int = 1) -> Node:
    """An online node; its token is ``<id>-token-…``."""
    node, _ = fleet.register_node(node_id=node_id, name=f"node {node_id}", token=token_of(node_id), capacity_sessions=capacity)
    fleet.node_arrived(node_id=node_id, capacity_sessions=capacity, hardware={}, draining=False)
    node.refresh_from_db()
    return node


def token_of(node_id: str) -> str:
    """The token of :func:`make_node`."""
    return f"{node_id}-token-" + "x" * 40


def make_show(title: str = "demo") -> Show:
    """A show with one line; runs in the tenant's scope."""
    return editing.create_show(fields={"title": title, "segments": SEGMENTS}, actor=ACTOR)


def start(show: Show | None = None) -> LiveSession:
    """A session that waits for a node; runs in the tenant's scope."""
    return services.start_session(show_id=(show or make_show()).pk, actor=ACTOR)


def assigned(node: Node) -> LiveSession:
    """A session on ``node`` in epoch 1; runs in the tenant's scope."""
    return services.assign(session_id=start().pk, node=node, actor=ACTOR)
