"""The life of a session, as a table."""

from __future__ import annotations

import pytest

from gpu_engine.session.spec import SegmentKind
from lumihost.api.v1.shows import SEGMENT_KINDS
from lumihost.live import state
from lumihost.live.models import SessionState as S
from workers.contracts.node import NodeSessionState as N

pytestmark = pytest.mark.unit


def test_every_state_is_in_the_table_and_final_ones_lead_nowhere() -> None:
    assert set(state.TRANSITIONS) == set(S)
    assert {s for s, following in state.TRANSITIONS.items() if not following} == state.FINAL == {S.ENDED, S.FAILED}


def test_every_state_can_reach_an_end() -> None:
    for start in S:
        seen, waiting = set(), [start]
        while waiting:
            present = waiting.pop()
            if present not in seen:
                seen.add(present)
                waiting += state.TRANSITIONS[present]
        assert S.ENDED in seen or start == S.FAILED


@pytest.mark.parametrize(
    ("present", "following"),
    [(S.ENDED, S.LIVE), (S.REQUESTED, S.LIVE), (S.STOPPING, S.LIVE), (S.LIVE, S.ASSIGNED), (S.FAILED, S.ENDED)],
)
def test_an_illegal_transition_is_refused_by_name(present: S, following: S) -> None:
    with pytest.raises(state.IllegalTransition, match=f"{present} cannot become {following}"):
        state.check(present, following)


@pytest.mark.parametrize(
    ("present", "reported", "result"),
    [
        (S.ASSIGNED, N.STARTING, S.STARTING),
        (S.STARTING, N.LIVE, S.LIVE),
        (S.LIVE, N.LIVE, None),
        (S.LIVE, N.STARTING, None),
        (S.LIVE, N.INTERRUPTED, S.INTERRUPTED),
        (S.INTERRUPTED, N.LIVE, S.LIVE),
        (S.STOPPING, N.LIVE, None),
        (S.STOPPING, N.ENDED, S.ENDED),
        (S.ENDED, N.LIVE, None),
        (S.ASSIGNED, N.REFUSED, S.INTERRUPTED),
        (S.LIVE, N.FAILED, S.FAILED),
    ],
)
def test_what_a_report_makes_of_a_session(present: S, reported: N, result: S | None) -> None:
    assert state.after_report(present, reported) == result


def test_the_api_knows_the_engines_kinds_of_segment() -> None:
    assert set(SEGMENT_KINDS) == {kind.value for kind in SegmentKind}
