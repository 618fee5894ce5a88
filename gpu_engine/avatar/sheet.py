"""Contact sheets: a pack's host in the poses a person must look at before a pack ships."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import AvatarPack
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, MotionFrame, rest_frame

SMILE = {"mouthSmileLeft": 0.7, "mouthSmileRight": 0.7, "cheekSquint": 0.45}
BLINK = {"eyeBlinkLeft": 1.0, "eyeBlinkRight": 1.0}
SURPRISE = {"browInnerUp": 0.8, "browOuterUpLeft": 0.8, "browOuterUpRight": 0.8, "eyeWide": 0.6, "jawOpen": 0.22}
CONCERN = {"browInnerUp": 0.7, "browDownLeft": 0.35, "browDownRight": 0.35, "mouthFrown": 0.35, "mouthPress": 0.2}
GRIN = {"mouthSmileLeft": 0.25, "mouthSmileRight": 0.25}
VISEMES: dict[str, dict[str, float]] = {
    "sil": {},
    "PP": {"mouthPress": 0.40, "mouthRollLower": 0.30, "mouthRollUpper": 0.30},
    "FF": {"jawOpen": 0.06, "mouthRollLower": 0.55, "mouthUpperUp": 0.35},
    "TH": {"jawOpen": 0.20, "tongueOut": 0.55, "mouthUpperUp": 0.15},
    "DD": {"jawOpen": 0.14, "mouthUpperUp": 0.15, "mouthLowerDown": 0.25, "mouthStretch": 0.12},
    "kk": {"jawOpen": 0.18, "mouthUpperUp": 0.12, "mouthLowerDown": 0.15, "mouthStretch": 0.10},
    "CH": {"jawOpen": 0.12, "mouthFunnel": 0.55, "mouthUpperUp": 0.15, "mouthLowerDown": 0.20},
    "SS": {"jawOpen": 0.05, "mouthStretch": 0.30, "mouthUpperUp": 0.20, "mouthLowerDown": 0.35, **GRIN},
    "nn": {"jawOpen": 0.12, "mouthUpperUp": 0.15, "mouthLowerDown": 0.20},
    "RR": {"jawOpen": 0.14, "mouthFunnel": 0.35, "mouthPucker": 0.20},
    "aa": {"jawOpen": 0.42, "mouthLowerDown": 0.18, "mouthUpperUp": 0.18},
    "E": {"jawOpen": 0.22, "mouthStretch": 0.30, "mouthUpperUp": 0.25, "mouthLowerDown": 0.30, **GRIN},
    "ih": {"jawOpen": 0.12, "mouthStretch": 0.35, "mouthUpperUp": 0.20, "mouthLowerDown": 0.22, **GRIN},
    "oh": {"jawOpen": 0.30, "mouthFunnel": 0.60, "mouthPucker": 0.20},
    "ou": {"jawOpen": 0.12, "mouthPucker": 0.75, "mouthFunnel": 0.30},
}  # fmt: skip
"""The fifteen visemes of OVR LipSync as mouth shapes to judge by eye, by name."""

Turns = dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Pose:
    """A tile: weights, head turn (yaw, pitch, roll) and further joints as rotation vectors, degrees."""

    label: str
    weights: dict[str, float] = field(default_factory=dict)
    head: tuple[float, float, float] = (0.0, 0.0, 0.0)
    joints: Turns = field(default_factory=dict)


PRESENT: Turns = {"right_shoulder": (-28, 0, -32), "right_elbow": (-80, 25, 0), "right_wrist": (0, -35, 0)}
GREET: Turns = {"left_shoulder": (-35, 0, 25), "left_elbow": (-105, -20, 0), "left_wrist": (0, 0, 10)}
BEAT: Turns = {
    "left_shoulder": (-22, 0, 8), "left_elbow": (-70, -15, 0), "right_shoulder": (-22, 0, -8), "right_elbow": (-70, 15, 0)
}  # fmt: skip
SHRUG: Turns = {"left_collar": (0, 0, 12), "right_collar": (0, 0, -12), "head": (0, 0, 6)}

POSES: list[Pose] = [
    Pose("neutral"), Pose("smile", SMILE), Pose("surprise", SURPRISE), Pose("concern", CONCERN), Pose("blink", BLINK),
    Pose("gaze left", {"eyeLookLeft": 0.8}), Pose("gaze right", {"eyeLookRight": 0.8}),
    Pose("gaze up", {"eyeLookUp": 0.8}), Pose("gaze down", {"eyeLookDown": 0.8}),
    Pose("smile + open", {**SMILE, "jawOpen": 0.25, "mouthUpperUp": 0.3}),
    *(Pose(name, weights) for name, weights in VISEMES.items()),
    Pose("yaw +15", head=(15, 0, 0)), Pose("yaw -15", head=(-15, 0, 0)), Pose("pitch +8", head=(0, 8, 0)),
    Pose("pitch -8", head=(0, -8, 0)), Pose("roll +6", head=(0, 0, 6)),
    Pose("yaw 15 pitch 8", head=(15, 8, 0)), Pose("yaw -15 pitch -8", head=(-15, -8, 0)),
    Pose("talk aa, yaw 8", {**VISEMES["aa"], "mouthSmileLeft": 0.2, "mouthSmileRight": 0.2}, (8, -2, 2)),
    Pose("talk ih, nod", {**VISEMES["ih"], "browInnerUp": 0.3}, (-4, 4, -2)),
    Pose("talk oh, yaw -8", {**VISEMES["oh"], "browOuterUpLeft": 0.3}, (-8, 2, 3)),
]  # fmt: skip
"""Head and shoulders, one tile each."""

GESTURES: list[Pose] = [
    Pose("rest"), Pose("present", SMILE, (-6, 2, 0), PRESENT), Pose("greet", SMILE, (4, 0, 3), GREET),
    Pose("beat", VISEMES["aa"], (0, 2, 0), BEAT), Pose("shrug", CONCERN, (0, 0, 0), SHRUG),
]  # fmt: skip
"""The whole frame, one tile each."""


def pose_frame(
    weights: dict[str, float], yaw_pitch_roll_deg: tuple[float, float, float] = (0, 0, 0), joints: Turns | None = None
) -> MotionFrame:
    """A frame with named weights and the head turned: yaw to the host's left, pitch down, roll to the host's right ear up;
    ``joints`` adds rotation vectors in degrees by joint name."""
    frame = rest_frame()
    for name, value in weights.items():
        frame.weights[WEIGHT_INDEX[name]] = value
    yaw, pitch, roll = (np.radians(a) / 2 for a in yaw_pitch_roll_deg)
    qy = np.array([0, np.sin(yaw), 0, np.cos(yaw)])
    qx = np.array([np.sin(pitch), 0, 0, np.cos(pitch)])
    qz = np.array([0, 0, np.sin(roll), np.cos(roll)])
    frame.joints[JOINT_INDEX["head"]] = _product(_product(qy, qx), qz)
    for name, turn in (joints or {}).items():
        angle = np.radians(np.linalg.norm(turn))
        axis = np.array(turn) / max(float(np.linalg.norm(turn)), 1e-9)
        frame.joints[JOINT_INDEX[name]] = [*(axis * np.sin(angle / 2)), np.cos(angle / 2)]
    return frame


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    av, aw, bv, bw = a[:3], a[3], b[:3], b[3]
    return np.array([*(aw * bv + bw * av + np.cross(av, bv)), aw * bw - av @ bv])


def studio(width: int, height: int) -> NDArray[np.uint8]:
    """A plain light backdrop, uint8[height, width, 3] BGR."""
    y, x = np.mgrid[0:height, 0:width]
    shade = 1.0 - 0.10 * ((x / width - 0.4) ** 2 + (y / height - 0.4) ** 2)
    return np.asarray(shade[..., None] * np.array([214, 220, 226]), np.uint8)


def _grid(tiles: list[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    while len(tiles) % columns:
        tiles.append(np.full_like(tiles[0], 255))
    rows = [np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    return np.ascontiguousarray(np.vstack(rows))


def _tile(image: NDArray[np.uint8], label: str, size: tuple[int, int]) -> NDArray[np.uint8]:
    cell: NDArray[Any] = (
        image if (image.shape[1], image.shape[0]) == size else cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    )
    cell = np.ascontiguousarray(cell)
    cv2.putText(cell, label, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (30, 30, 30), 1, cv2.LINE_AA)
    return cell


def contact_sheet(pack: AvatarPack, height: int = 720, columns: int = 5, tile: int = 300) -> NDArray[np.uint8]:
    """uint8[h, w, 3] BGR: one labelled tile per pose of ``POSES``, head and shoulders, drawn at ``height`` lines; below them
    ``GESTURES`` as whole frames."""
    renderer = CpuRenderer(pack, height * 16 // 9 // 2 * 2, height)
    centre = int(renderer.width * pack.framings["16:9"].centre_x)
    half, top = int(0.30 * height), int(0.04 * height)
    background = studio(renderer.width, height)
    tiles, wide = [], []
    for pose in (*POSES, *GESTURES):
        canvas = background.copy()
        renderer.render(pose_frame(pose.weights, pose.head, pose.joints), canvas)
        if pose in GESTURES:
            frame = canvas[:, max(0, centre - height // 2) : max(0, centre - height // 2) + height]
            wide.append(_tile(np.ascontiguousarray(frame), pose.label, (tile, tile)))
        else:
            tiles.append(_tile(canvas[top : top + 2 * half, centre - half : centre + half], pose.label, (tile, tile)))
    return np.ascontiguousarray(np.vstack([_grid(tiles, columns), _grid(wide, columns)]))


def crops(pack: AvatarPack, height: int, poses: tuple[str, ...] = ("neutral", "aa", "yaw +15", "yaw -15")) -> NDArray[np.uint8]:
    """uint8[h, w, 3] BGR: the face in some poses at ``height`` lines, pixel for pixel."""
    renderer = CpuRenderer(pack, height * 16 // 9 // 2 * 2, height)
    centre, half = int(renderer.width * pack.framings["16:9"].centre_x), int(0.27 * height)
    background = studio(renderer.width, height)
    tiles = []
    for pose in POSES:
        if pose.label in poses:
            canvas = background.copy()
            renderer.render(pose_frame(pose.weights, pose.head), canvas)
            crop = canvas[int(0.05 * height) : int(0.05 * height) + 2 * half, centre - half : centre + half]
            tiles.append(_tile(np.ascontiguousarray(crop), f"{pose.label} {height}p", (2 * half, 2 * half)))
    return _grid(tiles, len(tiles))
