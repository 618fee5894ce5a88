"""One engine process, child of this agent or adopted from an earlier one, watched through a pidfd."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """For ``preexec_fn``: the kernel ends this child when the process that started it dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


class EngineProcess:
    """A running engine, leader of its own process group so that it outlives the agent and can be ended as a whole."""

    def __init__(self, pid: int, started_s: float, child: subprocess.Popen[bytes] | None, run_dir: Path) -> None:
        self.pid = pid
        self.started_s = started_s
        self._child = child
        self._run_dir = run_dir
        self._pidfd = os.pidfd_open(pid)

    @classmethod
    def spawn(cls, argv: Sequence[str], *, run_dir: Path, log: Path, env: Mapping[str, str]) -> EngineProcess:
        """Start ``argv`` with its output appended to ``log``; OSError when it cannot be started."""
        with log.open("ab") as output:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, env=dict(env)
            )
        return cls(child.pid, _started_s(child.pid), child, run_dir)

    @classmethod
    def adopt(cls, pid: int, started_s: float, run_dir: Path) -> EngineProcess | None:
        """The engine with this pid if it is still the process that was started at ``started_s``, else None."""
        if pid <= 0:
            return None
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE or abs(process.create_time() - started_s) > 1.0:
                return None
            return cls(pid, started_s, None, run_dir)
        except (psutil.Error, OSError):
            return None

    async def wait(self) -> int | None:
        """Wait for the end; the exit code (negative = signal), or None for an adopted engine, whose code nobody gets."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def readable() -> None:
            if not ended.done():
                ended.set_result(None)

        loop.add_reader(self._pidfd, readable)
        try:
            await ended
        finally:
            loop.remove_reader(self._pidfd)
        return self._child.wait() if self._child is not None else None

    @property
    def running(self) -> bool:
        """Whether the leader is alive."""
        if self._child is not None:
            return self._child.poll() is None
        try:
            return bool(psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def terminate(self) -> None:
        """Ask the leader to end."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM)

    def kill(self) -> None:
        """End the leader and whatever of the run is left, without asking."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        kill_leftovers(self._run_dir, self.pid)

    def close(self) -> None:
        """Let go of the pidfd."""
        with contextlib.suppress(OSError):
            os.close(self._pidfd)


def find_leader(run_dir: Path) -> tuple[int, float] | None:
    """(pid, start time) of the process group leader that has ``run_dir`` among its arguments, if there is one."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == process.pid and str(run_dir) in process.cmdline():
                return process.pid, float(process.create_time())
        except (psutil.Error, ProcessLookupError):
            continue
    return None


def kill_leftovers(run_dir: Path, group: int) -> int:
    """SIGKILL members of process group ``group`` that name ``run_dir`` on their command line; returns how many.

    The leader's children (mind, body, outlet) survive its kill -9; a group number alone may have been reused.
    """
    if group <= 0:
        return 0
    needle, killed = str(run_dir), 0
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and any(needle in part for part in process.cmdline()):
                process.kill()
                killed += 1
        except (psutil.Error, ProcessLookupError):
            continue
    return killed


def _started_s(pid: int) -> float:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0
