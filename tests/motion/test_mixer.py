"""The mixer: bounded, unit length, continuous, deterministic; the mouth belongs to speech while it lasts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.motion.easing import EASINGS
from gpu_engine.motion.emotion import EmotionEase, clamp_emotion, face_weights, zero_weights
from gpu_engine.motion.mixer import Mixer, interpolate_lips, quaternion
from gpu_engine.motion.vocabulary import JOINT_COUNT, JOINTS, LIP_WEIGHTS, WEIGHT_COUNT, WEIGHT_INDEX, WEIGHTS
from gpu_engine.session.timeline import Emotion

pytestmark = pytest.mark.unit

LIPS = [WEIGHT_INDEX[name] for name in LIP_WEIGHTS]
EYES = [WEIGHT_INDEX[name] for name in WEIGHTS if name.startswith("eye")]
FACE = [i for i in range(WEIGHT_COUNT) if i not in LIPS and i not in EYES]
STILL = [i for i, name in enumerate(JOINTS) if name.split("_")[-1] not in ("shoulder", "elbow", "wrist")]
JOY, CONCERN = Emotion(0.8, 0.7, 0.4), Emotion(-0.3, 0.0, 0.0)


def wide_open() -> np.ndarray:
    lips = np.zeros(WEIGHT_COUNT, dtype=np.float32)
    lips[WEIGHT_INDEX["jawOpen"]] = 0.36
    lips[WEIGHT_INDEX["mouthFunnel"]] = 0.3
    return lips


def test_idle_mouth_is_at_rest() -> None:
    mixer = Mixer(1)
    for k in range(500):
        frame = mixer.mix(k * 40, None, Emotion())
        assert not frame.weights[LIPS].any()
    assert 0.1 < frame.weights[WEIGHT_INDEX["mouthSmileLeft"]] < 0.5


def test_lips_pass_through_once_engaged() -> None:
    mixer = Mixer(1)
    for k in range(4):
        frame = mixer.mix(k * 40, wide_open(), Emotion(), speaking=True)
    np.testing.assert_allclose(frame.weights[LIPS], wide_open()[LIPS], atol=1e-6)


def test_a_cut_clip_lets_the_mouth_come_to_rest_within_100_ms() -> None:
    mixer = Mixer(1)
    for k in range(10):
        mixer.mix(k * 40, wide_open(), Emotion(), speaking=True)
    jaws = [float(mixer.mix(400 + k * 40, None, Emotion()).weights[WEIGHT_INDEX["jawOpen"]]) for k in range(4)]
    assert jaws[0] < 0.36
    assert jaws == sorted(jaws, reverse=True)
    assert jaws[1] < 0.1
    assert jaws[2:] == [0.0, 0.0]


def test_speaking_attenuates_the_smile_but_not_the_eyes() -> None:
    silent, talking = Mixer(1), Mixer(1)
    shut = np.zeros(WEIGHT_COUNT, dtype=np.float32)
    for k in range(60):
        a = silent.mix(k * 40, None, JOY).weights.copy()
        b = talking.mix(k * 40, shut, JOY, speaking=True).weights.copy()
    smile, cheek = WEIGHT_INDEX["mouthSmileRight"], WEIGHT_INDEX["cheekSquint"]
    assert b[smile] == pytest.approx(0.4 * a[smile], rel=0.05)
    assert b[cheek] == pytest.approx(a[cheek])


def test_emotion_arrives_eased() -> None:
    mixer = Mixer(1)
    mixer.mix(0, None, CONCERN)
    smiles = [float(mixer.mix(40 + k * 40, None, JOY).weights[WEIGHT_INDEX["cheekSquint"]]) for k in range(14)]
    assert smiles[0] < 0.1
    assert smiles == sorted(smiles)
    assert smiles[-1] == smiles[-2]
    assert smiles[-1] > 0.3


def test_a_new_target_starts_where_the_face_is() -> None:
    ease = EmotionEase(Emotion(0.0, 0.0, 0.0))
    ease.at(0, Emotion(1.0, 0.0, 0.0))
    midway = ease.at(60, Emotion(1.0, 0.0, 0.0))[0]
    assert 0.3 < midway < 0.9
    assert ease.at(60, Emotion(-0.2, 0.0, 0.0))[0] == pytest.approx(midway)
    assert ease.at(60 + 450, Emotion(-0.2, 0.0, 0.0))[0] == pytest.approx(-0.2)


@pytest.mark.parametrize("easing", sorted(EASINGS))
def test_every_easing_keeps_the_face_lawful(easing: str) -> None:
    mixer = Mixer(1, easing)
    for k in range(60):
        weights = mixer.mix(k * 40, None, JOY if k < 5 or k > 30 else CONCERN).weights
        assert weights.min() >= 0.0
        assert weights.max() <= 1.0


def test_an_unknown_easing_is_refused() -> None:
    with pytest.raises(ValueError, match="bouncy"):
        Mixer(1, "bouncy")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_a_number_never_reaches_the_frame(bad: float) -> None:
    mixer, lips = Mixer(1), wide_open()
    lips[:] = bad
    for k in range(30):
        frame = mixer.mix(k * 40, lips, Emotion(bad, bad, bad) if k % 3 else JOY, (k * 40 + 100,), True)
        assert np.isfinite(frame.weights).all()
        assert np.isfinite(frame.joints).all()
        assert frame.weights.min() >= 0.0
        assert frame.weights.max() <= 1.0


def test_a_selling_host_never_looks_angry_or_desperate() -> None:
    assert clamp_emotion(-1, -1, -1) == (-0.35, -0.5, -0.5)
    out = zero_weights()
    face_weights(-1, 1, 1, out=out)
    assert out[WEIGHT_INDEX["browDownLeft"]] < 0.2
    assert out[WEIGHT_INDEX["mouthFrown"]] < 0.1
    assert out[WEIGHT_INDEX["noseSneer"]] == 0.0


@given(v=st.floats(-1, 1), a=st.floats(-1, 1), d=st.floats(-1, 1))
def test_faces_are_bounded_and_symmetric(v: float, a: float, d: float) -> None:
    out = zero_weights()
    face_weights(v, a, d, out=out)
    assert out.min() >= 0.0
    assert out.max() <= 1.0
    assert not out[LIPS].any()
    assert out[WEIGHT_INDEX["mouthSmileLeft"]] == out[WEIGHT_INDEX["mouthSmileRight"]]
    assert out[WEIGHT_INDEX["browDownLeft"]] == out[WEIGHT_INDEX["browDownRight"]]


@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_any_show_stays_bounded_unit_and_continuous(data: st.DataObject, seed: int) -> None:
    mixer, at = Mixer(seed), data.draw(st.integers(0, 10**8))
    lips = np.zeros(WEIGHT_COUNT, dtype=np.float32)
    before = None
    for _ in range(60):
        at += 40
        playing = data.draw(st.sampled_from(["idle", "speak", "hold"]))
        if playing == "speak":
            lips = lips.copy()
            lips[LIPS] = np.float32(data.draw(st.floats(-1, 2, width=32)))
        emotion = data.draw(st.sampled_from([JOY, CONCERN, Emotion()]))
        frame = mixer.mix(at, None if playing == "idle" else lips, emotion, (at - 200, at + 150), speaking=playing != "idle")
        assert frame.weights.shape == (WEIGHT_COUNT,)
        assert frame.joints.shape == (JOINT_COUNT, 4)
        assert frame.weights.min() >= 0.0
        assert frame.weights.max() <= 1.0
        np.testing.assert_allclose(np.linalg.norm(frame.joints, axis=1), 1.0, atol=1e-5)
        if before is not None:
            step = np.abs(frame.weights - before[0])
            assert step[FACE].max() <= 0.4
            assert step[LIPS].max() <= 1.0 if playing == "idle" else step[LIPS].max() <= 0.561
            turned = 2 * np.degrees(np.arccos(np.clip(np.abs((frame.joints * before[1]).sum(axis=1)), -1, 1)))
            assert turned[STILL].max() <= 2.0
            assert turned.max() <= 17.0
        before = frame.weights.copy(), frame.joints.copy()


def test_same_seed_and_times_give_the_same_frames_after_a_restart() -> None:
    old, new = Mixer(5), Mixer(5)
    for k in range(200):
        expected = old.mix(50_000 + k * 40, None, Emotion())
    for k in range(150, 200):
        frame = new.mix(50_000 + k * 40, None, Emotion())
    np.testing.assert_array_equal(frame.weights, expected.weights)
    np.testing.assert_array_equal(frame.joints, expected.joints)


def test_lips_between_rows_are_linear_and_held_outside() -> None:
    rows = np.zeros((2, WEIGHT_COUNT), dtype=np.uint8)
    rows[1, 16] = 255
    out = np.zeros(WEIGHT_COUNT, dtype=np.float32)
    seen = [float(interpolate_lips(rows, t, out)[16]) for t in (-5, 0, 5, 10, 20, 99)]
    assert seen == pytest.approx([0, 0, 0.25, 0.5, 1, 1])
    assert interpolate_lips(rows[:0], 10, out).max() == 0


@given(a=st.floats(-1, 1), b=st.floats(-1, 1), c=st.floats(-1, 1))
def test_quaternions_are_unit(a: float, b: float, c: float) -> None:
    assert np.linalg.norm(quaternion(a, b, c)) == pytest.approx(1.0)


def test_positive_pitch_nods_down_and_positive_yaw_turns_to_the_hosts_left() -> None:
    def forward(q: tuple[float, float, float, float]) -> np.ndarray:
        x, y, z, w = q
        return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])

    assert forward(quaternion(0.2, 0, 0))[1] == pytest.approx(-np.sin(0.2))
    assert forward(quaternion(0, 0.2, 0))[0] == pytest.approx(np.sin(0.2))
