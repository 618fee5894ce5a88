"""The DMCP gateway: 8,000 connections echoing, a room of 1,000 watchers, JSON against binary; a `websockets` server as peer.

``python -m tests.bench.bench_dmcp [--quick]``. Gateway, clients and this process (which plays the bodies) are three processes
on the same cores. Echo: 1,000 pings a second spread over all connections, the rest idle. Room: 25 frames a second, each to
every watcher; latency from the body's write to the client's receipt. The peer does the same with the least code `websockets`
needs: no tokens, no checks, ``broadcast``. Writes var/bench/dmcp.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil

from gpu_engine.dmcp.codes import DmcpError
from gpu_engine.dmcp.command import raise_file_limit
from gpu_engine.dmcp.gateway import listening_socket
from gpu_engine.dmcp.motion import Motion, decode_binary, decode_json, encode_binary, encode_json
from gpu_engine.dmcp.token import SigningKey, jwk_set
from gpu_engine.motion.live import IN_RING, OUT_RING
from gpu_engine.motion.ring import MOTION_RECORD, RingReader, RingWriter, create_in_memory
from gpu_engine.motion.vocabulary import rest_frame
from tests.bench.table import print_table, save
from tests.dmcp.frames import WHOLE, motion

ECHO_STEPS = (1_000, 4_000, 8_000)
ROOM_STEPS = (100, 1_000)
ROOM_MAX = 1_000
ECHOES_PER_S = 1_000
MEASURE_S = 5.0
FPS = 25
GOAL_MS = 42.0


# --- the body's side ------------------------------------------------------------------------------------------------------


class Body:
    """The rings of one session, and a thread that writes telemetry at 25 fps while asked to."""

    def __init__(self, run_dir: Path) -> None:
        run_dir.mkdir(parents=True)
        create_in_memory(run_dir / IN_RING, MOTION_RECORD, 256)
        create_in_memory(run_dir / OUT_RING, MOTION_RECORD, 64)
        self._writer = RingWriter.join(run_dir / OUT_RING, MOTION_RECORD)
        self.written_ns: dict[int, int] = {}

    def play(self, seconds: float) -> None:
        """Write frames for this long."""
        record = np.zeros((), dtype=MOTION_RECORD)
        frame = motion(3)
        record["flags"], record["weights"], record["joints"] = int(WHOLE), frame.weights, frame.joints
        start_s = time.monotonic()
        for n in range(int(seconds * FPS)):
            time.sleep(max(0.0, start_s + n / FPS - time.monotonic()))
            record["sequence"] = n
            record["timestamp_ns"] = self.written_ns[n] = time.monotonic_ns()
            self._writer.write(record)


# --- servers --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def gateway(folder: Path, key: SigningKey) -> Iterator[tuple[str, int]]:
    """Our gateway; gives its address and process id."""
    (folder / "keys.json").write_text(json.dumps(jwk_set(key)))
    sock = listening_socket("127.0.0.1", 0)
    sock.listen(2_048)
    arguments = ["--fd", str(sock.fileno()), "--keys", str(folder / "keys.json"), "--runs", str(folder / "runs")]
    with (folder / "gateway.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gpu_engine", "dmcp", *arguments, "--follow-parent"], stderr=log, pass_fds=[sock.fileno()]
        )
    try:
        yield f"ws://127.0.0.1:{sock.getsockname()[1]}/dmcp", process.pid
    finally:
        process.kill()
        process.wait()
        sock.close()


@contextlib.contextmanager
def peer(folder: Path, session: str) -> Iterator[tuple[str, int]]:
    """The same over `websockets`."""
    sock = listening_socket("127.0.0.1", 0)
    sock.listen(2_048)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.bench_dmcp", "--peer", str(sock.fileno()), str(folder / "runs" / session)],
        pass_fds=[sock.fileno()],
    )
    try:
        yield f"ws://127.0.0.1:{sock.getsockname()[1]}/dmcp", process.pid
    finally:
        process.kill()
        process.wait()
        sock.close()


async def serve_peer(descriptor: int, run_dir: Path) -> None:
    """Answer hello and pings, and broadcast the ring's newest frame to everyone who said hello."""
    import socket

    from websockets.asyncio.server import ServerConnection, broadcast, serve
    from websockets.typing import Subprotocol

    room: set[ServerConnection] = set()

    async def one(connection: ServerConnection) -> None:
        with contextlib.suppress(Exception):
            await connection.recv()
            room.add(connection)
            await connection.send('{"type":"welcome"}')
            async for message in connection:
                await connection.send(message)
        room.discard(connection)

    sock = socket.socket(fileno=descriptor)
    sock.setblocking(False)
    ring = RingReader(run_dir / OUT_RING, MOTION_RECORD)
    seen = ring.written
    async with serve(
        one, sock=sock, compression=None, ping_interval=None, subprotocols=[Subprotocol("dmcp.1.2")], backlog=2_048
    ):
        while True:
            await asyncio.sleep(0.005)
            record = ring.latest() if ring.written != seen else None
            if record is None:
                continue
            seen = ring.written
            frame = Motion(
                time.time_ns() // 1_000_000,
                int(record["sequence"]),
                WHOLE,
                np.array(record["weights"]),
                np.array(record["joints"]),
            )
            broadcast(room, encode_binary(frame))


# --- clients --------------------------------------------------------------------------------------------------------------


async def play_clients(plan: dict[str, Any], out: Path) -> None:
    """Connect everyone, say so, then echo or watch for the measuring time; figures go to ``out``."""
    from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

    sent_ns: dict[int, int] = {}
    trips_ms: list[float] = []
    arrivals: list[tuple[int, int]] = []
    ready = [0]
    echo = plan["mode"] == "echo"

    class Client(WSListener):
        def __init__(self, token: str, session: str) -> None:
            super().__init__()
            self._hello = {
                "type": "hello", "token": token, "sid": session, "role": "watch", "clock_ms": int(time.time() * 1000),
                "encoding": "binary",
            }  # fmt: skip

        def on_ws_connected(self, transport: WSTransport) -> None:
            transport.send(WSMsgType.TEXT, json.dumps(self._hello).encode())

        def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
            payload = frame.get_payload_as_bytes()
            if frame.msg_type == WSMsgType.BINARY:
                arrivals.append((int.from_bytes(payload[4:8], "little"), time.monotonic_ns()))
                return
            message = msgspec.json.decode(payload) if frame.msg_type == WSMsgType.TEXT else {}
            kind = message.get("type")
            if kind == "welcome":
                ready[0] += 1
            elif kind in ("pong", "ping"):
                trips_ms.append((time.perf_counter_ns() - sent_ns.pop(message["id"])) / 1e6)

    places = asyncio.Semaphore(100)
    transports: list[WSTransport] = []

    async def join(token: str, session: str) -> None:
        async with places:
            for attempt in range(5):
                try:
                    transport, _ = await ws_connect(
                        lambda: Client(token, session), plan["url"], extra_headers={"Sec-WebSocket-Protocol": "dmcp.1.2"},
                        websocket_handshake_timeout=30,
                    )  # fmt: skip
                except (OSError, TimeoutError):
                    await asyncio.sleep(0.2 * (attempt + 1))
                else:
                    transports.append(transport)
                    return

    began_s = time.monotonic()
    await asyncio.gather(*(join(token, session) for token, session in plan["tokens"]))
    deadline_s = time.monotonic() + 30.0
    while ready[0] < len(transports) and time.monotonic() < deadline_s:
        await asyncio.sleep(0.05)
    joined_s = time.monotonic() - began_s
    print("ready", flush=True)
    cpu_before = time.process_time()
    start_s = time.monotonic()
    if echo:
        number = 0
        while (elapsed_s := time.monotonic() - start_s) < plan["seconds"]:
            while number < elapsed_s * plan["per_s"]:
                sent_ns[number] = time.perf_counter_ns()
                message = msgspec.json.encode({"type": "ping", "id": number, "t": int(time.time() * 1000)})
                random.choice(transports).send(WSMsgType.TEXT, message)
                number += 1
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.5)
    else:
        await asyncio.sleep(plan["seconds"] + 0.7)
    cpu_percent = 100 * (time.process_time() - cpu_before) / (time.monotonic() - start_s)
    result = {
        "connected": ready[0], "joined_s": joined_s, "cpu_percent": cpu_percent,
        "trips_ms": trips_ms, "unanswered": len(sent_ns), "arrivals": arrivals,
    }  # fmt: skip
    out.write_bytes(msgspec.msgpack.encode(result))


class Clients:
    """The client process."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self._out = folder / "clients.out"
        (folder / "plan.json").write_text(json.dumps(plan))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.bench_dmcp", "--clients", str(folder / "plan.json"), str(self._out)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_ready(self) -> None:
        """Until all are connected."""
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("the clients ended before they were connected")

    def result(self) -> dict[str, Any]:
        """Its figures."""
        if self._process.wait(120):
            raise RuntimeError(f"the clients failed with exit code {self._process.returncode}")
        return dict(msgspec.msgpack.decode(self._out.read_bytes()))


def cpu_during(pid: int, work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Percent of a core and seconds of it that a process uses while ``work`` runs, and what that returned."""
    process = psutil.Process(pid)
    before, start_s = process.cpu_times(), time.monotonic()
    made = work()
    after, spent_s = process.cpu_times(), time.monotonic() - start_s
    used_s = after.user + after.system - before.user - before.system
    return 100 * used_s / spent_s, used_s, made


def percentiles(values: list[float]) -> tuple[float, float]:
    """P50 and P99."""
    return (float(np.percentile(values, 50)), float(np.percentile(values, 99))) if values else (float("nan"), float("nan"))


# --- measurements ---------------------------------------------------------------------------------------------------------


def measure_echo(
    server: str, url: str, pid: int, folder: Path, tokens: list[tuple[str, str]], seconds: float
) -> dict[str, Any]:
    """One step of the echo."""
    clients = Clients(folder, {"mode": "echo", "url": url, "tokens": tokens, "seconds": seconds, "per_s": ECHOES_PER_S})
    clients.wait_ready()
    cpu, _, figures = cpu_during(pid, clients.result)
    p50, p99 = percentiles(figures["trips_ms"])
    return {
        "server": server, "connections": figures["connected"], "asked": len(tokens), "p50_ms": p50, "p99_ms": p99,
        "echoes": len(figures["trips_ms"]), "unanswered": figures["unanswered"], "server_cpu": cpu,
        "client_cpu": figures["cpu_percent"], "rss_mb": psutil.Process(pid).memory_info().rss / 1e6,
        "joined_s": figures["joined_s"],
    }  # fmt: skip


def measure_room(
    server: str, url: str, pid: int, folder: Path, tokens: list[tuple[str, str]], body: Body, seconds: float
) -> dict[str, Any]:
    """One step of the room."""
    body.written_ns.clear()
    clients = Clients(folder, {"mode": "room", "url": url, "tokens": tokens, "seconds": seconds})
    clients.wait_ready()
    player = threading.Thread(target=body.play, args=(seconds,))
    player.start()
    cpu, spent_s, figures = cpu_during(pid, clients.result)
    player.join()
    late = [(at_ns - body.written_ns[n]) / 1e6 for n, at_ns in figures["arrivals"] if n in body.written_ns]
    p50, p99 = percentiles(late)
    expected = figures["connected"] * int(seconds * FPS)
    return {
        "server": server, "watchers": figures["connected"], "p50_ms": p50, "p99_ms": p99,
        "arrived_percent": 100 * len(late) / max(1, expected), "server_cpu": cpu, "client_cpu": figures["cpu_percent"],
        "cpu_us_per_frame": 1e6 * spent_s / max(1, len(late)),
    }  # fmt: skip


def microseconds(call: Callable[[], Any], times: int = 2_000) -> float:
    """Best of five means."""
    best = float("inf")
    for _ in range(5):
        start_ns = time.perf_counter_ns()
        for _ in range(times // 5):
            call()
        best = min(best, (time.perf_counter_ns() - start_ns) / (times // 5) / 1000)
    return best


def measure_codec() -> list[dict[str, Any]]:
    """Bytes and time of both forms, for a frame whose every value is busy and for one at rest."""
    rows = []
    rest = rest_frame()
    still = Motion(1_796_130_000_000, 1, WHOLE, rest.weights, rest.joints)
    for name, frame in (("busy", motion(5)), ("at rest", still)):
        text, data = encode_json("ses_01234567", frame), encode_binary(frame)
        for form, size, encode, decode in (
            ("JSON", len(text), lambda f=frame: encode_json("ses_01234567", f), lambda t=text: decode_json(t, "ses_01234567")),
            ("binary", len(data), lambda f=frame: encode_binary(f), lambda d=data: decode_binary(d)),
        ):  # fmt: skip
            rows.append(
                {
                    "frame": name,
                    "form": form,
                    "bytes": size,
                    "encode_us": microseconds(encode),
                    "decode_us": microseconds(decode),
                }
            )
    return rows


def main() -> int:
    """All of it, or one role of it in a child process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all")
    parser.add_argument("--clients", nargs=2, metavar=("PLAN", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--peer", nargs=2, metavar=("FD", "RUN_DIR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    limit = raise_file_limit()
    if options.clients or options.peer:
        import uvloop

        if options.clients:
            uvloop.run(play_clients(json.loads(Path(options.clients[0]).read_text()), Path(options.clients[1])))
        else:
            uvloop.run(serve_peer(int(options.peer[0]), Path(options.peer[1])))
        return 0
    return measure(limit, quick=options.quick)


def measure(file_limit: int, *, quick: bool) -> int:
    """Print the tables and write the figures."""
    echo_steps, room_steps, seconds = ((50,), (20,), 1.0) if quick else (ECHO_STEPS, ROOM_STEPS, MEASURE_S)
    possible = [n for n in echo_steps if n + 200 <= file_limit]
    if len(possible) < len(echo_steps):
        print(f"open files are limited to {file_limit} here: {set(echo_steps) - set(possible)} connections were not possible")
    load = os.getloadavg()[0]
    print(f"open files: {file_limit}; load average before: {load:.1f} on {os.cpu_count()} cores; niceness {os.nice(0)}")
    key = SigningKey.generate()
    echoes: list[dict[str, Any]] = []
    rooms: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="dmcp-bench-") as name:
        folder = Path(name)
        bodies = [Body(folder / "runs" / f"ses_{n}") for n in range(-(-max(possible) // ROOM_MAX))]

        def tokens(count: int) -> list[tuple[str, str]]:
            sessions = [f"ses_{n // ROOM_MAX}" for n in range(count)]
            return [(key.issue(session=s, tenant="ten", role="watch", life_s=3600)[0], s) for s in sessions]

        servers: list[tuple[str, Callable[[], Any]]] = [
            ("gateway", lambda: gateway(folder, key)),
            ("websockets", lambda: peer(folder, "ses_0")),
        ]
        for server, start in servers:
            for count in possible:
                with start() as (url, pid):
                    echoes.append(measure_echo(server, url, pid, folder, tokens(count), seconds))
            for count in room_steps:
                with start() as (url, pid):
                    rooms.append(measure_room(server, url, pid, folder, tokens(count), bodies[0], seconds))
    codec = measure_codec()
    print_table(
        f"echo, {ECHOES_PER_S} a second spread over all connections, one server process (goal: P99 ≤ {GOAL_MS:g} ms)",
        ["server", "connections", "P50 ms", "P99 ms", "echoes", "lost", "server CPU %", "client CPU %", "MB", "joined s"],
        [
            [e["server"], f"{e['connections']} of {e['asked']}", f"{e['p50_ms']:.2f}", f"{e['p99_ms']:.2f}",
             str(e["echoes"]), str(e["unanswered"]), f"{e['server_cpu']:.0f}", f"{e['client_cpu']:.0f}",
             f"{e['rss_mb']:.0f}", f"{e['joined_s']:.1f}"]
            for e in echoes
        ],
    )  # fmt: skip
    print_table(
        "room at 25 fps, binary, body's write to client's receipt",
        ["server", "watchers", "P50 ms", "P99 ms", "arrived %", "server CPU %", "server CPU µs a frame", "client CPU %"],
        [
            [r["server"], str(r["watchers"]), f"{r['p50_ms']:.1f}", f"{r['p99_ms']:.1f}", f"{r['arrived_percent']:.1f}",
             f"{r['server_cpu']:.0f}", f"{r['cpu_us_per_frame']:.1f}", f"{r['client_cpu']:.0f}"]
            for r in rooms
        ],
    )  # fmt: skip
    print_table(
        "one motion frame",
        ["frame", "form", "bytes", "encode µs", "decode and check µs"],
        [[c["frame"], c["form"], str(c["bytes"]), f"{c['encode_us']:.1f}", f"{c['decode_us']:.1f}"] for c in codec],
    )
    if not quick:
        machine = {"file_limit": file_limit, "load_before": load, "niceness": os.nice(0)}
        save("dmcp", {**machine, "echo": echoes, "room": rooms, "codec": codec})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DmcpError as error:
        sys.exit(str(error))
