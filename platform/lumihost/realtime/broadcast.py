"""Sending to groups: what consoles see of a session. Names are built in the scope, so a group is its tenant's own."""

from __future__ import annotations

import json
from typing import Any

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from lumihost.knowledge.selectors import engine_knowledge
from lumihost.live import selectors, state
from lumihost.live.models import LiveSession, SessionState
from lumihost.realtime.calls import EngineAddress, call_engine
from lumihost.realtime.groups import node_group, session_group, tenant_group
from lumihost.telemetry.snapshots import Snapshot, snapshots
from tenants.context import scope
from tenants.models import Tenant

_KNOWLEDGE_TIMEOUT_S = 4.0
_MAX_KNOWLEDGE_BYTES = 1024 * 1024
"""Larger catalogues are fetched by the node over HTTP: the socket carries leases too."""


async def send_snapshot(tenant: Tenant, session_id: str, snapshot: Snapshot) -> None:
    """Newest figures to whoever watches the session."""
    with scope(tenant):
        group = session_group(session_id)
    await get_channel_layer().group_send(group, {"type": "session.snapshot", "content": snapshot.as_dict(session_id)})


async def send_event(tenant: Tenant, session_id: str, content: dict[str, Any]) -> None:
    """An event (already in the console's shape) to whoever watches the session."""
    with scope(tenant):
        group = session_group(session_id)
    await get_channel_layer().group_send(group, {"type": "session.event", "content": content})


async def send_session(tenant: Tenant, session_id: str) -> None:
    """The session as it is now, to every console of the tenant."""
    with scope(tenant):
        group = tenant_group()
        content = await database_sync_to_async(_session_json)(session_id)
    if content is None:
        return
    if content["state"] in state.FINAL:
        snapshots.forget(session_id)
    await get_channel_layer().group_send(group, {"type": "session.changed", "content": content})


async def send_stop(node_id: str, session_id: str, epoch: int, reason: str) -> None:
    """Ask the node, by the short way, to end the session."""
    message = {"type": "node.stop", "session": session_id, "epoch": epoch, "reason": reason}
    await get_channel_layer().group_send(node_group(node_id), message)


async def send_knowledge(tenant: Tenant, only_session: str | None = None) -> dict[str, list[str]]:
    """Give today's facts to the tenant's running hosts; which took them and which did not."""
    with scope(tenant):
        addresses = await database_sync_to_async(_running)(only_session)
        if not addresses:
            return {"told": [], "failed": []}
        knowledge = await database_sync_to_async(engine_knowledge)(tenant)
    large = len(json.dumps(knowledge, ensure_ascii=False).encode()) > _MAX_KNOWLEDGE_BYTES
    params: dict[str, Any] = {"fetch": True} if large else {"knowledge": knowledge}
    told: list[str] = []
    failed: list[str] = []
    for address in addresses:
        outcome = await call_engine(address, "knowledge", params, timeout_s=_KNOWLEDGE_TIMEOUT_S)
        (told if outcome.ok else failed).append(address.session_id)
    return {"told": told, "failed": failed}


def _session_json(session_id: str) -> dict[str, Any] | None:
    session = selectors.sessions().filter(pk=session_id).first()
    return selectors.session_json(session) if session is not None else None


def _running(only_session: str | None) -> list[EngineAddress]:
    rows = LiveSession.objects.filter(state__in=[SessionState.STARTING, SessionState.LIVE]).exclude(node=None)
    if only_session is not None:
        rows = rows.filter(pk=only_session)
    return [EngineAddress(row.node_id, row.pk, row.epoch) for row in rows]
