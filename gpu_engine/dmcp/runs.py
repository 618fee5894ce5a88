"""Where the sessions of a node are: one run directory each, with two rings that the body of the session has made."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gpu_engine.motion.live import IN_RING, OUT_RING
from gpu_engine.motion.ring import MOTION_RECORD, RingError, RingReader, RingWriter

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def run_directory(runs: Path, session: str) -> Path | None:
    """The directory whose body runs: ``SESSION`` or, of ``SESSION.EPOCH``, the newest; ``None`` when there is none."""
    if not _SAFE_ID.fullmatch(session):
        return None
    found: list[tuple[int, Path]] = []
    for path in (runs / session, *runs.glob(f"{session}.*")):
        epoch = path.name[len(session) + 1 :]
        if (not epoch or epoch.isdecimal()) and _leads_somewhere(path / OUT_RING):
            found.append((int(epoch or 0), path))
    return max(found)[1] if found else None


def _leads_somewhere(link: Path) -> bool:
    """Whether the process that made the ring still has it; one of another user's counts as none."""
    try:
        return link.exists()
    except OSError:
        return False


class SessionRings:
    """Both rings of one body."""

    def __init__(self, directory: Path) -> None:
        """Open them.

        Raises:
            RingError: they are not there, or the body is gone.
        """
        self.directory = directory
        self._mark = self._links()
        self.to_body = RingWriter.join(directory / IN_RING, MOTION_RECORD)
        self.from_body = RingReader(directory / OUT_RING, MOTION_RECORD)

    @property
    def current(self) -> bool:
        """Whether the body that made them still runs and no other has taken its place."""
        try:
            return self._links() == self._mark and _leads_somewhere(self.directory / OUT_RING)
        except RingError:
            return False

    def _links(self) -> tuple[str, str]:
        try:
            return os.readlink(self.directory / IN_RING), os.readlink(self.directory / OUT_RING)
        except OSError as error:
            raise RingError(f"{self.directory}: {error.strerror}: no show with motion rings runs there") from error
