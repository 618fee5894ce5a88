"""``python -m gpu_engine dmcp``: the gateway, its keys and tokens, and a client to watch or drive a session with."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import os
import resource
import signal
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_engine.session.process import die_with_parent, start_logging

if TYPE_CHECKING:
    from gpu_engine.dmcp.token import Role

DEFAULT_PORT: Final = 8770


class CommandRefused(Exception):
    """The command line cannot be used; the message says why and what would do."""


def add_commands(commands: Any) -> None:
    """Add ``dmcp`` to the engine's command line."""
    dmcp = commands.add_parser("dmcp", help="motion gateway: let others watch and drive this machine's shows (docs/dmcp.md)")
    dmcp.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    dmcp.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port, 0 = any (default: {DEFAULT_PORT})")
    dmcp.add_argument("--fd", type=int, help="serve on this inherited socket instead")
    dmcp.add_argument("--keys", type=Path, help="public keys of whoever issues tokens (JWK set)")
    dmcp.add_argument("--runs", type=Path, help="folder with one run directory per session")
    dmcp.add_argument("--tls-cert", type=Path, help="PEM file: serve wss:// instead of ws://")
    dmcp.add_argument("--tls-key", type=Path, help="PEM file of the certificate's key")
    dmcp.add_argument("--hello-timeout", type=float, default=5.0, metavar="S", help="for a client to say hello (default: 5)")
    dmcp.add_argument(
        "--ended-after",
        type=float,
        default=10.0,
        metavar="S",
        help="a session without a body is over after S seconds (default: 10)",
    )
    dmcp.add_argument("--follow-parent", action="store_true", help="end when the parent process ends")
    actions = dmcp.add_subparsers(dest="action")

    keygen = actions.add_parser("keygen", help="make a key pair for a machine without a platform")
    keygen.add_argument("--out", type=Path, required=True, help="folder for motion-signing.jwk (secret) and motion-keys.json")

    token = actions.add_parser("token", help="issue a token with the secret key")
    token.add_argument("--key", type=Path, required=True, help="motion-signing.jwk")
    token.add_argument("--session", required=True)
    token.add_argument("--role", choices=("watch", "control"), default="watch")
    token.add_argument("--life", type=float, default=900.0, metavar="S", help="seconds (default: 900)")
    token.add_argument("--tenant", default="local")

    for name, text in (("watch", "print what a session's host does"), ("drive", "drive a session's host with a nodding head")):
        action = actions.add_parser(name, help=text)
        action.add_argument("--url", default=f"ws://127.0.0.1:{DEFAULT_PORT}/dmcp")
        action.add_argument("--session", required=True)
        action.add_argument("--token", required=True, help="the token, or @FILE")
        action.add_argument("--seconds", type=float, default=10.0)
        action.add_argument("--fps", type=float, default=25.0)
        action.add_argument("--encoding", choices=("json", "binary"), default="binary")
        if name == "drive":
            action.add_argument("--force", action="store_true", help="take control from whoever has it")


def run(options: argparse.Namespace) -> int:
    """Do what was asked; returns the exit code."""
    try:
        match options.action:
            case "keygen":
                return _keygen(options.out)
            case "token":
                return _token(options)
            case "watch" | "drive":
                return asyncio.run(_client(options))
            case _:
                return _serve(options)
    except CommandRefused as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


# --- gateway --------------------------------------------------------------------------------------------------------------


def _serve(options: argparse.Namespace) -> int:
    import structlog
    import uvloop

    from gpu_engine.dmcp.gateway import Gateway, KeyFile, KeysUnreadable, listening_socket
    from gpu_engine.dmcp.limits import Limits

    if options.keys is None or options.runs is None:
        raise CommandRefused("the gateway needs --keys FILE and --runs DIR (`dmcp keygen` makes a key pair)")
    if options.follow_parent:
        die_with_parent()
    raise_file_limit()
    limits = Limits(hello_timeout_s=options.hello_timeout, ended_after_s=options.ended_after)
    try:
        keys = KeyFile(options.keys)
        sock = socket.socket(fileno=options.fd) if options.fd is not None else listening_socket(options.host, options.port)
        sock.setblocking(False)
        tls = _tls(options)
    except KeysUnreadable as error:
        raise CommandRefused(str(error)) from error
    except (OSError, ssl.SSLError) as error:
        raise CommandRefused(f"cannot listen on {options.host}:{options.port}: {error}") from error
    start_logging("dmcp")
    # Its words about a peer's malformed frames; we count the closes.
    logging.getLogger("picows").setLevel(logging.CRITICAL)

    async def serve() -> None:
        gateway = Gateway(options.runs.resolve(), keys, limits)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, gateway.stop)
        await gateway.serve(sock, tls)

    structlog.contextvars.bind_contextvars(pid=os.getpid())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
    return 0


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if options.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(options.tls_cert, options.tls_key)
    return context


def raise_file_limit() -> int:
    """Open as many files as the machine's hard limit allows; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


# --- keys and tokens ------------------------------------------------------------------------------------------------------


def _keygen(folder: Path) -> int:
    from gpu_engine.dmcp.token import SigningKey, jwk_set

    secret, public = folder / "motion-signing.jwk", folder / "motion-keys.json"
    if secret.exists():
        raise CommandRefused(f"{secret} exists: tokens are signed with it; move it away first if you mean to replace it")
    key = SigningKey.generate()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key.to_text())
        public.write_text(json.dumps(jwk_set(key), indent=1) + "\n")
    except OSError as error:
        raise CommandRefused(f"{folder}: {error.strerror}") from error
    sys.stdout.write(f"{secret}  secret: whoever has it can issue tokens\n{public}  public: for `dmcp --keys`\n")
    return 0


def _token(options: argparse.Namespace) -> int:
    from gpu_engine.dmcp.token import SigningKey

    try:
        key = SigningKey.from_text(options.key.read_text())
        token, _ = key.issue(session=options.session, tenant=options.tenant, role=options.role, life_s=options.life)
    except (OSError, ValueError) as error:
        raise CommandRefused(f"{options.key}: {error}") from error
    sys.stdout.write(token + "\n")
    return 0


# --- client ---------------------------------------------------------------------------------------------------------------


async def _client(options: argparse.Namespace) -> int:
    from gpu_engine.dmcp.client import Closed, DmcpClient, Refused

    if not 1.0 <= options.fps <= 60.0:
        raise CommandRefused(f"{options.fps:g} frames a second: use 1 to 60")
    try:
        token = Path(options.token[1:]).read_text().strip() if options.token.startswith("@") else options.token
    except OSError as error:
        raise CommandRefused(f"{options.token[1:]}: {error.strerror}: write the token there, or give it as it is") from error
    role: Role = "watch" if options.action == "watch" else "control"
    try:
        async with DmcpClient.connect(options.url, options.session, token, role=role, encoding=options.encoding) as client:
            if options.action == "watch":
                await _watch(client, options)
            else:
                await _drive(client, options)
    except (Refused, Closed, OSError) as error:
        raise CommandRefused(str(error)) from error
    return 0


async def _watch(client: Any, options: argparse.Namespace) -> None:
    from gpu_engine.motion.ring import MotionFlag
    from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX

    await client.set_rate(max(1, int(options.fps)))
    deadline_s = time.monotonic() + options.seconds
    frames, shown_s = 0, 0.0
    while (left_s := deadline_s - time.monotonic()) > 0:
        try:
            motion = await asyncio.wait_for(client.next_motion(), left_s)
        except TimeoutError:
            break
        frames += 1
        if time.monotonic() - shown_s >= 0.5:
            shown_s = time.monotonic()
            head = motion.joints[JOINT_INDEX["head"]]
            yaw = math.degrees(2 * math.atan2(float(head[1]), float(head[3])))
            who = "live" if motion.flags & MotionFlag.LIVE else "autonomous"
            says = "speaking" if motion.flags & MotionFlag.SPEECH else "silent"
            jaw = float(motion.weights[WEIGHT_INDEX["jawOpen"]])
            sys.stdout.write(f"ts {motion.ts_ms}  {who:10}  {says:8}  jawOpen {jaw:.2f}  head yaw {yaw:+5.1f}°\n")
    lost, jitter_ms = client.reception.lost, client.reception.jitter_ms
    sys.stdout.write(f"{frames} frames in {options.seconds:g} s, lost {lost}, jitter {jitter_ms:.1f} ms\n")


async def _drive(client: Any, options: argparse.Namespace) -> None:
    import numpy as np

    from gpu_engine.motion.ring import MotionFlag
    from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, rest_frame

    await client.take(force=options.force)
    frame = rest_frame()
    start_s = time.monotonic()
    count = int(options.seconds * options.fps)
    for n in range(count):
        await asyncio.sleep(max(0.0, start_s + n / options.fps - time.monotonic()))
        phase = 2 * math.pi * 0.5 * n / options.fps
        half = math.radians(8.0 * math.sin(phase)) / 2
        frame.joints[JOINT_INDEX["head"]] = np.array([math.sin(half), 0.0, 0.0, math.cos(half)])
        frame.weights[WEIGHT_INDEX["mouthSmileLeft"]] = frame.weights[WEIGHT_INDEX["mouthSmileRight"]] = 0.3
        await client.send_motion(frame, flags=MotionFlag.FACE | MotionFlag.POSE | MotionFlag.SILENT)
    await client.release()
    report = client.last_report
    sys.stdout.write(f"{count} frames sent; the gateway reports {report}\n")
