"""An ASGI application of two habits: a GET is answered with 300 MB, anything else with the number of bytes that came."""

from __future__ import annotations

from typing import Any

PIECE = b"x" * 262_144
PIECES = 1200


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One request."""
    if scope["type"] != "http":
        return
    start = {"type": "http.response.start", "status": 200, "headers": []}
    if scope["method"] == "GET":
        await send(start)
        for _ in range(PIECES):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send(start)
    await send({"type": "http.response.body", "body": str(size).encode()})
