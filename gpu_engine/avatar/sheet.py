"""Contact sheets: a pack's host in the poses a person must look at before a pack ships."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import AvatarPack
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, MotionFrame, rest_frame

SMILE = {"mouthSmileLeft": 0.7, "mouthSmileRight": 0.7, "cheekSquint": 0.45}
BLINK = {"eyeBlinkLeft": 1.0, "eyeBlinkRight": 1.0}
GRIN = {"mouthSmileLeft": 0.25, "mouthSmileRight": 0.25}
VISEMES: dict[str, dict[str, float]] = {
    "aa": {"jawOpen": 0.42, "mouthLowerDown": 0.18, "mouthUpperUp": 0.18},
    "E": {"jawOpen": 0.22, "mouthStretch": 0.30, "mouthUpperUp": 0.25, "mouthLowerDown": 0.30, **GRIN},
    "ih": {"jawOpen": 0.12, "mouthStretch": 0.35, "mouthUpperUp": 0.20, "mouthLowerDown": 0.22, **GRIN},
    "oh": {"jawOpen": 0.30, "mouthFunnel": 0.60, "mouthPucker": 0.20},
    "ou": {"jawOpen": 0.12, "mouthPucker": 0.75, "mouthFunnel": 0.30},
    "PP": {"mouthPress": 0.40, "mouthRollLower": 0.30, "mouthRollUpper": 0.30},
    "FF": {"jawOpen": 0.06, "mouthRollLower": 0.55, "mouthUpperUp": 0.35},
    "SS": {"jawOpen": 0.05, "mouthStretch": 0.30, "mouthUpperUp": 0.20, "mouthLowerDown": 0.35, **GRIN},
    "TH": {"jawOpen": 0.20, "tongueOut": 0.55, "mouthUpperUp": 0.15},
    "CH": {"jawOpen": 0.12, "mouthFunnel": 0.55, "mouthUpperUp": 0.15, "mouthLowerDown": 0.20},
}  # fmt: skip
"""Mouth shapes to judge by eye, by viseme name."""

POSES: list[tuple[str, dict[str, float], tuple[float, float, float]]] = [
    ("neutral", {}, (0, 0, 0)),
    ("jawOpen .4", {"jawOpen": 0.4}, (0, 0, 0)),
    ("smile", SMILE, (0, 0, 0)),
    ("smile + open", {**SMILE, "jawOpen": 0.25, "mouthUpperUp": 0.3}, (0, 0, 0)),
    ("blink", BLINK, (0, 0, 0)),
    ("gaze left", {"eyeLookLeft": 0.8}, (0, 0, 0)),
    ("gaze right", {"eyeLookRight": 0.8}, (0, 0, 0)),
    ("gaze up", {"eyeLookUp": 0.8}, (0, 0, 0)),
    ("gaze down", {"eyeLookDown": 0.8}, (0, 0, 0)),
    ("yaw +8", {}, (8, 0, 0)),
    ("yaw -8", {}, (-8, 0, 0)),
    ("pitch +5", {}, (0, 5, 0)),
    ("pitch -5", {}, (0, -5, 0)),
    ("roll +5", {}, (0, 0, 5)),
    ("brows up", {"browInnerUp": 0.7, "browOuterUpLeft": 0.7, "browOuterUpRight": 0.7, "eyeWide": 0.4}, (0, 0, 0)),
    ("brows down", {"browDownLeft": 0.7, "browDownRight": 0.7, "eyeSquint": 0.4}, (0, 0, 0)),
    *((name, weights, (0.0, 0.0, 0.0)) for name, weights in VISEMES.items()),
    ("talk aa, yaw 5", {**VISEMES["aa"], "mouthSmileLeft": 0.2, "mouthSmileRight": 0.2}, (5, -2, 2)),
    ("talk ih, nod", {**VISEMES["ih"], "browInnerUp": 0.3}, (-4, 4, -2)),
]


def pose_frame(weights: dict[str, float], yaw_pitch_roll_deg: tuple[float, float, float] = (0, 0, 0)) -> MotionFrame:
    """A frame with named weights and the head turned: yaw to the host's left, pitch down, roll to the host's right ear up."""
    frame = rest_frame()
    for name, value in weights.items():
        frame.weights[WEIGHT_INDEX[name]] = value
    yaw, pitch, roll = (np.radians(a) / 2 for a in yaw_pitch_roll_deg)
    qy = np.array([0, np.sin(yaw), 0, np.cos(yaw)])
    qx = np.array([np.sin(pitch), 0, 0, np.cos(pitch)])
    qz = np.array([0, 0, np.sin(roll), np.cos(roll)])
    frame.joints[JOINT_INDEX["head"]] = _product(_product(qy, qx), qz)
    return frame


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    av, aw, bv, bw = a[:3], a[3], b[:3], b[3]
    return np.array([*(aw * bv + bw * av + np.cross(av, bv)), aw * bw - av @ bv])


def contact_sheet(pack: AvatarPack, height: int = 720, columns: int = 5, tile: int = 300) -> NDArray[np.uint8]:
    """uint8[h, w, 3] BGR: one labelled tile per pose, cropped to head and shoulders, drawn at ``height`` lines."""
    renderer = CpuRenderer(pack, height * 16 // 9 // 2 * 2, height)
    centre = int(renderer.width * pack.framings["16:9"].centre_x)
    half = int(0.30 * height)
    y, x = np.mgrid[0:height, 0 : renderer.width]
    shade = 1.0 - 0.10 * ((x / renderer.width - 0.4) ** 2 + (y / height - 0.4) ** 2)
    background = (shade[..., None] * np.array([214, 220, 226])).astype(np.uint8)
    tiles = []
    for label, weights, turn in POSES:
        canvas = background.copy()
        renderer.render(pose_frame(weights, turn), canvas)
        crop = canvas[int(0.04 * height) : int(0.04 * height) + 2 * half, centre - half : centre + half]
        cell = cv2.resize(crop, (tile, tile), interpolation=cv2.INTER_AREA)
        cv2.putText(cell, label, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (30, 30, 30), 1, cv2.LINE_AA)
        tiles.append(cell)
    while len(tiles) % columns:
        tiles.append(np.full((tile, tile, 3), 255, np.uint8))
    rows = [np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    return np.ascontiguousarray(np.vstack(rows))
