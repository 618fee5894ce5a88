"""Valence, arousal, dominance to face weights, and the eased way from one target to the next.

The map blends prototype expressions in FACS terms (joy AU6+12, interest AU1+2, concern AU1+4+15). Only brows, lids,
cheeks and lip corners are touched: the jaw belongs to speech.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.easing import quintic_out
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX
from gpu_engine.session.timeline import Emotion

MOUTH_WEIGHTS: tuple[str, ...] = ("mouthSmileLeft", "mouthSmileRight", "mouthFrown")
MOUTH_WHILE_SPEAKING = 0.4
"""What is left of the mouth's emotion while the lips are needed for speech."""

TRANSITION_MS = 450.0

_AT = WEIGHT_INDEX


def clamp_emotion(valence: float, arousal: float, dominance: float) -> tuple[float, float, float]:
    """What a selling host may show: never angry, never desperate. What is not a number is neutral."""
    valence, arousal, dominance = (x if math.isfinite(x) else 0.0 for x in (valence, arousal, dominance))
    return min(max(valence, -0.35), 1.0), min(max(arousal, -0.5), 1.0), min(max(dominance, -0.5), 1.0)


def face_weights(valence: float, arousal: float, dominance: float, out: NDArray[np.float32]) -> None:
    """Write the expression of a VAD point (each in [-1, 1]) into ``out`` (float32[32]); other entries become 0."""
    v, a, d = clamp_emotion(valence, arousal, dominance)
    joy = max(v, 0.0) * (0.7 + 0.3 * max(a, 0.0))
    concern = max(-v, 0.0)
    lively = max(a, 0.0)
    out[:] = 0.0
    smile = 0.15 * (1.0 - 2.5 * concern) + 0.44 * joy
    out[_AT["mouthSmileLeft"]] = out[_AT["mouthSmileRight"]] = max(smile, 0.0)
    out[_AT["mouthFrown"]] = 0.25 * concern
    out[_AT["cheekSquint"]] = 0.05 + 0.42 * joy
    out[_AT["eyeSquint"]] = 0.14 * joy + 0.06 * max(d, 0.0)
    out[_AT["eyeWide"]] = 0.14 * lively * (1.0 - 0.6 * joy)
    out[_AT["browInnerUp"]] = 0.16 * lively + 0.55 * concern + 0.10 * max(-d, 0.0)
    out[_AT["browOuterUpLeft"]] = out[_AT["browOuterUpRight"]] = 0.22 * lively + 0.06 * joy
    out[_AT["browDownLeft"]] = out[_AT["browDownRight"]] = 0.30 * concern + 0.05 * max(d, 0.0)


class EmotionEase:
    """Follows a moving VAD target: each new target starts an eased transition from where the face is then."""

    def __init__(self, start: Emotion, easing: Callable[[float], float] = quintic_out) -> None:
        """``easing`` may leave [0, 1] on its way: what it gives is clamped by :func:`clamp_emotion`."""
        self._easing = easing
        self._from = self._to = clamp_emotion(start.valence, start.arousal, start.dominance)
        self._since_ms = float("-inf")
        self._target = start

    def at(self, media_ms: float, target: Emotion) -> tuple[float, float, float]:
        """VAD at a media time while ``target`` holds. Times must not go back; after a gap the transition is simply over."""
        if target is not self._target and target != self._target:
            self._from = self._value(media_ms)
            self._to = clamp_emotion(target.valence, target.arousal, target.dominance)
            self._since_ms = media_ms
        self._target = target
        return self._value(media_ms)

    def _value(self, media_ms: float) -> tuple[float, float, float]:
        share = self._easing((media_ms - self._since_ms) / TRANSITION_MS)
        a, b = self._from, self._to
        return clamp_emotion(a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share)


def zero_weights() -> NDArray[np.float32]:
    """float32[32] of zeros, the buffer :func:`face_weights` writes to."""
    return np.zeros(WEIGHT_COUNT, dtype=np.float32)
