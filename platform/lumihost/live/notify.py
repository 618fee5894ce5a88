"""How other processes (reconciler, Celery worker) reach the web process, the only one that may talk to sockets.

The embedded channel layer lives in daphne's memory, so everything for a console or a node goes through one loopback
endpoint, ``POST /internal/v1/notify``.
"""

from __future__ import annotations

import logging
from typing import Any

import httpx
from django.conf import settings

from lumihost.config import env

log = logging.getLogger(__name__)

_TIMEOUT_S = 6.0


class NotifyFailed(ConnectionError):
    """The web process did not take the message."""


class Notifier:
    """Posts messages; one connection is kept. ``try_*`` never raise: what they tell is told again by other means."""

    def __init__(self, url: str | None = None, secret: str | None = None, transport: httpx.BaseTransport | None = None) -> None:
        self._client = httpx.Client(
            base_url=url or env.text("LUMIHOST_INTERNAL_URL", "http://127.0.0.1:8000"),
            headers={"Authorization": f"Bearer {secret or settings.INTERNAL_SECRET}"},
            timeout=_TIMEOUT_S,
            transport=transport,
            trust_env=False,
        )

    def post(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send one message and return the answer.

        Raises:
            NotifyFailed: no connection, or an answer other than 200.
        """
        try:
            response = self._client.post("/internal/v1/notify", json={"kind": kind, **fields})
        except httpx.HTTPError as error:
            raise NotifyFailed(f"notify {kind}: {type(error).__name__}: {error}") from error
        if response.status_code != 200:
            raise NotifyFailed(f"notify {kind}: {response.status_code} {response.text[:200]}")
        answer: dict[str, Any] = response.json()
        return answer

    def try_beat(self) -> bool:
        """Make sure the web process flushes heartbeats even while no node is connected."""
        return self._try("beat")

    def try_session_changed(self, tenant_id: str, session_id: str) -> bool:
        """Consoles get the session anew. Lost while the web process is away, and then of no use: they reconnect and ask."""
        return self._try("session", tenant=tenant_id, session=session_id)

    def try_stop(self, node_id: str, session_id: str, epoch: int, reason: str) -> bool:
        """The short way to a node; the Celery command is the other."""
        return self._try("stop", node=node_id, session=session_id, epoch=epoch, reason=reason)

    def knowledge_changed(self, tenant_id: str) -> dict[str, Any]:
        """Every running host of the tenant gets today's facts.

        Raises:
            NotifyFailed: the web process is away, or a host that runs did not take them.
        """
        answer = self.post("knowledge", tenant=tenant_id)
        if answer.get("failed"):
            raise NotifyFailed(f"knowledge of {tenant_id} was not taken by {answer['failed']}")
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _try(self, kind: str, **fields: Any) -> bool:
        try:
            self.post(kind, **fields)
        except NotifyFailed as error:
            log.info("%s", error)
            return False
        return True
