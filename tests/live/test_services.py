"""Verbs on a live session: each writes the row, the audit trail and the outbox together, or nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lumihost.core import clock
from lumihost.core.audit import Actor
from lumihost.core.models import AuditEvent, Outbox
from lumihost.core.problems import Conflict, Invalid, Missing
from lumihost.live import editing, services
from lumihost.live.models import Desired, LiveSession, SessionAssignment, SessionEvent, SessionState
from lumihost.metering import usage
from lumihost.metering.services import record_usage
from tenants.context import scope, scopes_disabled
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR, assigned, make_node, make_show, start
from workers.contracts.node import NodeSessionState as N
from workers.contracts.node import UsageSegment

pytestmark = [pytest.mark.services, pytest.mark.django_db]

NODE = Actor("node:n1")


def report(session: LiveSession, reported: N, *, epoch: int | None = None, reason: str = "") -> LiveSession | None:
    return services.record_state(
        session_id=session.pk, epoch=session.epoch if epoch is None else epoch, reported=reported, reason=reason, actor=NODE
    )  # fmt: skip


def test_a_start_writes_row_audit_and_outbox(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        show = make_show()
        session = services.start_session(show_id=show.pk, record=False, actor=ACTOR)
        assert (session.state, session.desired, session.epoch, session.record) == ("requested", "running", 0, False)
        event = AuditEvent.objects.get(action="session.requested")
        assert (event.target_id, event.actor_label) == (session.pk, "tester")
    message = Outbox.objects.get(topic="session.changed")
    assert (message.tenant_id, message.payload) == (two_tenants.a.tenant.pk, {"session": session.pk})


def test_a_refused_start_changes_nothing(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        empty = editing.create_show(fields={"title": "empty", "segments": []}, actor=ACTOR)
        theirs = make_show("of a")
    with scope(two_tenants.b.tenant):
        mine = make_show("of b")
        audited = AuditEvent.objects.count()
        for show_id, channel_id, error in (
            ("shw_none", None, Missing),
            (theirs.pk, None, Missing),
            (mine.pk, "chn_none", Missing),
        ):
            with pytest.raises(error):
                services.start_session(show_id=show_id, channel_id=channel_id, actor=ACTOR)
        assert LiveSession.objects.count() == 0
        assert AuditEvent.objects.count() == audited
    with scope(two_tenants.a.tenant), pytest.raises(Invalid, match="has no line to say"):
        services.start_session(show_id=empty.pk, actor=ACTOR)
    assert not Outbox.objects.exists()


def test_only_so_many_sessions_may_be_open(two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_OPEN_SESSIONS", 2)
    with scope(two_tenants.a.tenant):
        show = make_show()
        first = start(show)
        start(show)
        with pytest.raises(Conflict, match="2 sessions are open"):
            start(show)
        services.stop_session(session_id=first.pk, reason="enough", actor=ACTOR)
        start(show)
        assert LiveSession.objects.count() == 3


def test_assigning_counts_the_epoch_and_fences_the_one_before(two_tenants: TwoTenants) -> None:
    one, two = make_node("n1"), make_node("n2")
    with scope(two_tenants.a.tenant):
        session = assigned(one)
        assert (session.epoch, session.state, session.node_id) == (1, "assigned", "n1")
        services.interrupt(session_id=session.pk, epoch=1, reason="silent", actor=ACTOR)
        again = services.assign(session_id=session.pk, node=two, actor=ACTOR)
        assert (again.epoch, again.node_id) == (2, "n2")
        fenced = dict(SessionAssignment.objects.values_list("epoch", "fenced_at"))
        assert fenced[1] is not None
        assert fenced[2] is None


def test_an_old_epoch_writes_nothing(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        services.interrupt(session_id=session.pk, epoch=1, reason="silent", actor=ACTOR)
        services.assign(session_id=session.pk, node=node, actor=ACTOR)
        event = SessionEvent(
            session_id=session.pk, tenant=two_tenants.a.tenant, epoch=1, seq=1, kind="turn", at=clock.now(), data={}
        )
        for attempt in (
            lambda: report(session, N.LIVE, epoch=1),
            lambda: services.record_events(session_id=session.pk, epoch=1, events=[event]),
        ):
            with pytest.raises(services.StaleEpoch):
                attempt()
        session.refresh_from_db()
        assert (session.state, session.epoch) == ("assigned", 2)
        assert SessionEvent.objects.count() == 0
        assert services.interrupt(session_id=session.pk, epoch=1, reason="late", actor=ACTOR) is None


def test_a_show_runs_from_request_to_end(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        assert report(session, N.STARTING).state == "starting"  # type: ignore[union-attr]
        live = report(session, N.LIVE)
        assert live is not None
        assert live.started_at is not None
        assert report(session, N.LIVE) is None
        services.stop_session(session_id=session.pk, reason="enough for today", actor=ACTOR)
        assert report(session, N.LIVE) is None
        assert report(session, N.STOPPING).state == "stopping"  # type: ignore[union-attr]
        ended = report(session, N.ENDED, reason="told to stop")
        assert ended is not None
        assert (ended.state, ended.end_reason) == ("ended", "enough for today")
        assert ended.ended_at is not None
        actions = list(
            AuditEvent.objects.filter(target_id=session.pk).order_by("created_at", "id").values_list("action", flat=True)
        )
        assert sorted(actions) == sorted([
            "session.requested", "session.assigned", "session.starting", "session.live", "session.stop_requested",
            "session.stopping", "session.ended",
        ])  # fmt: skip


def test_stopping_twice_is_one_stop_and_stopping_the_ended_is_refused(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        services.stop_session(session_id=session.pk, reason="first", actor=ACTOR)
        services.stop_session(session_id=session.pk, reason="second", actor=ACTOR)
        assert AuditEvent.objects.filter(action="session.stop_requested").count() == 1
        report(session, N.ENDED)
        with pytest.raises(Conflict, match="is ended since"):
            services.stop_session(session_id=session.pk, reason="third", actor=ACTOR)
        assert LiveSession.objects.get().end_reason == "first"


def test_a_session_no_node_has_ends_at_once(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        session = start()
        assert services.stop_session(session_id=session.pk, reason="changed my mind", actor=ACTOR).state == "ended"
        assert AuditEvent.objects.filter(action="session.stop_requested").count() == 1


def test_a_natural_end_gives_the_engines_reason(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        report(session, N.LIVE)
        ended = report(session, N.ENDED, reason="the show ended")
        assert ended is not None
        assert (ended.state, ended.end_reason, ended.desired) == ("ended", "the show ended", Desired.RUNNING)


def test_a_refused_start_waits_for_another_node(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        waiting = report(session, N.REFUSED, reason="no free slot")
        assert waiting is not None
        assert (waiting.state, waiting.node_id) == ("interrupted", None)


def test_a_node_takes_back_its_engine_however_late(two_tenants: TwoTenants) -> None:
    node, other = make_node("n1"), make_node("n2")
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        report(session, N.LIVE)
        LiveSession.objects.update(lease_until=clock.now() - timedelta(hours=1))
        services.interrupt(session_id=session.pk, epoch=1, reason="silent", actor=ACTOR)
        arguments = {"session_id": session.pk, "reported": N.LIVE, "cursor": {"loop": 2}, "actor": NODE}
        assert services.adopt(epoch=1, node=other, **arguments) is False
        assert services.adopt(epoch=7, node=node, **arguments) is False
        assert services.adopt(epoch=1, node=node, **arguments) is True
        session.refresh_from_db()
        assert (session.state, session.cursor) == ("live", {"loop": 2})
        assert session.lease_until is not None
        assert session.lease_until > clock.now()


def test_a_node_that_comes_back_without_its_sessions_gives_them_away(two_tenants: TwoTenants) -> None:
    node = make_node(capacity=3)
    with scope(two_tenants.a.tenant):
        lost, stopping, kept = assigned(node), assigned(node), assigned(node)
        for session in (lost, stopping, kept):
            report(session, N.LIVE)
        services.stop_session(session_id=stopping.pk, reason="over", actor=ACTOR)
    with scopes_disabled("the node serves every tenant"):
        changed = services.lost_on_node(node=node, held={(kept.pk, 1)}, actor=NODE)
    assert {session.pk for session in changed} == {lost.pk, stopping.pk}
    with scope(two_tenants.a.tenant):
        states = {session.pk: (session.state, session.node_id) for session in LiveSession.objects.all()}
    assert states == {lost.pk: ("interrupted", None), stopping.pk: ("ended", None), kept.pk: ("live", "n1")}


def test_a_session_whose_node_was_stopping_it_has_ended_when_the_node_is_lost(two_tenants: TwoTenants) -> None:
    """A node that is shut down ends its shows unasked; killed meanwhile, it never says so."""
    node = make_node(capacity=2)
    with scope(two_tenants.a.tenant):
        silent, forgotten = assigned(node), assigned(node)
        for session in (silent, forgotten):
            report(session, N.LIVE)
            report(session, N.STOPPING, reason="the node was stopped")
        services.interrupt(session_id=silent.pk, epoch=1, reason="the node is silent", actor=ACTOR)
    with scopes_disabled("the node serves every tenant"):
        services.lost_on_node(node=node, held=set(), actor=NODE)
    with scope(two_tenants.a.tenant):
        ends = {session.pk: (session.state, session.end_reason) for session in LiveSession.objects.all()}
    assert ends == {silent.pk: ("ended", "the node is silent"), forgotten.pk: ("ended", "node n1 came back without it")}


def test_events_are_stored_once_and_move_the_cursor(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)

        def batch(*numbers: int) -> list[SessionEvent]:
            return [
                SessionEvent(session_id=session.pk, tenant=two_tenants.a.tenant, epoch=1, seq=n, kind="cursor", at=clock.now(),
                             data={"line_index": n})
                for n in numbers
            ]  # fmt: skip

        services.record_events(session_id=session.pk, epoch=1, events=batch(1, 2))
        services.record_events(session_id=session.pk, epoch=1, events=batch(2, 3))
        assert list(SessionEvent.objects.values_list("seq", flat=True)) == [1, 2, 3]
        session.refresh_from_db()
        assert session.cursor == {"line_index": 3}


def test_renewals_reach_the_current_epoch_only(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        before = session.lease_until
    later = clock.now() + timedelta(seconds=60)
    with scopes_disabled("renewals of all tenants are written together"):
        services.extend_leases(renewals={(session.pk, 9): later}, media_s={})
        services.extend_leases(renewals={(session.pk, 1): later}, media_s={session.pk: 12.5})
    with scope(two_tenants.a.tenant):
        session.refresh_from_db()
        assert before is not None
        assert (session.lease_until, session.media_s, session.state) == (later, 12.5, SessionState.ASSIGNED)


def test_a_channel_carries_one_session_at_a_time(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        show = make_show()
        channel = editing.create_channel(fields={"name": "c"}, actor=ACTOR)
        first = services.start_session(show_id=show.pk, channel_id=channel.pk, actor=ACTOR)
        with pytest.raises(Conflict, match=f"session {first.pk} is on channel 'c'"):
            services.start_session(show_id=show.pk, channel_id=channel.pk, actor=ACTOR)
        services.start_session(show_id=show.pk, actor=ACTOR)
        services.stop_session(session_id=first.pk, reason="done", actor=ACTOR)
        services.start_session(show_id=show.pk, channel_id=channel.pk, actor=ACTOR)


def test_an_engine_that_runs_on_after_the_end_earns_nothing(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        LiveSession.objects.filter(pk=session.pk).update(state="interrupted", lease_until=clock.now() - timedelta(seconds=60))
        ended = services.stop_session(session_id=session.pk, reason="enough", actor=ACTOR)
        assert ended.state == "ended"
        now_ms = int(clock.now().timestamp() * 1000)
        segments = [
            UsageSegment(1, 1, 0, 10, now_ms - 30_000, 720, ("webrtc",)), UsageSegment(2, 1, 10, 40, now_ms + 5_000, 720)
        ]  # fmt: skip
        assert record_usage(session_id=session.pk, epoch=1, segments=segments) == 2
        assert usage.charge_of(session.pk).billable_s == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"height_px": -1},
        {"started_at_ms": 10**18},
        {"started_at_ms": -1},
        {"incarnation": -1},
        {"to_s": 0},
        {"height_px": 10**9},
    ],
)
def test_a_segment_that_cannot_be_true_does_not_hold_up_the_others(two_tenants: TwoTenants, changes: dict[str, int]) -> None:
    node = make_node()
    now_ms = int(clock.now().timestamp() * 1000)
    good = {"seq": 2, "incarnation": 1, "from_s": 10, "to_s": 20, "started_at_ms": now_ms, "height_px": 720}
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        bad = UsageSegment(**{**good, "seq": 1, "from_s": 0, "to_s": 10, **changes})
        assert record_usage(session_id=session.pk, epoch=1, segments=[bad, UsageSegment(**good)]) == 2
        assert usage.charge_of(session.pk).billable_s == 10
