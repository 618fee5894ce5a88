"""A growing list of what is wrong with a pack."""

from __future__ import annotations

MAX_LINES = 200
"""A hostile file may be wrong in a million places; this many are enough to mend or to bin it."""


class Problems:
    """Collects sentences; ``lines`` holds them in order of discovery, each once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, where: str, what: str, fix: str = "") -> None:
        """Note one: ``where`` names the field, mesh, target or joint; ``fix`` is the way out."""
        line = (f"{where}: " if where else "") + what + (f" ({fix})" if fix else "")
        line = "".join(c if c.isprintable() else "?" for c in line)
        if line not in self.lines and len(self.lines) < MAX_LINES:
            self.lines.append(line)
