"""Which node gets a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import timedelta

from lumihost.core import clock
from lumihost.fleet.models import Node, NodeState

FRESH_S = 5.0
"""Below the lease: a node whose leases ran out for silence is never fresh, so its running shows are not placed on it anew."""


def choose(nodes: Collection[Node], used_slots: Counter[str], *, avoid: str | None = None) -> Node | None:
    """The online node with most free slots; ties go to the one seen longest ago in the list's order.

    Args:
        nodes: all candidates. used_slots: sessions each one has. avoid: a node to take only when it is the last resort.
    """
    now = clock.now()
    usable = [
        node
        for node in nodes
        if node.state == NodeState.ONLINE
        and node.last_seen is not None
        and now - node.last_seen <= timedelta(seconds=FRESH_S)
        and node.capacity_sessions > used_slots[node.pk]
    ]
    if not usable:
        return None
    return max(usable, key=lambda node: (node.pk != avoid, node.capacity_sessions - used_slots[node.pk]))
