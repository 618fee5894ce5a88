"""The reconciler: compares what is wanted with what is, twice a second, and nudges until they agree.

The database is the truth and every message only a nudge, so each step may be repeated, and a lost command, a killed node
or a restarted web process is met by the same few rules. It reads without locks; each change is a service of its own that locks,
checks again and writes.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Q

from lumihost.core import clock, outbox
from lumihost.core.audit import Actor
from lumihost.core.models import Outbox
from lumihost.core.problems import DomainError
from lumihost.fleet import placement
from lumihost.fleet import services as fleet
from lumihost.fleet.models import Node
from lumihost.live import retention, services, state
from lumihost.live.dispatch import Dispatcher
from lumihost.live.models import Desired, LiveSession, ReconcilerLease, SessionAssignment, SessionState
from lumihost.live.notify import Notifier
from tenants.context import scope, scopes_disabled
from workers.contracts.node import LEASE_TTL_S

log = logging.getLogger(__name__)

ACTOR = Actor("reconciler")
INTERVAL_S = 0.5
LEASE_GRACE_S = 1.5
RESEND_S = 5.0
BEAT_S = 2.0
LOCK_TTL_S = 15.0
SWEEP_S = 3600.0
MAX_STARTS = 10
MAX_WAIT_S = 20.0
KNOWLEDGE_CHANGED = "knowledge.changed"


@dataclass
class Reconciler:
    """One loop's state: only when it last did what need not be done every time."""

    holder: str
    dispatcher: Dispatcher
    notifier: Notifier
    _stops_sent: dict[str, float] = field(default_factory=dict)
    _lock_renewed_s: float = float("-inf")
    _beat_s: float = float("-inf")
    _swept_s: float = float("-inf")

    def step(self) -> bool:
        """One round; False when another reconciler holds the lock."""
        if not self._hold_lock():
            return False
        now_s = clock.now().timestamp()
        if now_s - self._beat_s >= BEAT_S:
            self._beat_s = now_s
            self.notifier.try_beat()
        with scopes_disabled("the reconciler serves every tenant"):
            trusted = fleet.leases_can_be_trusted(LEASE_TTL_S + LEASE_GRACE_S)
            if trusted:
                for node_id in fleet.mark_silent_nodes():
                    log.warning("node %s is silent and counts as offline", node_id)
            for session in self._open_sessions():
                self._guarded(session, trusted)
        outbox.deliver(
            {
                services.SESSION_CHANGED: self._session_changed,
                KNOWLEDGE_CHANGED: self._knowledge_changed,
            }
        )
        if now_s - self._swept_s >= SWEEP_S:
            self._swept_s = now_s
            retention.sweep()
        return True

    def _guarded(self, session: LiveSession, trusted: bool) -> None:
        """One session's trouble must not keep the others waiting."""
        try:
            self._attend(session, trusted)
        except (DomainError, state.IllegalTransition) as error:
            # It moved on between our reading and the service's lock: the next round sees it as it is.
            log.info("session %s: %s", session.pk, error)
        except Exception:
            log.exception("session %s could not be reconciled", session.pk)

    def _attend(self, session: LiveSession, trusted: bool) -> None:
        now = clock.now()
        expired = session.lease_until is None or now > session.lease_until + timedelta(seconds=LEASE_GRACE_S)
        if session.state == SessionState.REQUESTED:
            self._place(session)
        elif session.state == SessionState.INTERRUPTED:
            if session.node_id is None or (expired and trusted):
                self._place(session)
        elif expired and trusted:
            with scope(session.tenant):
                services.interrupt(session_id=session.pk, epoch=session.epoch, reason="the node is silent", actor=ACTOR)
            log.warning("session %s lost its node %s", session.pk, session.node_id)
        elif session.desired == Desired.STOPPED:
            self._send_stop(session)
        elif session.state == SessionState.ASSIGNED and self._not_dispatched_lately(session):
            self._send_start(session)

    def _place(self, session: LiveSession) -> None:
        if session.desired == Desired.STOPPED:
            with scope(session.tenant):
                services.end_unplaced(session_id=session.pk, actor=ACTOR)
            return
        if self._tried_too_often(session):
            return
        node = placement.choose(list(Node.objects.all()), self._used_slots(), avoid=session.node_id if session.epoch else None)
        if node is None:
            return
        with scope(session.tenant):
            assigned = services.assign(session_id=session.pk, node=node, actor=ACTOR)
        log.info("session %s goes to node %s, epoch %d", session.pk, node.pk, assigned.epoch)
        self.dispatcher.start(node.pk, assigned.pk, assigned.epoch)

    def _tried_too_often(self, session: LiveSession) -> bool:
        """A node that refuses or loses a session at once is not asked twice a second; what never came up is given up."""
        if session.started_at is None and session.epoch >= MAX_STARTS:
            with scope(session.tenant):
                services.fail_session(
                    session_id=session.pk, actor=ACTOR,
                    reason=f"no node could start it in {session.epoch} attempts: see the log of its node's agent",
                )  # fmt: skip
            return True
        now = clock.now()
        recent = SessionAssignment.objects.filter(session=session, assigned_at__gte=now - timedelta(seconds=60))
        tried = [row.assigned_at for row in recent]
        wait_s = min(MAX_WAIT_S, 2.0 ** (len(tried) - 2)) if len(tried) > 2 else 0.0
        return bool(tried) and now - max(tried) < timedelta(seconds=wait_s)

    def _send_start(self, session: LiveSession) -> None:
        if session.node_id is not None:
            services.note_dispatch(session_id=session.pk, epoch=session.epoch)
            self.dispatcher.start(session.node_id, session.pk, session.epoch)

    def _send_stop(self, session: LiveSession) -> None:
        now_s = clock.now().timestamp()
        if session.node_id is None or now_s - self._stops_sent.get(session.pk, float("-inf")) < RESEND_S:
            return
        if len(self._stops_sent) > 1000:
            self._stops_sent.clear()
        self._stops_sent[session.pk] = now_s
        self.notifier.try_stop(session.node_id, session.pk, session.epoch, session.end_reason or "stopped")
        self.dispatcher.stop(session.node_id, session.pk, session.epoch, session.end_reason or "stopped")

    # --- reading ------------------------------------------------------------------------------------------------------

    def _open_sessions(self) -> list[LiveSession]:
        rows = LiveSession.objects.exclude(state__in=state.FINAL).select_related("tenant", "node")
        return list(rows.order_by("requested_at", "id"))

    def _used_slots(self) -> Counter[str]:
        """Open sessions per node. An interrupted one whose node is lost keeps its slot there: its engine may still run."""
        rows = LiveSession.objects.filter(Q(state__in=state.ON_A_NODE) | Q(state=SessionState.INTERRUPTED)).exclude(node=None)
        return Counter({row["node_id"]: row["used"] for row in rows.order_by().values("node_id").annotate(used=Count("id"))})

    def _not_dispatched_lately(self, session: LiveSession) -> bool:
        return session.dispatched_at is None or clock.now() - session.dispatched_at >= timedelta(seconds=RESEND_S)

    # --- the outbox ---------------------------------------------------------------------------------------------------

    def _session_changed(self, message: Outbox) -> None:
        self.notifier.try_session_changed(message.tenant_id, message.payload["session"])

    def _knowledge_changed(self, message: Outbox) -> None:
        """Of several changes in a row only the last is told: what is told is the whole, as it is then."""
        later = Outbox.objects.filter(topic=KNOWLEDGE_CHANGED, tenant_id=message.tenant_id, done_at=None, id__gt=message.pk)
        if not later.exists():
            self.notifier.knowledge_changed(message.tenant_id)

    # --- the lock -----------------------------------------------------------------------------------------------------

    def _hold_lock(self) -> bool:
        now = clock.now()
        if now.timestamp() - self._lock_renewed_s < LOCK_TTL_S / 3:
            return True
        if take_lock(self.holder):
            self._lock_renewed_s = now.timestamp()
            return True
        self._lock_renewed_s = float("-inf")
        return False

    def release(self) -> None:
        """Let another reconciler begin at once."""
        ReconcilerLease.objects.filter(holder=self.holder).delete()
        self.notifier.close()


@transaction.atomic
def take_lock(holder: str) -> bool:
    """Take or renew the reconcilers' lock; False while another holder's time runs."""
    now = clock.now()
    until = now + timedelta(seconds=LOCK_TTL_S)
    row = ReconcilerLease.objects.select_for_update().filter(pk=1).first()
    if row is None:
        ReconcilerLease.objects.create(pk=1, holder=holder, until=until)
        return True
    if row.holder != holder and row.until > now:
        return False
    row.holder, row.until = holder, until
    row.save()
    return True
