"""What a session leaves on disk so that its next start goes on where this one was: cursor, knowledge, incarnation."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import IO, Any

from gpu_engine.session.spec import Cursor, Knowledge, SessionSpec

LOG_LIMIT_BYTES = 8 * 1024 * 1024
"""A log that has grown over this is moved to ``<name>.1``, whose earlier content is lost."""


class RunDirectoryTaken(RuntimeError):
    """Another supervisor uses the run directory; the message names it and the way out."""


def write_atomically(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace ``path`` so that a reader sees the old or the new content, never a part; only its owner may read it.

    ``durable``: the new content is on the disk before it takes the old one's place.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with _private(temporary, os.O_TRUNC) as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def open_log(path: Path) -> IO[bytes]:
    """Open a process's log for appending; only its owner may read it."""
    return _private(path, os.O_APPEND)


def cap_logs(directory: Path) -> None:
    """Keep each ``*.log`` of a directory under about ``LOG_LIMIT_BYTES``, while its writers keep it open for appending."""
    for path in directory.glob("*.log"):
        with contextlib.suppress(OSError):
            if path.stat().st_size > LOG_LIMIT_BYTES:
                shutil.copyfile(path, path.with_name(f"{path.name}.1"))
                os.truncate(path, 0)


def _private(path: Path, flags: int) -> IO[bytes]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "wb")


class StateFiles:
    """The files of one run directory."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self.effective_spec = run_dir / "spec.effective.json"
        self._lock: int | None = None

    def take(self) -> None:
        """Keep other supervisors out of the run directory; the kernel lets go of it when this process ends.

        Raises:
            RunDirectoryTaken: one is there already.
        """
        descriptor = os.open(self._run_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RunDirectoryTaken(
                f"another session runs in {self._run_dir}: stop it first, or give this one another directory"
            ) from None
        self._lock = descriptor

    def release(self) -> None:
        """Let another supervisor in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def next_incarnation(self, journalled: int = 0) -> int:
        """Counts starts of the engine in this run directory, from 1; always above what the usage journal has seen."""
        path = self._run_dir / "incarnation"
        try:
            last = int(path.read_text())
        except (FileNotFoundError, ValueError):
            last = 0
        last = max(last, journalled)
        write_atomically(path, str(last + 1).encode(), durable=True)
        return last + 1

    def save_cursor(self, data: dict[str, Any]) -> None:
        """Remember the next sentence to say."""
        write_atomically(self._run_dir / "cursor.json", json.dumps(data).encode())

    def load_cursor(self, otherwise: Cursor) -> Cursor:
        """The saved cursor, or ``otherwise``."""
        try:
            data = json.loads((self._run_dir / "cursor.json").read_bytes())
            return Cursor(**{key: int(data[key]) for key in ("loop", "segment_index", "line_index", "sentence_index")})
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return otherwise

    def write_effective(self, spec: SessionSpec, cursor: Cursor, knowledge: Knowledge) -> None:
        """The spec the children read: the given one with today's cursor and knowledge."""
        effective = spec.model_copy(update={"cursor": cursor, "knowledge": knowledge})
        write_atomically(self.effective_spec, effective.model_dump_json().encode())
