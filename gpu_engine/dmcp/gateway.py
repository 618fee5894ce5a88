"""The gateway: one process, one thread, WebSocket connections on one side and the rings of this node's bodies on the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import time
from collections import Counter
from pathlib import Path
from typing import Any

import structlog
from picows import WSUpgradeRequest, WSUpgradeResponse, WSUpgradeResponseWithListener, ws_create_server

from gpu_engine.dmcp import SUBPROTOCOLS
from gpu_engine.dmcp.codes import Code, DmcpError
from gpu_engine.dmcp.connection import Connection
from gpu_engine.dmcp.counters import Counters
from gpu_engine.dmcp.limits import Limits
from gpu_engine.dmcp.room import Room
from gpu_engine.dmcp.token import Claims, VerifyingKeys

log = structlog.get_logger(__name__)

PATH = "/dmcp"
_IDLE_PING_S = 20.0
_IDLE_POLL_S = 0.05
_BACKLOG = 2_048


class KeysUnreadable(RuntimeError):
    """The file of public keys cannot be used; the message says why."""


class KeyFile:
    """The public keys, read again when their file changes: a new key needs no restart."""

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            KeysUnreadable: missing, malformed, or private keys.
        """
        self._path = path
        self._stamp = self._stat()
        self.keys = self._read()

    def refresh(self) -> None:
        """Read a changed file; a bad one leaves the keys as they are and is logged."""
        try:
            stamp = self._stat()
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self.keys = self._read()
            log.info("keys read", file=str(self._path), keys=len(self.keys))
        except KeysUnreadable as error:
            log.error("keys not changed", error=str(error))

    def _stat(self) -> tuple[int, int, int]:
        try:
            stat = self._path.stat()
        except OSError as error:
            raise KeysUnreadable(f"{self._path}: {error.strerror}: `dmcp keygen` or the platform writes it") from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> VerifyingKeys:
        try:
            return VerifyingKeys(json.loads(self._path.read_bytes()))
        except (OSError, ValueError) as error:
            raise KeysUnreadable(f"{self._path}: {error}") from error


class Gateway:
    """Create, then ``await serve()``."""

    def __init__(self, runs: Path, keys: KeyFile, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.counters = Counters()
        self._runs = runs
        self._keys = keys
        self._rooms: dict[str, Room] = {}
        self._connections: set[Connection] = set()
        self._strangers: set[Connection] = set()
        self._per_token: Counter[str] = Counter()
        self._draining = False
        self._stop = asyncio.Event()
        self._empty = asyncio.Event()

    # --- what connections ask ---------------------------------------------------------------------------------------

    def verify(self, token: str) -> Claims:
        """The token's claims; :class:`gpu_engine.dmcp.token.TokenRefused` when it opens nothing."""
        return self._keys.keys.verify(token, time.time())

    def arrived(self, connection: Connection) -> None:
        """A connection is open and has said nothing yet."""
        self.counters.accepted += 1
        self._connections.add(connection)
        self._strangers.add(connection)
        if self._draining:
            connection.close(Code.DRAINING, "the gateway is being stopped: connect again in a moment")

    def known(self, connection: Connection) -> None:
        """The connection has said a good hello."""
        self._strangers.discard(connection)

    def enter(self, connection: Connection, claims: Claims) -> Room:
        """Into the token's room.

        Raises:
            DmcpError: no such session here, room full, or the token is in use too often.
        """
        if self._per_token[claims.nonce] >= self.limits.per_token:
            raise DmcpError(Code.TOKEN_OVERUSED, f"this token has {self.limits.per_token} connections open: ask for another")
        room = self._rooms.get(claims.session)
        if room is None:
            room = Room(claims.session, self._runs, self.limits)
            self._rooms[claims.session] = room
        if len(room.members) >= self.limits.room:
            raise DmcpError(Code.ROOM_FULL, f"session '{claims.session}' has {self.limits.room} connections")
        room.members.add(connection)
        self._per_token[claims.nonce] += 1
        return room

    def left(self, connection: Connection) -> None:
        """A connection has ended."""
        self._connections.discard(connection)
        self._strangers.discard(connection)
        if not self._connections:
            self._empty.set()
        room, claims = connection.room, connection.claims
        if room is None or claims is None:
            return
        room.members.discard(connection)
        room.release(connection)
        self._per_token[claims.nonce] -= 1
        if self._per_token[claims.nonce] <= 0:
            del self._per_token[claims.nonce]
        if not room.members and self._rooms.get(room.session) is room:
            del self._rooms[room.session]
        log.info("left", session=claims.session, role=claims.role, token=claims.nonce)

    # --- HTTP -------------------------------------------------------------------------------------------------------

    def _on_request(self, request: WSUpgradeRequest) -> Any:
        path = request.path.decode("ascii", "replace").partition("?")[0]
        if path == "/healthz":
            return self._answer_health()
        if path == "/metrics":
            page = self.counters.exposition(
                connections=len(self._connections), strangers=len(self._strangers), rooms=len(self._rooms),
                controllers=sum(room.controller is not None for room in self._rooms.values()),
            )  # fmt: skip
            return _plain(WSUpgradeResponse.create_ok_response(page, {"Content-Type": "text/plain; version=0.0.4"}))
        if path != PATH:
            return None
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if word.strip()]
        chosen = next((name for name in SUBPROTOCOLS if name in offered), None)
        if chosen is None:
            self.counters.count_refusal(Code.VERSION_UNSUPPORTED)
            return _refusal(400, Code.VERSION_UNSUPPORTED, _version_detail(offered))
        full = len(self._connections) >= self.limits.connections or len(self._strangers) >= self.limits.strangers
        if self._draining or full:
            code = Code.DRAINING if self._draining else Code.GATEWAY_FULL
            self.counters.count_refusal(code)
            return _refusal(503, code, "no new connections now: try again in a moment")
        response = WSUpgradeResponse.create_101_response({"Sec-WebSocket-Protocol": chosen})
        return WSUpgradeResponseWithListener(response, Connection(self))

    def _answer_health(self) -> Any:
        body = json.dumps(
            {
                "status": "draining" if self._draining else "ok",
                "protocol": SUBPROTOCOLS[0],
                "connections": len(self._connections),
                "rooms": len(self._rooms),
            }
        ).encode()
        headers = {"Content-Type": "application/json"}
        if self._draining:
            return _plain(WSUpgradeResponse.create_error_response(503, body, headers))
        return _plain(WSUpgradeResponse.create_ok_response(body, headers))

    # --- life -------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Drain and end :meth:`serve`."""
        self._stop.set()

    async def serve(self, sock: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Serve on a bound socket until :meth:`stop`; then say goodbye to everyone and return."""
        server = await ws_create_server(
            self._on_request, sock=sock, ssl=tls, backlog=_BACKLOG, max_frame_size=self.limits.max_frame_bytes,
            read_buffer_init_size=2_048, enable_auto_ping=True, auto_ping_idle_timeout=_IDLE_PING_S,
            enable_auto_pong=False,
            auto_ping_reply_timeout=_IDLE_PING_S, websocket_handshake_timeout=self.limits.hello_timeout_s,
        )  # fmt: skip
        address = sock.getsockname()
        log.info("listening", address=f"{address[0]}:{address[1]}", runs=str(self._runs), keys=len(self._keys.keys))
        chores = [asyncio.create_task(self._poll()), asyncio.create_task(self._each_second())]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait({stopped, *chores}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if task is not stopped:
                    task.result()
            await self._drain(server)
        finally:
            for task in (stopped, *chores):
                task.cancel()
            await asyncio.gather(stopped, *chores, return_exceptions=True)

    async def _drain(self, server: asyncio.AbstractServer) -> None:
        self._draining = True
        log.info("draining", connections=len(self._connections))
        server.close()
        for connection in list(self._connections):
            connection.close(Code.DRAINING, "the gateway is being stopped: connect again in a moment")
        self._empty.clear()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), self.limits.drain_s)
        log.info("stopped", left_open=len(self._connections))

    async def _poll(self) -> None:
        """Look for new telemetry on an absolute grid; a late look is not made up for."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            due_s = max(due_s + (self.limits.poll_s if self._rooms else _IDLE_POLL_S), loop.time())
            await asyncio.sleep(due_s - loop.time())
            now_s = time.monotonic()
            for room in list(self._rooms.values()):
                room.poll(now_s)

    async def _each_second(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            now_s = time.monotonic()
            self._keys.refresh()
            for room in list(self._rooms.values()):
                if not room.follow_body(now_s):
                    for member in list(room.members):
                        member.close(Code.SESSION_ENDED, f"session '{room.session}' is over")
                elif room.controller is not None and room.controller.reception.received:
                    room.controller.report()
            for connection in list(self._connections):
                connection.inspect(now_s)


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound, non-blocking TCP socket.

    Raises:
        OSError: the address is taken or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.setblocking(False)
    except OSError:
        with contextlib.suppress(OSError):
            sock.close()
        raise
    return sock


def _version_detail(offered: list[str]) -> str:
    spoken = ", ".join(SUBPROTOCOLS)
    if not offered:
        return f"no Sec-WebSocket-Protocol was offered: this gateway speaks {spoken}"
    return f"'{', '.join(offered)[:100]}' is not spoken here: this gateway speaks {spoken}"


def _refusal(status: int, code: Code, detail: str) -> Any:
    body = {"code": code.value, "name": code.title, "detail": detail, "speaks": list(SUBPROTOCOLS)}
    return _plain(
        WSUpgradeResponse.create_error_response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
    )


def _plain(response: Any) -> WSUpgradeResponseWithListener:
    return WSUpgradeResponseWithListener(response, None)
