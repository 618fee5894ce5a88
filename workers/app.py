"""Celery application of a node's worker; the agent starts it as a child with the environment it needs.

``LUMIHOST_BROKER_URL`` (default ``filesystem://``), ``LUMIHOST_VAR`` (the filesystem broker lives under ``<var>/broker``),
``LUMIHOST_AGENT_SOCKET`` (the agent's unix socket).
"""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

from workers.contracts import broker


def make_app(broker_url: str, broker_folder: Path) -> Celery:
    """An application bound to ``broker_url``; ``broker_folder`` matters to the filesystem transport only."""
    celery = Celery("workers", broker=broker_url, include=["workers.commands"])
    celery.conf.update(
        broker_transport_options=broker.transport_options(broker_url, broker_folder), **broker.command_settings()
    )
    return celery


app = make_app(os.environ.get("LUMIHOST_BROKER_URL", "filesystem://"), Path(os.environ.get("LUMIHOST_VAR", "var")) / "broker")
