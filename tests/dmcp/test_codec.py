"""JSON and binary frames: what goes in comes out, within the stated rounding; what cannot be is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_engine.dmcp import messages
from gpu_engine.dmcp.codes import MEANING, Code, DmcpError
from gpu_engine.dmcp.motion import (
    BINARY,
    BINARY_BYTES,
    JOINT_STEP,
    WEIGHT_STEP,
    Motion,
    decode_binary,
    decode_json,
    encode_binary,
    encode_json,
)
from gpu_engine.motion.arkit import ARKIT
from gpu_engine.motion.ring import MotionFlag
from gpu_engine.motion.vocabulary import JOINT_INDEX, JOINTS, WEIGHT_INDEX, WEIGHTS
from tests.dmcp.frames import WHOLE, angle_deg, motion

pytestmark = pytest.mark.unit

SID = "ses_a"
DOCS = Path(__file__).resolve().parents[2] / "docs"
VECTORS = json.loads((DOCS / "examples" / "dmcp-vectors.json").read_text())

weights = arrays(np.float32, 32, elements=st.floats(0, 1, width=32))
quaternions = arrays(np.float32, (21, 4), elements=st.floats(-1, 1, width=32)).map(
    lambda q: (np.where(np.linalg.norm(q, axis=1, keepdims=True) < 0.1, [[0, 0, 0, 1]], q)).astype(np.float32)
)


def unit(q: np.ndarray) -> np.ndarray:
    return (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)


motions = st.builds(
    lambda ts, seq, speech, w, q: Motion(ts, seq, WHOLE | speech, w, unit(q)),
    st.integers(0, 2**53 - 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from([MotionFlag(0), MotionFlag.SPEECH, MotionFlag.SILENT]),
    weights,
    quaternions,
)


def refusal(call: Any) -> DmcpError:
    with pytest.raises(DmcpError) as caught:
        call()
    return caught.value


def read_or_refusal(call: Any) -> Any:
    """What ``call`` returns, or the refusal; any other exception fails the test."""
    try:
        return call()
    except DmcpError as error:
        return error


def frame(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(encode_json(SID, motion()))
    for path, value in changes.items():
        target = made
        *parents, last = path.split("__")
        for name in parents:
            target = target[name]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return made


def decode(made: dict[str, Any]) -> Motion:
    return decode_json(json.dumps(made).encode(), SID)


# --- round trips ----------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(motions)
def test_binary_brings_every_frame_back_within_its_step(sent: Motion) -> None:
    data = encode_binary(sent)
    got = decode_binary(data)

    assert len(data) == 250
    assert (got.ts_ms, got.sequence, got.flags) == (sent.ts_ms, sent.sequence, sent.flags)
    assert np.abs(got.weights - sent.weights).max() <= WEIGHT_STEP / 2 + 1e-7
    # Renormalising moves a component a little further than rounding alone.
    assert np.abs(got.joints - sent.joints).max() <= JOINT_STEP * 1.5
    assert angle_deg(got.joints, sent.joints).max() < 0.01
    assert np.abs(np.linalg.norm(got.joints, axis=1) - 1).max() < 1e-6


@settings(max_examples=100, deadline=None)
@given(motions)
def test_json_brings_every_frame_back_within_its_digits(sent: Motion) -> None:
    got = decode_json(encode_json(SID, sent), SID)

    assert (got.ts_ms, got.sequence, got.flags) == (sent.ts_ms, sent.sequence, sent.flags)
    assert np.abs(got.weights - sent.weights).max() <= 0.5e-4 + 1e-7
    assert angle_deg(got.joints, sent.joints).max() < 0.01


def test_a_plain_frame_of_the_specification_is_enough() -> None:
    got = decode({"ts": 5, "sid": SID, "payload": frame()["payload"]})

    assert (got.ts_ms, got.sequence, got.flags) == (5, None, WHOLE)


def test_components_are_x_y_z_w() -> None:
    made = frame(payload__pose_keypoints=[[0.6, 0.0, 0.0, 0.8]] + [[0, 0, 0, 1]] * 20)

    assert decode(made).joints[JOINT_INDEX["left_hip"]] == pytest.approx([0.6, 0.0, 0.0, 0.8])


# --- fuzz -----------------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400) | st.binary(min_size=BINARY_BYTES, max_size=BINARY_BYTES))
@example(b"DM\x12\x01" + b"\xff" * 246)
@example(b"DM\x12\x01" + b"\x00" * 246)
def test_any_bytes_are_a_frame_or_a_refusal(data: bytes) -> None:
    got = read_or_refusal(lambda: decode_binary(data))

    if isinstance(got, DmcpError):
        assert got.code in MEANING
    else:
        assert np.isfinite(got.weights).all() and np.isfinite(got.joints).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, BINARY_BYTES - 1), st.integers(1, 255))
def test_a_damaged_frame_never_gives_a_value_out_of_range(at: int, flip: int) -> None:
    data = bytearray(encode_binary(motion()))
    data[at] ^= flip
    got = read_or_refusal(lambda: decode_binary(bytes(data)))
    if isinstance(got, DmcpError):
        return
    assert got.weights.min() >= 0.0
    assert got.weights.max() <= 1.0
    assert np.abs(np.linalg.norm(got.joints, axis=1) - 1).max() < 1e-5


MEMBERS = ["ts", "sid", "seq", "payload", "face_blendshapes", "pose_keypoints", "jawOpen", "type"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(json_values | st.binary(max_size=80))
def test_any_text_is_refused_or_read(value: Any) -> None:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    for read in (lambda: decode_json(text, SID), lambda: messages.decode_from_client(text)):
        got = read_or_refusal(read)
        assert not isinstance(got, DmcpError) or got.code in MEANING


# --- refusals -------------------------------------------------------------------------------------------------------------

REST = [[0, 0, 0, 1]] * 21
FACE = dict.fromkeys(WEIGHTS, 0.0)
BAD: list[tuple[dict[str, Any], Code]] = [
    ({"ts": None}, Code.TIMESTAMP_INVALID),
    ({"ts": "now"}, Code.TIMESTAMP_INVALID),
    ({"ts": 1.5}, Code.TIMESTAMP_INVALID),
    ({"ts": -1}, Code.TIMESTAMP_INVALID),
    ({"ts": 2**53}, Code.TIMESTAMP_INVALID),
    ({"sid": "ses_b"}, Code.SESSION_MISMATCH),
    ({"sid": None}, Code.MALFORMED),
    ({"seq": -1}, Code.SEQUENCE_INVALID),
    ({"seq": 2**32}, Code.SEQUENCE_INVALID),
    ({"seq": "1"}, Code.SEQUENCE_INVALID),
    ({"payload": {}}, Code.WEIGHTS_COUNT),
    ({"payload__face_blendshapes": {"jawOpen": 0.5}}, Code.WEIGHTS_COUNT),
    ({"payload__face_blendshapes": FACE | {"smirk": 0.5}}, Code.WEIGHT_UNKNOWN),
    ({"payload__face_blendshapes__jawOpen": 1.2}, Code.WEIGHT_OUT_OF_RANGE),
    ({"payload__face_blendshapes__jawOpen": -0.01}, Code.WEIGHT_OUT_OF_RANGE),
    ({"payload__face_blendshapes__jawOpen": 1e300}, Code.WEIGHT_NOT_FINITE),
    ({"payload__face_blendshapes__jawOpen": "wide"}, Code.WEIGHTS_COUNT),
    ({"payload__pose_keypoints": None}, Code.JOINTS_COUNT),
    ({"payload__pose_keypoints": REST[:20]}, Code.JOINTS_COUNT),
    ({"payload__pose_keypoints": [*REST, [0, 0, 0, 1]]}, Code.JOINTS_COUNT),
    ({"payload__pose_keypoints": [[0, 0, 1], *REST[1:]]}, Code.JOINT_SHAPE),
    ({"payload__pose_keypoints": [["a"] * 4, *REST[1:]]}, Code.JOINT_SHAPE),
    ({"payload__pose_keypoints": [[0, 0, 0, 1.03], *REST[1:]]}, Code.JOINT_NOT_UNIT),
    ({"payload__pose_keypoints": [[0, 0, 0, 0], *REST[1:]]}, Code.JOINT_NOT_UNIT),
    ({"payload__pose_keypoints": [[0, 0, 0, 1e300], *REST[1:]]}, Code.JOINT_NOT_FINITE),
]


@pytest.mark.parametrize(("changes", "code"), BAD, ids=lambda v: str(v)[:60])
def test_each_fault_has_its_code(changes: dict[str, Any], code: Code) -> None:
    if code is Code.WEIGHTS_COUNT and changes == {"payload__face_blendshapes__jawOpen": "wide"}:
        assert "float" in refusal(lambda: decode(frame(**changes))).detail
    assert refusal(lambda: decode(frame(**changes))).code is code


@pytest.mark.parametrize(
    ("word", "code"), [("NaN", Code.WEIGHT_NOT_FINITE), ("Infinity", Code.WEIGHT_NOT_FINITE), ("1e999", Code.WEIGHT_NOT_FINITE)]
)
def test_what_is_no_number_is_named(word: str, code: Code) -> None:
    text = json.dumps(frame(payload__face_blendshapes__jawOpen=0.123456)).replace("0.123456", word).encode()

    assert refusal(lambda: decode_json(text, SID)).code is code


def test_a_length_two_percent_off_is_mended_and_more_is_not() -> None:
    got = decode(frame(payload__pose_keypoints=[[0, 0, 0, 1.019], *REST[1:]]))

    assert got.joints[0].tolist() == [0, 0, 0, 1]


def test_a_refusal_names_the_sequence_number_it_is_about() -> None:
    assert refusal(lambda: decode(frame(seq=41, payload__face_blendshapes__jawOpen=2))).sequence == 41
    data = bytearray(encode_binary(motion(sequence=42)))
    data[82:90] = b"\0" * 8
    assert (refusal(lambda: decode_binary(bytes(data))).sequence, refusal(lambda: decode_binary(bytes(data))).code) == (
        42, Code.JOINT_NOT_UNIT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [
        (0, 0x58, Code.BINARY_HEADER),
        (2, 0x11, Code.BINARY_HEADER),
        (3, 9, Code.BINARY_HEADER),
        (16, 0x20, Code.BINARY_HEADER),
        (17, 1, Code.BINARY_HEADER),
    ],
)
def test_another_header_is_refused(at: int, value: int, code: Code) -> None:
    data = bytearray(encode_binary(motion()))
    data[at] = value

    assert refusal(lambda: decode_binary(bytes(data))).code is code


@pytest.mark.parametrize("size", [0, 1, 249, 251, 10_000])
def test_another_length_is_refused(size: int) -> None:
    assert refusal(lambda: decode_binary(b"D" * size)).code is Code.BINARY_LENGTH


# --- face capture ---------------------------------------------------------------------------------------------------------


def test_arkit_shapes_come_in_under_either_spelling_and_without_a_body() -> None:
    shapes = {name[0].upper() + name[1:]: 0.0 for name in ARKIT} | {"JawOpen": 0.7, "EyeBlinkLeft": 1.0, "HeadYaw": -0.4}
    got = decode({"ts": 1, "sid": SID, "payload": {"arkit_blendshapes": shapes}})

    assert got.flags == MotionFlag.FACE
    assert got.weights[WEIGHT_INDEX["jawOpen"]] == pytest.approx(0.7)
    assert got.weights[WEIGHT_INDEX["eyeBlinkLeft"]] == pytest.approx(1.0)


def test_a_head_rotation_is_shared_by_neck_and_head() -> None:
    half = np.radians(15.0)
    head = [0.0, float(np.sin(half)), 0.0, float(np.cos(half))]
    got = decode({"ts": 1, "sid": SID, "payload": {"arkit_blendshapes": {"jawOpen": 0.1}, "head": head}})

    assert got.flags == MotionFlag.FACE | MotionFlag.HEAD
    quarter = [0.0, np.sin(half / 2), 0.0, np.cos(half / 2)]
    for name in ("neck", "head"):
        assert got.joints[JOINT_INDEX[name]] == pytest.approx(quarter, abs=1e-6)


def test_an_unknown_arkit_shape_is_named() -> None:
    error = refusal(lambda: decode({"ts": 1, "sid": SID, "payload": {"arkit_blendshapes": {"earWiggle": 0.1}}}))

    assert error.code is Code.WEIGHT_UNKNOWN and "earWiggle" in error.detail


# --- the document ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS["motion"], ids=lambda v: v["name"])
def test_documented_frames_are_what_the_codec_does(vector: dict[str, Any]) -> None:
    text, data = json.dumps(vector["json"]).encode(), bytes.fromhex(vector["binary_hex"])
    from_text, from_data = decode_json(text, vector["json"]["sid"]), decode_binary(data)

    assert encode_binary(from_text) == data
    assert json.loads(encode_json(vector["json"]["sid"], from_text)) == vector["json"]
    assert (from_data.ts_ms, from_data.sequence, int(from_data.flags)) == (
        vector["json"]["ts"], vector["json"]["seq"], vector["flags"],
    )  # fmt: skip
    assert np.abs(from_data.weights - from_text.weights).max() <= WEIGHT_STEP
    assert angle_deg(from_data.joints, from_text.joints).max() < 0.01


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: v["name"])
def test_documented_refusals_are_what_the_codec_does(vector: dict[str, Any]) -> None:
    if "binary_hex" in vector:
        error = refusal(lambda: decode_binary(bytes.fromhex(vector["binary_hex"])))
    else:
        error = refusal(lambda: decode_json(vector["text"].encode(), vector["sid"]))

    assert (error.code.value, error.code.title) == (vector["code"], vector["error"])


@pytest.mark.parametrize(
    "text",
    [
        b'{"type":"ping","x":' + b"[" * 8_000 + b"]" * 8_000 + b"}",
        b'{"type":"renew","token":"\xff\xfe"}',
        b'{"type":"ping","id":1,"t":' + b"9" * 400 + b"}",
        b'{"type":"ping","id":1,"t":-1}',
    ],
    ids=["nested without end", "not UTF-8", "a number of 400 digits", "before 1970"],
)
def test_what_json_does_not_bound_is_refused(text: bytes) -> None:
    with pytest.raises(DmcpError) as refused:
        messages.decode_from_client(text)
    assert refused.value.code is Code.MALFORMED


def test_a_frame_nested_without_end_is_refused() -> None:
    with pytest.raises(DmcpError) as refused:
        decode_json(b'{"payload":{},"x":' + b"[" * 8_000 + b"]" * 8_000 + b"}", "ses_1")
    assert refused.value.code is Code.MALFORMED


def test_the_document_lists_every_code_name_and_offset() -> None:
    page = (DOCS / "dmcp.md").read_text()

    for code in Code:
        assert f"| {code.value} | `{code.title}` | {MEANING[code]}" in page, code
    for name in WEIGHTS + JOINTS:
        assert f"`{name}`" in page, name
    offset = 0
    for name in BINARY.names or ():
        size = BINARY[name].itemsize
        assert f"| {offset} | {size} |" in page, name
        offset += size
    assert offset == BINARY_BYTES
