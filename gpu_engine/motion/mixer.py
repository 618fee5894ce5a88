"""Joins lips, emotion and pose into the one frame of motion the avatar is drawn with.

Lips and cues come from the clip, everything else from media time; the mixer only keeps what continuity needs: the last
mouth, the speaking level, the running emotion transition and the gestures that have begun.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.arms import arm_quaternions
from gpu_engine.motion.choreography import Choreographer
from gpu_engine.motion.easing import EASINGS
from gpu_engine.motion.emotion import MOUTH_WEIGHTS, MOUTH_WHILE_SPEAKING, EmotionEase, face_weights, zero_weights
from gpu_engine.motion.gestures import LEFT, RIGHT, Carriage, carriage_at
from gpu_engine.motion.pose import CARD_GAZE, CARD_GAZE_TALL, EYE_FULL, Pose, pose_at
from gpu_engine.motion.vocabulary import JOINT_INDEX, LIP_WEIGHTS, WEIGHT_INDEX, MotionFrame, rest_frame
from gpu_engine.session.timeline import LIP_RATE_HZ, Emotion, Gesture

LIP_SPEED_PER_MS = 0.014
"""Fastest change of a lip weight: lets a clip that starts or is cut mid-word move the mouth within two frames, not in one."""
REST_MS = 100.0
SPEAKING_EASE_MS = 180.0

_AT = WEIGHT_INDEX
_LIPS = np.array([WEIGHT_INDEX[name] for name in LIP_WEIGHTS], dtype=np.intp)
_MOUTH = np.array([WEIGHT_INDEX[name] for name in MOUTH_WEIGHTS], dtype=np.intp)
_TORSO_SHARE = (("spine1", 0.35), ("spine2", 0.35), ("spine3", 0.30))
_HEAD_SHARE = (("neck", 0.38), ("head", 0.62))
_ARM_JOINTS = tuple(
    (side, tuple(JOINT_INDEX[f"{name}_{joint}"] for joint in ("collar", "shoulder", "elbow", "wrist")))
    for side, name in ((LEFT, "left"), (RIGHT, "right"))
)
BREATH_COLLAR_DEG = 0.9


def interpolate_lips(rows: NDArray[np.uint8], offset_ms: float, out: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights at ``offset_ms`` from the first of ``rows`` (uint8[n, 32] at 50 a second), linear between rows.

    Before the first row and after the last the nearest row holds; with no rows ``out`` is zeroed. Returns ``out``
    (float32[32]).
    """
    count = len(rows)
    if count == 0:
        out[:] = 0.0
        return out
    position = min(max(offset_ms * (LIP_RATE_HZ / 1000.0), 0.0), count - 1.0)
    low = int(position)
    high = min(low + 1, count - 1)
    share = position - low
    np.multiply(rows[low], (1.0 - share) / 255.0, out=out, casting="unsafe")
    out += rows[high] * np.float32(share / 255.0)
    return out


class Mixer:
    """One per session. The frame it returns is its own buffer, valid until the next call."""

    def __init__(self, seed: int, easing: str = "quintic_out", *, tall: bool = False) -> None:
        """``easing``: key of :data:`gpu_engine.motion.easing.EASINGS` for the way between emotions. ``tall``: the picture is
        higher than wide, its product card below the face.

        Raises:
            ValueError: there is no such easing.
        """
        if easing not in EASINGS:
            raise ValueError(f"easing '{easing}': choose {', '.join(EASINGS)}")
        self._easing = EASINGS[easing]
        self._seed = seed
        self._tall = tall
        self._card = CARD_GAZE_TALL if tall else CARD_GAZE
        self._hands = Choreographer(seed, tall=tall)
        self._frame = rest_frame()
        self._face = zero_weights()
        self._lips = np.zeros(len(_LIPS), dtype=np.float32)
        self._goal = np.zeros(len(_LIPS), dtype=np.float32)
        self._emotion = EmotionEase(Emotion(), self._easing)
        self._release_ms = REST_MS
        self._speaking = 0.0
        self._last_ms: float | None = None

    def mix(
        self,
        media_ms: float,
        lips: NDArray[np.float32] | None,
        emotion: Emotion,
        emphasis_ms: Sequence[int] = (),
        speaking: bool = False,
        gesture: Sequence[Gesture] = (),
    ) -> MotionFrame:
        """The host at one media time; call in order of time.

        Args:
            media_ms: media time in ms. A step back or over a second starts afresh.
            lips: float32[32] of the playing clip at this instant (see :func:`interpolate_lips`), or ``None`` when no clip
                plays: the mouth then comes to rest within 100 ms.
            emotion: target while the clip plays.
            emphasis_ms: media times of stressed words, past and near future.
            speaking: sound is coming out.
            gesture: gestures asked for, ``at_ms`` in media time, past and near future.

        Returns:
            The frame, all weights in [0, 1], all quaternions of length 1.
        """
        step_ms = 0.0 if self._last_ms is None else media_ms - self._last_ms
        if self._last_ms is None or step_ms < 0 or step_ms > 1000:
            step_ms = 1000.0
            self._emotion = EmotionEase(emotion, self._easing)
            self._hands = Choreographer(self._seed, tall=self._tall)
        self._last_ms = media_ms
        goal = 1.0 if speaking else 0.0
        self._speaking += (goal - self._speaking) * (1.0 - math.exp(-step_ms / SPEAKING_EASE_MS))
        vad = self._emotion.at(media_ms, emotion)
        self._hands.at(media_ms, emphasis_ms, gesture, vad[1])
        carriage = carriage_at(media_ms / 1000.0, self._seed, self._hands.phrases, vad[1])
        carried = carriage.body.tolist()
        pose = pose_at(media_ms, self._seed, self._speaking, self._hands.stresses_ms, vad[1], carried, self._card)
        face_weights(*vad, out=self._face)
        self._move_lips(lips, step_ms)
        self._write_weights(pose)
        self._write_joints(pose, carriage)
        return self._frame

    def _move_lips(self, lips: NDArray[np.float32] | None, step_ms: float) -> None:
        if lips is None:
            self._lips *= max(0.0, 1.0 - step_ms / self._release_ms) if self._release_ms > 0 else 0.0
            self._release_ms -= step_ms
            return
        self._release_ms = REST_MS
        np.take(lips, _LIPS, out=self._goal)
        np.clip(np.nan_to_num(self._goal, copy=False, nan=0.0), 0.0, 1.0, out=self._goal)
        np.subtract(self._goal, self._lips, out=self._goal)
        limit = LIP_SPEED_PER_MS * step_ms
        np.clip(self._goal, -limit, limit, out=self._goal)
        self._lips += self._goal

    def _write_weights(self, pose: Pose) -> None:
        w = self._frame.weights
        w[:] = self._face
        w[_AT["mouthSmileLeft"]] += pose.smile_left
        w[_AT["mouthSmileRight"]] += pose.smile_right
        rounded = float(self._lips[LIP_WEIGHTS.index("mouthPucker")] + self._lips[LIP_WEIGHTS.index("mouthFunnel")])
        yielding = 1.0 - (1.0 - MOUTH_WHILE_SPEAKING) * self._speaking
        w[_MOUTH] *= yielding * max(0.2, 1.0 - 0.8 * rounded)
        w[_LIPS] = self._lips
        for name in ("browOuterUpLeft", "browOuterUpRight"):
            w[_AT[name]] += pose.brow_raise
        w[_AT["browInnerUp"]] += 0.6 * pose.brow_raise
        w[_AT["eyeSquint"]] += pose.squint
        w[_AT["eyeBlinkLeft"]] = w[_AT["eyeBlinkRight"]] = pose.blink
        w[_AT["eyeWide"]] *= 1.0 - pose.blink
        x, y = pose.gaze[0] / EYE_FULL, pose.gaze[1] / EYE_FULL
        w[_AT["eyeLookLeft"]], w[_AT["eyeLookRight"]] = max(x, 0.0), max(-x, 0.0)
        w[_AT["eyeLookUp"]], w[_AT["eyeLookDown"]] = max(y, 0.0), max(-y, 0.0)
        np.clip(w, 0.0, 1.0, out=w)

    def _write_joints(self, pose: Pose, carriage: Carriage) -> None:
        joints = self._frame.joints
        for name, share in _TORSO_SHARE:
            joints[JOINT_INDEX[name]] = quaternion(*(share * a for a in pose.torso))
        for name, share in _HEAD_SHARE:
            joints[JOINT_INDEX[name]] = quaternion(*(share * a for a in pose.head))
        lift = BREATH_COLLAR_DEG * pose.shoulders
        for side, places in _ARM_JOINTS:
            angles = carriage.arms[side].tolist()
            angles[0] += lift
            for place, turned in zip(places, arm_quaternions(angles, left=side == LEFT), strict=True):
                joints[place] = turned


def quaternion(pitch: float, yaw: float, roll: float) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w) of roll about z, then pitch about x, then yaw about y; radians."""
    cx, sx = math.cos(pitch / 2), math.sin(pitch / 2)
    cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
    cz, sz = math.cos(roll / 2), math.sin(roll / 2)
    return (
        sx * cy * cz + cx * sy * sz,
        cx * sy * cz - sx * cy * sz,
        cx * cy * sz - sx * sy * cz,
        cx * cy * cz + sx * sy * sz,
    )
