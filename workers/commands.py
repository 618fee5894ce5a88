"""The node's Celery tasks. Each hands its command to the agent over a unix socket and returns within seconds.

No task here runs a show: a task of hours would be delivered twice by Redis and would die with its worker.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import structlog

from workers.app import app
from workers.contracts import commands

log = structlog.get_logger(__name__)
_TIMEOUT_S = 5.0
_MAX_REPLY_BYTES = 65_536


class AgentUnreachable(ConnectionError):
    """The node agent's socket does not answer; the reconciler will send the command again."""


def hand_over(command: commands.Command, agent_socket: Path, timeout_s: float = _TIMEOUT_S) -> commands.CommandReply:
    """Give ``command`` to the agent and return its answer.

    Raises:
        AgentUnreachable: no agent listens on ``agent_socket``, or it did not answer within ``timeout_s``.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(timeout_s)
            link.connect(str(agent_socket))
            link.sendall(msgspec.json.encode(command) + b"\n")
            with link.makefile("rb") as answer:
                line = answer.readline(_MAX_REPLY_BYTES)
    except OSError as error:
        raise AgentUnreachable(f"agent socket {agent_socket}: {error}: is `python -m workers.node` running?") from error
    if not line:
        raise AgentUnreachable(f"agent socket {agent_socket}: closed without an answer")
    return msgspec.json.decode(line, type=commands.CommandReply)


def _deliver(command: commands.Command) -> None:
    reply = hand_over(command, Path(os.environ.get("LUMIHOST_AGENT_SOCKET", "var/node/agent.sock")))
    log.info("command handed over", command=type(command).__name__, session=command.session, epoch=command.epoch,
             accepted=reply.accepted, detail=reply.detail)  # fmt: skip


@app.task(name=commands.START_TASK, shared=False)
def start_session(session: str, epoch: int) -> None:
    """Ask the agent to run ``session`` in ``epoch``."""
    _deliver(commands.StartSession(session=session, epoch=epoch))


@app.task(name=commands.STOP_TASK, shared=False)
def stop_session(session: str, epoch: int, reason: str) -> None:
    """Ask the agent to end ``session``."""
    _deliver(commands.StopSession(session=session, epoch=epoch, reason=reason))
