"""The node's DMCP gateway as a child of the agent. The agent holds its listening socket, so that a gateway that dies is
replaced without a connection being refused, and hands it the platform's public keys; shows never depend on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import structlog

from gpu_engine.session.state_files import cap_logs
from workers.node.journal import write_private
from workers.node.process import die_with_parent

log = structlog.get_logger(__name__)

_BACKOFF_S = (0.2, 10.0)
_STABLE_AFTER_S = 30.0
_END_WITHIN_S = 2.0
_BACKLOG = 2_048
_CAP_EVERY_S = 60.0
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})


class MotionGateway:
    """Keeps one gateway running, once there are keys to check tokens with."""

    def __init__(self, listen: str, root: Path, public_url: str = "") -> None:
        """``listen`` is HOST:PORT (port 0: any); ``public_url`` is what clients are told, if not that.

        Raises:
            ValueError: not HOST:PORT.
        """
        self._host, self._port = host_and_port(listen)
        self._public_url = public_url
        self._root = root
        self._keys_file = root / "motion-keys.json"
        self._have_keys = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._leaving = False

    @property
    def pid(self) -> int:
        """Of the running gateway, else 0."""
        return self._child.pid if self._child is not None and self._child.returncode is None else 0

    def bind(self) -> str:
        """Take the port; returns the address for clients, '' when it cannot be had (said in the log: shows do without)."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((self._host, self._port))
        except OSError as error:
            sock.close()
            log.error("no motion gateway", listen=f"{self._host}:{self._port}", error=error.strerror)
            return ""
        self._socket = sock
        if self._keys_file.exists():
            self._have_keys.set()
        return self._public_url or f"ws://{_reachable(self._host)}:{sock.getsockname()[1]}/dmcp"

    def take_keys(self, keys: dict[str, Any]) -> None:
        """The platform's public keys; a running gateway reads a changed file by itself."""
        if not keys.get("keys"):
            return
        content = msgspec.json.encode(keys)
        try:
            if not self._keys_file.exists() or self._keys_file.read_bytes() != content:
                write_private(self._keys_file, content)
            self._have_keys.set()
        except OSError as error:
            log.error("motion keys not written", file=str(self._keys_file), error=error.strerror)

    def leave(self) -> None:
        """Ask the gateway to say goodbye to its clients."""
        self._leaving = True
        if self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.terminate()

    async def run(self) -> None:
        """Start the gateway, and start it again when it ends, until cancelled."""
        if self._socket is None:
            return
        capper = asyncio.create_task(self._keep_log_small())
        delay_s = _BACKOFF_S[0]
        try:
            await self._have_keys.wait()
            # Ours from here on: who connects while a gateway starts waits for it.
            self._socket.listen(_BACKLOG)
            while not self._leaving:
                started_s = time.monotonic()
                code = await self._run_once(self._socket)
                if self._leaving:
                    return
                log.warning("motion gateway ended; starting it again", code=code, log=str(self._root / "dmcp.log"))
                delay_s = _BACKOFF_S[0] if time.monotonic() - started_s > _STABLE_AFTER_S else min(delay_s * 2, _BACKOFF_S[1])
                await asyncio.sleep(delay_s)
        finally:
            capper.cancel()
            await self._end()
            self._socket.close()

    async def _run_once(self, sock: socket.socket) -> int | None:
        arguments = ["--fd", str(sock.fileno()), "--keys", str(self._keys_file), "--runs", str(self._root / "sessions")]
        try:
            with (self._root / "dmcp.log").open("ab") as output:
                self._child = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "gpu_engine", "dmcp", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=output,
                    stderr=output, pass_fds=(sock.fileno(),), preexec_fn=die_with_parent, start_new_session=True,
                    env=dict(os.environ),
                )  # fmt: skip
        except OSError as error:
            log.error("motion gateway not started", error=error.strerror)
            return None
        return await self._child.wait()

    async def _end(self) -> None:
        child = self._child
        if child is None or child.returncode is not None:
            return
        self.leave()
        try:
            await asyncio.wait_for(child.wait(), _END_WITHIN_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _keep_log_small(self) -> None:
        while True:
            await asyncio.sleep(_CAP_EVERY_S)
            await asyncio.to_thread(cap_logs, self._root)


def host_and_port(listen: str) -> tuple[str, int]:
    """``HOST:PORT`` taken apart, with brackets around an IPv6 host.

    Raises:
        ValueError: it is not of that form.
    """
    host, separator, port = listen.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"motion gateway at '{listen}': write HOST:PORT, e.g. 127.0.0.1:8770")
    return host.strip("[]"), int(port)


def _reachable(host: str) -> str:
    """An address of this machine that others can use, for a socket that listens on all of them."""
    if host not in _WILDCARDS:
        return f"[{host}]" if ":" in host else host
    for entries in psutil.net_if_addrs().values():
        for entry in entries:
            if entry.family == socket.AF_INET and not entry.address.startswith("127."):
                return str(entry.address)
    return "127.0.0.1"
