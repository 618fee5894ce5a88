"""``lumihost up`` and ``lumihost demo``: everything on one machine as supervised children.

Order of start: database, daphne (healthy), platform worker, reconciler, node agent (online). Order of stop: the agent first,
while the web process still takes its last usage and recordings; then the others. SIGTERM and Ctrl-C end everything within 15 s.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from lumihost.cli.children import Child, ChildPlan, NotReady
from lumihost.cli.ports import why_not_free
from lumihost.cli.terminal import coloured, complain, say

SETTINGS = "lumihost.config.settings.embedded"
NODE_ID = "local"
AGENT_STOP_S = 11.0
MIN_FREE_BYTES = 1_000_000_000


class Refused(RuntimeError):
    """Cannot start; the message says what is wrong and the way out."""


@dataclass(frozen=True)
class Place:
    """Where this installation runs."""

    var: Path
    host: str
    port: int

    @property
    def url(self) -> str:
        """For a browser on this machine."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def logs(self) -> Path:
        """Folder of the children's logs."""
        return self.var / "log"

    def environment(self) -> dict[str, str]:
        """For every child. What the caller has set explicitly stays."""
        env = {**os.environ, "LUMIHOST_VAR": str(self.var), "LUMIHOST_INTERNAL_URL": self.url, "PYTHONUNBUFFERED": "1"}
        env.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
        env.setdefault("LUMIHOST_BROKER_URL", "filesystem://")
        if self.host not in ("127.0.0.1", "localhost", "::1"):
            names = {"localhost", "127.0.0.1", "[::1]", socket.gethostname(), *_addresses()}
            env.setdefault("LUMIHOST_ALLOWED_HOSTS", ",".join(sorted(names)))
            env.setdefault("LUMIHOST_WEBRTC_ADDRESSES", ",".join(sorted(_addresses() | {"127.0.0.1"})))
        return env


def run_up(*, host: str, port: int, sessions: int, demo: bool, quiet: bool) -> int:
    """Run until Ctrl-C or SIGTERM; returns the exit code."""
    from lumihost.config.settings.base import VAR

    place = Place(VAR, host, port)
    os.environ.update(place.environment())
    try:
        with _only_one(place) as _:
            _check(place)
            _prepare(place, sessions)
            return asyncio.run(_run(place, sessions=sessions, demo=demo, quiet=quiet))
    except (Refused, NotReady) as refusal:
        complain(f"{coloured('error:', 'red')} {refusal}")
        return 1
    except KeyboardInterrupt:
        return 130


# --- before anything runs -----------------------------------------------------------------------------------------------


def _only_one(place: Place) -> IO[str]:
    """Hold the installation; the file's lock goes with this process, however it ends."""
    try:
        place.logs.mkdir(parents=True, exist_ok=True)
        lock = (place.var / "up.lock").open("a+")
    except OSError as error:
        raise Refused(f"{place.var} cannot be written: {error.strerror}: set LUMIHOST_VAR to a folder of yours") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise Refused(f"Lumihost runs already from {place.var} ({lock.read().strip()}): stop it with Ctrl-C there") from None
    lock.truncate(0)
    lock.write(f"pid {os.getpid()}, {place.url}")
    lock.flush()
    return lock


def _check(place: Place) -> None:
    problem = why_not_free(place.host, place.port)
    if problem:
        raise Refused(problem)
    free = os.statvfs(place.var).f_bavail * os.statvfs(place.var).f_frsize
    if free < MIN_FREE_BYTES:
        raise Refused(
            f"only {free // 1_000_000} MB are free under {place.var}: free at least {MIN_FREE_BYTES // 1_000_000} MB, "
            "or set LUMIHOST_VAR to a folder on a larger disk"
        )
    longest = len(os.fsencode(place.var / "node" / "agent.sock"))
    if longest > 107:
        raise Refused(
            f"{place.var} is too long a path for a socket ({longest} of 107 bytes): set LUMIHOST_VAR to a shorter one"
        )


def _prepare(place: Place, sessions: int) -> None:
    say("preparing the database …")
    (place.var / "static").mkdir(exist_ok=True)
    django_command(place, "migrate", "--no-input", "--verbosity", "0")
    token_file = str(place.var / "secrets" / "node_token")
    django_command(place, "register_node", "--id", NODE_ID, "--name", socket.gethostname(), "--token-file", token_file,
            "--capacity", str(sessions))  # fmt: skip


def django_command(place: Place, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "django", *arguments], env=place.environment(), capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        words = (result.stderr.strip() or result.stdout.strip()).splitlines()[-5:]
        raise Refused(f"`{arguments[0]}` failed:\n  " + "\n  ".join(words) + "\n`lumihost doctor` explains the machine")
    return result.stdout


# --- running ------------------------------------------------------------------------------------------------------------


def plans(place: Place, *, sessions: int) -> list[ChildPlan]:
    """The children, in order of start."""
    python = sys.executable

    async def web_is_healthy() -> bool:
        return await _healthy(place.url)

    async def node_is_online() -> bool:
        from lumihost.cli.installation import node_state

        return await asyncio.to_thread(node_state, NODE_ID) == "online"

    return [
        ChildPlan(
            "web",
            (python, "-m", "lumihost.web.daphne_server", "-b", place.host, "-p", str(place.port), "--ping-interval", "10", "--ping-timeout", "20",
             "--access-log", str(place.logs / "access.log"), "--no-server-name", "lumihost.config.asgi:application"),
            "green", web_is_healthy,
        ),
        ChildPlan(
            "worker",
            (python, "-W", "ignore::UserWarning", "-m", "celery", "--quiet", "-A", "lumihost.config.celery", "worker",
             "-Q", "control", "-n", "control@%h", "--pool=threads", "-c", "2", "--without-gossip", "--without-mingle",
             "--without-heartbeat", "-l", "WARNING"),
            # Its jobs are short, each in a transaction of its own; Celery's own ways of stopping wait for the broker's threads.
            "yellow", stop_within_s=1.0,
        ),
        ChildPlan("reconciler", (python, "-m", "django", "reconcile"), "blue"),
        ChildPlan(
            "agent",
            (python, "-m", "workers.node", "--url", place.url, "--node-id", NODE_ID, "--capacity", str(sessions),
             "--stop-sessions", "--token-file", str(place.var / "secrets" / "node_token"), "--root", str(place.var / "node")),
            "magenta", node_is_online, stop_within_s=AGENT_STOP_S,
        ),
    ]  # fmt: skip


async def _run(place: Place, *, sessions: int, demo: bool, quiet: bool) -> int:
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    children: list[Child] = []

    def asked_to_leave() -> None:
        if leave.is_set():
            # Asked a second time: no more patience.
            for child in children:
                child.kill()
        leave.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked_to_leave)
    main = asyncio.create_task(_start_all(place, children, sessions=sessions, demo=demo, quiet=quiet, leave=leave))
    leaving = asyncio.create_task(leave.wait())
    try:
        await asyncio.wait({main, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if main.done():
            main.result()
            await leaving
        return 0
    finally:
        for task in (main, leaving):
            task.cancel()
        await asyncio.gather(main, leaving, return_exceptions=True)
        await _stop_all(children)


async def _start_all(
    place: Place, children: list[Child], *, sessions: int, demo: bool, quiet: bool, leave: asyncio.Event
) -> None:
    environment = place.environment()
    started_s = time.monotonic()
    for plan in plans(place, sessions=sessions):
        child = Child(plan, env=environment, log_folder=place.logs, quiet=quiet)
        children.append(child)
        say(f"starting {plan.name} …", colour="grey")
        await child.start()
    say(f"Lumihost is up at {place.url} ({time.monotonic() - started_s:.1f} s); logs in {place.logs}; Ctrl-C stops everything")
    if demo:
        from lumihost.cli.demo import take_live

        await take_live(place)


async def _stop_all(children: list[Child]) -> None:
    """The agent first, then the rest together: they wait for nobody."""
    say("stopping …")
    for child in children[3:]:
        await child.stop()
    await asyncio.gather(*(child.stop() for child in children[:3]))
    say("stopped")


async def _healthy(url: str) -> bool:
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
            return (await client.get(f"{url}/healthz")).status_code == 200
    except httpx.HTTPError:
        return False


def _addresses() -> set[str]:
    """This machine's own IPv4 addresses, without loopback."""
    import psutil

    found = {a.address for entries in psutil.net_if_addrs().values() for a in entries if a.family == socket.AF_INET}
    return {address for address in found if not address.startswith("127.")}
