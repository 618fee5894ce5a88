"""The feed connector against a real WebSocket server: gaps, silence, nonsense, refusals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import websockets

from gpu_engine.chat.events import ChatEvent, ChatKind
from gpu_engine.chat.websocket_feed import WebSocketFeed, parse_event
from tests.fakes.fake_timeline import until

pytestmark = pytest.mark.unit

Serve = Callable[[websockets.ServerConnection], Awaitable[None]]


@asynccontextmanager
async def connected(serve: Serve, **options: Any) -> AsyncIterator[tuple[WebSocketFeed, list[ChatEvent], list[dict[str, Any]]]]:
    taken: list[ChatEvent] = []
    reports: list[dict[str, Any]] = []

    def take(event: ChatEvent, *, received_ns: int = 0) -> None:
        assert received_ns > 0
        taken.append(event)

    def report(kind: str, /, **data: Any) -> None:
        reports.append(data)

    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        feed = WebSocketFeed("shop", f"ws://127.0.0.1:{port}/", take=take, report=report, backoff_s=(0.01,), **options)
        task = asyncio.create_task(feed.run())
        try:
            yield feed, taken, reports
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_comments_arrive_and_a_dropped_line_is_a_counted_gap() -> None:
    connections = 0

    async def serve(socket: websockets.ServerConnection) -> None:
        nonlocal connections
        connections += 1
        await socket.send(json.dumps({"id": f"m{connections}", "text": "多少钱", "user": {"nick": "小王", "id": "9"}}))
        if connections == 1:
            await socket.close()
        else:
            await socket.wait_closed()

    async with connected(serve) as (feed, taken, reports):
        await until(lambda: len(taken) == 2, what="both comments")
        assert [e.id for e in taken] == ["shop:m1", "shop:m2"]
        assert taken[0].viewer == "shop:9"
        assert feed.counts.reconnects == 1
        assert feed.state == "connected"
        assert [r["what"] for r in reports] == ["feed_gap"]


async def test_silent_line_is_given_up_and_opened_again() -> None:
    connections = 0

    async def serve(socket: websockets.ServerConnection) -> None:
        nonlocal connections
        connections += 1
        await socket.wait_closed()

    async with connected(serve, stall_s=0.15) as (feed, _, _):
        await until(lambda: connections >= 2, what="a second connection")
        assert feed.counts.reconnects >= 1


async def test_nonsense_is_counted_and_the_next_comment_still_arrives() -> None:
    async def serve(socket: websockets.ServerConnection) -> None:
        for raw in ("not json", "[" * 5_000, '{"kind": "comment", "text": 5}', '"x"', '{"kind": "unheard_of"}', b"\xff\xfe"):
            await socket.send(raw)
        await socket.send(json.dumps([{"id": 1, "text": "有货吗"}, {"text": "没有名字也行"}, 7]))
        await socket.wait_closed()

    async with connected(serve) as (feed, taken, _):
        await until(lambda: len(taken) == 2, what="the good ones")
        assert [e.text for e in taken] == ["有货吗", "没有名字也行"]
        assert feed.counts.bad == 7
        assert feed.counts.reconnects == 0


async def test_source_that_blocks_us_is_left_alone_and_reported() -> None:
    connections = 0

    async def serve(socket: websockets.ServerConnection) -> None:
        nonlocal connections
        connections += 1
        await socket.send(json.dumps({"error": "DEVICE_BLOCKED"}))
        await socket.wait_closed()

    async with connected(serve, blocked_retry_s=60.0) as (feed, taken, reports):
        await until(lambda: bool(reports), what="the report")
        assert feed.state == "source_blocked"
        assert taken == []
        assert connections == 1
        assert "refuses us" in reports[0]["reason"]


@pytest.mark.parametrize(
    ("item", "text", "user"),
    [
        ({"text": "hi"}, "hi", ""),
        ({"content": "hi", "user": None}, "hi", ""),
        ({"text": "hi", "user": {"gender": None, "avatar": None, "nick": ""}}, "hi", ""),
        ({"text": "hi", "user": "小王", "timestamp": float("nan")}, "hi", "小王"),
        ({"text": "hi", "user": {"name": "A", "roles": ["buyer", "emperor"]}, "paid_minor": "x"}, "hi", "A"),
    ],
)
def test_every_field_but_the_text_may_be_missing(item: dict[str, Any], text: str, user: str) -> None:
    event = parse_event(item, "shop")
    assert event is not None
    assert (event.text, event.user, event.at_ms, event.kind) == (text, user, None, ChatKind.COMMENT)
