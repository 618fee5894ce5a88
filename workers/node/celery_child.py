"""The node's Celery worker as a child of the agent: it hands commands over and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from pathlib import Path

import structlog

from workers.contracts.commands import node_queue
from workers.node.process import die_with_parent

log = structlog.get_logger(__name__)

_BACKOFF_S = (0.5, 15.0)
_STABLE_AFTER_S = 30.0


class CeleryChild:
    """Keeps one worker of queue ``node.<id>`` running; it dies with the agent."""

    def __init__(self, node_id: str, agent_socket: Path, log_path: Path) -> None:
        self._argv = [
            *(sys.executable, "-W", "ignore::UserWarning", "-m", "celery", "--quiet", "-A", "workers.app", "worker"),
            *("-Q", node_queue(node_id), "-n", f"node.{node_id}@%h", "--pool=threads", "-c", "2"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"),
        ]
        self._env = {**os.environ, "LUMIHOST_AGENT_SOCKET": str(agent_socket)}
        self._log_path = log_path
        self.pid = 0

    async def run(self) -> None:
        """Start the worker, and start it again when it ends, until cancelled."""
        delay_s = _BACKOFF_S[0]
        while True:
            started_s = time.monotonic()
            with self._log_path.open("ab") as output:
                child = await asyncio.create_subprocess_exec(
                    *self._argv, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=self._env,
                    preexec_fn=die_with_parent, start_new_session=True,
                )  # fmt: skip
            self.pid = child.pid
            try:
                code = await child.wait()
            except asyncio.CancelledError:
                await _end(child)
                raise
            log.warning("Celery worker ended; starting it again", code=code, log=str(self._log_path))
            delay_s = _BACKOFF_S[0] if time.monotonic() - started_s > _STABLE_AFTER_S else min(delay_s * 2, _BACKOFF_S[1])
            await asyncio.sleep(delay_s)


async def _end(child: asyncio.subprocess.Process) -> None:
    """SIGKILL: a task hands over in milliseconds and the reconciler sends again; a warm stop waits for the broker's threads."""
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    await child.wait()
