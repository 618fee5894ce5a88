"""What a session leaves on disk so that its next start goes on where this one was: cursor, knowledge, incarnation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gpu_engine.session.spec import Cursor, Knowledge, SessionSpec


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` so that a reader sees the old or the new content, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    os.chmod(temporary, 0o600)
    temporary.replace(path)


class StateFiles:
    """The files of one run directory."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self.effective_spec = run_dir / "spec.effective.json"

    def next_incarnation(self) -> int:
        """Counts starts of the engine in this run directory, from 1."""
        path = self._run_dir / "incarnation"
        try:
            last = int(path.read_text())
        except (FileNotFoundError, ValueError):
            last = 0
        write_atomically(path, str(last + 1).encode())
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
