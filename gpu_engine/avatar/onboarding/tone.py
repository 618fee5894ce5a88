"""Gently evens out a photograph's light before it becomes a host: colour cast, exposure, shine. Half measures on purpose: the
person must stay who they are."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, LIPS_OUTER, OVAL, Face
from gpu_engine.avatar.onboarding.quality import light, skin_cast
from gpu_engine.avatar.onboarding.texture import polygon

CAST_SHARE, CAST_LIMIT = 0.7, 14.0
"""How much of a cast is taken out, and the largest correction in Lab units."""
LEVELS = (70.0, 205.0)
"""Skin darker or brighter than this is moved half of the way back. Dark skin in good light measures 75 and more: it stays."""
SHINE_PERCENTILE, SHINE_KEPT = 96.0, 0.55


def even_light(image: NDArray[np.uint8], face: Face) -> NDArray[np.uint8]:
    """The photograph uint8[h, w, 3] BGR with skin moved towards human colour and usual brightness, highlights softened.

    A picture that is within limits on all three comes back with its highlights softened alone.
    """
    out = image
    measures = light(out, face)
    cast = skin_cast(out, face)
    strength = float(np.hypot(*cast))
    if strength > 1:
        shift = np.array(cast) * CAST_SHARE * min(1.0, CAST_LIMIT / (strength * CAST_SHARE))
        lab = cv2.cvtColor(out, cv2.COLOR_BGR2LAB).astype(np.float32)
        lab[..., 1:] -= shift
        out = np.asarray(cv2.cvtColor(np.clip(lab, 0, 255).astype(np.uint8), cv2.COLOR_LAB2BGR), np.uint8)
    level = float(np.clip(measures["dark"], 8, 247))
    wanted = float(np.clip(level, *LEVELS))
    if abs(wanted - level) > 1:
        gamma = 0.5 + 0.5 * float(np.log(wanted / 255) / np.log(level / 255))
        table = np.clip(255 * (np.arange(256) / 255) ** gamma, 0, 255).astype(np.uint8)
        out = np.asarray(cv2.LUT(out, table), np.uint8)
    return _without_shine(out, face)


def _without_shine(image: NDArray[np.uint8], face: Face) -> NDArray[np.uint8]:
    """Highlights of the skin pressed towards the brightness just below them; eyes and lips keep theirs."""
    points = face.points[:, :2]
    skin = polygon(image.shape, points[list(OVAL)])
    for outline in (EYE_RIGHT, EYE_LEFT, LIPS_OUTER):
        skin[polygon(image.shape, points[list(outline)]) > 0] = 0
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)
    inside = grey[skin > 127]
    if len(inside) < 50:
        return image
    knee = max(float(np.percentile(inside, SHINE_PERCENTILE)), 150.0)
    pressed = np.minimum(grey, knee + (grey - knee) * SHINE_KEPT) / np.maximum(grey, 1)
    soft = cv2.GaussianBlur(skin.astype(np.float32) / 255, (0, 0), max(1.0, 0.04 * face.eye_distance))
    gain = 1 - (1 - np.where(grey > knee, pressed, 1.0)) * soft
    return np.asarray(np.clip(image * gain[..., None] + 0.5, 0, 255), np.uint8)
