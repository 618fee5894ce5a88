"""468 points of a face and its two irises, in pixels of the picture."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.detector import Detection, network

F32 = NDArray[np.float32]
SIDE = 192
"""Input of the landmark network, pixels."""
IRIS_SIDE = 64

OVAL = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148, 176, 149, 150, 136,
    172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)  # fmt: skip
"""Outline of the face, clockwise in the picture from the top of the forehead."""
LIPS_OUTER = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
LIPS_INNER = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95)
EYE_RIGHT = (33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7)
EYE_LEFT = (263, 466, 388, 387, 386, 385, 384, 398, 362, 382, 381, 380, 374, 373, 390, 249)
"""Eye outlines from the outer corner over the upper lid to the inner corner and back. Right is the person's right."""
BROW_RIGHT = (46, 53, 52, 65, 55, 70, 63, 105, 66, 107)
BROW_LEFT = (276, 283, 282, 295, 285, 300, 293, 334, 296, 336)


@dataclass(frozen=True, slots=True)
class Iris:
    """An iris in pixels of the picture."""

    centre: tuple[float, float]
    radius: float


@dataclass(frozen=True, slots=True)
class Face:
    """One face.

    Attributes:
        points: float32[468, 3], x and y in pixels of the picture, z in the same unit, towards the viewer negative.
        presence: 0 to 1, how sure the network is that it looks at a face.
        spread: mean distance in pixels between the points of slightly different crops: large where the face is hidden.
        irises: the person's right, then left.
    """

    points: F32
    presence: float
    spread: float
    irises: tuple[Iris, Iris]

    @property
    def eye_distance(self) -> float:
        """Pixels between the middles of the eyes."""
        right, left = (self.points[list(e), :2].mean(0) for e in (EYE_RIGHT, EYE_LEFT))
        return float(np.linalg.norm(right - left))


def crop_matrix(centre: F32, side: float, angle: float, out: int) -> F32:
    """float32[2, 3] from picture to a square crop of ``out`` px turned by ``angle`` radians."""
    c, s = np.cos(angle) * out / side, np.sin(angle) * out / side
    turn = np.array([[c, s], [-s, c]], np.float32)
    return np.concatenate([turn, (out / 2 - turn @ centre)[:, None]], 1).astype(np.float32)


def _points(image: NDArray[np.uint8], centre: F32, side: float, angle: float) -> tuple[F32, float]:
    matrix = crop_matrix(centre, side, angle, SIDE)
    # warpAffine has no area filter: a large face is halved first until the crop samples it closely.
    source: NDArray[np.uint8] = image
    step = side / SIDE
    while step > 2:
        source = np.asarray(cv2.resize(source, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)
        step /= 2
    ratio = image.shape[1] / source.shape[1]
    shrunk = matrix.copy()
    shrunk[:, :2] *= ratio
    shrunk[:, 2] += matrix[:, :2] @ np.full(2, (ratio - 1) / 2, np.float32)
    crop = cv2.warpAffine(source, shrunk, (SIDE, SIDE))
    raw, presence = network("face_landmarks").run(
        ("points", "presence"), {"image": crop[None, ..., ::-1].astype(np.float32) / 255}
    )
    local = raw.reshape(468, 3)
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    points = np.empty((468, 3), np.float32)
    points[:, :2] = local[:, :2] @ back[:, :2].T + back[:, 2]
    points[:, 2] = local[:, 2] * side / SIDE
    return points, float(1 / (1 + np.exp(-np.clip(raw_value(presence), -80, 80))))


def raw_value(array: F32) -> float:
    """The one number of a network's output."""
    return float(array.reshape(-1)[0])


def _region(points: F32) -> tuple[F32, float, float]:
    xy = points[:, :2]
    across = xy[263] - xy[33]
    angle = float(np.arctan2(across[1], across[0]))
    c, s = np.cos(angle), np.sin(angle)
    local = xy @ np.array([[c, -s], [s, c]], np.float32)
    low, high = local.min(0), local.max(0)
    middle = np.array([[c, -s], [s, c]], np.float32) @ ((low + high) / 2)
    return middle.astype(np.float32), float((high - low).max()) * 1.5, angle


def _iris(image: NDArray[np.uint8], points: F32, corners: tuple[int, int], mirrored: bool) -> Iris:
    a, b = points[corners[0], :2], points[corners[1], :2]
    side = float(np.linalg.norm(b - a)) * 2.3
    angle = float(np.arctan2(*(b - a)[::-1]))
    matrix = crop_matrix(((a + b) / 2).astype(np.float32), side, angle, IRIS_SIDE)
    crop = cv2.warpAffine(image, matrix, (IRIS_SIDE, IRIS_SIDE))
    if mirrored:
        crop = crop[:, ::-1]
    (raw,) = network("iris").run(("iris",), {"image": crop[None, ..., ::-1].astype(np.float32) / 255})
    local = raw.reshape(5, 3)[:, :2].astype(np.float64)
    if mirrored:
        local[:, 0] = IRIS_SIDE - local[:, 0]
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    ring = local @ back[:, :2].T + back[:, 2]
    radius = float(np.linalg.norm(ring[1:] - ring[0], axis=1).mean())
    return Iris((float(ring[0, 0]), float(ring[0, 1])), radius)


def find_points(image: NDArray[np.uint8], detection: Detection) -> Face:
    """The points of one detected face of a picture uint8[h, w, 3] BGR.

    The crop is placed from the detector's eyes, then from the points themselves; the answer is the mean of five crops that
    differ a little in size, angle and place, which takes most of the jitter out (0.3 % of the eye distance left).
    """
    x0, y0, x1, y1 = detection.box
    across = detection.eyes[1] - detection.eyes[0]
    centre = np.array([(x0 + x1) / 2, (y0 + y1) / 2], np.float32)
    points, _ = _points(image, centre, max(x1 - x0, y1 - y0) * 1.5, float(np.arctan2(across[1], across[0])))
    points, _ = _points(image, *_region(points))
    middle, side, angle = _region(points)
    tries, sure = [], []
    for dx, dy, zoom, turn in (
        (0, 0, 1, 0),
        (0.02, 0.01, 1.06, 0.03),
        (-0.02, 0.01, 1.06, -0.03),
        (0.01, -0.02, 0.95, -0.02),
        (-0.01, -0.02, 0.95, 0.02),
    ):
        moved = middle + np.array([dx, dy], np.float32) * side
        found, presence = _points(image, moved, side * zoom, angle + turn)
        tries.append(found)
        sure.append(presence)
    stack = np.stack(tries)
    mean = stack.mean(0)
    spread = float(np.linalg.norm((stack - mean)[..., :2], axis=2).mean())
    irises = (_iris(image, mean, (33, 133), True), _iris(image, mean, (362, 263), False))
    return Face(mean.astype(np.float32), float(np.mean(sure)), spread, irises)
