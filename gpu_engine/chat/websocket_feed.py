"""A comment source that speaks our neutral events over a WebSocket, one JSON object or array a message.

Reconnects with back-off and jitter, treats silence as a broken line (a peer may die without closing), takes what the source
replays (the inbox knows the ids) and counts the gaps. A source that answers 'blocked' is left alone for minutes.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
import websockets

from gpu_engine.chat.events import ChatEvent, ChatKind, Role

log = structlog.get_logger(__name__)

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
STALL_S = 45.0
"""No message and no answer to a ping for this long: the line is dead."""
BLOCKED_RETRY_S = 300.0
MAX_MESSAGE_BYTES = 1_048_576
YIELD_EVERY = 200
_BLOCKED = frozenset({"blocked", "device_blocked", "forbidden", "banned"})


class Take(Protocol):
    """Where events go."""

    def __call__(self, event: ChatEvent, *, received_ns: int = 0) -> object: ...


@dataclass(slots=True)
class FeedCounts:
    """What a connector has seen. ``gap_s``: seconds without a connection after the first one."""

    messages: int = 0
    events: int = 0
    bad: int = 0
    reconnects: int = 0
    gap_s: float = 0.0


class WebSocketFeed:
    """One source. ``report`` receives drop events; ``state`` is one of connecting, connected, retrying, source_blocked."""

    def __init__(
        self,
        feed_id: str,
        url: str,
        *,
        take: Take,
        report: Callable[..., None],
        stall_s: float = STALL_S,
        backoff_s: tuple[float, ...] = BACKOFF_S,
        blocked_retry_s: float = BLOCKED_RETRY_S,
    ) -> None:
        self._id = feed_id
        self._url = url
        self._take = take
        self._report = report
        self._stall_s = stall_s
        self._backoff_s = backoff_s
        self._blocked_retry_s = blocked_retry_s
        self._rng = random.Random(feed_id)
        self.state = "connecting"
        self.counts = FeedCounts()
        self._lost_at: float | None = None

    async def run(self) -> None:
        """Stay connected for as long as the task lives."""
        failures = 0
        while True:
            why = "closed by the source"
            try:
                async with websockets.connect(
                    self._url, max_size=MAX_MESSAGE_BYTES, ping_interval=self._stall_s / 3, ping_timeout=self._stall_s / 3
                ) as socket:
                    self._connected()
                    failures = 0
                    await self._read(socket)
            except (OSError, websockets.WebSocketException, TimeoutError) as error:
                why = f"{type(error).__name__}: {error}"
                blocked = isinstance(error, websockets.InvalidStatus) and error.response.status_code in (401, 403)
                if blocked:
                    self.state = "source_blocked"
            if self._lost_at is None:
                self._lost_at = time.monotonic()
            if self.state == "source_blocked":
                self._report("drop", what="feed", count=1, reason=f"feed '{self._id}' refuses us; check its address and access")
                await asyncio.sleep(self._blocked_retry_s)
                self.state = "retrying"
                continue
            self.state = "retrying"
            delay_s = self._backoff_s[min(failures, len(self._backoff_s) - 1)] * self._rng.uniform(0.8, 1.2)
            failures += 1
            log.info("comment feed lost", feed=self._id, why=why, retry_s=round(delay_s, 2))
            await asyncio.sleep(delay_s)
            self.counts.reconnects += 1

    def _connected(self) -> None:
        self.state = "connected"
        if self._lost_at is not None:
            gap_s = time.monotonic() - self._lost_at
            self._lost_at = None
            self.counts.gap_s += gap_s
            self._report("drop", what="feed_gap", count=1, reason=f"feed '{self._id}' was away for {gap_s:.1f} s")

    async def _read(self, socket: websockets.ClientConnection) -> None:
        while True:
            async with asyncio.timeout(self._stall_s):
                raw = await socket.recv()
            received_ns = time.monotonic_ns()
            self.counts.messages += 1
            for number, event in enumerate(self._events(raw)):
                self.counts.events += 1
                self._take(event, received_ns=received_ns)
                if number % YIELD_EVERY == YIELD_EVERY - 1:
                    await asyncio.sleep(0)
            if self.state == "source_blocked":
                return
            if self.counts.messages % YIELD_EVERY == 0:
                await asyncio.sleep(0)

    def _events(self, raw: str | bytes) -> list[ChatEvent]:
        try:
            data = json.loads(raw)
        except (ValueError, RecursionError):
            self.counts.bad += 1
            return []
        found = []
        for item in data if isinstance(data, list) else [data]:
            if not isinstance(item, dict):
                self.counts.bad += 1
                continue
            if str(item.get("error", "")).lower() in _BLOCKED:
                self.state = "source_blocked"
                continue
            event = parse_event(item, self._id)
            if event is None:
                self.counts.bad += 1
            else:
                found.append(event)
        return found


def parse_event(item: dict[str, Any], source: str) -> ChatEvent | None:
    """A neutral event from loosely typed JSON, ``None`` if it is none of ours. All but a comment's text may be missing."""
    kind = str(item.get("kind") or item.get("type") or "comment").lower()
    if kind in ("heartbeat", "ping"):
        return None
    try:
        known = ChatKind(kind)
    except ValueError:
        return None
    user = item.get("user")
    user_map: dict[str, Any] = user if isinstance(user, dict) else {"nick": user}
    text = item.get("text", item.get("content", ""))
    if not isinstance(text, str):
        return None
    event_id = str(item.get("id") or item.get("msg_id") or item.get("event_id") or "")
    at_ms = item.get("at_ms", item.get("timestamp"))
    return ChatEvent(
        id=f"{source}:{event_id}" if event_id else "",
        kind=known,
        text=text,
        user=str(user_map.get("nick") or user_map.get("name") or ""),
        user_id=str(user_map.get("id") or item.get("user_id") or ""),
        source=source,
        at_ms=int(at_ms) if isinstance(at_ms, int | float) and at_ms == at_ms and abs(at_ms) < 1e15 else None,
        roles=tuple(Role(r) for r in user_map.get("roles") or () if r in set(Role)),
        own=bool(item.get("own") or user_map.get("own")),
        target_id=f"{source}:{item['target_id']}" if item.get("target_id") else "",
        paid_minor=int(item["paid_minor"]) if isinstance(item.get("paid_minor"), int) else 0,
    )
