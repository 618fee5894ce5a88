"""Heartbeats and lease renewals in memory, written to the database every two seconds in one go.

One object per web process. A node's silence is seen from ``last_seen`` and ``lease_until``, which lag by at most the flush.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from lumihost.core import clock
from lumihost.fleet import services
from lumihost.fleet.services import NodeSighting
from tenants.context import scopes_disabled
from workers.contracts.node import LEASE_TTL_S

FLUSH_S = 2.0


@dataclass
class HeartbeatBook:
    """Collects; :meth:`flush` writes. Bounded by the number of nodes and sessions."""

    ingest_id: str = field(default_factory=lambda: f"{socket.gethostname()[:12]}.{os.getpid()}.{secrets.token_hex(3)}"[:32])
    started_at: datetime = field(default_factory=clock.now)
    _sightings: dict[str, NodeSighting] = field(default_factory=dict)
    _renewals: dict[tuple[str, int], datetime] = field(default_factory=dict)
    _media_s: dict[str, float] = field(default_factory=dict)

    def node_seen(self, node_id: str, *, draining: bool, load: dict[str, Any]) -> None:
        """A heartbeat came in."""
        self._sightings[node_id] = NodeSighting(clock.now(), draining, load)

    def node_gone(self, node_id: str) -> None:
        """Its connection ended: what it said last must not be written over that."""
        self._sightings.pop(node_id, None)

    def renewed(self, session_id: str, epoch: int) -> None:
        """A lease was renewed now."""
        self._renewals[session_id, epoch] = clock.now() + timedelta(seconds=LEASE_TTL_S)

    def media(self, session_id: str, media_s: float) -> None:
        """How much media the session has made; written with its next renewal."""
        self._media_s[session_id] = media_s

    def flush(self) -> None:
        """Write everything collected, and that this process lives. Called from one thread at a time."""
        from lumihost.live.services import extend_leases

        sightings, self._sightings = self._sightings, {}
        renewals, self._renewals = self._renewals, {}
        media_s, self._media_s = self._media_s, {}
        with transaction.atomic(), scopes_disabled("heartbeats of all nodes are written together"):
            services.ingest_beat(ingest_id=self.ingest_id, started_at=self.started_at)
            services.write_sightings(sightings=sightings)
            extend_leases(renewals=renewals, media_s=media_s)
