"""What a restarted agent must know about a run: one small JSON file in each run directory, replaced atomically."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import structlog

from workers.contracts.node import FINAL_STATES, NodeSessionState
from workers.node.process import find_leader

log = structlog.get_logger(__name__)

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEEP_SETTLED_S = 24 * 3600.0


class RunRecord(msgspec.Struct):
    """State of one (session, epoch) on this node.

    ``pid_started_s`` tells a reused pid from ours; ``clock_base_ms`` is Unix time at the engine's own zero; ``media_s``
    is what the running engine has made, ``media_before_s`` what earlier ones of this run had.
    """

    session: str
    epoch: int
    state: NodeSessionState = NodeSessionState.STARTING
    reason: str = ""
    cursor: dict[str, Any] | None = None
    pid: int = 0
    pid_started_s: float = 0.0
    starts: int = 0
    death_times_s: list[float] = []
    stop_reason: str = ""
    event_acked: int = 0
    clock_base_ms: int = 0
    media_s: float = 0.0
    media_before_s: float = 0.0
    usage_acked: int = 0
    uploaded: list[str] = []
    upload_refused: list[str] = []
    final_acked: bool = False
    settled_at_s: float = 0.0

    @property
    def is_final(self) -> bool:
        """Whether the engine is done for good in this epoch."""
        return self.state in FINAL_STATES


class UnsafeSessionId(ValueError):
    """The id cannot name a directory."""


@dataclass(frozen=True)
class RunDirectory:
    """Where one (session, epoch) lives on this node."""

    path: Path

    @classmethod
    def of(cls, sessions_root: Path, session: str, epoch: int) -> RunDirectory:
        """The directory of (session, epoch); raises UnsafeSessionId for an id that is not plain."""
        if not _SAFE_ID.fullmatch(session):
            raise UnsafeSessionId(f"session id {session!r} is not made of letters, digits, '-' and '_'")
        return cls(sessions_root / f"{session}.{epoch}")

    @property
    def spec(self) -> Path:
        """The engine's show file; holds stream keys, mode 0600."""
        return self.path / "spec.json"

    @property
    def control_socket(self) -> Path:
        """The engine's control socket."""
        return self.path / "control.sock"

    @property
    def usage(self) -> Path:
        """The engine's usage journal."""
        return self.path / "usage.jsonl"

    @property
    def recordings(self) -> Path:
        """Where recordings are written until they are uploaded."""
        return self.path / "recordings"

    @property
    def log(self) -> Path:
        """The engine's output."""
        return self.path / "engine.log"

    @property
    def record(self) -> Path:
        """The agent's own file."""
        return self.path / "agent.json"

    def create(self) -> None:
        """Make the directory (0700) and its recordings folder."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.recordings.mkdir(exist_ok=True)

    def save(self, record: RunRecord) -> None:
        """Replace the record; a reader sees the old one or the new one, whole.

        A disk that is full keeps the old one and is no reason to stop: the record in memory rules while the agent lives, and
        a restarted agent finds out the rest (:meth:`rebuilt`).
        """
        try:
            write_private(self.record, msgspec.json.encode(record))
        except OSError as error:
            log.error("run record not written", file=str(self.record), error=error.strerror)

    def load(self) -> RunRecord | None:
        """The record, or None when there is none or it cannot be read."""
        try:
            return msgspec.json.decode(self.record.read_bytes(), type=RunRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def rebuilt(self) -> RunRecord | None:
        """What can be told of a run whose record is unreadable: its name, its engine if one runs, and where its numbers
        must go on. None for a folder that is no run's."""
        session, _, epoch = self.path.name.rpartition(".")
        if not _SAFE_ID.fullmatch(session) or not epoch.isdecimal():
            return None
        parts = [path.name.split(".")[2] for path in self.recordings.glob(f"{self.path.name}.*.mp4")]
        # An engine that has only just begun has written no recording yet; its show file names the one it will write.
        for show in (self.spec, self.path / "spec.effective.json"):
            with contextlib.suppress(OSError):
                parts += re.findall(rf"{re.escape(self.path.name)}\.(\d+)\.mp4", show.read_text("utf-8", "replace"))
        record = RunRecord(session, int(epoch), starts=max((int(part) for part in parts if part.isdecimal()), default=0))
        leader = find_leader(self.path)
        if leader is not None:
            record.pid, record.pid_started_s = leader
        log.error("run record unreadable, rebuilt", run=self.path.name, pid=record.pid)
        return record

    def forget_secrets(self) -> None:
        """Remove the show files: they hold stream keys and are of no use once the run is over."""
        for path in (self.spec, self.path / "spec.effective.json"):
            path.unlink(missing_ok=True)

    def log_tail(self, max_bytes: int = 2000) -> str:
        """Last non-empty line of the engine's log, for the reason a person reads."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - max_bytes))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
            return lines[-1][:300] if lines else ""
        return ""


def write_private(path: Path, content: bytes) -> None:
    """Replace ``path`` atomically with a file only its owner may read."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def instance_of(root: Path) -> str:
    """The name of the agent that owns ``root``, made on first use; a passing one when it cannot be kept."""
    file = root / "instance"
    with contextlib.suppress(OSError):
        known = file.read_text(encoding="utf-8").strip()
        if known:
            return known[:64]
    made = secrets.token_hex(16)
    with contextlib.suppress(OSError):
        write_private(file, made.encode())
    return made


def known_runs(sessions_root: Path) -> Iterator[tuple[RunDirectory, RunRecord]]:
    """Every run this node has a record of."""
    if not sessions_root.is_dir():
        return
    for path in sorted(sessions_root.iterdir()):
        run = RunDirectory(path)
        record = run.load()
        if record is None and path.is_dir() and (run.record.exists() or run.spec.exists()):
            record = run.rebuilt()
        if record is not None:
            yield run, record


def purge_settled(sessions_root: Path, *, now_s: float | None = None, keep_s: float = KEEP_SETTLED_S) -> list[str]:
    """Remove runs that were settled more than ``keep_s`` ago; returns their names."""
    now_s = time.time() if now_s is None else now_s
    removed = []
    for run, record in list(known_runs(sessions_root)):
        if record.settled_at_s and now_s - record.settled_at_s > keep_s:
            shutil.rmtree(run.path, ignore_errors=True)
            removed.append(run.path.name)
    return removed
