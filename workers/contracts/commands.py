"""What a Celery command hands to the agent over its unix socket: one JSON line each way."""

from __future__ import annotations

import msgspec

START_TASK = "workers.start_session"
STOP_TASK = "workers.stop_session"
COMMAND_EXPIRES_S = 30
"""A command nobody fetched within this time is stale: the reconciler has sent another."""


def node_queue(node_id: str) -> str:
    """Name of the node's own queue."""
    return f"node.{node_id}"


class StartSession(msgspec.Struct, frozen=True, tag_field="type", tag="start"):
    """Run the session in this epoch; a no-op when it runs already."""

    session: str
    epoch: int


class StopSession(msgspec.Struct, frozen=True, tag_field="type", tag="stop"):
    """End the session if it runs in this epoch (or an older one)."""

    session: str
    epoch: int
    reason: str


class CommandReply(msgspec.Struct, frozen=True):
    """``accepted`` false says why in ``detail``; accepting is not finishing."""

    accepted: bool
    detail: str = ""


Command = StartSession | StopSession
