"""A virtual hour on the air: nothing returns, and blinks, glances and gestures come as often as people's do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpu_engine.motion.mixer import Mixer
from gpu_engine.motion.vocabulary import JOINTS, WEIGHT_INDEX
from gpu_engine.session.timeline import Emotion, Gesture, GestureKind

pytestmark = pytest.mark.unit

HOUR_S = 3_600
RATE_HZ = 5
WINDOW = 4 * RATE_HZ
NEAREST_DEG = 0.4
"""Root mean square over 4 s and the 13 joints that move, in degrees. The same motion again would be 0. The nearest are two
stretches of listening with the hands down; 0.4° a joint is the head 1.4° off throughout."""


class Hour:
    """An hour of talk: sentences of 3 to 9 s with stressed words, pauses between, now and then a cue. Seeded."""

    def __init__(self, seed: int, seconds: int = HOUR_S) -> None:
        rng = random.Random(seed)
        self.words: list[int] = []
        self.cues: list[Gesture] = []
        self.speech: list[tuple[int, int]] = []
        at = 1_000
        while at < seconds * 1000:
            end = at + rng.randint(3_000, 9_000)
            word = at + rng.randint(300, 1_200)
            if rng.random() < 0.06:
                self.cues.append(Gesture(rng.choice([GestureKind.POINT, GestureKind.THANK, GestureKind.POINT]), at))
            while word < end:
                self.words.append(word)
                word += rng.randint(500, 3_000)
            self.speech.append((at, end))
            at = end + rng.choice([200, 400, 700, 2_500, 6_000])


@pytest.fixture(scope="module")
def hour() -> tuple[np.ndarray, np.ndarray, Hour, float]:
    """Joints float32[n, 21, 4] and weights float32[n, 32] at 5 Hz, the hour, and the seconds spoken."""
    show, mixer = Hour(1), Mixer(7)
    words, cues = np.array(show.words), show.cues
    joints, weights, spoken, first, turn = [], [], 0, 0, 0
    for k in range(HOUR_S * RATE_HZ):
        now = k * 1000 // RATE_HZ
        while turn < len(show.speech) - 1 and now >= show.speech[turn][1]:
            turn += 1
        speaking = show.speech[turn][0] <= now < show.speech[turn][1]
        spoken += speaking
        first = int(np.searchsorted(words, now - 1_000))
        near = [c for c in cues if now - 2_000 < c.at_ms < now + 4_000]
        frame = mixer.mix(now, None, Emotion(0.5, 0.4, 0.3), words[first : first + 8].tolist(), speaking, near)
        joints.append(frame.joints.copy())
        weights.append(frame.weights.copy())
    return np.array(joints), np.array(weights), show, spoken / RATE_HZ


def test_no_four_seconds_of_an_hour_return(hour: tuple[np.ndarray, np.ndarray, Hour, float]) -> None:
    joints = hour[0]
    moving = [i for i, name in enumerate(JOINTS) if np.abs(joints[:, i, :3]).max() > 1e-4]
    assert len(moving) == 13
    # Vector parts of unit quaternions near rest: half the angle in radians.
    flat = np.degrees(2.0 * joints[:, moving, :3]).reshape(len(joints), -1).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(flat, WINDOW, axis=0).reshape(len(flat) - WINDOW + 1, -1)
    every = np.ascontiguousarray(windows[::2])
    length = (every**2).sum(axis=1)
    nearest = np.inf
    for first in range(0, len(windows), 60 * WINDOW):
        asked = windows[first : first + 60 * WINDOW : WINDOW]
        squared = (asked**2).sum(axis=1)[:, None] + length - 2.0 * (asked @ every.T)
        for n, row in enumerate(squared):
            own = (first + n * WINDOW) // 2
            row[max(0, own - WINDOW) : own + WINDOW] = np.inf
        nearest = min(nearest, float(squared.min()))
    rms = np.sqrt(max(nearest, 0.0) / (WINDOW * len(moving)))
    assert rms > NEAREST_DEG, f"four seconds come back within {rms:.2f}° a joint"


def test_gestures_come_as_often_as_a_speakers(hour: tuple[np.ndarray, np.ndarray, Hour, float]) -> None:
    """McNeill ("Hand and Mind", 1992) counts about one gesture a clause in narration, and others 5 to 20 a minute of speech."""
    joints, _, _, spoken_s = hour
    up = np.zeros(len(joints), dtype=bool)
    for name in ("left_elbow", "right_elbow"):
        up |= np.abs(joints[:, JOINTS.index(name), 0]) > np.sin(np.radians(35) / 2)
    raised = int(np.sum(up[1:] & ~up[:-1]))
    assert 5 <= raised / (spoken_s / 60) <= 20
    assert 0.15 < up.mean() < 0.6, "hands rest as well as talk"
    both = [np.abs(joints[:, JOINTS.index(f"{s}_elbow"), 0]) > np.sin(np.radians(35) / 2) for s in ("left", "right")]
    assert (both[0] & both[1]).mean() > 0.01
    assert 0.25 < both[0].sum() / (both[0].sum() + both[1].sum()) < 0.75, "one hand does it all"


def test_eyes_are_mostly_with_the_viewers(hour: tuple[np.ndarray, np.ndarray, Hour, float]) -> None:
    weights = hour[1]
    away = (weights[:, WEIGHT_INDEX["eyeLookLeft"]] > 0.35) | (weights[:, WEIGHT_INDEX["eyeLookRight"]] > 0.3)
    glances = int(np.sum(away[1:] & ~away[:-1]))
    assert away.mean() < 0.3
    assert 2 <= glances / 60 <= 14, "glances a minute"
