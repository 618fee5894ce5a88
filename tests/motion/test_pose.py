"""Pose is a pure, endless, unrepeating function of media time."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.motion.easing import EASINGS
from gpu_engine.motion.noise import drift, hash01
from gpu_engine.motion.pose import HEAD_LIMIT, blink_at, breath_at, pose_at

pytestmark = pytest.mark.unit

HOUR_MS = 3_600_000


@pytest.mark.parametrize("name", sorted(EASINGS))
def test_easings_start_at_zero_and_end_at_one(name: str) -> None:
    ease = EASINGS[name]
    assert [ease(-1.0), ease(0.0), ease(1.0), ease(2.0)] == [0.0, 0.0, 1.0, 1.0]
    half = {"quintic_out": 0.96875, "elastic_in": -0.015625, "elastic_out": 1.015625, "spring": 0.911173}
    assert ease(0.5) == pytest.approx(half.get(name, 0.5), abs=1e-5)


@pytest.mark.parametrize("name", [n for n in sorted(EASINGS) if "elastic" not in n])
def test_what_is_not_elastic_only_rises(name: str) -> None:
    steps = np.diff([EASINGS[name](k / 200) for k in range(201)])
    assert (steps >= -1e-12).all()


def test_the_elastic_ones_overshoot_and_are_each_others_mirror() -> None:
    at = np.linspace(0, 1, 201)
    into, out = (np.array([EASINGS[n](float(t)) for t in at]) for n in ("elastic_in", "elastic_out"))
    np.testing.assert_allclose(into, 1.0 - out[::-1], atol=1e-12)
    assert into.min() < -0.3
    assert out.max() > 1.3


def _blinks(seed: int, minutes: int) -> list[float]:
    """Full widths in ms of the blinks in the first ``minutes``."""
    widths, since = [], None
    for step in range(minutes * 60 * 200):
        t = step / 200
        down = blink_at(t, seed) > 0.0
        if down and since is None:
            since = t
        if not down and since is not None:
            widths.append((t - since) * 1000)
            since = None
    return widths


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_blinks_are_15_to_20_a_minute_and_100_to_150_ms(seed: int) -> None:
    widths = _blinks(seed, 10)
    assert 15 <= len(widths) / 10 <= 20
    assert min(widths) >= 95
    assert max(widths) <= 155


@pytest.mark.parametrize("phase_ms", [0, 7, 21, 33])
def test_a_25_fps_picture_sees_every_blink_closed(phase_ms: int) -> None:
    fine = [blink_at(t / 1000, 5) for t in range(0, 120_000, 5)]
    starts = sum(1 for a, b in pairwise(fine) if a == 0.0 and b > 0.0)
    seen = [blink_at((t + phase_ms) / 1000, 5) for t in range(0, 120_000, 40)]
    closed = sum(1 for i, v in enumerate(seen) if v >= 0.95 and (i == 0 or seen[i - 1] < 0.95))
    assert starts >= 25
    assert closed == starts


def test_emphasis_makes_some_words_blink_and_all_words_nod() -> None:
    words = tuple(range(1_000, 600_000, 1_500))
    blinks = sum(blink_at(w / 1000 + 0.18, 3, (w / 1000,)) > 0.9 for w in words)
    chance = sum(blink_at(w / 1000 + 0.18, 3) > 0.9 for w in words)
    nods = [pose_at(w + 30, 3, 1.0, (w,)).head[0] - pose_at(w + 30, 3, 1.0).head[0] for w in words]
    assert 0.12 * len(words) < blinks - chance < 0.32 * len(words)
    assert min(nods) > math.radians(0.5)


def test_gaze_is_mostly_on_the_camera_with_glances_both_ways() -> None:
    directions = []
    for t in range(0, 900_000, 100):
        pose = pose_at(t, 9, 0.0)
        directions.append(math.degrees(pose.gaze[0] + pose.head[1] + pose.torso[1]))
    x = np.array(directions)
    assert 0.80 <= np.mean(np.abs(x) < 2.5) <= 0.95
    assert x.max() > 10.0
    assert x.min() < -7.0


def test_breathing_has_a_human_rate() -> None:
    samples = np.array([breath_at(t / 20, 4) for t in range(20 * 600)])
    rising_through_zero = np.sum((samples[:-1] < 0) & (samples[1:] >= 0))
    assert 12 <= rising_through_zero / 10 <= 17
    assert np.abs(samples).max() <= 1.05


def test_an_hour_does_not_repeat() -> None:
    def strip(start_ms: int) -> np.ndarray:
        return np.array([[*pose_at(start_ms + k * 200, 1).head, *pose_at(start_ms + k * 200, 1).torso] for k in range(40)])

    reference = strip(30_000)
    spread = reference.std(axis=0).mean()
    nearest = min(float(np.abs(strip(start) - reference).mean()) for start in range(60_000, HOUR_MS, 4_000))
    assert nearest > 0.3 * spread


def test_another_seed_moves_differently_and_the_same_seed_equally() -> None:
    assert pose_at(12_345, 1) == pose_at(12_345, 1)
    assert pose_at(12_345, 1) != pose_at(12_345, 2)


@settings(max_examples=200, deadline=None)
@given(
    media_ms=st.floats(-1e6, 1e10),
    seed=st.integers(0, 2**31),
    speaking=st.floats(0, 1),
    energy=st.floats(-1, 1),
    offset=st.integers(-900, 900),
)
def test_any_instant_is_bounded_and_continuous(media_ms: float, seed: int, speaking: float, energy: float, offset: int) -> None:
    words = (int(media_ms) + offset,)
    a, b = (pose_at(t, seed, speaking, words, energy) for t in (media_ms, media_ms + 40.0))
    assert all(abs(angle) <= HEAD_LIMIT for angle in a.head)
    assert all(0.0 <= v <= 1.0 for v in (a.blink, a.brow_raise, a.smile_left, a.smile_right, a.squint))
    assert max(abs(x - y) for x, y in zip(a.head, b.head, strict=True)) < math.radians(2.0)
    assert max(abs(x - y) for x, y in zip(a.torso, b.torso, strict=True)) < math.radians(0.25)
    assert max(abs(x - y) for x, y in zip(a.gaze, b.gaze, strict=True)) < math.radians(16.0)


def test_noise_is_uniform_and_bounded() -> None:
    values = np.array([hash01(7, 3, i) for i in range(20_000)])
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02
    curve = np.array([drift(t / 50, 1.7, 7, 3) for t in range(20_000)])
    assert np.abs(curve).max() <= 1.0
    assert curve.std() > 0.3
