"""What hands and torso do: beats on stressed words, a wave, thanks, pointing to the card, counting, and how one stands.

Pure functions of (time, seed, gesture phrases). A phrase has Kendon's parts ("Gesture: Visible Action as Utterance", 2004):
preparation, strokes, hold, retraction, all minimum-jerk (Flash & Hogan 1985). Phrases lie over each other in the order in
which they begin, each pulling the arm towards its own posture as far as it has come, so that any number of them together
are as smooth as one alone. When they begin, and which ones, is :mod:`gpu_engine.motion.choreography`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.arms import ANGLES, Posture, posture
from gpu_engine.motion.easing import bump, minimum_jerk
from gpu_engine.motion.noise import drift, hash01

LEFT, RIGHT = 0, 1

BODY: tuple[str, ...] = ("torso_pitch", "torso_yaw", "torso_roll", "head_pitch", "head_yaw", "head_roll", "look_card")
"""What else of the body moves with the hands: degrees in the senses of :mod:`gpu_engine.motion.pose`, and how far the eyes are
on the product card (0 to 1)."""


def _hold(*degrees: float) -> Posture:
    names = ("shoulder_flex", "shoulder_abduct", "shoulder_turn", "elbow_flex", "supinate", "wrist_flex", "wrist_radial")
    return posture(**dict(zip(names, degrees, strict=True)))


SHAPES: dict[str, Posture] = {
    #            shoulder flex, abduct, turn; elbow; supinate; wrist flex, radial
    "offer": _hold(29, 1, 0, 106, 74, -14, 8),
    "edge": _hold(32, 3, 9, 104, 19, -10, -6),
    "pinch": _hold(34, 4, 8, 107, -38, -4, -6),
    "raise": _hold(32, 9, -8, 108, -33, -12, 3),
    "sweep": _hold(29, 4, -4, 106, 72, -15, 8),
    "point": _hold(40, 6, -25, 102, 26, -24, -8),
    "wave": _hold(36, 18, -18, 108, -44, -10, 0),
    "heart": _hold(34, 22, 36, 107, 72, 8, -6),
    "count": _hold(25, 3, 2, 108, -30, -12, 5),
}
"""Where a hand is held, as postures of one arm."""

_FLICKS: dict[str, Posture] = {
    "offer": posture(shoulder_flex=-3, elbow_flex=-4, wrist_flex=-12, supinate=6),
    "edge": posture(shoulder_flex=-4, wrist_radial=-10, shoulder_turn=-3),
    "pinch": posture(shoulder_flex=-4, wrist_flex=14, wrist_radial=-5),
    "raise": posture(shoulder_flex=5, wrist_flex=12, elbow_flex=-4),
    "sweep": posture(shoulder_turn=-16, shoulder_abduct=4, wrist_flex=-8),
    "point": posture(shoulder_flex=3, shoulder_turn=-4, wrist_flex=-6),
    "count": posture(shoulder_flex=4, wrist_flex=14, elbow_flex=-4),
}
"""What a stroke adds at its height."""

BEAT_SHAPES: tuple[tuple[str, float], ...] = (
    ("offer", 0.30), ("edge", 0.22), ("pinch", 0.16), ("raise", 0.12), ("sweep", 0.20),
)  # fmt: skip
"""Shapes of beats and how often each is chosen."""

_SPREAD = (("shoulder_flex", 4.0), ("shoulder_turn", 4.0), ("elbow_flex", 4.0), ("supinate", 8.0))
_WAVE_HZ = 1.7
_GESTURE, _STAND = 700, 800
_ANGLE_AT = {name: i for i, name in enumerate(ANGLES)}
_ZERO = np.zeros(len(ANGLES))


@dataclass(frozen=True, slots=True)
class Phrase:
    """One gesture from rest to rest; times in seconds of media time.

    Attributes:
        kind: 'beat', 'greet', 'thank', 'point' or 'count'.
        shape: key of ``SHAPES``.
        hands: which arms take part; none, when only the eyes and the head do.
        start_s: when the hands leave.
        strokes_s: heights of the strokes, rising.
        release_s: when they begin to go back.
        prepare_s, retract_s: how long the ways there and back last.
        size: 0 to 1, how far the posture is taken.
        key: makes its chances differ from those of other phrases.
    """

    kind: str
    shape: str
    hands: tuple[int, ...]
    start_s: float
    strokes_s: tuple[float, ...]
    release_s: float
    prepare_s: float
    retract_s: float
    size: float
    key: int

    @property
    def end_s(self) -> float:
        """When the hands are back."""
        return self.release_s + self.retract_s

    def extent(self, t_s: float) -> float:
        """How far the hands are in it: 0 at rest, 1 held."""
        there = minimum_jerk((t_s - self.start_s) / self.prepare_s)
        return there * (1.0 - minimum_jerk((t_s - self.release_s) / self.retract_s))


@dataclass(slots=True)
class Carriage:
    """Arms and body at one instant: degrees, orders of ``ANGLES`` (left, right) and ``BODY``."""

    arms: NDArray[np.float64]
    body: NDArray[np.float64]


def carriage_at(t_s: float, seed: int, phrases: Sequence[Phrase] = (), energy: float = 0.0) -> Carriage:
    """The hands and what moves with them at a media time.

    Args:
        t_s: media time in seconds.
        seed: of the session.
        phrases: in the order of their starts; those that are over, or to come, do not matter.
        energy: arousal in [-1, 1], changing smoothly: scales the strokes.
    """
    carriage = standing(t_s, seed)
    for phrase in phrases:
        if not phrase.start_s < t_s < phrase.end_s:
            continue
        extent = phrase.extent(t_s)
        for hand in phrase.hands:
            goal = _held(phrase, hand, seed) + _moving(phrase, hand, t_s, seed, energy)
            carriage.arms[hand] += extent * (goal - carriage.arms[hand])
        carriage.body += _body(phrase, t_s, extent)
    return carriage


def standing(t_s: float, seed: int) -> Carriage:
    """Nothing said with the hands: they hang, and the weight goes from one leg to the other now and then."""
    shift = weight_shift(t_s, seed)
    arms = np.zeros((2, len(ANGLES)))
    for hand in (LEFT, RIGHT):
        at = _STAND + 20 + 10 * hand
        side = 1.0 if hand == LEFT else -1.0
        arms[hand, _ANGLE_AT["shoulder_flex"]] = 1.6 * drift(t_s, 5.3 + 0.9 * hand, seed, at)
        arms[hand, _ANGLE_AT["shoulder_abduct"]] = 0.9 + 0.8 * drift(t_s, 7.1 - 0.8 * hand, seed, at + 2) - 0.7 * side * shift
        arms[hand, _ANGLE_AT["shoulder_turn"]] = 2.2 * drift(t_s, 6.1 + 0.7 * hand, seed, at + 4)
        arms[hand, _ANGLE_AT["elbow_flex"]] = 1.5 + 3.0 * drift(t_s, 4.7 + 1.1 * hand, seed, at + 6)
    body = np.zeros(len(BODY))
    body[1], body[2] = 1.0 * shift, 1.5 * shift
    body[5] = -0.9 * shift
    return Carriage(arms, body)


def weight_shift(t_s: float, seed: int) -> float:
    """Which leg bears the weight, -1 (right) to 1 (left): a new place about every 13 s, taken in 1.4 to 2.4 s."""
    slot = math.floor(t_s / 13.0)
    start = slot * 13.0 + 9.0 * hash01(seed, _STAND, slot)
    old, new = (_leg(seed, n) for n in (slot - 1, slot))
    return old + (new - old) * minimum_jerk((t_s - start) / (1.4 + hash01(seed, _STAND + 1, slot)))


def _leg(seed: int, slot: int) -> float:
    side = 1.0 if (slot & 1) ^ (hash01(seed, _STAND + 2, slot) < 0.2) else -1.0
    return side * (0.35 + 0.65 * hash01(seed, _STAND + 3, slot))


@lru_cache(maxsize=256)
def _held_cached(shape: str, size: float, key: int, hand: int, seed: int) -> Posture:
    goal = SHAPES[shape] * size
    # Nobody holds a hand in the same place twice, nor both hands alike.
    for n, (name, spread) in enumerate(_SPREAD):
        goal[_ANGLE_AT[name]] += spread * (2.0 * hash01(seed, _GESTURE + n + 8 * hand, key) - 1.0) * (size if n < 3 else 1.0)
    goal.flags.writeable = False
    return goal


def _held(phrase: Phrase, hand: int, seed: int) -> Posture:
    return _held_cached(phrase.shape, phrase.size, phrase.key, hand, seed)


def _moving(phrase: Phrase, hand: int, t_s: float, seed: int, energy: float) -> Posture:
    """What strokes add to the held posture."""
    if phrase.kind == "greet":
        return _waving(phrase, t_s)
    flick = _FLICKS.get(phrase.shape)
    if flick is None:
        return _ZERO
    out = np.zeros(len(ANGLES))
    for n, at in enumerate(phrase.strokes_s):
        since = t_s - at
        if since < -0.6:
            break
        strength = (0.7 + 0.3 * hash01(seed, _GESTURE + 20, phrase.key + n)) * (1.0 + 0.25 * energy)
        if hand != phrase.hands[0]:
            strength *= 0.75
        if since < 0.5:
            out += flick * (strength * (bump(since, -0.22, 0.22, 0.05, 0.42) - 0.3 * bump(since, -0.44, 0.21, -0.22, 0.22)))
        if n > 0:
            # Between strokes the held hand moves on a little.
            step = minimum_jerk((since + 0.5) / 0.45)
            for k, (name, spread) in enumerate((("shoulder_turn", 5.0), ("shoulder_flex", 3.0), ("elbow_flex", 4.0))):
                moved = _place(seed, k, phrase.key, n) - _place(seed, k, phrase.key, n - 1)
                out[_ANGLE_AT[name]] += spread * step * moved
    return out


def _place(seed: int, axis: int, key: int, stroke: int) -> float:
    return 0.0 if stroke == 0 else 2.0 * hash01(seed, _GESTURE + 30 + axis, key + stroke) - 1.0


def _waving(phrase: Phrase, t_s: float) -> Posture:
    out = np.zeros(len(ANGLES))
    begin, end = phrase.start_s + 0.7 * phrase.prepare_s, phrase.release_s + 0.3
    level = minimum_jerk((t_s - begin) / 0.3) * (1.0 - minimum_jerk((t_s - end + 0.45) / 0.45))
    angle = math.tau * _WAVE_HZ * (t_s - begin)
    out[_ANGLE_AT["shoulder_turn"]] = 11.0 * level * math.sin(angle)
    out[_ANGLE_AT["supinate"]] = 7.0 * level * math.sin(angle - 0.5)
    out[_ANGLE_AT["wrist_radial"]] = -8.0 * level * math.sin(angle - 0.9)
    return out


def _body(phrase: Phrase, t_s: float, extent: float) -> NDArray[np.float64]:
    out = np.zeros(len(BODY))
    since = t_s - phrase.start_s
    if phrase.kind == "thank":
        nod = bump(since, 0.35 * phrase.prepare_s, 0.55, phrase.prepare_s + 0.35, 0.75)
        out[0], out[3] = 3.0 * nod, 5.5 * nod
    elif phrase.kind == "greet":
        out[3] = 2.5 * bump(since, 0.3, 0.4, 0.9, 0.5)
        out[5] = (2.5 if phrase.hands[0] == RIGHT else -2.5) * extent
    elif phrase.kind == "point":
        # The eyes lead the hand to the card and are back with the viewers while the hand still shows it.
        glance = bump(since, 0.08, 0.3, 0.55 + 0.5 * phrase.prepare_s, 0.35)
        out[6] = glance
        if phrase.hands:
            out[1], out[4], out[5] = 2.6 * extent, 3.6 * glance + 1.2 * extent, -1.0 * extent
        else:
            out[3] = 4.0 * glance
    elif len(phrase.hands) == 1:
        out[1] = (-1.1 if phrase.hands[0] == LEFT else 1.1) * extent
    return out
