"""Writing channels, destinations, comment sources and shows: one transaction with its audit row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import ProtectedError, QuerySet

from lumihost.core import audit, crypto
from lumihost.core.audit import Actor
from lumihost.core.problems import Conflict, Missing, register
from lumihost.live import state
from lumihost.live.models import Channel, CommentSource, Destination, LiveSession, Show
from lumihost.live.spec import stream_key_place
from tenants.base import TenantModel

IN_USE = register("in_use", "正在使用中", "In use")
FULL = register("too_many_rows_kept", "数量已达上限", "No more of these")
MAX_CHANNELS = 200
MAX_PER_CHANNEL = 20
"""Destinations, and comment sources: each is a process or a socket of the engine."""
MAX_SHOWS = 1000
_SECRET = "stream_key"

Row = TypeVar("Row", bound=TenantModel)


@transaction.atomic
def create_channel(*, fields: Mapping[str, Any], actor: Actor) -> Channel:
    """Add a channel."""
    _refuse_more(Channel.objects.all(), MAX_CHANNELS, "channels")
    return _create(Channel(**fields), "channel", fields, actor)


@transaction.atomic
def update_channel(pk: str, *, changes: Mapping[str, Any], actor: Actor) -> Channel:
    """Change a channel; running sessions keep what they started with."""
    return _update(_locked(Channel, pk), "channel", changes, actor)


@transaction.atomic
def delete_channel(pk: str, *, actor: Actor) -> None:
    """Remove a channel with its destinations and sources.

    Raises:
        Conflict: a session of it is open.
    """
    channel = _locked(Channel, pk)
    if LiveSession.objects.filter(channel=channel).exclude(state__in=state.FINAL).exists():
        raise Conflict(f"channel '{channel.name}' is on the air: stop its session first", code=IN_USE)
    _delete(channel, "channel", actor)


@transaction.atomic
def create_destination(*, channel_id: str, fields: Mapping[str, Any], actor: Actor) -> Destination:
    """Add a destination; ``stream_key`` is stored encrypted and never read back by the API."""
    plain = dict(fields)
    key = plain.pop(_SECRET, "")
    destination = Destination(channel=_locked(Channel, channel_id), **plain)
    _refuse_more(Destination.objects.filter(channel_id=channel_id), MAX_PER_CHANNEL, "destinations of the channel")
    destination.tenant_id = destination.channel.tenant_id
    _put_key(destination, key)
    return _create(destination, "destination", {**plain, "has_stream_key": bool(key)}, actor)


@transaction.atomic
def update_destination(pk: str, *, channel_id: str, changes: Mapping[str, Any], actor: Actor) -> Destination:
    """Change a destination; a ``stream_key`` of '' removes the key."""
    destination = _locked(Destination, pk, channel_id=channel_id)
    plain = dict(changes)
    if _SECRET in plain:
        _put_key(destination, plain.pop(_SECRET))
    return _update(destination, "destination", plain, actor)


@transaction.atomic
def delete_destination(pk: str, *, channel_id: str, actor: Actor) -> None:
    """Remove a destination."""
    _delete(_locked(Destination, pk, channel_id=channel_id), "destination", actor)


@transaction.atomic
def create_source(*, channel_id: str, fields: Mapping[str, Any], actor: Actor) -> CommentSource:
    """Add a comment source."""
    source = CommentSource(channel=_locked(Channel, channel_id), **fields)
    _refuse_more(CommentSource.objects.filter(channel_id=channel_id), MAX_PER_CHANNEL, "comment sources of the channel")
    return _create(source, "source", fields, actor)


@transaction.atomic
def update_source(pk: str, *, channel_id: str, changes: Mapping[str, Any], actor: Actor) -> CommentSource:
    """Change a comment source."""
    return _update(_locked(CommentSource, pk, channel_id=channel_id), "source", changes, actor)


@transaction.atomic
def delete_source(pk: str, *, channel_id: str, actor: Actor) -> None:
    """Remove a comment source."""
    _delete(_locked(CommentSource, pk, channel_id=channel_id), "source", actor)


@transaction.atomic
def create_show(*, fields: Mapping[str, Any], actor: Actor) -> Show:
    """Add a show."""
    _refuse_more(Show.objects.all(), MAX_SHOWS, "shows")
    return _create(Show(**fields), "show", {"title": fields.get("title")}, actor)


@transaction.atomic
def update_show(pk: str, *, changes: Mapping[str, Any], actor: Actor) -> Show:
    """Change a show; running sessions go on with the script they started with."""
    return _update(_locked(Show, pk), "show", changes, actor, untold=frozenset({"segments"}))


@transaction.atomic
def delete_show(pk: str, *, actor: Actor) -> None:
    """Remove a show that was never on the air.

    Raises:
        Conflict: sessions of it exist; they are the tenant's records.
    """
    show = _locked(Show, pk)
    try:
        with transaction.atomic():
            _delete(show, "show", actor)
    except ProtectedError as error:
        raise Conflict(f"show '{show.title}' has been on the air; its sessions are kept, so it is too", code=IN_USE) from error


def _refuse_more(rows: QuerySet[Any], most: int, what: str) -> None:
    if rows.count() >= most:
        raise Conflict(f"there are {most} {what} already: remove one first", code=FULL)


def _put_key(destination: Destination, key: str) -> None:
    destination.stream_key_encrypted = crypto.encrypt(key, stream_key_place(destination)) if key else ""


def _locked(model: type[Row], pk: str, **conditions: Any) -> Row:
    row: Row | None = model.objects.select_for_update().filter(pk=pk, **conditions).first()
    if row is None:
        raise Missing(f"there is no {model._meta.verbose_name} '{pk}'")
    return row


def _create(row: Row, noun: str, after: Mapping[str, Any], actor: Actor) -> Row:
    row.save()
    audit.record(actor=actor, action=f"{noun}.created", target=row, after=dict(after))
    return row


def _update(row: Row, noun: str, changes: Mapping[str, Any], actor: Actor, untold: frozenset[str] = frozenset()) -> Row:
    before = {name: getattr(row, name) for name in changes if name not in untold}
    for name, value in changes.items():
        setattr(row, name, value)
    row.save()
    after = {name: changes[name] for name in before}
    audit.record(actor=actor, action=f"{noun}.updated", target=row, before=before, after=after)
    return row


def _delete(row: TenantModel, noun: str, actor: Actor) -> None:
    audit.record(actor=actor, action=f"{noun}.deleted", target=row, before={"name": str(row)})
    row.delete()
