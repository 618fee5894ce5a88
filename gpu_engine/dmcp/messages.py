"""Control messages of DMCP: JSON text frames told apart by ``type`` (a motion frame has none, it has a ``payload``)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpu_engine.dmcp import VERSION
from gpu_engine.dmcp.codes import UNREADABLE, Code, DmcpError
from gpu_engine.dmcp.token import MAX_TOKEN_CHARS, Role
from gpu_engine.motion.vocabulary import JOINTS, WEIGHTS

Encoding = Literal["json", "binary"]
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Unix time; bounded, since JSON bounds no number."""


# --- client → gateway -----------------------------------------------------------------------------------------------------


class Hello(msgspec.Struct, frozen=True, tag_field="type", tag="hello"):
    """First message: the token, the session and role it is for, the sender's Unix time, and how telemetry is to come."""

    token: str
    sid: str
    role: Role
    clock_ms: Milliseconds
    encoding: Encoding = "json"
    client: str = ""


class Renew(msgspec.Struct, frozen=True, tag_field="type", tag="renew"):
    """A newer token for the same session and role, before the old one ends."""

    token: str


class Take(msgspec.Struct, frozen=True, tag_field="type", tag="take"):
    """Take control of the host; ``force`` takes it from who holds it."""

    force: bool = False


class Release(msgspec.Struct, frozen=True, tag_field="type", tag="release"):
    """Give control back to the autonomous pipelines."""


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """Answered at once; ``t`` is the sender's Unix time in ms and keeps the gateway's idea of its clock fresh."""

    id: int
    t: Milliseconds


class Rate(msgspec.Struct, frozen=True, tag_field="type", tag="rate"):
    """How many telemetry frames a second to send, 1 to 60; 0 pauses them."""

    fps: int


class ClientReport(msgspec.Struct, frozen=True, tag_field="type", tag="report"):
    """A watcher's own counts of the telemetry it received."""

    received: int
    lost: int
    jitter_ms: float = 0.0


ClientMessage = Hello | Renew | Take | Release | Ping | Rate | ClientReport


# --- gateway → client -----------------------------------------------------------------------------------------------------


class LimitsOut(msgspec.Struct, frozen=True):
    """What the gateway enforces on this connection."""

    frames_per_s: float
    bytes_per_s: float
    max_frame_bytes: int
    past_ms: float
    future_ms: float
    bad_frames: int
    bad_frames_window_s: float


class Welcome(msgspec.Struct, frozen=True, tag_field="type", tag="welcome"):
    """Answer to hello. ``clock_offset_ms`` is the gateway's time minus the client's, as the gateway sees it."""

    sid: str
    role: Role
    server_ms: int
    clock_offset_ms: float
    expires_ms: int
    encoding: Encoding
    limits: LimitsOut
    holder: Literal["none", "you", "other"]
    report_every_ms: int
    version: str = VERSION
    weights: tuple[str, ...] = WEIGHTS
    joints: tuple[str, ...] = JOINTS


class Control(msgspec.Struct, frozen=True, tag_field="type", tag="control"):
    """Who holds control now; sent to everyone in the room whenever it changes."""

    holder: Literal["none", "you", "other"]


class Renewed(msgspec.Struct, frozen=True, tag_field="type", tag="renewed"):
    """The connection may stay open until then (Unix ms)."""

    expires_ms: int


class Pong(msgspec.Struct, frozen=True, tag_field="type", tag="pong"):
    """Answer to ping."""

    id: int
    t: int
    server_ms: int


class RateIs(msgspec.Struct, frozen=True, tag_field="type", tag="rate"):
    """Answer to rate."""

    fps: int


class Report(msgspec.Struct, frozen=True, tag_field="type", tag="report"):
    """Once a second to a controller that sends: counts since it took control."""

    received: int
    lost: int
    reordered: int
    duplicate: int
    refused: int
    jitter_ms: float
    last_seq: int
    clock_offset_ms: float


class Error(msgspec.Struct, frozen=True, tag_field="type", tag="error", omit_defaults=True):
    """A message was refused. ``closing``: the connection ends with this code."""

    code: int
    name: str
    detail: str
    seq: int | None = None
    closing: bool = False


GatewayMessage = Welcome | Control | Renewed | Pong | RateIs | Report | Error

encode = msgspec.json.Encoder().encode
_client_decoder = msgspec.json.Decoder(ClientMessage)
_gateway_decoder = msgspec.json.Decoder(GatewayMessage)


def decode_from_client(text: bytes) -> ClientMessage:
    """Read a control message.

    Raises:
        DmcpError: not JSON, of no known type, or with a field missing or of the wrong type.
    """
    try:
        message: ClientMessage = _client_decoder.decode(text)
    except msgspec.ValidationError as error:
        words = str(error)
        unknown = "- at `$.type`" in words or "missing required field `type`" in words
        raise DmcpError(Code.MESSAGE_UNKNOWN if unknown else Code.MALFORMED, words) from None
    except UNREADABLE as error:
        raise DmcpError(Code.MALFORMED, f"not JSON: {error}") from None
    if isinstance(message, Hello | Renew) and len(message.token) > MAX_TOKEN_CHARS:
        raise DmcpError(Code.TOKEN_INVALID, f"a token has at most {MAX_TOKEN_CHARS} characters")
    return message


def decode_from_gateway(text: bytes) -> GatewayMessage:
    """Read a gateway's control message.

    Raises:
        DmcpError: not one of them.
    """
    try:
        message: GatewayMessage = _gateway_decoder.decode(text)
    except UNREADABLE as error:
        raise DmcpError(Code.MALFORMED, str(error)) from None
    return message


def is_motion(text: bytes) -> bool:
    """Whether a text frame is a motion frame: only those have a payload."""
    return b'"payload"' in text
