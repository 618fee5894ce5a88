"""One motion frame on the wire: JSON text and the 250-byte binary form, both checked before anything is done with them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from gpu_engine.dmcp.codes import UNREADABLE, Code, DmcpError
from gpu_engine.motion.arkit import ARKIT, ARKIT_COUNT, ARKIT_INDEX, from_arkit
from gpu_engine.motion.ring import MotionFlag
from gpu_engine.motion.vocabulary import JOINT_COUNT, JOINT_INDEX, JOINTS, WEIGHT_COUNT, WEIGHT_INDEX, WEIGHTS, rest_frame

MAGIC = b"DM"
BINARY_VERSION = 0x12
TYPE_MOTION = 1
BINARY = np.dtype(
    [
        ("magic", "S2"),
        ("version", "u1"),
        ("type", "u1"),
        ("sequence", "<u4"),
        ("ts_ms", "<i8"),
        ("flags", "<u2"),
        ("weights", "<u2", (WEIGHT_COUNT,)),
        ("joints", "<i2", (JOINT_COUNT, 4)),
    ]
)
"""Little-endian, without padding: 2 + 1 + 1 + 4 + 8 + 2 + 64 + 168 = 250 bytes."""
BINARY_BYTES = BINARY.itemsize
_HEADER = struct.Struct("<2sBBIqH")
_WEIGHTS_AT = _HEADER.size
_JOINTS_AT = _WEIGHTS_AT + 2 * WEIGHT_COUNT
WEIGHT_STEP = 1.0 / 65_535
JOINT_STEP = 1.0 / 32_767
UNIT_TOLERANCE = 0.02
RANGE_TOLERANCE = 1e-4
"""Float noise of a sender; what is inside it is clamped to [0, 1]."""
MAX_SEQUENCE = 2**32 - 1
_MAX_TS_MS = 2**53
_WIRE_FLAGS = 0x7F & ~int(MotionFlag.RELEASE)
_HEAD_JOINTS = (JOINT_INDEX["neck"], JOINT_INDEX["head"])
_WHOLE = MotionFlag.FACE | MotionFlag.POSE
_WEIGHT_SET = frozenset(WEIGHTS)
_LIVE_LINK_ANGLES = frozenset(
    f"{part}{angle}" for part in ("Head", "LeftEye", "RightEye") for angle in ("Yaw", "Pitch", "Roll")
)
"""Live Link Face puts these beside the shapes; they are angles, not weights, and are left out (send ``head``)."""


@dataclass(slots=True)
class Motion:
    """A checked frame.

    Attributes:
        ts_ms: the sender's Unix time of the pose, in milliseconds.
        sequence: the sender's count, 0 to 2^32 − 1, or ``None`` when a JSON frame gave none.
        flags: what of it counts; see :class:`MotionFlag`.
        weights: float32[32] in [0, 1], order of ``WEIGHTS``.
        joints: float32[21, 4], unit quaternions (x, y, z, w), order of ``JOINTS``.
    """

    ts_ms: int
    sequence: int | None
    flags: MotionFlag
    weights: NDArray[np.float32]
    joints: NDArray[np.float32]


class _Payload(msgspec.Struct):
    face_blendshapes: dict[str, float] | None = None
    pose_keypoints: list[list[float]] | None = None
    arkit_blendshapes: dict[str, float] | None = None
    head: list[float] | None = None


class _Frame(msgspec.Struct):
    ts: int
    sid: str
    payload: _Payload
    seq: int | None = None
    speech: bool | None = None
    live: bool | None = None


_decoder = msgspec.json.Decoder(_Frame)
_encode = msgspec.json.Encoder().encode


# --- JSON -----------------------------------------------------------------------------------------------------------------


def encode_json(sid: str, motion: Motion) -> bytes:
    """The text form: weights to 4, components to 5 decimals; all 32 weights and 21 joints are always there.

    Raises:
        ValueError: the frame is not whole (FACE and POSE); the binary form can say so, this one cannot.
    """
    if motion.flags & _WHOLE != _WHOLE:
        raise ValueError(f"a JSON frame has face and pose, this one {motion.flags!r}: send it in binary")
    face = dict(zip(WEIGHTS, np.round(motion.weights.astype(np.float64), 4).tolist(), strict=True))
    frame: dict[str, Any] = {"ts": motion.ts_ms, "sid": sid}
    if motion.sequence is not None:
        frame["seq"] = motion.sequence
    if motion.flags & (MotionFlag.SPEECH | MotionFlag.SILENT):
        frame["speech"] = bool(motion.flags & MotionFlag.SPEECH)
    if motion.flags & MotionFlag.LIVE:
        frame["live"] = True
    joints = np.round(motion.joints.astype(np.float64), 5).tolist()
    frame["payload"] = {"face_blendshapes": face, "pose_keypoints": joints}
    return _encode(frame)


def decode_json(text: bytes, sid: str) -> Motion:
    """Read a text frame of the session ``sid``.

    Raises:
        DmcpError: malformed, of another session, or a value that a host cannot take; ``sequence`` is set when it was read.
    """
    try:
        frame = _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise DmcpError(_code_of(str(error)), str(error)) from None
    except UNREADABLE as error:
        if b"NaN" in text or b"Infinity" in text:
            raise DmcpError(Code.WEIGHT_NOT_FINITE, "NaN and Infinity are no JSON numbers: send values in [0, 1]") from None
        raise DmcpError(Code.MALFORMED, f"not JSON: {error}") from None
    if frame.seq is not None and not 0 <= frame.seq <= MAX_SEQUENCE:
        raise DmcpError(Code.SEQUENCE_INVALID, f"seq {frame.seq} is not between 0 and {MAX_SEQUENCE}")
    try:
        if frame.sid != sid:
            raise DmcpError(Code.SESSION_MISMATCH, f"this connection is for '{sid}', the frame names '{frame.sid[:64]}'")
        flags, weights, joints = _payload(frame.payload)
        if frame.speech is not None:
            flags |= MotionFlag.SPEECH if frame.speech else MotionFlag.SILENT
        if frame.live:
            flags |= MotionFlag.LIVE
        return Motion(checked_ts(frame.ts), frame.seq, flags, weights, joints)
    except DmcpError as error:
        error.sequence = frame.seq
        raise


def _code_of(words: str) -> Code:
    """The code for msgspec's complaint, by the place it names."""
    too_big = words.startswith("Number out of range")
    if "`$.ts`" in words or "`ts`" in words:
        return Code.TIMESTAMP_INVALID
    if "$.seq" in words:
        return Code.SEQUENCE_INVALID
    if "_blendshapes" in words:
        return Code.WEIGHT_NOT_FINITE if too_big else Code.WEIGHTS_COUNT
    if "pose_keypoints[" in words or "$.payload.head" in words:
        return Code.JOINT_NOT_FINITE if too_big else Code.JOINT_SHAPE
    return Code.JOINTS_COUNT if "pose_keypoints" in words else Code.MALFORMED


def _payload(payload: _Payload) -> tuple[MotionFlag, NDArray[np.float32], NDArray[np.float32]]:
    flags = MotionFlag(0)
    rest = rest_frame()
    weights, joints = rest.weights, rest.joints
    if payload.face_blendshapes is not None:
        weights, flags = _face(payload.face_blendshapes), flags | MotionFlag.FACE
    elif payload.arkit_blendshapes is not None:
        weights, flags = _arkit(payload.arkit_blendshapes), flags | MotionFlag.FACE
    if payload.pose_keypoints is not None:
        joints, flags = _pose(payload.pose_keypoints), flags | MotionFlag.POSE
    elif payload.head is not None:
        joints, flags = _head(payload.head), flags | MotionFlag.HEAD
    if payload.arkit_blendshapes is None:
        # The frame of the protocol is whole; only a face capture may come without a body.
        if not flags & MotionFlag.FACE:
            raise DmcpError(Code.WEIGHTS_COUNT, f"payload has no face_blendshapes: send all {WEIGHT_COUNT}")
        if not flags & MotionFlag.POSE:
            raise DmcpError(Code.JOINTS_COUNT, f"payload has no pose_keypoints: send all {JOINT_COUNT}")
    return flags, weights, joints


def _face(named: dict[str, float]) -> NDArray[np.float32]:
    if named.keys() != _WEIGHT_SET:
        unknown = next((name for name in named if name not in WEIGHT_INDEX), None)
        if unknown is not None:
            raise DmcpError(Code.WEIGHT_UNKNOWN, f"face_blendshapes has no '{unknown[:40]}': the 32 names are in `welcome`")
        missing = next(name for name in WEIGHTS if name not in named)
        raise DmcpError(
            Code.WEIGHTS_COUNT, f"face_blendshapes has {len(named)} of {WEIGHT_COUNT} weights, '{missing}' is missing"
        )
    return checked_weights([named[name] for name in WEIGHTS])


def _arkit(named: dict[str, float]) -> NDArray[np.float32]:
    """Names as ARKit writes them or with a capital, as Live Link Face does; what is not named is 0."""
    shapes = np.zeros(ARKIT_COUNT, dtype=np.float64)
    for name, value in named.items():
        index = ARKIT_INDEX.get(name[:1].lower() + name[1:])
        if index is not None:
            shapes[index] = value
        elif name not in _LIVE_LINK_ANGLES:
            raise DmcpError(Code.WEIGHT_UNKNOWN, f"arkit_blendshapes has no '{name[:40]}': see ARFaceAnchor.BlendShapeLocation")
    return from_arkit(checked_weights(shapes, ARKIT))


def _pose(rows: list[list[float]]) -> NDArray[np.float32]:
    if len(rows) != JOINT_COUNT:
        raise DmcpError(Code.JOINTS_COUNT, f"pose_keypoints has {len(rows)} joints, not {JOINT_COUNT}")
    for name, row in zip(JOINTS, rows, strict=True):
        if len(row) != 4:
            raise DmcpError(Code.JOINT_SHAPE, f"joint '{name}' has {len(row)} components: send x, y, z, w")
    with np.errstate(over="ignore"):
        joints = np.array(rows, dtype=np.float32)
    return checked_joints(joints)


def _head(row: list[float]) -> NDArray[np.float32]:
    """The head's rotation shared between neck and head: half the angle each, about the same axis."""
    if len(row) != 4:
        raise DmcpError(Code.JOINT_SHAPE, f"head has {len(row)} components: send x, y, z, w")
    joints = rest_frame().joints
    with np.errstate(over="ignore"):
        joints[JOINT_INDEX["head"]] = row
    joints = checked_joints(joints)
    whole = joints[JOINT_INDEX["head"]]
    half = whole * (1.0 if whole[3] >= 0 else -1.0) + np.array([0, 0, 0, 1], dtype=np.float32)
    half /= np.linalg.norm(half)
    for index in _HEAD_JOINTS:
        joints[index] = half
    return joints


# --- binary ---------------------------------------------------------------------------------------------------------------


def encode_binary(motion: Motion) -> bytes:
    """The compact form. Rounding: a weight by at most 1/131,070, a component by at most 1/65,534 (0.01° of rotation)."""
    record = np.zeros((), dtype=BINARY)
    record["magic"], record["version"], record["type"] = MAGIC, BINARY_VERSION, TYPE_MOTION
    record["sequence"], record["ts_ms"] = motion.sequence or 0, motion.ts_ms
    record["flags"] = int(motion.flags) & _WIRE_FLAGS
    record["weights"] = np.rint(np.clip(motion.weights, 0.0, 1.0) * 65_535.0)
    record["joints"] = np.rint(np.clip(motion.joints, -1.0, 1.0) * 32_767.0)
    return record.tobytes()


def decode_binary(data: bytes) -> Motion:
    """Read a binary frame.

    Raises:
        DmcpError: wrong length or header, or a quaternion that is none.
    """
    if len(data) != BINARY_BYTES:
        raise DmcpError(Code.BINARY_LENGTH, f"a binary motion frame has {BINARY_BYTES} bytes, this one {len(data)}")
    if data[:2] != MAGIC or data[2] != BINARY_VERSION or data[3] != TYPE_MOTION:
        raise DmcpError(Code.BINARY_HEADER, f"header {data[:4].hex(' ')}: expected 44 4d 12 01 ('DM', version 1.2, motion)")
    _, _, _, sequence, ts_ms, flags = _HEADER.unpack_from(data)
    if flags & ~_WIRE_FLAGS:
        raise DmcpError(Code.BINARY_HEADER, f"flags {flags:#06x}: bits outside {_WIRE_FLAGS:#06x} are reserved", sequence)
    weights = np.frombuffer(data, dtype="<u2", count=WEIGHT_COUNT, offset=_WEIGHTS_AT) * np.float32(WEIGHT_STEP)
    joints = np.frombuffer(data, dtype="<i2", count=JOINT_COUNT * 4, offset=_JOINTS_AT) * np.float32(JOINT_STEP)
    try:
        unit = checked_joints(joints.reshape(JOINT_COUNT, 4))
        return Motion(checked_ts(ts_ms), sequence, MotionFlag(flags), weights, unit)
    except DmcpError as error:
        error.sequence = sequence
        raise


# --- values ---------------------------------------------------------------------------------------------------------------


def checked_ts(ts_ms: int) -> int:
    """The timestamp if a clock can show it.

    Raises:
        DmcpError: negative or past 2^53.
    """
    if not 0 <= ts_ms < _MAX_TS_MS:
        raise DmcpError(Code.TIMESTAMP_INVALID, f"ts {ts_ms} is no Unix time in milliseconds")
    return ts_ms


def checked_weights(values: Any, names: tuple[str, ...] = WEIGHTS) -> NDArray[np.float32]:
    """Weights as float32, clamped to [0, 1].

    Raises:
        DmcpError: one is not finite, or further outside than float noise.
    """
    with np.errstate(over="ignore"):
        weights = np.asarray(values, dtype=np.float32)
    if not np.isfinite(weights).all():
        at = int(np.argmin(np.isfinite(weights)))
        raise DmcpError(Code.WEIGHT_NOT_FINITE, f"weight '{names[at]}' is {float(weights[at])}: send a number in [0, 1]")
    if float(weights.min()) < -RANGE_TOLERANCE or float(weights.max()) > 1.0 + RANGE_TOLERANCE:
        at = int(np.argmax(np.abs(weights - np.float32(0.5))))
        raise DmcpError(Code.WEIGHT_OUT_OF_RANGE, f"weight '{names[at]}' is {float(weights[at]):g}: send a number in [0, 1]")
    clamped: NDArray[np.float32] = np.clip(weights, np.float32(0.0), np.float32(1.0))
    return clamped


def checked_joints(joints: NDArray[np.float32]) -> NDArray[np.float32]:
    """Quaternions brought to length 1.

    Args:
        joints: float32[21, 4].

    Raises:
        DmcpError: not finite, or a length more than 2 % off 1.
    """
    if not np.isfinite(joints).all():
        at = int(np.argmin(np.isfinite(joints).all(axis=1)))
        raise DmcpError(Code.JOINT_NOT_FINITE, f"joint '{JOINTS[at]}' is {joints[at].tolist()}")
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", joints, joints))
    off = np.abs(lengths - 1.0)
    if not float(off.max()) <= UNIT_TOLERANCE:
        at = int(np.argmax(off))
        raise DmcpError(
            Code.JOINT_NOT_UNIT, f"joint '{JOINTS[at]}' has length {float(lengths[at]):.4f}: send unit quaternions (±2 %)"
        )
    unit: NDArray[np.float32] = joints / lengths[:, None]
    return unit
