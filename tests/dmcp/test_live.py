"""A live source drives the host: smoothed, handed over without a jump, and let go of when it falls silent."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.motion.live import (
    CATCH_UP_MS,
    HAND_OVER_MS,
    IN_RING,
    LOST_AFTER_MS,
    OUT_RING,
    LiveMotion,
    PlayOut,
    multiply,
    slerp,
)
from gpu_engine.motion.ring import MOTION_RECORD, MotionFlag, RingError, RingReader, RingWriter
from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_INDEX, MotionFrame, rest_frame
from tests.dmcp.frames import WHOLE, angle_deg, pose

pytestmark = pytest.mark.unit

FRAME_MS = 40
LIPS = [WEIGHT_INDEX[name] for name in LIP_WEIGHTS]
START_MS = 5_000_000
STEEPEST = 1.875 * FRAME_MS / HAND_OVER_MS
"""Largest share of a difference that minimum jerk covers in one frame: its greatest slope is 15/8 (Flash & Hogan 1985)."""


class Show:
    """A body's motion at 25 fps on a clock of the test's own, with a source that writes the ring as a gateway does."""

    def __init__(self, run_dir: Path) -> None:
        self.changes: list[tuple[str, str]] = []
        self.live = LiveMotion(run_dir, lambda state, why: self.changes.append((state, why)), self._clock_ns)
        self.gateway = RingWriter.join(run_dir / IN_RING, MOTION_RECORD)
        self.frame = 0
        self.own = pose(1, spread=0.05)
        self.shown: list[MotionFrame] = []

    @property
    def now_ms(self) -> int:
        return START_MS + self.frame * FRAME_MS

    def _clock_ns(self) -> int:
        return self.now_ms * 1_000_000

    def send(self, frame: MotionFrame, *, flags: MotionFlag = WHOLE, at_ms: float = 0.0, delay_ms: float = 8.0) -> None:
        record = np.zeros((), dtype=MOTION_RECORD)
        record["timestamp_ns"] = int((self.now_ms + at_ms) * 1e6)
        record["arrived_ns"] = int((self.now_ms + at_ms + delay_ms) * 1e6)
        record["flags"], record["weights"], record["joints"] = flags, frame.weights, frame.joints
        self.gateway.write(record)

    def step(self, speaking: bool = False) -> MotionFrame:
        drawn = self.live.apply(self.own, speaking, self.frame * FRAME_MS)
        self.live.publish(drawn, speaking)
        self.shown.append(MotionFrame(drawn.weights.copy(), drawn.joints.copy()))
        self.frame += 1
        return self.shown[-1]

    def run(self, frames: int, source: Callable[[int], MotionFrame] | None = None, **sent: object) -> None:
        for n in range(frames):
            if source is not None:
                self.send(source(n), at_ms=-9.0, **sent)  # type: ignore[arg-type]
            self.step()


@pytest.fixture
def show(tmp_path: Path) -> Show:
    return Show(tmp_path)


def largest_steps(frames: list[MotionFrame]) -> tuple[float, float]:
    """Greatest change of a weight and of a joint (degrees) from one frame to the next."""
    pairs = list(itertools.pairwise(frames))
    return (
        max(float(np.abs(b.weights - a.weights).max()) for a, b in pairs),
        max(float(angle_deg(a.joints, b.joints).max()) for a, b in pairs),
    )


def difference(a: MotionFrame, b: MotionFrame) -> tuple[float, float]:
    return float(np.abs(a.weights - b.weights).max()), float(angle_deg(a.joints, b.joints).max())


# --- hand-over ------------------------------------------------------------------------------------------------------------


def test_without_a_source_the_hosts_own_frame_is_drawn_as_it_is(show: Show) -> None:
    assert show.live.apply(show.own, False, 0) is show.own
    assert not show.live.live


@pytest.mark.parametrize("seed", range(4))
def test_taking_and_giving_back_never_jumps(show: Show, seed: int) -> None:
    there = pose(seed + 100, spread=0.5)
    show.run(5)
    show.run(30, lambda _: there)
    assert difference(show.shown[-1], there) == pytest.approx((0.0, 0.0), abs=0.02)
    show.send(rest_frame(), flags=MotionFlag.RELEASE)
    show.run(30)
    assert difference(show.shown[-1], show.own) == pytest.approx((0.0, 0.0), abs=0.02)

    weight, angle = difference(show.own, there)
    steps = largest_steps(show.shown)
    assert steps[0] <= STEEPEST * weight * 1.02
    assert steps[1] <= STEEPEST * angle * 1.02
    assert [state for state, _ in show.changes] == ["live", "autonomous"]
    assert show.changes[1][1] == "released"


def test_both_sides_move_and_the_hand_over_adds_only_its_own_share(show: Show) -> None:
    base = pose(7, spread=0.3)

    def swinging(n: int) -> MotionFrame:
        weights = np.clip(base.weights + 0.1 * np.sin(n / 3.0), 0, 1).astype(np.float32)
        return MotionFrame(weights, base.joints)

    show.run(3)
    show.run(40, swinging)

    own_step = 0.1 / 3.0
    gap = float(np.abs(base.weights - show.own.weights).max()) + 0.1
    assert largest_steps(show.shown)[0] <= STEEPEST * gap + own_step * 1.2


def test_giving_back_in_the_middle_of_taking_turns_round_without_a_jump(show: Show) -> None:
    there = pose(3, spread=0.5)
    show.run(3)
    show.run(4, lambda _: there)
    show.send(rest_frame(), flags=MotionFlag.RELEASE)
    show.run(15)

    weight, angle = difference(show.own, there)
    steps = largest_steps(show.shown)
    assert (steps[0] <= STEEPEST * weight * 1.02, steps[1] <= STEEPEST * angle * 1.02) == (True, True)
    assert difference(show.shown[-1], show.own) == pytest.approx((0.0, 0.0), abs=0.02)


@pytest.mark.parametrize(("part", "value"), [("weights", np.nan), ("weights", np.inf), ("joints", np.nan), ("joints", 0.0)])
def test_what_no_host_can_be_posed_with_is_left_out(show: Show, part: str, value: float) -> None:
    broken = pose(2)
    getattr(broken, part)[3] = value
    show.run(20, lambda n: broken if n % 3 == 0 else pose(2))

    assert show.live.live
    for shown in show.shown:
        assert np.isfinite(shown.weights).all()
        assert np.linalg.norm(shown.joints, axis=1) == pytest.approx(1.0, abs=1e-3)


def test_silence_of_half_a_second_gives_the_host_back(show: Show) -> None:
    there = pose(9, spread=0.5)
    show.run(25, lambda _: there)
    before = len(show.shown)
    show.run(int(LOST_AFTER_MS / FRAME_MS))
    assert show.live.live
    show.run(2)
    assert not show.live.live
    show.run(int(HAND_OVER_MS / FRAME_MS) + 1)

    assert difference(show.shown[-1], show.own) == pytest.approx((0.0, 0.0), abs=0.02)
    weight, angle = difference(show.own, there)
    steps = largest_steps(show.shown[before - 1 :])
    assert (steps[0] <= STEEPEST * weight * 1.02, steps[1] <= STEEPEST * angle * 1.02) == (True, True)
    assert show.changes[-1] == ("autonomous", "nothing came for 500 ms")


def test_a_frame_said_to_come_tomorrow_does_not_hold_the_host_until_then(show: Show) -> None:
    show.run(20, lambda _: pose(2))
    show.send(pose(3), delay_ms=86_400_000.0)
    show.run(30)

    assert [state for state, _ in show.changes] == ["live", "autonomous"]


def test_another_source_takes_over_without_a_jump(show: Show) -> None:
    first, second = pose(11, spread=0.4), pose(12, spread=0.4)
    show.run(25, lambda _: first)
    before = len(show.shown)
    show.send(rest_frame(), flags=MotionFlag.RELEASE)
    show.run(25, lambda _: second)

    weight, angle = difference(first, second)
    steps = largest_steps(show.shown[before - 1 :])
    assert (steps[0] <= STEEPEST * weight * 1.05, steps[1] <= STEEPEST * angle * 1.05) == (True, True)
    assert difference(show.shown[-1], second) == pytest.approx((0.0, 0.0), abs=0.02)


def test_a_source_that_ran_dry_comes_back_without_a_jump(show: Show) -> None:
    first, second = pose(21, spread=0.4), pose(22, spread=0.4)
    show.run(25, lambda _: first)
    show.run(8)
    before = len(show.shown)
    show.run(15, lambda _: second)

    weight, angle = difference(first, second)
    limit = 1.875 * FRAME_MS / CATCH_UP_MS * 1.05
    steps = largest_steps(show.shown[before - 1 :])
    assert (steps[0] <= limit * weight, steps[1] <= limit * angle) == (True, True)
    assert show.live.live


# --- what of it counts ----------------------------------------------------------------------------------------------------


def test_a_clip_keeps_the_lips_of_a_source_that_does_not_speak(show: Show) -> None:
    there = pose(31)
    for _ in range(25):
        show.send(there, flags=WHOLE | MotionFlag.SILENT, at_ms=-9.0)
        show.step(speaking=True)

    drawn, other = show.shown[-1], [i for i in range(32) if i not in LIPS]
    assert drawn.weights[LIPS] == pytest.approx(show.own.weights[LIPS], abs=1e-3)
    assert drawn.weights[other] == pytest.approx(there.weights[other], abs=1e-3)


def test_a_source_that_speaks_has_the_lips_even_while_a_clip_plays(show: Show) -> None:
    there = pose(32)
    for _ in range(25):
        show.send(there, flags=WHOLE | MotionFlag.SPEECH, at_ms=-9.0)
        show.step(speaking=True)

    assert show.shown[-1].weights[LIPS] == pytest.approx(there.weights[LIPS], abs=1e-3)


@pytest.mark.parametrize("moving", [True, False])
def test_without_a_word_on_it_a_moving_mouth_counts_as_speech(show: Show, moving: bool) -> None:
    there = rest_frame()
    for n in range(30):
        there.weights[WEIGHT_INDEX["jawOpen"]] = 0.3 + (0.25 * np.sin(n) if moving else 0.0)
        show.send(there, at_ms=-9.0)
        show.step(speaking=True)

    own_lips = np.abs(show.shown[-1].weights[LIPS] - show.own.weights[LIPS]).max() < 1e-3
    assert own_lips == (not moving)


def test_a_face_alone_leaves_the_body_to_the_host_and_a_head_only_the_rest(show: Show) -> None:
    there = pose(33, spread=0.4)
    show.run(25, lambda _: there, flags=MotionFlag.FACE)
    assert angle_deg(show.shown[-1].joints, show.own.joints).max() < 0.05
    assert show.shown[-1].weights == pytest.approx(there.weights, abs=1e-3)

    show.run(25, lambda _: there, flags=MotionFlag.FACE | MotionFlag.HEAD)
    apart = angle_deg(show.shown[-1].joints, there.joints)
    assert np.flatnonzero(apart < 0.05).tolist() == [11, 14]


# --- smoothing ------------------------------------------------------------------------------------------------------------


def test_jitter_of_the_network_does_not_show(tmp_path: Path) -> None:
    """A steady movement whose frames are up to 45 ms late: drawn from the newest frame it stutters, played out it does not."""
    show, random = Show(tmp_path), np.random.default_rng(5)
    speed = 0.004
    arrivals: list[tuple[float, int]] = []
    naive: list[float] = []
    for n in range(200):
        arrivals.append((n * FRAME_MS + 8.0 + 45.0 * float(random.random()) ** 3, n))
    for frame in range(200):
        for at_ms, n in sorted(a for a in arrivals if (frame - 1) * FRAME_MS < a[0] <= frame * FRAME_MS):
            there = rest_frame()
            there.weights[0] = speed * n
            show.send(there, at_ms=n * FRAME_MS - frame * FRAME_MS, delay_ms=at_ms - n * FRAME_MS)
        naive.append(max((speed * n for at_ms, n in arrivals if at_ms <= frame * FRAME_MS), default=0.0))
        show.step()

    steady = slice(100, 195)
    played = np.diff([float(f.weights[0]) for f in show.shown])[steady]
    assert np.std(played) < 0.15 * np.std(np.diff(naive)[steady])
    assert 40.0 < show.live.play_out.delay_ms < 120.0


def test_frames_between_two_are_on_the_line_and_the_arc_between_them() -> None:
    play_out, a, b = PlayOut(), pose(41), pose(42)
    for ms, frame in ((0, a), (40, b), (80, b)):
        record = np.zeros((), dtype=MOTION_RECORD)
        record["timestamp_ns"] = record["arrived_ns"] = (1_000 + ms) * 1_000_000
        record["flags"], record["weights"], record["joints"] = WHOLE, frame.weights, frame.joints
        play_out.push(record)
    weights, joints = np.zeros(32, dtype=np.float32), rest_frame().joints
    play_out.at(1_020.0 + play_out.delay_ms + 40.0, weights, joints)

    assert weights == pytest.approx((a.weights + b.weights) / 2, abs=1e-5)
    assert angle_deg(joints, a.joints) == pytest.approx(angle_deg(joints, b.joints), abs=0.01)


def test_extrapolation_is_bounded() -> None:
    play_out = PlayOut()
    for n in range(3):
        record = np.zeros((), dtype=MOTION_RECORD)
        record["timestamp_ns"] = record["arrived_ns"] = (1_000 + 40 * n) * 1_000_000
        record["weights"][0], record["joints"][:, 3] = 0.1 + 0.1 * n, 1.0
        play_out.push(record)
    weights, joints = np.zeros(32, dtype=np.float32), rest_frame().joints
    values = []
    for ms in range(1_080, 3_000, 40):
        play_out.at(float(ms), weights, joints)
        values.append(float(weights[0]))

    assert values == sorted(values)
    assert 0.3 < values[-1] < 0.3 + 0.1 * 1.5 + 1e-6
    assert play_out.ran_dry


def test_slerp_is_exact_and_goes_the_shorter_way() -> None:
    a, b = pose(51, spread=1.0).joints, pose(52, spread=1.0).joints
    whole = angle_deg(a, b)

    assert angle_deg(slerp(a, b, 0.25), a) == pytest.approx(whole / 4, abs=0.02)
    assert angle_deg(slerp(a, -b, 0.25), slerp(a, b, 0.25)).max() < 0.02
    assert np.abs(np.linalg.norm(multiply(a, b), axis=1) - 1).max() < 1e-5


# --- rings ----------------------------------------------------------------------------------------------------------------


def test_telemetry_is_what_was_drawn_with_its_time_and_who_drives(show: Show, tmp_path: Path) -> None:
    reader = RingReader(tmp_path / OUT_RING, MOTION_RECORD)
    show.step(speaking=True)
    show.run(20, lambda _: pose(61))
    records = reader.read().records

    assert records["sequence"].tolist() == list(range(21))
    assert int(records[0]["flags"]) == int(WHOLE | MotionFlag.SPEECH)
    assert int(records[-1]["flags"]) == int(WHOLE | MotionFlag.LIVE)
    assert records[-1]["weights"].tolist() == show.shown[-1].weights.tolist()
    assert np.diff(records["timestamp_ns"]).tolist() == [FRAME_MS * 1_000_000] * 20


def test_a_frame_drawn_late_keeps_its_place_in_time(tmp_path: Path) -> None:
    lateness = iter([0, 0, 30, 5, 0])
    live = LiveMotion(tmp_path, clock_ns=lambda: (START_MS + live_frame[0] * FRAME_MS + next(lateness)) * 1_000_000)
    reader, live_frame = RingReader(tmp_path / OUT_RING, MOTION_RECORD), [0]
    for n in range(5):
        live_frame[0] = n
        live.publish(live.apply(rest_frame(), False, n * FRAME_MS), False)

    assert np.diff(reader.read().records["timestamp_ns"]).tolist() == [FRAME_MS * 1_000_000] * 4


def test_the_rings_are_gone_with_the_body(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        LiveMotion(tmp_path)
        os._exit(0)
    os.waitpid(child, 0)

    assert (tmp_path / IN_RING).is_symlink()
    with pytest.raises(RingError):
        RingWriter.join(tmp_path / IN_RING, MOTION_RECORD)


def test_telemetry_costs_the_body_less_than_50_microseconds_a_frame(show: Show) -> None:
    frame = show.own
    best_us = min(_microseconds(lambda: show.live.publish(frame, True)) for _ in range(5))

    assert best_us < 50.0


def _microseconds(call: Callable[[], None], times: int = 300) -> float:
    start_ns = time.perf_counter_ns()
    for _ in range(times):
        call()
    return (time.perf_counter_ns() - start_ns) / times / 1000
