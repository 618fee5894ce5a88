"""Reading and asking this installation directly, from the command's own process."""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass
from typing import Any


@functools.cache
def _setup() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumihost.config.settings.embedded")
    django.setup()


@dataclass(frozen=True)
class SessionView:
    """A session as the command line shows it."""

    id: str
    tenant: str
    title: str
    state: str
    node: str
    media_s: float
    end_reason: str
    node_is_online: bool


def node_state(node_id: str) -> str:
    """State of a node, '' when there is none."""
    _setup()
    from lumihost.fleet.models import Node

    try:
        node = Node.objects.filter(pk=node_id).first()
        return str(node.state) if node is not None else ""
    finally:
        _close()


def start_show(tenant_id: str, show_id: str) -> tuple[str, bool]:
    """Take a show live, or find its session that is open already; returns the session's id and whether it was found."""
    _setup()
    from lumihost.core.audit import Actor
    from lumihost.live import services, state
    from lumihost.live.models import Desired, LiveSession
    from tenants.context import scope
    from tenants.models import Tenant

    try:
        with scope(Tenant.objects.get(pk=tenant_id)):
            open_ones = LiveSession.objects.filter(show_id=show_id, desired=Desired.RUNNING).exclude(state__in=state.FINAL)
            found = open_ones.first()
            if found is not None:
                return str(found.pk), True
            return str(services.start_session(show_id=show_id, actor=Actor("lumihost demo")).pk), False
    finally:
        _close()


def end_sessions(reason: str) -> int:
    """Ask for the end of every open session of every tenant; returns how many were asked."""
    _setup()
    from lumihost.core.audit import Actor
    from lumihost.core.problems import DomainError
    from lumihost.live import services, state
    from lumihost.live.models import Desired, LiveSession
    from tenants.context import scope, scopes_disabled

    asked = 0
    try:
        with scopes_disabled("everything on this machine is being stopped"):
            rows = LiveSession.objects.filter(desired=Desired.RUNNING).exclude(state__in=state.FINAL).select_related("tenant")
            sessions = list(rows)
        for session in sessions:
            with scope(session.tenant), contextlib.suppress(DomainError):
                services.stop_session(session_id=session.pk, reason=reason, actor=Actor("lumihost up"))
                asked += 1
        return asked
    finally:
        _close()


def session_view(session_id: str) -> SessionView | None:
    """One session."""
    return next((view for view in open_sessions(session_id=session_id)), None)


def open_sessions(session_id: str | None = None) -> list[SessionView]:
    """Sessions that are not over, or the one named."""
    _setup()
    from lumihost.live import state
    from lumihost.live.models import LiveSession
    from tenants.context import scopes_disabled

    try:
        with scopes_disabled("the machine's operator sees every tenant's sessions"):
            rows = LiveSession.objects.select_related("tenant", "show", "node")
            rows = rows.filter(pk=session_id) if session_id else rows.exclude(state__in=state.FINAL)
            return [
                SessionView(
                    row.pk, row.tenant.name, row.show.title, str(row.state), row.node.name if row.node else "", row.media_s,
                    row.end_reason, row.node is not None and row.node.state == "online",
                )
                for row in rows
            ]  # fmt: skip
    finally:
        _close()


def nodes() -> list[dict[str, Any]]:
    """The fleet."""
    _setup()
    from lumihost.fleet.models import Node

    try:
        return [dict(row) for row in Node.objects.values("id", "name", "state", "capacity_sessions", "last_seen")]
    finally:
        _close()


def _close() -> None:
    """Connections belong to the thread that opened them; a thread of the pool may never come back to this one."""
    from django.db import connections

    connections.close_all()
