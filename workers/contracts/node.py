"""Messages of the node socket ``/ws/node/``: JSON text frames, told apart by ``type``.

Every message about a session carries (session, epoch). The platform refuses an old epoch: a renewal is then answered with
``lease{ok: false}`` and the agent stops that engine. Events and usage are numbered within (session, epoch) and sent again
until acknowledged, so a lost connection loses nothing and a repeated message changes nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

PATH = "/ws/node/"
MAX_FRAME_BYTES = 8 * 1024 * 1024
LEASE_TTL_S = 6.0
RENEW_S = 1.5
MAX_SEGMENTS_PER_MESSAGE = 100


class NodeSessionState(StrEnum):
    """What the agent says about an engine.

    ``interrupted`` is an engine that died and is being restarted in the same epoch; ``refused`` is a start the node could
    not take (no slot, draining), so that it may be placed elsewhere.
    """

    STARTING = "starting"
    LIVE = "live"
    STOPPING = "stopping"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FAILED = "failed"
    REFUSED = "refused"


FINAL_STATES = frozenset({NodeSessionState.ENDED, NodeSessionState.FAILED, NodeSessionState.REFUSED})


class CallError(StrEnum):
    """Codes of ``reply.error`` that do not come from the engine itself (those are in gpu_engine.session.control)."""

    UNKNOWN_SESSION = "unknown_session"
    DEADLINE = "deadline"
    UNAVAILABLE = "unavailable"
    NODE_OFFLINE = "node_offline"
    BAD_REQUEST = "bad_request"


class UsageSegment(msgspec.Struct, frozen=True):
    """Seconds ``from_s`` (included) to ``to_s`` (excluded) of one incarnation's media, produced and accepted.

    ``started_at_ms`` is Unix time in milliseconds when ``from_s`` was produced.
    """

    seq: int
    incarnation: int
    from_s: int
    to_s: int
    started_at_ms: int
    height_px: int
    accepted_by: tuple[str, ...] = ()


# --- node -> platform ---------------------------------------------------------------------------------------------


class HeldSession(msgspec.Struct, frozen=True):
    """An engine the node has, in ``hello``."""

    session: str
    epoch: int
    state: NodeSessionState
    pid: int = 0
    reason: str = ""
    cursor: dict[str, Any] | None = None


class Hello(msgspec.Struct, frozen=True, tag_field="type", tag="hello"):
    """First message of every connection: who we are and which engines run here."""

    node: str
    capacity: int
    hardware: dict[str, Any]
    version: str
    sessions: tuple[HeldSession, ...] = ()
    draining: bool = False
    instance: str = ""
    """Made once per agent folder: tells an agent that came back from a second one under the same node id."""


class Heartbeat(msgspec.Struct, frozen=True, tag_field="type", tag="heartbeat"):
    """Sent every ``renew_s`` even with no session, so that an idle node is known to be there."""

    free_slots: int
    draining: bool = False
    load: dict[str, Any] = {}


class Renew(msgspec.Struct, frozen=True, tag_field="type", tag="renew"):
    """Ask for another ``ttl_s`` of the lease."""

    session: str
    epoch: int


class Metrics(msgspec.Struct, frozen=True, tag_field="type", tag="metrics"):
    """Newest snapshot, at most twice a second: the fields of gpu_engine.session.control.Metrics, and ``total_media_s``, the
    media made in this epoch by all engines together."""

    session: str
    epoch: int
    snapshot: dict[str, Any]


class Event(msgspec.Struct, frozen=True, tag_field="type", tag="event"):
    """Something that happened (kinds and data: gpu_engine.session.control.Event). ``seq`` grows within (session, epoch), also
    across restarts of the engine, and may skip; ``at_ms`` is Unix time in milliseconds."""

    session: str
    epoch: int
    seq: int
    kind: str
    data: dict[str, Any]
    at_ms: int


class Usage(msgspec.Struct, frozen=True, tag_field="type", tag="usage"):
    """Segments not acknowledged yet, in order."""

    session: str
    epoch: int
    segments: tuple[UsageSegment, ...]


class State(msgspec.Struct, frozen=True, tag_field="type", tag="state"):
    """The engine's state changed; repeated until ``state_ack``."""

    session: str
    epoch: int
    state: NodeSessionState
    reason: str = ""
    cursor: dict[str, Any] | None = None


class CallReply(msgspec.Struct, frozen=True, tag_field="type", tag="reply"):
    """Answer to :class:`Call`; ``error`` is '' when ``ok``."""

    id: str
    ok: bool
    result: dict[str, Any] = {}
    error: str = ""
    detail: str = ""


NodeMessage = Hello | Heartbeat | Renew | Metrics | Event | Usage | State | CallReply


# --- platform -> node ---------------------------------------------------------------------------------------------


class Welcome(msgspec.Struct, frozen=True, tag_field="type", tag="welcome"):
    """Answer to ``hello``: the lease times in force, and the public keys (JWK set) that motion tokens are checked with."""

    lease_ttl_s: float = LEASE_TTL_S
    renew_s: float = RENEW_S
    motion_keys: dict[str, Any] = {}


class Lease(msgspec.Struct, frozen=True, tag_field="type", tag="lease"):
    """``ok`` false means another epoch owns the session: stop this engine at once. ``tell_state`` asks for the state anew: the
    platform took the node for lost and holds the session for interrupted."""

    session: str
    epoch: int
    ok: bool
    ttl_s: float = LEASE_TTL_S
    tell_state: bool = False


class UsageAck(msgspec.Struct, frozen=True, tag_field="type", tag="usage_ack"):
    """All segments up to ``seq`` are in the ledger."""

    session: str
    epoch: int
    seq: int


class EventAck(msgspec.Struct, frozen=True, tag_field="type", tag="event_ack"):
    """All events up to ``seq`` are stored."""

    session: str
    epoch: int
    seq: int


class StateAck(msgspec.Struct, frozen=True, tag_field="type", tag="state_ack"):
    """The state is stored (or was refused because the epoch is old: either way it need not be repeated)."""

    session: str
    epoch: int
    state: NodeSessionState


class Call(msgspec.Struct, frozen=True, tag_field="type", tag="call"):
    """Ask the engine of (session, epoch) for ``method``; answer within ``deadline_ms`` from receipt. ``knowledge`` with
    {"fetch": true} means: take it from the session's spec, it is too large for this socket."""

    id: str
    session: str
    epoch: int
    method: str
    params: dict[str, Any]
    deadline_ms: int


class Stop(msgspec.Struct, frozen=True, tag_field="type", tag="stop"):
    """End the session of this epoch cleanly."""

    session: str
    epoch: int
    reason: str


PlatformMessage = Welcome | Lease | UsageAck | EventAck | StateAck | Call | Stop


class WireError(ValueError):
    """A frame is not a message of this contract; the text names what is wrong with it."""


_node_decoder = msgspec.json.Decoder(NodeMessage)
_platform_decoder = msgspec.json.Decoder(PlatformMessage)
_encoder = msgspec.json.Encoder()


def encode(message: NodeMessage | PlatformMessage) -> str:
    """One text frame."""
    return _encoder.encode(message).decode()


def decode_from_node(frame: str | bytes) -> NodeMessage:
    """Read a frame a node sent.

    Raises:
        WireError: not JSON, an unknown ``type``, a missing or mistyped field, or over ``MAX_FRAME_BYTES``.
    """
    message: NodeMessage = _decode(_node_decoder, frame)
    return message


def decode_from_platform(frame: str | bytes) -> PlatformMessage:
    """Read a frame the platform sent; raises like :func:`decode_from_node`."""
    message: PlatformMessage = _decode(_platform_decoder, frame)
    return message


def _decode(decoder: msgspec.json.Decoder[Any], frame: str | bytes) -> Any:
    if len(frame) > MAX_FRAME_BYTES:
        raise WireError(f"frame of {len(frame)} bytes is over {MAX_FRAME_BYTES}")
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WireError(f"not a message of the node socket: {error}") from error
