"""The life of a live session as one table: which state may follow which. Pure, no database."""

from __future__ import annotations

from typing import Final

from lumihost.live.models import SessionState as S
from workers.contracts.node import NodeSessionState

TRANSITIONS: Final[dict[S, frozenset[S]]] = {
    S.REQUESTED: frozenset({S.ASSIGNED, S.ENDED, S.FAILED}),
    S.ASSIGNED: frozenset({S.STARTING, S.LIVE, S.INTERRUPTED, S.STOPPING, S.ENDED, S.FAILED}),
    S.STARTING: frozenset({S.LIVE, S.INTERRUPTED, S.STOPPING, S.ENDED, S.FAILED}),
    S.LIVE: frozenset({S.INTERRUPTED, S.STOPPING, S.ENDED, S.FAILED}),
    S.INTERRUPTED: frozenset({S.ASSIGNED, S.STARTING, S.LIVE, S.STOPPING, S.ENDED, S.FAILED}),
    S.STOPPING: frozenset({S.ENDED, S.FAILED}),
    S.ENDED: frozenset(),
    S.FAILED: frozenset(),
}
"""``interrupted`` is an engine or a node that was lost: the same epoch goes on (starting, live) or a new one (assigned)."""

FINAL: Final[frozenset[S]] = frozenset({S.ENDED, S.FAILED})
ON_A_NODE: Final[frozenset[S]] = frozenset({S.ASSIGNED, S.STARTING, S.LIVE, S.STOPPING})
"""States in which a node is expected to hold the session and to renew its lease."""

OBSERVED: Final[dict[NodeSessionState, S]] = {
    NodeSessionState.STARTING: S.STARTING,
    NodeSessionState.LIVE: S.LIVE,
    NodeSessionState.STOPPING: S.STOPPING,
    NodeSessionState.INTERRUPTED: S.INTERRUPTED,
    NodeSessionState.ENDED: S.ENDED,
    NodeSessionState.FAILED: S.FAILED,
    NodeSessionState.REFUSED: S.INTERRUPTED,
}
"""What a node's report makes of the session. A refused start is placed again like a lost one."""


class IllegalTransition(ValueError):
    """The state cannot follow the present one."""


def check(present: S, following: S) -> None:
    """Raise IllegalTransition unless ``following`` may come after ``present``."""
    if following not in TRANSITIONS[present]:
        allowed = ", ".join(sorted(TRANSITIONS[present])) or "nothing"
        raise IllegalTransition(f"a session that is {present} cannot become {following} (only: {allowed})")


def after_report(present: S, reported: NodeSessionState) -> S | None:
    """The state a node's report leads to; None when it changes nothing.

    Reports may be repeated and may overtake our own wishes: a session that is stopping stays so when the node still says
    'live', and a final state stays final.
    """
    following = OBSERVED[reported]
    if following == present or following not in TRANSITIONS[present]:
        return None
    return following
