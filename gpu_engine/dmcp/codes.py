"""Error codes of DMCP. The same number stands in an ``error`` message and, when it ends the connection, in the close frame."""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Code(IntEnum):
    """40xx end the connection, 41xx are about one message, 42xx about one motion frame."""

    VERSION_UNSUPPORTED = 4001
    HELLO_EXPECTED = 4002
    HELLO_TIMEOUT = 4003
    TOKEN_INVALID = 4004
    TOKEN_EXPIRED = 4005
    ROLE_NOT_GRANTED = 4006
    SESSION_MISMATCH = 4007
    SESSION_UNKNOWN = 4008
    ROOM_FULL = 4009
    GATEWAY_FULL = 4010
    DRAINING = 4011
    SESSION_ENDED = 4012
    TOO_SLOW = 4013
    TOKEN_OVERUSED = 4014
    TOO_MANY_BAD_FRAMES = 4015
    FLOODING = 4016
    MALFORMED = 4101
    MESSAGE_UNKNOWN = 4102
    FRAME_RATE_EXCEEDED = 4103
    BYTE_RATE_EXCEEDED = 4104
    NOT_IN_CONTROL = 4105
    CONTROL_HELD = 4106
    MAY_NOT_CONTROL = 4107
    RATE_OUT_OF_RANGE = 4108
    TAKEN_TOO_OFTEN = 4109
    TIMESTAMP_INVALID = 4201
    TIMESTAMP_BACKWARDS = 4202
    TIMESTAMP_FUTURE = 4203
    TIMESTAMP_LATE = 4204
    WEIGHTS_COUNT = 4205
    WEIGHT_UNKNOWN = 4206
    WEIGHT_NOT_FINITE = 4207
    WEIGHT_OUT_OF_RANGE = 4208
    JOINTS_COUNT = 4209
    JOINT_SHAPE = 4210
    JOINT_NOT_FINITE = 4211
    JOINT_NOT_UNIT = 4212
    BINARY_HEADER = 4213
    BINARY_LENGTH = 4214
    SEQUENCE_INVALID = 4215

    @property
    def title(self) -> str:
        """The stable name that stands beside the number, e.g. ``weight_out_of_range``."""
        return self.name.lower()


MEANING: dict[Code, str] = {
    Code.VERSION_UNSUPPORTED: "no offered subprotocol is spoken here; an HTTP 400 whose body names what is",
    Code.HELLO_EXPECTED: "the first message was not a hello",
    Code.HELLO_TIMEOUT: "no hello within 5 s",
    Code.TOKEN_INVALID: "the token is not signed by a known key, or not a token",
    Code.TOKEN_EXPIRED: "the token's time is over, at hello or on an open connection that was not renewed",
    Code.ROLE_NOT_GRANTED: "the token is for another role",
    Code.SESSION_MISMATCH: "hello or frame names another session than the token",
    Code.SESSION_UNKNOWN: "no such session runs on this gateway",
    Code.ROOM_FULL: "the session has as many connections as it may have",
    Code.GATEWAY_FULL: "the gateway has as many connections as it may have",
    Code.DRAINING: "the gateway is being stopped; connect again",
    Code.SESSION_ENDED: "the session is over",
    Code.TOO_SLOW: "nothing could be written to this connection for 15 s",
    Code.TOKEN_OVERUSED: "more connections at a time than one token may open",
    Code.TOO_MANY_BAD_FRAMES: "20 refused messages within 10 s",
    Code.FLOODING: "ten times the permitted rate",
    Code.MALFORMED: "not JSON, or a field is missing or of the wrong type",
    Code.MESSAGE_UNKNOWN: "no message of this type",
    Code.FRAME_RATE_EXCEEDED: "more frames a second than permitted; the surplus was dropped",
    Code.BYTE_RATE_EXCEEDED: "more bytes a second than permitted; the surplus was dropped",
    Code.NOT_IN_CONTROL: "a motion frame without having taken control",
    Code.CONTROL_HELD: "another connection holds control; take with force to take it over",
    Code.MAY_NOT_CONTROL: "a watcher sent what only a controller may",
    Code.RATE_OUT_OF_RANGE: "a telemetry rate outside 1 to 60 frames a second",
    Code.TAKEN_TOO_OFTEN: "control of this session changes hands too often; wait half a second",
    Code.TIMESTAMP_INVALID: "ts is missing or not a whole number of milliseconds",
    Code.TIMESTAMP_BACKWARDS: "ts is before that of the frame before",
    Code.TIMESTAMP_FUTURE: "ts is more than 500 ms ahead of the gateway's clock",
    Code.TIMESTAMP_LATE: "ts is more than 2,000 ms behind the gateway's clock",
    Code.WEIGHTS_COUNT: "not exactly the 32 weights",
    Code.WEIGHT_UNKNOWN: "a weight of a name that is not in the vocabulary",
    Code.WEIGHT_NOT_FINITE: "a weight is NaN or infinite",
    Code.WEIGHT_OUT_OF_RANGE: "a weight is outside [0, 1]",
    Code.JOINTS_COUNT: "not exactly 21 joints",
    Code.JOINT_SHAPE: "a joint has not exactly 4 components",
    Code.JOINT_NOT_FINITE: "a component is NaN or infinite",
    Code.JOINT_NOT_UNIT: "a quaternion's length is more than 2 % off 1",
    Code.BINARY_HEADER: "a binary frame's magic, version, type or flags are not those of DMCP 1.2",
    Code.BINARY_LENGTH: "a binary frame of another length",
    Code.SEQUENCE_INVALID: "seq is not a whole number from 0 to 4,294,967,295",
}


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the JSON decoder raises for bytes of a stranger: also for broken UTF-8 and for nesting without end."""


class DmcpError(Exception):
    """A message is refused. ``detail`` names the thing, the value and the way out."""

    def __init__(self, code: Code, detail: str, sequence: int | None = None) -> None:
        super().__init__(f"{code.value} {code.title}: {detail}")
        self.code = code
        self.detail = detail
        self.sequence = sequence
