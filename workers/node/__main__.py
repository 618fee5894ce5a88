"""``python -m workers.node``: run this machine's node agent."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path

import structlog

from workers.node.agent import AgentOptions, NodeAgent
from workers.node.motion_gateway import host_and_port
from workers.node.supervisor import SupervisionOptions


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the process's exit code."""
    options = _options(argv)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        asyncio.run(_serve(options))
    except RuntimeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


async def _serve(options: AgentOptions) -> None:
    agent = NodeAgent(options)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.leave)
    await agent.run()


def _options(argv: list[str] | None) -> AgentOptions:
    var = Path(os.environ.get("LUMIHOST_VAR", "var"))
    parser = argparse.ArgumentParser(prog="python -m workers.node", description=__doc__)
    parser.add_argument("--url", required=True, help="the platform, e.g. http://127.0.0.1:8000")
    parser.add_argument("--node-id", required=True)
    parser.add_argument("--token-file", type=Path, required=True, help="file that holds the node token")
    parser.add_argument("--root", type=Path, default=var / "node", help="journals and run directories (default: <var>/node)")
    parser.add_argument("--capacity", type=int, default=1, help="sessions at a time (default: 1)")
    parser.add_argument("--no-celery", action="store_true", help="take commands on the unix socket only")
    parser.add_argument(
        "--stop-sessions", action="store_true", help="on SIGTERM end the engines instead of leaving them running"
    )
    parser.add_argument("--exit-grace", type=float, default=9.0, metavar="SECONDS", help="with --stop-sessions (default: 9)")
    parser.add_argument(
        "--motion-listen", default="127.0.0.1:8770", metavar="HOST:PORT",
        help="motion gateway (DMCP) for clients that watch or drive a host; '' = none (default: 127.0.0.1:8770)",
    )  # fmt: skip
    parser.add_argument("--motion-url", default="", metavar="WSS_URL", help="the gateway's address behind your proxy")
    arguments = parser.parse_args(argv)
    try:
        token = arguments.token_file.read_text().strip()
    except OSError as error:
        parser.error(f"token file {arguments.token_file}: {error.strerror}: `manage.py register_node` writes one")
    try:
        if arguments.motion_listen:
            host_and_port(arguments.motion_listen)
    except ValueError as error:
        parser.error(str(error))
    command = os.environ.get("LUMIHOST_ENGINE_COMMAND")
    supervision = SupervisionOptions(engine_command=tuple(shlex.split(command))) if command else SupervisionOptions()
    return AgentOptions(
        url=arguments.url, node_id=arguments.node_id, token=token, root=arguments.root.resolve(),
        capacity_sessions=arguments.capacity, run_celery=not arguments.no_celery,
        stop_sessions_on_exit=arguments.stop_sessions, exit_grace_s=arguments.exit_grace,
        motion_listen=arguments.motion_listen, motion_url=arguments.motion_url, supervision=supervision,
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
