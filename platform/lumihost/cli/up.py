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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx

from lumihost.cli.children import Child, ChildPlan, NotReady
from lumihost.cli.ports import why_not_free
from lumihost.cli.terminal import coloured, complain, say

SETTINGS = "lumihost.config.settings.embedded"
NODE_ID = "local"
MOTION_PORT = 8770
AGENT_STOP_S = 11.0
LEFTOVERS_S = 20.0
END_SESSIONS_S = 5.0
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
    def motion_listen(self) -> str:
        """Where the node's motion gateway listens: LUMIHOST_MOTION_PORT, else 8770 or, if that is taken, any free port."""
        port = os.environ.get("LUMIHOST_MOTION_PORT")
        if port is None:
            port = str(MOTION_PORT) if why_not_free(self.host, MOTION_PORT) is None else "0"
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"

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
            env.setdefault("LUMIHOST_MOTION_ORIGINS", ",".join(f"ws://{a}:*" for a in sorted(_addresses() | {"127.0.0.1"})))
            env.setdefault("LUMIHOST_WEBRTC_ADDRESSES", ",".join(sorted(_addresses() | {"127.0.0.1"})))
        return env


def run_up(*, host: str, port: int, sessions: int, demo: bool, quiet: bool, exit_when_live: bool = False) -> int:
    """Run until Ctrl-C or SIGTERM, or with ``exit_when_live`` until the demo show makes pictures; returns the exit code."""
    from lumihost.config.settings.base import VAR

    place = Place(VAR, host, port)
    os.environ.update(place.environment())
    try:
        with _only_one(place), _leftovers_gone(place) as held:
            _check(place)
            _prepare(place, sessions)
            plan = _Running(place, sessions, demo=demo, quiet=quiet, exit_when_live=exit_when_live, held_fd=held.fileno())
            return asyncio.run(plan.run())
    except (Refused, NotReady) as refusal:
        complain(f"{coloured('error:', 'red')} {refusal}")
        return 1
    except KeyboardInterrupt:
        return 130


# --- before anything runs -----------------------------------------------------------------------------------------------


def _only_one(place: Place) -> IO[str]:
    """Hold the installation; the file's lock goes with this process, however it ends."""
    try:
        place.var.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.logs.mkdir(exist_ok=True)
        lock = (place.var / "up.lock").open("a+")
    except OSError as error:
        raise Refused(f"{place.var} cannot be written: {error.strerror}: set LUMIHOST_VAR to a folder of yours") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise Refused(f"Lumihost runs already from {place.var} ({lock.read().strip()}): stop it with Ctrl-C there") from None
    try:
        lock.truncate(0)
        lock.write(f"pid {os.getpid()}, {place.url}")
        lock.flush()
    except OSError as error:
        raise Refused(
            f"{place.var} cannot be written: {error.strerror}: free space, or set LUMIHOST_VAR to a folder on a larger disk"
        ) from error
    return lock


def _leftovers_gone(place: Place) -> IO[str]:
    """Wait for children of an `up` that was killed; each holds this file's lock as long as it lives, as ours will."""
    path = place.var / "children.lock"
    lock = path.open("a")
    deadline_s, told = time.monotonic() + LEFTOVERS_S, False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if not told:
                say("waiting for what an earlier `lumihost up`, which was killed, left running …")
                told = True
        if time.monotonic() > deadline_s:
            pids = ", ".join(map(str, _holders(path)))
            raise Refused(f"processes of an earlier `lumihost up` still run (pid {pids}): end them with `kill -9`")
        time.sleep(0.2)


def _holders(path: Path) -> list[int]:
    """Other processes of this user that have the file open."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(file.path == str(path) for file in process.open_files()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


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
    # Password hashes and sign-ins are in it; SQLite gives its side files the same mode.
    for file in place.var.glob("db.sqlite3*"):
        file.chmod(0o600)
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
            (python, "-m", "lumihost.web.daphne_server", "-b", place.host, "-p", str(place.port),
             "--ping-interval", "10", "--ping-timeout", "20", "--access-log",
             str(place.logs / "access.log"), "--no-server-name", "lumihost.config.asgi:application"),
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
             "--stop-sessions", "--token-file", str(place.var / "secrets" / "node_token"), "--root", str(place.var / "node"),
             "--motion-listen", place.motion_listen),
            "magenta", node_is_online, stop_within_s=AGENT_STOP_S,
        ),
    ]  # fmt: skip


@dataclass
class _Running:
    """One run of everything: started in order, stopped in the reverse one."""

    place: Place
    sessions: int
    demo: bool
    quiet: bool
    exit_when_live: bool
    held_fd: int
    children: list[Child] = field(default_factory=list)
    leave: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> int:
        """Until asked to leave."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._asked_to_leave)
        main = asyncio.create_task(self._start_all())
        leaving = asyncio.create_task(self.leave.wait())
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
            await self._stop_all()

    def _asked_to_leave(self) -> None:
        if self.leave.is_set():
            # Asked a second time: no more patience.
            for child in self.children:
                child.kill()
        self.leave.set()

    async def _start_all(self) -> None:
        place, environment, started_s = self.place, self.place.environment(), time.monotonic()
        for plan in plans(place, sessions=self.sessions):
            child = Child(plan, env=environment, log_folder=place.logs, quiet=self.quiet, held_fds=(self.held_fd,))
            self.children.append(child)
            say(f"starting {plan.name} …", colour="grey")
            await child.start()
        took_s = time.monotonic() - started_s
        say(f"Lumihost is up at {place.url} ({took_s:.1f} s); logs in {place.logs}; Ctrl-C stops everything")
        if self.demo:
            from lumihost.cli.demo import take_live

            await take_live(place, until_first_frame=self.exit_when_live)
        if self.exit_when_live:
            self.leave.set()

    async def _stop_all(self) -> None:
        """The agent first, then the rest together: they wait for nobody."""
        say("stopping …")
        if len(self.children) > 3:
            await self._end_sessions()
        for child in self.children[3:]:
            await child.stop()
        await asyncio.gather(*(child.stop() for child in self.children[:3]))
        say("stopped")

    async def _end_sessions(self) -> None:
        """Say so in the database: what does not end with its agent now is ended, not resumed, by the next `up`."""
        from django.db import DatabaseError

        from lumihost.cli import installation

        try:
            await asyncio.wait_for(asyncio.to_thread(installation.end_sessions, "Lumihost was stopped"), END_SESSIONS_S)
        except (DatabaseError, TimeoutError) as error:
            complain(f"sessions could not be marked as ended: {type(error).__name__} {error}")


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
