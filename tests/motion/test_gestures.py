"""Hands: smooth whatever is asked, inside the joints' ranges, clear of body and face, on time, at rest in the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.motion.arms import ANGLES, LIMITS_DEG, arm_quaternions, posture
from gpu_engine.motion.choreography import HURRY_S, PREPARE_S, Choreographer
from gpu_engine.motion.gestures import LEFT, RIGHT, SHAPES, carriage_at, weight_shift
from gpu_engine.motion.mixer import Mixer
from gpu_engine.motion.vocabulary import JOINT_INDEX, JOINTS, WEIGHT_INDEX, MotionFrame
from gpu_engine.session.timeline import Emotion, Gesture, GestureKind
from tests.motion.skeleton import SKELETONS, place, rotation

pytestmark = pytest.mark.unit

FRAME_S = 0.04
ARMS = [i for i, name in enumerate(JOINTS) if name.split("_")[-1] in ("collar", "shoulder", "elbow", "wrist")]
SPEED_LIMIT_DEG_S = 420.0
ACCELERATION_LIMIT_DEG_S2 = 3_800.0
"""A quintic to a hand 20 cm away in 0.5 s needs as much; a jump of 7° between two frames would need 4,400°/s²."""
FRONT_DM = 1.5
"""Nearest a hand in front of the trunk comes to the spine: chest and clothes end there (1.4 dm)."""

Show = Callable[[int], tuple[Sequence[int], Sequence[Gesture]]]


def play(seed: int, frames: int, known: Show, step_ms: int = 40) -> list[MotionFrame]:
    mixer, out = Mixer(seed), []
    for k in range(frames):
        words, cues = known(k * step_ms)
        frame = mixer.mix(k * step_ms, None, Emotion(0.5, 0.5, 0.3), words, True, cues)
        out.append(MotionFrame(frame.weights.copy(), frame.joints.copy()))
    return out


def chaotic(seed: int, length_ms: int) -> Show:
    """Words and cues of every kind, some known early, some late, some taken away by cuts."""
    rng = random.Random(seed)
    words, cues, at = [], [], 600
    while at < length_ms:
        at += rng.choice([350, 600, 900, 1_500, 2_600, 4_500])
        words.append(at)
        if rng.random() < 0.15:
            cues.append(Gesture(rng.choice(list(GestureKind)), at - rng.randint(0, 900)))

    def known(now: int) -> tuple[list[int], list[Gesture]]:
        if now // 6_000 % 5 == 4:
            return [], []
        ahead = 650 if now // 15_000 % 2 else 5_000
        return [w for w in words if now - 2_000 < w < now + ahead], [c for c in cues if now - 3_000 < c.at_ms < now + ahead]

    return known


def asked(kind: GestureKind, at_ms: int) -> Show:
    return lambda _: ((), (Gesture(kind, at_ms),))


def rotation_vectors(joints: np.ndarray) -> np.ndarray:
    """Degrees turned from each frame to the next, as vectors: float64[frames - 1, joints, 3]."""
    q = joints.astype(np.float64)
    a, b = q[:-1] * [-1, -1, -1, 1], q[1:]
    cross = np.cross(b[..., :3], a[..., :3])
    vector = b[..., 3:] * a[..., :3] + a[..., 3:] * b[..., :3] + cross
    real = b[..., 3] * a[..., 3] - (b[..., :3] * a[..., :3]).sum(-1)
    vector *= np.sign(real)[..., None]
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(length, np.abs(real)[..., None])
    return np.degrees(vector * np.divide(angle, length, out=np.full_like(length, 2.0), where=length > 1e-9))


@pytest.mark.parametrize("seed", range(8))
def test_nothing_ever_jumps(seed: int) -> None:
    frames = play(seed, 1_200, chaotic(seed, 48_000))
    joints = np.array([f.joints for f in frames])
    np.testing.assert_allclose(np.linalg.norm(joints, axis=2), 1.0, atol=1e-5)
    speed = rotation_vectors(joints) / FRAME_S
    assert np.linalg.norm(speed, axis=2).max() < SPEED_LIMIT_DEG_S
    assert np.linalg.norm(np.diff(speed, axis=0), axis=2).max() / FRAME_S < ACCELERATION_LIMIT_DEG_S2
    assert np.linalg.norm(speed[:, ARMS], axis=2).max() > 100, "nothing was done with the hands"


@pytest.mark.parametrize("seed", range(4))
def test_hands_stay_clear_of_body_and_face(seed: int) -> None:
    frames = play(seed, 1_200, chaotic(seed + 50, 48_000))[::3]
    for who, rest in SKELETONS.items():
        for frame in frames:
            at = place(rest, frame.joints)
            face = (at["head"] + at["crown"]) / 2
            for side in ("left", "right"):
                for name in ("wrist", "knuckle", "tip", "thumb"):
                    hand = at[f"{side}_{name}"]
                    assert np.linalg.norm((hand - face) / [0.8, 1.15, 1.05]) > 1.5, f"{who}'s {side} {name} is in the face"
                    if abs(hand[0]) < 0.75 * rest["left_shoulder"][0] and -0.5 < hand[1] < 4.2:
                        assert hand[2] - at["spine3"][2] > FRONT_DM, f"{who}'s {side} {name} is in the chest"
            assert np.linalg.norm(at["left_knuckle"] - at["right_knuckle"]) > 0.9


@pytest.mark.parametrize("seed", range(6))
def test_joints_keep_their_ranges(seed: int) -> None:
    hands, known = Choreographer(seed), chaotic(seed + 9, 48_000)
    low = np.array([LIMITS_DEG[name][0] for name in ANGLES])
    high = np.array([LIMITS_DEG[name][1] for name in ANGLES])
    for now in range(0, 48_000, 40):
        hands.at(now, *known(now), energy=1.0)
        arms = carriage_at(now / 1000, seed, hands.phrases, 1.0).arms
        assert (arms >= low).all(), dict(zip(ANGLES, arms.min(axis=0).round(1), strict=True))
        assert (arms <= high).all(), dict(zip(ANGLES, arms.max(axis=0).round(1), strict=True))


def test_a_greeting_is_a_wave_beside_the_shoulder_and_ends_at_rest() -> None:
    frames = play(3, 130, asked(GestureKind.GREET, 200))
    places = [place(SKELETONS["lin"], f.joints) for f in frames]
    waving = np.array([p["right_tip"] for p in places[30:56]])
    assert waving[:, 1].min() > 4.2, "below the shoulder"
    assert (waving[:, 0] < -1.3).all()
    assert 3 <= np.sum(np.diff(np.sign(np.diff(waving[:, 0]))) != 0) <= 12
    for side in ("left", "right"):
        assert np.linalg.norm(places[-1][f"{side}_wrist"] - SKELETONS["lin"][f"{side}_wrist"]) < 0.5


def test_pointing_goes_to_the_hosts_left_and_the_eyes_go_first() -> None:
    frames = play(3, 100, asked(GestureKind.POINT, 1_200))
    still = play(3, 100, lambda _: ((), ()))
    tips = np.array([place(SKELETONS["lin"], f.joints)["left_tip"] for f in frames])
    assert tips[35, 0] > SKELETONS["lin"]["left_shoulder"][0] + 1.2
    assert tips[35, 1] > 3.4
    left = [f.weights[11] - s.weights[11] for f, s in zip(frames, still, strict=True)]
    assert max(left) > 0.3
    assert int(np.argmax(np.array(left) > 0.15)) < int(np.argmax(tips[:, 1] > 2.5))
    assert abs(left[70]) < 0.25, "the host goes on looking at the card"


def test_in_a_tall_picture_the_card_below_is_shown_with_the_eyes_alone() -> None:
    mixer, still = Mixer(3, tall=True), Mixer(3, tall=True)
    cue = (Gesture(GestureKind.POINT, 1_200),)
    down, hands = [], []
    for k in range(100):
        shown, plain = mixer.mix(k * 40, None, Emotion(), gesture=cue), still.mix(k * 40, None, Emotion())
        down.append(float(shown.weights[WEIGHT_INDEX["eyeLookDown"]] - plain.weights[WEIGHT_INDEX["eyeLookDown"]]))
        hands.append(float(np.abs(shown.joints[ARMS] - plain.joints[ARMS]).max()))
    assert max(down) > 0.3
    assert down[-1] == pytest.approx(0.0, abs=0.02)
    assert max(hands) < 1e-6


def test_thanks_are_a_hand_on_the_heart_and_a_bow() -> None:
    frames = play(3, 100, asked(GestureKind.THANK, 200))
    still = play(3, 100, lambda _: ((), ()))
    at = place(SKELETONS["lin"], frames[45].joints)
    assert at["right_tip"][0] > 0.1
    assert 3.0 < at["right_tip"][1] < 4.4

    def bow(f: MotionFrame) -> float:
        return float(place(SKELETONS["lin"], f.joints)["crown"][2])

    assert max(bow(f) - bow(s) for f, s in zip(frames, still, strict=True)) > 0.3


def test_a_beat_lands_on_its_word() -> None:
    hits = []
    for seed in range(12):
        hands, made = Choreographer(seed), set()
        for now in range(0, 6_000, 20):
            hands.at(now, (3_000,))
            made |= set(hands.phrases)
        hits += [p for p in made if p.strokes_s == (3.0,) and p.start_s == pytest.approx(3.0 - PREPARE_S)]
    assert 4 <= len(hits) <= 11, "a word takes the hand along often, not always"
    assert len({(p.shape, p.hands) for p in hits}) >= 4


def test_close_words_share_one_raised_hand() -> None:
    held = []
    for seed in range(20):
        hands = Choreographer(seed)
        for now in range(0, 8_000, 40):
            hands.at(now, (2_000, 2_900, 3_700))
            held += [len(p.strokes_s) for p in hands.phrases]
    assert max(held) == 3


def test_a_word_known_too_late_leaves_the_hand_down() -> None:
    for seed in range(20):
        hands = Choreographer(seed)
        for now in range(0, 4_000, 40):
            late = (2_000,) if now > 2_000 - HURRY_S * 1000 + 60 else ()
            hands.at(now, late)
            assert hands.phrases == ()


def test_a_cut_takes_the_words_but_the_hand_comes_down_in_its_own_time() -> None:
    def known(now: int) -> tuple[tuple[int, ...], tuple[Gesture, ...]]:
        return ((), (Gesture(GestureKind.GREET, 100),)) if now < 500 else ((), ())

    frames = play(1, 110, known)
    tips = np.array([place(SKELETONS["lin"], f.joints)["right_tip"][1] for f in frames])
    assert tips[25] > 4.0
    assert tips[-1] < 0.0
    assert np.abs(np.diff(tips)).max() < 0.75


def test_lower_priority_does_not_begin_while_a_higher_one_is_held() -> None:
    hands = Choreographer(1)
    seen: set[str] = set()
    for now in range(0, 5_000, 40):
        cues = (Gesture(GestureKind.THANK, 100), Gesture(GestureKind.POINT, 900))
        hands.at(now, (1_200, 1_600, 2_000), cues)
        seen |= {p.kind for p in hands.phrases if p.release_s > now / 1000}
    assert seen == {"thank"}


def test_a_higher_priority_takes_over_without_a_jump() -> None:
    frames = play(2, 160, lambda _: ((), (Gesture(GestureKind.COUNT, 1_000), Gesture(GestureKind.THANK, 1_500))))
    joints = np.array([f.joints for f in frames])
    acceleration = np.diff(rotation_vectors(joints) / FRAME_S, axis=0) / FRAME_S
    assert np.linalg.norm(acceleration, axis=2).max() < ACCELERATION_LIMIT_DEG_S2
    assert place(SKELETONS["lin"], joints[70])["right_tip"][0] > 0.0


def test_the_pictures_rate_does_not_matter() -> None:
    at_25 = play(4, 400, chaotic(7, 16_000))
    at_50 = play(4, 800, chaotic(7, 16_000), step_ms=20)[::2]
    worst = max(float(np.abs(a.joints - b.joints)[ARMS].max()) for a, b in zip(at_25, at_50, strict=True))
    assert worst < 0.02


def test_weight_goes_from_leg_to_leg() -> None:
    shift = np.array([weight_shift(k / 5, 1) for k in range(5 * 600)])
    crossings = np.sum(np.sign(shift[1:]) != np.sign(shift[:-1]))
    assert np.abs(shift).max() <= 1.0
    assert 20 <= crossings <= 50, "two to five times a minute"
    assert np.abs(np.diff(shift)).max() * 5 < 2.9


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_left_and_right_are_mirror_images(shape: str) -> None:
    rest = SKELETONS["lin"]
    hands = {}
    for side, name in ((LEFT, "left"), (RIGHT, "right")):
        joints = np.tile(np.array([0, 0, 0, 1], dtype=np.float32), (len(JOINTS), 1))
        parts = ("collar", "shoulder", "elbow", "wrist")
        for part, q in zip(parts, arm_quaternions(SHAPES[shape], left=side == LEFT), strict=True):
            joints[JOINT_INDEX[f"{name}_{part}"]] = q
        hands[name] = place(rest, joints)[f"{name}_tip"]
    np.testing.assert_allclose(hands["left"] * [-1, 1, 1], hands["right"], atol=1e-6)
    assert hands["left"][1] > 3.2, "outside the picture"


def test_an_elbow_that_bends_lifts_the_hand_to_the_front() -> None:
    q = arm_quaternions(posture(elbow_flex=90), left=True)
    forward = rotation(np.array(q[2])) @ np.array([0.0, -1.0, 0.0])
    np.testing.assert_allclose(forward, [0, 0, 1], atol=1e-6)


@pytest.mark.parametrize(("angles", "message"), [({"elbow": 3.0}, "'elbow' is no angle"), ({"elbow_flex": 160.0}, "160")])
def test_impossible_postures_are_refused(angles: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        posture(**angles)


@settings(max_examples=30, deadline=None)
@given(
    cues=st.lists(st.tuples(st.sampled_from(list(GestureKind)), st.integers(-2_000, 12_000)), max_size=12),
    words=st.lists(st.integers(-2_000, 12_000), max_size=40),
    seed=st.integers(0, 10_000),
    origin=st.integers(0, 10**8),
)
def test_any_cues_at_any_times_are_smooth_and_end_at_rest(
    cues: list[tuple[GestureKind, int]], words: list[int], seed: int, origin: int
) -> None:
    hands, before = Choreographer(seed), None
    wanted = [Gesture(kind, origin + at) for kind, at in cues]
    for now in range(origin, origin + 18_000, 40):
        hands.at(now, [origin + w for w in words], wanted)
        arms = carriage_at(now / 1000, seed, hands.phrases).arms
        if before is not None:
            assert np.abs(arms - before).max() < 20.0
        before = arms
    assert hands.phrases == ()
    assert np.abs(before).max() < 8.0
