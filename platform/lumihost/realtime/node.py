"""The node's socket: ``/ws/node/`` (workers/contracts/node.py).

Renewals are answered from a short read; everything that writes goes through one queue and one task per connection, in order,
so that a busy database delays acknowledgements and never leases.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from lumihost.fleet.models import Node
from lumihost.fleet.services import NodeTaken, token_hash
from lumihost.live import selectors
from lumihost.live.motion_tokens import public_keys
from lumihost.realtime import broadcast, node_store
from lumihost.realtime.flusher import flusher
from lumihost.realtime.groups import node_group
from lumihost.realtime.node_store import Held
from lumihost.telemetry.snapshots import snapshots
from tenants.models import Tenant
from workers.contracts import node as wire

log = logging.getLogger(__name__)

CLOSE_BAD_TOKEN = 4401
CLOSE_NOT_YOU = 4403
CLOSE_MALFORMED = 4400
CLOSE_SUPERSEDED = 4409
CLOSE_TWIN = 4410
_MAX_BAD_FRAMES = 10
_MAX_WRITES_WAITING = 500
_MAX_CALLS_WAITING = 500
_EVENT_FLUSH_S = 0.4
_EVENT_BATCH = 200
_HELD_CACHE_S = 1.0
_MAX_HELD = 200
_WRITE_RETRIES = 3

_connections: dict[str, str] = {}
"""Node → the newest connection to this process: an older one that ends late says nothing about the node."""


class NodeConsumer(AsyncWebsocketConsumer):
    """One connection of one node."""

    token_check_s: ClassVar[float] = 10.0

    node: Node | None = None
    _writer: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Let the node in by its token."""
        token = _bearer(self.scope["headers"])
        node = await node_store.node_of_token(token)
        if node is None:
            await self.accept()
            await self.close(code=CLOSE_BAD_TOKEN)
            return
        self.node = node
        self._token_hash = token_hash(token)
        self._token_checked_s = time.monotonic()
        self._connection = secrets.token_hex(8)
        self._greeted = False
        self._bad_frames = 0
        self._calls: dict[str, str] = {}
        self._held: dict[str, Held] = {}
        self._held_read_s = float("-inf")
        self._tenants: dict[str, Tenant] = {}
        self._events: dict[tuple[str, int], list[wire.Event]] = defaultdict(list)
        self._flush_planned = False
        self._writes: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(_MAX_WRITES_WAITING)
        flusher.ensure_running()
        self._writer = asyncio.create_task(self._write())
        await self.accept()

    async def disconnect(self, code: int) -> None:
        """Leave; what was not acknowledged comes again on the next connection."""
        if self.node is None or self._writer is None:
            return
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)
        await self.channel_layer.group_discard(node_group(self.node.pk), self.channel_name)
        if _connections.get(self.node.pk) == self._connection:
            del _connections[self.node.pk]
            flusher.ensure_running().node_gone(self.node.pk)
            await node_store.node_left(self.node.pk)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One message of the node."""
        if self.node is None:
            return
        try:
            message = wire.decode_from_node(text_data if text_data is not None else bytes_data or b"")
        except wire.WireError as error:
            self._bad_frames += 1
            log.warning("node %s: %s", self.node.pk, error)
            if self._bad_frames >= _MAX_BAD_FRAMES:
                await self.close(code=CLOSE_MALFORMED)
            return
        if isinstance(message, wire.Hello):
            await self._hello(message)
        elif not self._greeted:
            await self.close(code=CLOSE_MALFORMED)
        else:
            await self._handle(message)

    async def _handle(self, message: wire.NodeMessage) -> None:
        assert self.node is not None
        match message:
            case wire.Heartbeat():
                if not await self._token_still_good():
                    await self.close(code=CLOSE_BAD_TOKEN)
                    return
                flusher.ensure_running().node_seen(self.node.pk, draining=message.draining, load=message.load)
            case wire.Renew():
                await self._renew(message)
            case wire.Metrics():
                await self._metrics(message)
            case wire.Event():
                await self._event(message)
            case wire.Usage():
                await self._writes.put(lambda: self._write_usage(message))
            case wire.State():
                await self._flush_events()
                await self._writes.put(lambda: self._write_state(message))
            case wire.CallReply():
                reply_to = self._calls.pop(message.id, None)
                if reply_to is not None:
                    answer = {"type": "reply", "result": message.result, "error": message.error, "detail": message.detail}
                    await self.channel_layer.send(reply_to, answer)

    # --- hello and leases -----------------------------------------------------------------------------------------------

    async def _hello(self, hello: wire.Hello) -> None:
        assert self.node is not None
        if hello.node != self.node.pk:
            log.error("node %s presented itself as %s", self.node.pk, hello.node)
            await self.close(code=CLOSE_NOT_YOU)
            return
        try:
            outcome = await node_store.greet(self.node, hello)
        except NodeTaken:
            log.error("node %s: a second agent under this id was turned away", self.node.pk)
            await self.close(code=CLOSE_TWIN)
            return
        await self._take_over()
        self._held_read_s = float("-inf")
        await self._say(wire.Welcome(motion_keys=await asyncio.to_thread(public_keys)))
        for held in outcome.refused:
            await self._say(wire.Lease(held.session, held.epoch, ok=False, ttl_s=0))
        for held in outcome.adopted:
            flusher.ensure_running().renewed(held.session, held.epoch)
            await self._say(wire.Lease(held.session, held.epoch, ok=True))
            # Prices may have changed while the node was away; a host must not say the old ones.
            tenant = await self._tenant(held.session)
            if tenant is not None:
                await self._writes.put(lambda t=tenant, s=held.session: self._tell_knowledge(t, s))  # type: ignore[misc]
        for tenant, session_id in outcome.changed:
            await broadcast.send_session(tenant, session_id)
        log.info("node %s: hello, %d adopted, %d refused", self.node.pk, len(outcome.adopted), len(outcome.refused))

    async def _take_over(self) -> None:
        """From here on this is the node's connection. An older one is half open at best: it would answer calls nobody hears."""
        assert self.node is not None
        if self._greeted:
            return
        self._greeted = True
        group = node_group(self.node.pk)
        await self.channel_layer.group_send(group, {"type": "node.superseded", "by": self._connection})
        await self.channel_layer.group_add(group, self.channel_name)
        _connections[self.node.pk] = self._connection

    async def _token_still_good(self) -> bool:
        """A token that was renewed or whose node was removed opens nothing, and keeps nothing open."""
        assert self.node is not None
        now_s = time.monotonic()
        if now_s - self._token_checked_s < self.token_check_s:
            return True
        self._token_checked_s = now_s
        try:
            return await node_store.token_opens(self._token_hash, self.node.pk)
        except DatabaseError:
            return True

    async def _tell_knowledge(self, tenant: Tenant, session_id: str) -> None:
        # Not awaited here: the answer comes through this very connection, whose writer this is.
        task = asyncio.create_task(broadcast.send_knowledge(tenant, session_id))
        node_store.keep(task)

    async def _renew(self, renew: wire.Renew) -> None:
        held = await self._held_session(renew.session)
        if held is None:
            return
        ok = held.epoch == renew.epoch and held.owned
        if ok:
            flusher.ensure_running().renewed(renew.session, renew.epoch)
        await self._say(wire.Lease(renew.session, renew.epoch, ok=ok, tell_state=ok and held.interrupted))
        if ok and held.stop_reason is not None:
            await self._say(wire.Stop(renew.session, renew.epoch, held.stop_reason))

    async def _held_session(self, session_id: str) -> Held | None:
        """What the database says about a session, at most a second old; None (say nothing) when it cannot be read."""
        assert self.node is not None
        now_s = time.monotonic()
        if session_id not in self._held or now_s - self._held_read_s >= _HELD_CACHE_S:
            known = list(self._held) if len(self._held) < _MAX_HELD else []
            try:
                self._held = await node_store.held_sessions(self.node.pk, [*known, session_id])
                self._held_read_s = now_s
            except DatabaseError as error:
                log.error("leases of node %s cannot be read: %s", self.node.pk, error)
                return None
        return self._held.get(session_id)

    # --- telemetry ------------------------------------------------------------------------------------------------------

    async def _metrics(self, message: wire.Metrics) -> None:
        tenant = await self._current(message.session, message.epoch)
        if tenant is None:
            return
        snapshot = snapshots.update(message.session, epoch=message.epoch, at_ms=_now_ms(), metrics=message.snapshot)
        media_s = message.snapshot.get("total_media_s")
        if isinstance(media_s, int | float):
            flusher.ensure_running().media(message.session, float(media_s))
        await broadcast.send_snapshot(tenant, message.session, snapshot)

    async def _event(self, event: wire.Event) -> None:
        """To consoles at once; to the database with others, acknowledged when it is there."""
        tenant = await self._current(event.session, event.epoch)
        if tenant is None:
            # Of an epoch that is over: nobody wants it, and the node need not keep it.
            await self._say(wire.EventAck(event.session, event.epoch, event.seq))
            return
        if event.kind == "cursor":
            snapshots.update(event.session, epoch=event.epoch, at_ms=event.at_ms, cursor=event.data)
        await broadcast.send_event(
            tenant,
            event.session,
            {
                "type": "event", "session": event.session, "seq": selectors.console_seq(event.epoch, event.seq),
                "kind": event.kind, "data": event.data, "at": event.at_ms,
            },
        )  # fmt: skip
        self._events[event.session, event.epoch].append(event)
        if len(self._events[event.session, event.epoch]) >= _EVENT_BATCH:
            await self._flush_events()
        elif not self._flush_planned:
            self._flush_planned = True
            asyncio.get_running_loop().call_later(_EVENT_FLUSH_S, self._plan_flush)

    def _plan_flush(self) -> None:
        if self._writer is not None and not self._writer.done():
            node_store.keep(asyncio.ensure_future(self._flush_events()))

    async def _flush_events(self) -> None:
        self._flush_planned = False
        batches, self._events = self._events, defaultdict(list)
        for (session_id, epoch), events in batches.items():
            await self._writes.put(lambda s=session_id, e=epoch, b=events: self._write_events(s, e, b))  # type: ignore[misc]

    # --- writing --------------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        while True:
            job = await self._writes.get()
            for attempt in range(_WRITE_RETRIES):
                try:
                    await job()
                    break
                except DatabaseError as error:
                    log.error("node %s: write failed (attempt %d): %s", self.node, attempt + 1, error)
                    await asyncio.sleep(0.5 * 2**attempt)
                except Exception:
                    log.exception("node %s: a message could not be stored", self.node)
                    break
            # Given up: it was not acknowledged, so the node will send it again.

    async def _write_events(self, session_id: str, epoch: int, events: list[wire.Event]) -> None:
        tenant = await self._tenant(session_id)
        if tenant is not None:
            await node_store.store_events(tenant, session_id, epoch, events)
        await self._say(wire.EventAck(session_id, epoch, events[-1].seq))

    async def _write_usage(self, usage: wire.Usage) -> None:
        assert self.node is not None
        tenant = await self._tenant(usage.session)
        if tenant is None:
            return
        acked, charge = await node_store.store_usage(tenant, self.node.pk, usage)
        if charge is not None:
            snapshots.update(
                usage.session, epoch=usage.epoch, at_ms=_now_ms(), billable_s=charge.billable_s, cost_minor=charge.cost_minor
            )  # fmt: skip
        await self._say(wire.UsageAck(usage.session, usage.epoch, acked))

    async def _write_state(self, message: wire.State) -> None:
        assert self.node is not None
        tenant = await self._tenant(message.session)
        changed = tenant is not None and await node_store.store_state(tenant, self.node.pk, message)
        await self._say(wire.StateAck(message.session, message.epoch, message.state))
        if changed and tenant is not None:
            snapshots.update(message.session, epoch=message.epoch, at_ms=_now_ms(), state=str(message.state))
            self._held_read_s = float("-inf")
            await broadcast.send_session(tenant, message.session)

    # --- from groups ----------------------------------------------------------------------------------------------------

    async def node_call(self, message: dict[str, Any]) -> None:
        """A call to pass on to the node."""
        if len(self._calls) >= _MAX_CALLS_WAITING:
            self._calls.pop(next(iter(self._calls)))
        fields = ("id", "session", "epoch", "method", "params", "deadline_ms")
        frame = wire.encode(wire.Call(**{name: message[name] for name in fields}))
        if len(frame.encode()) > wire.MAX_FRAME_BYTES:
            # The node would drop the connection, and with it every session of every tenant it has.
            answer = {"type": "reply", "result": {}, "error": wire.CallError.BAD_REQUEST, "detail": "too large for the node"}
            await self.channel_layer.send(message["reply_to"], answer)
            return
        self._calls[message["id"]] = message["reply_to"]
        await self.send(text_data=frame)

    async def node_stop(self, message: dict[str, Any]) -> None:
        """A stop to pass on."""
        await self._say(wire.Stop(message["session"], message["epoch"], message["reason"]))

    async def node_superseded(self, message: dict[str, Any]) -> None:
        """The node has connected anew."""
        if message["by"] != self._connection:
            await self.close(code=CLOSE_SUPERSEDED)

    # --- parts ----------------------------------------------------------------------------------------------------------

    async def _say(self, message: wire.PlatformMessage) -> None:
        await self.send(text_data=wire.encode(message))

    async def _tenant(self, session_id: str) -> Tenant | None:
        if session_id not in self._tenants:
            if len(self._tenants) > 1000:
                self._tenants.clear()
            tenant = await node_store.tenant_of(session_id)
            if tenant is None:
                return None
            self._tenants[session_id] = tenant
        return self._tenants[session_id]

    async def _current(self, session_id: str, epoch: int) -> Tenant | None:
        """The session's tenant if this node holds this epoch of it."""
        held = await self._held_session(session_id)
        if held is None or held.epoch != epoch or not held.on_this_node:
            return None
        return await self._tenant(session_id)


def _bearer(headers: list[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"authorization" and value.startswith(b"Bearer "):
            return value[7:].decode("latin-1").strip()
    return ""


def _now_ms() -> int:
    return int(time.time() * 1000)
