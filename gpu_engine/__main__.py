"""``python -m gpu_engine``: run one show from a file, host a session for a node agent, or examine the machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpu_engine.outputs.rtmp import RtmpError, RtmpUrl
from gpu_engine.session.process import die_with_parent, start_logging
from gpu_engine.session.spec import RecordingOutput, RtmpOutput, ScheduledComment, SessionSpec, SpecError, load_spec
from gpu_engine.session.state_files import RunDirectoryTaken

_SHOWN = frozenset({"spoken", "state", "turn", "output", "gate", "process", "drop", "motion"})
"""Kinds of events that `run` prints."""


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the process's exit code."""
    parser = argparse.ArgumentParser(prog="gpu_engine", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="run one show and write it to a file or push it")
    run.add_argument("--spec", type=Path, required=True, help="show file (JSON)")
    run.add_argument("--out", action="append", default=[], help="FILE.mp4 or rtmp://host/app/key; may be given several times")
    run.add_argument("--duration", type=float, help="seconds of media, then stop")
    run.add_argument("--clock", choices=("real", "virtual"), help="virtual: as fast as this machine can, not in real time")
    run.add_argument("--comment", action="append", default=[], metavar="AT_S:TEXT", help="a viewer comment at a media time")
    run.add_argument("--run-dir", type=Path, help="where sockets, logs and the usage journal go (default: a temporary folder)")

    session = commands.add_parser("session", help="host one session for a node agent")
    session.add_argument("--spec", type=Path, required=True)
    session.add_argument("--run-dir", type=Path, required=True)
    session.add_argument(
        "--orphan-after", type=float, default=900.0, metavar="S", help="end the show after S seconds without a node agent (900)"
    )
    session.add_argument("--follow-parent", action="store_true", help="end when the parent process ends")

    doctor = commands.add_parser("doctor", help="say what this machine can run and what is missing")
    doctor.add_argument("--json", action="store_true")
    doctor.add_argument("--warm-up", action="store_true", help="only compile the renderer for this processor")

    from gpu_engine.dmcp import command as dmcp

    dmcp.add_commands(commands)
    options = parser.parse_args(argv)
    try:
        if options.command == "dmcp":
            return dmcp.run(options)
        if options.command == "doctor":
            from gpu_engine.doctor import examine, print_report, warm_up

            if options.warm_up:
                return warm_up()

            findings = examine()
            if options.json:
                sys.stdout.write(json.dumps(findings) + "\n")
                return 0
            return int(print_report(findings))
        if options.command == "session":
            if options.follow_parent:
                die_with_parent()
            start_logging("supervisor")
            return asyncio.run(
                _supervise(load_spec(options.spec), options.run_dir.resolve(), None, orphan_after_s=options.orphan_after)
            )
        return _run(options)
    except SpecError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except RunDirectoryTaken as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def _run(options: argparse.Namespace) -> int:
    spec = _with_options(load_spec(options.spec), options)
    if not spec.outputs:
        raise SpecError("the show has no output: give --out FILE.mp4 or --out rtmp://…, or name outputs in the show file")
    for output in spec.outputs:
        if isinstance(output, RecordingOutput) and not Path(output.path).parent.is_dir():
            raise SpecError(f"--out {output.path}: the folder does not exist: create it first")
    if not spec.avatar.endswith(".json"):
        from gpu_engine.avatar.pack import pack_path
        from gpu_engine.avatar.renderer import AvatarError

        try:
            pack_path(spec.avatar)
        except AvatarError as error:
            raise SpecError(str(error)) from None
    sys.stdout.write(f"running '{spec.show.title or spec.show.id}' → {', '.join(_name(o) for o in spec.outputs)}\n")
    if options.run_dir is not None:
        return asyncio.run(_supervise(spec, options.run_dir.resolve(), _print_progress))
    with tempfile.TemporaryDirectory(prefix="lumihost-") as name:
        run_dir = Path(name)

        def listener(message: object) -> None:
            _print_progress(message)
            _print_last_words(message, run_dir)

        return asyncio.run(_supervise(spec, run_dir, listener))


def _with_options(spec: SessionSpec, options: argparse.Namespace) -> SessionSpec:
    update: dict[str, Any] = {}
    outputs = list(spec.outputs)
    for number, out in enumerate(options.out, 1):
        if out.startswith(("rtmp://", "rtmps://")):
            outputs.append(RtmpOutput(id=f"rtmp{number}", url=out))
        elif out.endswith(".mp4"):
            outputs.append(RecordingOutput(id=f"file{number}", path=str(Path(out).resolve())))
        else:
            raise SpecError(f"--out {out}: neither an .mp4 file nor an rtmp:// address")
    update["outputs"] = tuple(outputs)
    if options.duration is not None:
        update["duration_s"] = options.duration
    if options.clock is not None:
        update["clock"] = options.clock
    comments = list(spec.comments)
    for item in options.comment:
        at_s, _, text = item.partition(":")
        try:
            comments.append(ScheduledComment(at_s=float(at_s), text=text))
        except ValueError as error:
            raise SpecError(f"--comment {item}: write it as SECONDS:TEXT, e.g. 12:多少钱") from error
    update["comments"] = tuple(comments)
    try:
        return SessionSpec.model_validate(spec.model_copy(update=update).model_dump())
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"{'.'.join(str(part) for part in first['loc']) or 'options'}: {first['msg']}") from error


def _name(output: object) -> str:
    if isinstance(output, RtmpOutput):
        try:
            return f"{RtmpUrl.parse(output.url)}/…"
        except RtmpError as error:
            raise SpecError(f"output '{output.id}': {error}") from error
    return output.path if isinstance(output, RecordingOutput) else type(output).__name__


def _print_progress(message: object) -> None:
    from gpu_engine.session.control import Event, Metrics

    if isinstance(message, Metrics):
        sys.stdout.write(
            f"\r{message.media_s:7.1f} s  {message.fps:5.1f} fps  frame {message.frame_ms:4.1f} ms  "
            f"late {message.late_frames}  "
            f"buffered {message.buffered_ms / 1000:4.1f} s  "
        )
        sys.stdout.flush()
    elif isinstance(message, Event) and message.kind in _SHOWN:
        text = _first_of(message.data, "text", "answer", "state", "name", "what")
        why = _first_of(message.data, "reason", "outcome", "detail", "what")
        sys.stdout.write(f"\n[{message.kind}] {text} {why}".rstrip() + "\n")


def _first_of(data: dict[str, Any], *names: str) -> str:
    return next((str(data[name]) for name in names if data.get(name)), "")


def _print_last_words(message: object, run_dir: Path) -> None:
    """Why a process died: its log goes with the temporary folder."""
    from gpu_engine.session.control import Event

    if isinstance(message, Event) and message.kind == "process" and message.data["what"] == "died":
        log = run_dir / f"{message.data['name']}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        sys.stdout.write(f"[{message.data['name']}] {next((line for line in reversed(lines) if line.strip()), '')[:500]}\n")


async def _supervise(spec: SessionSpec, run_dir: Path, listener: Any, orphan_after_s: float | None = None) -> int:
    from gpu_engine.session.supervisor import Supervisor

    # The spec in it holds stream keys.
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    supervisor = Supervisor(spec, run_dir, listener, orphan_after_s=orphan_after_s)
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, supervisor.request_stop, f"signal {signal.Signals(signum).name}")
    return await supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
