"""``lumihost``: run the product on this machine, show the demo, examine the machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

DEFAULT_PORT = 8000


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the process's exit code."""
    options = _parser().parse_args(argv)
    # Each command imports what it needs: `doctor` must run on a machine where the rest cannot be imported.
    match options.command:
        case "up" | "demo":
            from lumihost.cli.up import run_up

            return run_up(
                host=options.host, port=options.port, sessions=options.sessions, demo=options.command == "demo",
                quiet=options.quiet, exit_when_live=getattr(options, "exit_when_live", False),
            )  # fmt: skip
        case "doctor":
            from lumihost.cli.doctor import run_doctor

            return run_doctor(as_json=options.json, port=options.port)
        case _:
            from lumihost.cli.status import run_status

            return run_status(as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lumihost", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("up", "start everything on this machine; Ctrl-C stops it"),
        ("demo", "the same, with the demo shop taken live"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
        command.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"port to listen on (default: {DEFAULT_PORT})")
        command.add_argument("--sessions", type=int, default=1, help="shows this machine may run at a time (default: 1)")
        command.add_argument("--quiet", action="store_true", help="logs to var/log only, not to the terminal")
        if name == "demo":
            command.add_argument(
                "--exit-when-live", action="store_true", help="stop everything once the show is live and makes pictures"
            )
    doctor = commands.add_parser("doctor", help="say what this machine can run, what is missing, and the way out")
    doctor.add_argument("--json", action="store_true", help="print one JSON list")
    doctor.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port that `up` would listen on")
    status = commands.add_parser("status", help="nodes and open sessions of this installation")
    status.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number") from None
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{port} is not between 1 and 65535")
    return port


if __name__ == "__main__":
    sys.exit(main())
