"""What may be done to a live session. Every verb is one transaction: lock, check, write, audit row, outbox row."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from lumihost.core import audit, clock, outbox
from lumihost.core.audit import Actor
from lumihost.core.problems import Conflict, Invalid, Missing, register
from lumihost.fleet.models import Node
from lumihost.live import state
from lumihost.live.models import Channel, Desired, LiveSession, SessionAssignment, SessionEvent, SessionState, Show
from lumihost.metering.services import refold
from lumihost.metering.tariffs import micros_per_second
from tenants.context import scope
from workers.contracts.node import LEASE_TTL_S, NodeSessionState

log = logging.getLogger(__name__)

SESSION_CHANGED = "session.changed"
NOT_LIVE = register("session_over", "直播已结束", "The session is over")
SHOW_EMPTY = register("show_empty", "节目没有内容", "The show has no lines")
NO_TARIFF = register("no_tariff", "该币种没有价格", "No price for this currency")
TOO_MANY = register("too_many_sessions", "同时直播的场次已达上限", "Too many sessions at once")
CHANNEL_BUSY = register("channel_busy", "该频道正在直播", "The channel is on the air")
MAX_OPEN_SESSIONS = 20


class StaleEpoch(Exception):
    """Whoever writes holds an epoch that is no longer the session's; nothing was changed."""


# --- what people ask ----------------------------------------------------------------------------------------------------


@transaction.atomic
def start_session(
    *, show_id: str, channel_id: str | None = None, record: bool = True, actor: Actor
) -> LiveSession:  # fmt: skip
    """Ask for a show to go on the air; the reconciler finds it a node.

    Raises:
        Missing: no such show or channel. Invalid: the show says nothing, or nothing is charged in the tenant's currency.
        Conflict: too many sessions of the tenant are open, or one of them is on the channel: two hosts would push to one key.
    """
    show = Show.objects.filter(pk=show_id).first()
    if show is None:
        raise Missing(f"there is no show '{show_id}'", pointer="/show")
    channel = Channel.objects.filter(pk=channel_id).first() if channel_id else None
    if channel_id and channel is None:
        raise Missing(f"there is no channel '{channel_id}'", pointer="/channel")
    if not any(segment.get("lines") for segment in show.segments):
        raise Invalid(
            f"show '{show.title}' has no line to say: add one in Shows › {show.title}", code=SHOW_EMPTY, pointer="/show"
        )
    try:
        micros_per_second(show.tenant.currency, 720)
    except LookupError as error:
        raise Invalid(str(error), code=NO_TARIFF) from error
    # On PostgreSQL the tenant's row serialises starts; SQLite's IMMEDIATE transaction does so by itself.
    type(show.tenant).objects.select_for_update().get(pk=show.tenant_id)
    if LiveSession.objects.exclude(state__in=state.FINAL).count() >= MAX_OPEN_SESSIONS:
        raise Conflict(f"{MAX_OPEN_SESSIONS} sessions are open already: stop one first", code=TOO_MANY)
    if channel is not None:
        holder = LiveSession.objects.filter(channel=channel).exclude(state__in=state.FINAL).first()
        if holder is not None:
            raise Conflict(
                f"session {holder.pk} is on channel '{channel.name}': stop it first", code=CHANNEL_BUSY, pointer="/channel"
            )
    now = clock.now()
    session: LiveSession = LiveSession.objects.create(
        show=show, channel=channel, record=record, requested_by=actor.label, requested_at=now, state_at=now
    )
    audit.record(
        actor=actor, action="session.requested", target=session,
        after={"show": show.pk, "channel": channel_id, "record": record},
    )  # fmt: skip
    _tell(session)
    return session


@transaction.atomic
def stop_session(*, session_id: str, reason: str, actor: Actor) -> LiveSession:
    """Ask for the end; asking again changes nothing.

    Raises:
        Missing: no such session. Conflict: it is over already.
    """
    session = _locked(session_id)
    if session.state in state.FINAL:
        raise Conflict(f"session {session_id} is {session.state} since {session.ended_at:%Y-%m-%d %H:%M:%S} UTC", code=NOT_LIVE)
    if session.desired == Desired.STOPPED:
        return session
    before = session.state
    session.desired = Desired.STOPPED
    session.end_reason = reason
    if session.state in (SessionState.REQUESTED, SessionState.INTERRUPTED) and not _held_by_a_node(session):
        _end_without_node(session)
    session.save()
    audit.record(
        actor=actor, action="session.stop_requested", target=session, before={"state": before}, after={"reason": reason}
    )  # fmt: skip
    _tell(session)
    return session


# --- what the reconciler decides ----------------------------------------------------------------------------------------


@transaction.atomic
def assign(*, session_id: str, node: Node, actor: Actor) -> LiveSession:
    """Give the session to a node under a new epoch; whoever held the last one is fenced from this instant.

    Raises:
        IllegalTransition: it is not waiting for a node.
    """
    session = _locked(session_id)
    state.check(SessionState(session.state), SessionState.ASSIGNED)
    now = clock.now()
    SessionAssignment.objects.filter(session=session, fenced_at=None).update(fenced_at=now)
    session.epoch += 1
    session.media_before_s = session.media_s
    session.node = node
    session.lease_until = now + timedelta(seconds=LEASE_TTL_S)
    session.dispatched_at = now
    _move(session, SessionState.ASSIGNED)
    session.save()
    SessionAssignment.objects.create(session=session, epoch=session.epoch, node=node, assigned_at=now)
    if session.epoch > 1:
        # Seconds the fenced engine claims to have made after this instant, if its clock runs ahead, are not charged.
        refold(session, [now.replace(minute=0, second=0, microsecond=0)])
    audit.record(actor=actor, action="session.assigned", target=session, after={"node": node.pk, "epoch": session.epoch})
    _tell(session)
    return session


@transaction.atomic
def end_unplaced(*, session_id: str, actor: Actor) -> LiveSession:
    """End a session that is to stop and that no node holds."""
    session = _locked(session_id)
    before = session.state
    _end_without_node(session)
    session.save()
    audit.record(actor=actor, action="session.ended", target=session, before={"state": before}, after={"state": session.state})
    _tell(session)
    return session


def note_dispatch(*, session_id: str, epoch: int) -> None:
    """A command for it leaves now. Runs over all tenants."""
    LiveSession.objects.filter(pk=session_id, epoch=epoch).update(dispatched_at=clock.now())


@transaction.atomic
def interrupt(*, session_id: str, epoch: int, reason: str, actor: Actor) -> LiveSession | None:
    """The node is lost: the session waits for it, or for another one. None when things have moved on meanwhile."""
    session = _locked(session_id)
    if session.epoch != epoch or session.state not in state.ON_A_NODE:
        return None
    before = session.state
    _lose(session, reason)
    session.save()
    audit.record(actor=actor, action="session.interrupted", target=session, before={"state": before}, after={"reason": reason})
    _tell(session)
    return session


@transaction.atomic
def lost_on_node(*, node: Node, held: Collection[tuple[str, int]], actor: Actor) -> list[LiveSession]:
    """A node said hello and does not have these sessions of its own any more: they are placed again.

    One that was assigned a moment ago is left alone, its command may still be on the way. Runs over all tenants.
    """
    young = clock.now() - timedelta(seconds=LEASE_TTL_S)
    lost = LiveSession.objects.select_for_update(of=("self",)).filter(
        node=node, state__in=[*state.ON_A_NODE, SessionState.INTERRUPTED]
    )
    changed = []
    for session in lost.exclude(state=SessionState.ASSIGNED, state_at__gte=young).select_related("tenant"):
        if (session.pk, session.epoch) in held:
            continue
        with scope(session.tenant):
            session.node, session.lease_until = None, None
            before = session.state
            reason = f"node {node.pk} came back without it"
            _lose(session, reason)
            session.save()
            audit.record(
                actor=actor, action="session.interrupted", target=session, before={"state": before},
                after={"reason": reason},
            )  # fmt: skip
            _tell(session)
        changed.append(session)
    return changed


@transaction.atomic
def fail_session(*, session_id: str, reason: str, actor: Actor) -> LiveSession:
    """Give up on a session."""
    session = _locked(session_id)
    session.end_reason = reason[:500]
    _end_without_node(session, SessionState.FAILED)
    session.save()
    audit.record(actor=actor, action="session.failed", target=session, after={"reason": reason})
    _tell(session)
    return session


# --- what nodes report --------------------------------------------------------------------------------------------------


@transaction.atomic
def record_state(
    *,
    session_id: str,
    epoch: int,
    reported: NodeSessionState,
    reason: str = "",
    cursor: dict[str, Any] | None = None,
    actor: Actor,
) -> LiveSession | None:
    """Take a node's word about an engine. None when it changes nothing (repeated, or overtaken by a wish to stop).

    Raises:
        StaleEpoch: another epoch owns the session; nothing was changed.
    """
    session = _locked_at(session_id, epoch)
    changed = False
    if cursor is not None and cursor != session.cursor:
        session.cursor = cursor
        changed = True
    following = state.after_report(SessionState(session.state), reported)
    if following is not None:
        before = session.state
        if following == SessionState.INTERRUPTED and session.desired == Desired.STOPPED:
            following = SessionState.ENDED
        if following in state.FINAL and (session.desired != Desired.STOPPED or following == SessionState.FAILED):
            session.end_reason = reason[:500]
        if reported == NodeSessionState.REFUSED:
            session.node = None
        _move(session, following)
        audit.record(
            actor=actor, action=f"session.{following}", target=session, before={"state": before},
            after={"state": following, "epoch": epoch, "reason": reason},
        )  # fmt: skip
    if following is None and not changed:
        return None
    session.save()
    if following is not None:
        _tell(session)
    return session


@transaction.atomic
def adopt(
    *, session_id: str, epoch: int, node: Node, reported: NodeSessionState, cursor: dict[str, Any] | None, actor: Actor
) -> bool:
    """A node says hello with this engine. True when the engine is the session's and goes on; False tells the node to stop it.

    An engine of the current epoch is always taken back, however long its lease has been over: nobody else may have it.
    """
    session = LiveSession.objects.select_for_update().filter(pk=session_id).first()
    if session is None or session.epoch != epoch or session.node_id != node.pk or session.state in state.FINAL:
        return False
    session.lease_until = clock.now() + timedelta(seconds=LEASE_TTL_S)
    session.save(update_fields=["lease_until", "updated_at"])
    record_state(session_id=session_id, epoch=epoch, reported=reported, cursor=cursor, actor=actor)
    return True


@transaction.atomic
def record_events(*, session_id: str, epoch: int, events: Sequence[SessionEvent]) -> None:
    """Store a batch; events stored before are skipped. Cursors move the session's own.

    Raises:
        StaleEpoch: another epoch owns the session.
    """
    session = _locked_at(session_id, epoch)
    SessionEvent.objects.bulk_create(events, ignore_conflicts=True)
    cursors = [event.data for event in events if event.kind == "cursor"]
    if cursors and cursors[-1] != session.cursor:
        session.cursor = cursors[-1]
        session.save(update_fields=["cursor", "updated_at"])


@transaction.atomic
def extend_leases(*, renewals: dict[tuple[str, int], datetime], media_s: dict[str, float]) -> None:
    """Write the renewals of the last seconds in one go. Runs over all tenants: a renewal was checked when it came in."""
    for (session_id, epoch), until in renewals.items():
        values: dict[str, Any] = {"lease_until": until}
        if session_id in media_s:
            values["media_s"] = F("media_before_s") + media_s[session_id]
        LiveSession.objects.filter(pk=session_id, epoch=epoch).exclude(state__in=state.FINAL).update(**values)


# --- parts --------------------------------------------------------------------------------------------------------------


def _locked(session_id: str) -> LiveSession:
    session: LiveSession | None = LiveSession.objects.select_for_update().filter(pk=session_id).first()
    if session is None:
        raise Missing(f"there is no session '{session_id}'")
    return session


def _locked_at(session_id: str, epoch: int) -> LiveSession:
    session: LiveSession | None = LiveSession.objects.select_for_update().filter(pk=session_id).first()
    if session is None or session.epoch != epoch:
        raise StaleEpoch(f"session {session_id}: epoch {epoch} is not the current one")
    return session


def _held_by_a_node(session: LiveSession) -> bool:
    """Whether a node renews it: its engine is being restarted there and must be told to stop."""
    return session.node_id is not None and session.lease_until is not None and session.lease_until > clock.now()


def _move(session: LiveSession, following: SessionState) -> None:
    state.check(SessionState(session.state), following)
    now = clock.now()
    session.state, session.state_at = following, now
    if following == SessionState.LIVE and session.started_at is None:
        session.started_at = now
    if following in state.FINAL:
        session.ended_at = now


def _end_without_node(session: LiveSession, final: SessionState = SessionState.ENDED) -> None:
    """It is over and no node has said so. An engine that runs on behind a broken line earns nothing from now on."""
    _move(session, final)
    now = clock.now()
    if SessionAssignment.objects.filter(session=session, fenced_at=None).update(fenced_at=now):
        refold(session, [now.replace(minute=0, second=0, microsecond=0)])


def _lose(session: LiveSession, reason: str) -> None:
    """Its node is gone: a session that was ending has ended, any other waits for a node."""
    if session.desired == Desired.STOPPED or session.state == SessionState.STOPPING:
        session.end_reason = session.end_reason or reason
        _end_without_node(session)
    elif session.state != SessionState.INTERRUPTED:
        _move(session, SessionState.INTERRUPTED)


def _tell(session: LiveSession) -> None:
    outbox.emit(SESSION_CHANGED, {"session": session.pk})
