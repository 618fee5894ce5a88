"""The lease of one session: what the node may still start.

An expired lease keeps what is open and opens nothing; only a refusal (another epoch owns the session) stops an engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Lease:
    """Counts from the moment a renewal was *sent*, so that a slow answer never makes it longer than the platform's."""

    clock_s: Callable[[], float] = time.monotonic
    refused: bool = False
    _valid_until_s: float = field(default=float("-inf"))
    _asked_at_s: float | None = None

    def asked(self) -> None:
        """A renewal leaves now. The oldest unanswered one counts."""
        if self._asked_at_s is None:
            self._asked_at_s = self.clock_s()

    def granted(self, ttl_s: float) -> None:
        """The platform gave ``ttl_s`` more."""
        since_s = self.clock_s() if self._asked_at_s is None else self._asked_at_s
        self._asked_at_s = None
        self._valid_until_s = max(self._valid_until_s, since_s + ttl_s)

    def refuse(self) -> None:
        """Another epoch owns the session."""
        self.refused = True

    def connection_lost(self) -> None:
        """Renewals under way will not be answered."""
        self._asked_at_s = None

    @property
    def may_open(self) -> bool:
        """Whether an engine or a connection may be started now."""
        return not self.refused and self.clock_s() < self._valid_until_s
