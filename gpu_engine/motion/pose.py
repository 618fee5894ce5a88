"""Everything a host does without being told: blinking, looking, breathing, swaying, nodding on stressed words.

Pure functions of (media time, seed): no state, constant cost, so an hour into the show is as cheap as its start. Angles
are radians. Axes are glTF's: x = the host's left, y = up, z = towards the camera; positive pitch (about x) nods down,
positive yaw (about y) turns to the host's left, positive roll (about z) tilts the head to the host's right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.motion.easing import bump, minimum_jerk
from gpu_engine.motion.noise import drift, hash01, wander

EYE_FULL = math.radians(22.0)
"""Eye rotation at weight 1 of an eyeLook* weight."""
HEAD_LIMIT = math.radians(7.0)
"""Largest turn of the head on any axis: beyond it a frontal hair plate shows its edge."""

_BLINK_SLOT_S = 3.75
_GLANCE_SLOT_S = 4.6
_FIXATION_SLOT_S = 0.62
_EVENT_SLOT_S = 6.3
_BLINK, _GLANCE, _FIXATION, _EVENT, _DRIFT, _BEAT = 100, 200, 300, 400, 500, 600

_COMMENTS = (math.radians(-9.0), math.radians(-8.0))
CARD_GAZE = (math.radians(12.0), math.radians(-3.0))
"""Direction of the product card from the host's eyes in a wide picture: x to its left, y up."""
CARD_GAZE_TALL = (math.radians(1.5), math.radians(-13.0))
"""The same in a tall picture, where the card lies across below the face."""


@dataclass(frozen=True, slots=True)
class Pose:
    """One instant. Angles in radians, the rest in weights [0, 1].

    ``gaze`` is the direction of the eyes relative to the head (x to the host's left, y up).
    """

    blink: float
    gaze: tuple[float, float]
    head: tuple[float, float, float]
    torso: tuple[float, float, float]
    shoulders: float
    brow_raise: float
    smile_left: float
    smile_right: float
    squint: float


def blink_at(t_s: float, seed: int, emphasis_s: Sequence[float] = ()) -> float:
    """Eyelid closure in [0, 1]: about 16 blinks a minute of 100–150 ms, some doubled, some on a stressed word."""
    slot = math.floor(t_s / _BLINK_SLOT_S)
    closure = 0.0
    if hash01(seed, _BLINK, slot) > 0.04:
        start = slot * _BLINK_SLOT_S + 0.2 + 2.9 * hash01(seed, _BLINK + 1, slot)
        closure = _one_blink(t_s - start, hash01(seed, _BLINK + 2, slot))
        if hash01(seed, _BLINK + 3, slot) < 0.07:
            closure = max(closure, _one_blink(t_s - start - 0.28, 0.0))
    for stressed in emphasis_s:
        key = int(stressed * 1000)
        if -0.1 < t_s - stressed < 0.4 and hash01(seed, _BLINK + 4, key) < 0.22:
            closure = max(closure, _one_blink(t_s - stressed - 0.12, hash01(seed, _BLINK + 5, key)))
    return closure


def _one_blink(since_s: float, slowness: float) -> float:
    # The lid stays down for 40 ms so that a 25 fps picture always catches it closed.
    return bump(since_s, 0.0, 0.035 + 0.012 * slowness, 0.075 + 0.012 * slowness, 0.045 + 0.018 * slowness)


def _glance(t_s: float, seed: int, idle: float, card: tuple[float, float]) -> tuple[float, float, float]:
    """Where a glance pulls the eyes (x, y in radians, in space) and how far the head has followed (0–1)."""
    slot = math.floor(t_s / _GLANCE_SLOT_S)
    kind = hash01(seed, _GLANCE, slot)
    if kind < 0.20:
        target, share = _COMMENTS, idle
    elif kind < 0.32:
        target, share = _COMMENTS, 1.0
    elif kind < 0.44:
        target, share = card, 1.0
    else:
        return 0.0, 0.0, 0.0
    start = slot * _GLANCE_SLOT_S + 0.1 + 2.2 * hash01(seed, _GLANCE + 1, slot)
    end = start + 0.55 + 0.75 * hash01(seed, _GLANCE + 2, slot)
    eyes = share * bump(t_s, start, 0.05, end, 0.06)
    return target[0] * eyes, target[1] * eyes, share * bump(t_s, start + 0.04, 0.38, end + 0.02, 0.5) * _sign(target[0])


def _sign(x: float) -> float:
    return 1.0 if x > 0 else -1.0


def _fixation(t_s: float, seed: int, axis: int) -> float:
    """Small steps between fixations, in [-1, 1]: the eyes never glide."""
    slot = math.floor(t_s / _FIXATION_SLOT_S)
    step = slot * _FIXATION_SLOT_S + 0.5 * hash01(seed, _FIXATION, slot)
    old = 2.0 * hash01(seed, _FIXATION + 1 + axis, slot - 1) - 1.0
    new = 2.0 * hash01(seed, _FIXATION + 1 + axis, slot) - 1.0
    return old + (new - old) * minimum_jerk((t_s - step) / 0.035)


def _beats(t_s: float, seed: int, emphasis_s: Sequence[float]) -> tuple[float, float, float, float]:
    """Nod, turn, tilt (radians) and brow raise of the stressed words around ``t_s``."""
    pitch = yaw = roll = brow = 0.0
    for stressed in emphasis_s:
        since = t_s - stressed
        if not -0.3 < since < 0.8:
            continue
        key = int(stressed * 1000)
        size = 0.55 + 0.45 * hash01(seed, _BEAT, key)
        down = bump(since, -0.14, 0.18, 0.05, 0.38)
        pitch += math.radians(3.2) * size * (down - 0.25 * bump(since, -0.28, 0.14, -0.13, 0.2))
        yaw += math.radians(1.4) * size * down * (2.0 * hash01(seed, _BEAT + 1, key) - 1.0)
        roll += math.radians(1.2) * size * down * (2.0 * hash01(seed, _BEAT + 2, key) - 1.0)
        brow += 0.24 * size * bump(since, -0.12, 0.14, 0.12, 0.3)
    return pitch, yaw, roll, brow


def _events(t_s: float, seed: int) -> tuple[float, float, float, float]:
    """Micro-expressions of 200–500 ms: brow flash, left and right lip corner, squint, as weights."""
    slot = math.floor(t_s / _EVENT_SLOT_S)
    kind = hash01(seed, _EVENT, slot)
    if kind > 0.62:
        return 0.0, 0.0, 0.0, 0.0
    start = slot * _EVENT_SLOT_S + 5.2 * hash01(seed, _EVENT + 1, slot)
    hold = 0.06 + 0.2 * hash01(seed, _EVENT + 2, slot)
    level = bump(t_s, start, 0.12, start + 0.12 + hold, 0.16) * (0.6 + 0.4 * hash01(seed, _EVENT + 3, slot))
    if kind < 0.22:
        return 0.16 * level, 0.0, 0.0, 0.0
    if kind < 0.34:
        return 0.0, 0.14 * level, 0.05 * level, 0.0
    if kind < 0.46:
        return 0.0, 0.05 * level, 0.14 * level, 0.0
    return 0.0, 0.0, 0.0, 0.16 * level


def breath_at(t_s: float, seed: int, speaking: float = 0.0) -> float:
    """Filling of the lungs, in [-1, 1]: about 14 breaths a minute, never quite regular, shallower between words."""
    phase = math.tau * t_s / 4.3 + 1.9 * drift(t_s, 11.0, seed, _DRIFT)
    # The second harmonic makes the breath go in faster than it goes out.
    return (math.sin(phase) + 0.22 * math.sin(2.0 * phase)) / 1.2 * (1.0 - 0.3 * speaking)


NOT_CARRIED = (0.0,) * 7


def pose_at(
    media_ms: float,
    seed: int,
    speaking: float = 0.0,
    emphasis_ms: Sequence[int] = (),
    energy: float = 0.0,
    carried: Sequence[float] = NOT_CARRIED,
    card: tuple[float, float] = CARD_GAZE,
) -> Pose:
    """The unprompted pose at a media time.

    Args:
        media_ms: media time in ms, any value.
        seed: of the session; another seed is another person's restlessness.
        speaking: 0 (idle) to 1 (speaking); must itself change smoothly.
        emphasis_ms: media times of stressed words; those far away do not matter.
        energy: arousal in [-1, 1]: scales drift and nods.
        carried: what a gesture takes along, order of :data:`gpu_engine.motion.gestures.BODY`: torso and head in degrees, the
            share of the gaze that is on the card.
        card: direction of the card from the eyes, radians to the host's left and up.
    """
    t = media_ms / 1000.0
    stressed = [e / 1000.0 for e in emphasis_ms if -800 < media_ms - e < 800]
    lively = (0.75 + 0.45 * speaking) * (1.0 + 0.35 * energy)
    breath = breath_at(t, seed, speaking)
    glance_x, glance_y, followed = _glance(t, seed, 1.0 - speaking, card)
    nod, turn, tilt, beat_brow = _beats(t, seed, stressed)
    flash, corner_left, corner_right, squint = _events(t, seed)

    sway = drift(t, 6.7, seed, _DRIFT + 10)
    lean = drift(t, 9.1, seed, _DRIFT + 11)
    twist = drift(t, 7.9, seed, _DRIFT + 12)
    torso = (
        math.radians(0.7 * lean * lively - 0.35 * breath + carried[0]),
        math.radians(2.2 * twist * lively + carried[1]),
        math.radians(0.9 * sway * lively + carried[2]),
    )
    pitch = math.radians(3.2) * wander(t, 1.9, seed, _DRIFT + 20) * lively + nod * (1.0 + 0.3 * energy)
    yaw = math.radians(6.5) * wander(t, 2.3, seed, _DRIFT + 22) * lively + turn + math.radians(3.2) * followed
    roll = math.radians(3.4) * wander(t, 2.9, seed, _DRIFT + 24) * lively + tilt - 0.5 * torso[2]
    pitch += math.radians(0.25 * breath + 1.5 * abs(followed) + carried[3])
    yaw += math.radians(carried[4])
    roll += math.radians(carried[5])
    head = (_soft(pitch), _soft(yaw), _soft(roll))

    # The eyes hold their point in space while head and torso move under them.
    look = carried[6]
    gaze_x = glance_x * (1.0 - look) + look * card[0] + math.radians(0.9) * _fixation(t, seed, 0) - head[1] - torso[1]
    gaze_y = glance_y * (1.0 - look) + look * card[1] + math.radians(0.6) * _fixation(t, seed, 1) + head[0] + torso[0]
    return Pose(
        blink=blink_at(t, seed, stressed),
        gaze=(gaze_x, gaze_y),
        head=head,
        torso=torso,
        shoulders=breath,
        brow_raise=beat_brow + flash,
        smile_left=corner_left,
        smile_right=corner_right,
        squint=squint,
    )


def _soft(angle: float) -> float:
    return HEAD_LIMIT * math.tanh(angle / HEAD_LIMIT)
