"""Asking an engine something and waiting for the answer: HTTP → node's socket → engine → back.

Through the channel layer, so it works whichever web process the node is connected to.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

from channels.layers import get_channel_layer

from lumihost.realtime.groups import node_group
from workers.contracts.node import CallError

_GRACE_S = 0.5


@dataclass(frozen=True)
class EngineAddress:
    """Where a session runs now."""

    node_id: str
    session_id: str
    epoch: int


@dataclass(frozen=True)
class CallOutcome:
    """``error`` is '' on success, else a code of workers.contracts.node.CallError or gpu_engine.session.control.Reply."""

    result: dict[str, Any]
    error: str = ""
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the engine did it."""
        return not self.error


async def call_engine(address: EngineAddress, method: str, params: dict[str, Any], *, timeout_s: float = 5.0) -> CallOutcome:
    """Call ``method`` (gpu_engine.session.control) of the engine at ``address``; never later than ``timeout_s`` + 0.5 s."""
    layer = get_channel_layer()
    reply_to = await layer.new_channel("specific.reply")
    await layer.group_send(
        node_group(address.node_id),
        {
            "type": "node.call",
            "id": secrets.token_hex(8),
            "reply_to": reply_to,
            "session": address.session_id,
            "epoch": address.epoch,
            "method": method,
            "params": params,
            "deadline_ms": int(timeout_s * 1000),
        },
    )
    try:
        async with asyncio.timeout(timeout_s + _GRACE_S):
            message = await layer.receive(reply_to)
    except TimeoutError:
        return CallOutcome(
            {}, CallError.DEADLINE, f"no answer to '{method}' within {timeout_s:g} s: the node may be reconnecting"
        )
    return CallOutcome(message["result"], message["error"], message["detail"])
