"""Commands to nodes: short Celery tasks on the node's own queue. A lost one is harmless, the reconciler sends it again."""

from __future__ import annotations

import logging
from typing import Protocol

from workers.contracts import commands

log = logging.getLogger(__name__)


class Dispatcher(Protocol):
    """Sends commands; never inside a transaction."""

    def start(self, node_id: str, session_id: str, epoch: int) -> None:
        """Ask the node to run the session."""

    def stop(self, node_id: str, session_id: str, epoch: int, reason: str) -> None:
        """Ask the node to end it."""


class CeleryDispatcher:
    """The real one."""

    def start(self, node_id: str, session_id: str, epoch: int) -> None:
        """Send ``workers.start_session``."""
        self._send(commands.START_TASK, node_id, {"session": session_id, "epoch": epoch})

    def stop(self, node_id: str, session_id: str, epoch: int, reason: str) -> None:
        """Send ``workers.stop_session``."""
        self._send(commands.STOP_TASK, node_id, {"session": session_id, "epoch": epoch, "reason": reason})

    def _send(self, task: str, node_id: str, arguments: dict[str, object]) -> None:
        from kombu.exceptions import OperationalError

        from lumihost.config.celery import app

        try:
            app.send_task(
                task, kwargs=arguments, queue=commands.node_queue(node_id), expires=commands.COMMAND_EXPIRES_S, retry=False
            )
        except (OperationalError, OSError) as error:
            log.error("command %s for node %s was not sent and will be tried again: %s", task, node_id, error)
