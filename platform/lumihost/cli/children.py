"""Child processes of ``lumihost up``: started in order, kept running, their lines written to files and to the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lumihost.cli.terminal import say_as

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_MAX_LOG_BYTES = 20 * 1024 * 1024
_MAX_LINE_BYTES = 64 * 1024
_STABLE_AFTER_S = 30.0
_BACKOFF_S = (0.5, 10.0)


class NotReady(RuntimeError):
    """A child did not come up; the message names it and its log."""


@dataclass(frozen=True)
class ChildPlan:
    """How to run one child. ``ready`` is awaited after each start (None: ready at once)."""

    name: str
    argv: tuple[str, ...]
    colour: str
    ready: Callable[[], Awaitable[bool]] | None = None
    ready_within_s: float = 40.0
    stop_within_s: float = 3.0


class Child:
    """One supervised process. :meth:`start` once, then it is restarted with back-off until :meth:`stop`."""

    def __init__(
        self, plan: ChildPlan, *, env: Mapping[str, str], log_folder: Path, quiet: bool, held_fds: tuple[int, ...] = ()
    ) -> None:
        """``held_fds``: open files the child keeps open as long as it lives."""
        self.plan = plan
        self._held_fds = held_fds
        self._env = dict(env)
        self._log_path = log_folder / f"{plan.name}.log"
        self._quiet = quiet
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._stopping = False
        self.restarts = 0
        self.lines_lost = 0

    @property
    def pid(self) -> int:
        """Of the running process; 0 while there is none."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    async def start(self) -> None:
        """Start and wait until it is ready.

        Raises:
            NotReady: it ended, or was not ready in time.
        """
        await self._spawn()
        self._keeper = asyncio.create_task(self._keep())
        await self._until_ready()

    async def _until_ready(self) -> None:
        deadline_s = time.monotonic() + self.plan.ready_within_s
        while self.plan.ready is not None and not await self.plan.ready():
            if self.restarts >= 3:
                raise NotReady(f"{self.plan.name} keeps ending: see {self._log_path}\n{self._tail()}")
            if time.monotonic() > deadline_s:
                raise NotReady(
                    f"{self.plan.name} is not ready after {self.plan.ready_within_s:g} s: see {self._log_path}\n{self._tail()}"
                )
            await asyncio.sleep(0.1)

    async def _spawn(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self.plan.argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env=self._env, start_new_session=True, preexec_fn=_die_with_parent, limit=_MAX_LINE_BYTES,
            pass_fds=self._held_fds,
        )  # fmt: skip

    async def _keep(self) -> None:
        delay_s = _BACKOFF_S[0]
        while True:
            process = self._process
            assert process is not None
            started_s = time.monotonic()
            await self._pump(process)
            code = await process.wait()
            if self._stopping:
                return
            self.restarts += 1
            delay_s = _BACKOFF_S[0] if time.monotonic() - started_s > _STABLE_AFTER_S else min(delay_s * 2, _BACKOFF_S[1])
            say_as(self.plan.name, f"ended ({_exit_text(code)}); starting it again in {delay_s:g} s", "red")
            await asyncio.sleep(delay_s)
            while not self._stopping:
                try:
                    await self._spawn()
                    break
                except OSError as error:
                    # Out of processes or memory for a moment: without another try the child would be gone for good.
                    say_as(self.plan.name, f"cannot be started: {error.strerror}; trying again in {_BACKOFF_S[1]:g} s", "red")
                    await asyncio.sleep(_BACKOFF_S[1])
            else:
                return

    async def _pump(self, process: asyncio.subprocess.Process) -> None:
        """Copy lines until the pipe closes; a log file that has grown is moved aside once.

        A full disk costs lines, never the pump: a child whose pipe nobody empties stops at its next line.
        """
        assert process.stdout is not None
        log: IO[bytes] | None = None
        try:
            while True:
                try:
                    line = await process.stdout.readline()
                except ValueError:
                    # A line over the limit: its rest is read as lines of their own.
                    continue
                if not line:
                    return
                try:
                    log = log or self._log_path.open("ab", buffering=0)
                    log.write(line)
                    if log.tell() > _MAX_LOG_BYTES:
                        log.close()
                        log = None
                        self._log_path.replace(self._log_path.with_suffix(".log.1"))
                except OSError:
                    self.lines_lost += 1
                if not self._quiet:
                    say_as(self.plan.name, line.decode("utf-8", "replace").rstrip(), self.plan.colour)
        finally:
            if log is not None:
                log.close()

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return "\n".join("  " + line for line in self._log_path.read_text("utf-8", "replace").splitlines()[-8:])
        return ""

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after the plan's time."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), self.plan.stop_within_s)
            except TimeoutError:
                self.kill()
                await process.wait()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)

    def kill(self) -> None:
        """SIGKILL at once."""
        self._stopping = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


def _die_with_parent() -> None:
    """Runs in the child before exec: if this command is killed, no child stays behind holding the port."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
