"""Faces in a picture: MediaPipe's short-range detector, run over overlapping windows so that small ones count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.inference.onnx import open_session

F32 = NDArray[np.float32]
FOLDER = Path(__file__).parent
SIDE = 128
SCORE = 0.55
OVERLAP = 0.3


@dataclass(frozen=True, slots=True)
class Detection:
    """A face as the detector sees it, in pixels of the picture.

    Attributes:
        box: x0, y0, x1, y1.
        eyes: float32[2, 2], the eye on the left of the picture first.
        score: 0 to 1.
    """

    box: tuple[float, float, float, float]
    eyes: F32
    score: float


@cache
def network(name: str) -> Any:
    """The session of a network in this folder, opened once per process. CPU alone: a few milliseconds are not worth a GPU.

    Raises:
        InferenceError: onnxruntime is missing or refuses the file.
    """
    return open_session(FOLDER / f"{name}.onnx", cpu_only=True)


def anchors() -> F32:
    """float32[896, 2]: anchor centres in 0..1, two a cell at stride 8, six a cell at stride 16 (SSD, fixed size)."""
    rows = []
    for cells, each in ((16, 2), (8, 6)):
        centre = (np.arange(cells, dtype=np.float32) + 0.5) / cells
        grid = np.stack(np.meshgrid(centre, centre), -1).reshape(-1, 2)
        rows.append(np.repeat(grid, each, axis=0))
    return np.concatenate(rows)


_ANCHORS = anchors()


def _window(image: NDArray[np.uint8], x0: float, y0: float, side: float) -> list[Detection]:
    scale = SIDE / side
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    height, width = image.shape[:2]
    left, top = max(0, int(x0)), max(0, int(y0))
    right, bottom = min(width, int(x0 + side)), min(height, int(y0 + side))
    if right - left < 8 or bottom - top < 8:
        return []
    ox, oy = (min(SIDE - 1, max(0, round(v * scale))) for v in (left - x0, top - y0))
    size = (min(SIDE - ox, max(1, round((right - left) * scale))), min(SIDE - oy, max(1, round((bottom - top) * scale))))
    small = cv2.resize(image[top:bottom, left:right], size, interpolation=how)
    canvas = np.zeros((SIDE, SIDE, 3), np.float32)
    canvas[oy : oy + size[1], ox : ox + size[0]] = small[..., ::-1].astype(np.float32) / 127.5 - 1
    boxes, scores = network("face_detector").run(("boxes", "scores"), {"image": canvas[None]})
    score = 1 / (1 + np.exp(-np.clip(scores[0, :, 0], -80, 80)))
    found = []
    for i in np.nonzero(score > SCORE)[0]:
        raw = boxes[0, i] / SIDE
        raw[[0, 1]] += _ANCHORS[i]
        points = raw[4:8].reshape(2, 2) + _ANCHORS[i]
        cx, cy, w, h = (float(v) * side for v in raw[:4])
        box = (x0 + cx - w / 2, y0 + cy - h / 2, x0 + cx + w / 2, y0 + cy + h / 2)
        found.append(Detection(box, (points * side + (x0, y0)).astype(np.float32), float(score[i])))
    return found


def overlap(a: Detection, b: Detection) -> float:
    """Intersection over union of two boxes, or 1 where one lies almost wholly inside the other."""
    w = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    h = min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])
    if w <= 0 or h <= 0:
        return 0.0
    area_a, area_b = ((q.box[2] - q.box[0]) * (q.box[3] - q.box[1]) for q in (a, b))
    inside = w * h / min(area_a, area_b)
    return 1.0 if inside > 0.8 else w * h / (area_a + area_b - w * h)


def detect_faces(image: NDArray[np.uint8]) -> list[Detection]:
    """Faces of a picture uint8[h, w, 3] BGR, largest first.

    The detector sees faces of about a tenth of its window and more: the picture is shown whole, then in windows of half and
    a quarter of its longer side. What overlaps by more than ``OVERLAP`` is one face, the surest of them.
    """
    height, width = image.shape[:2]
    long = max(height, width)
    found = _window(image, (width - long) / 2, (height - long) / 2, long)
    for share in (0.5, 0.25):
        side = long * share
        if side < 96:
            break
        nx, ny = (max(1, int(np.ceil((length - side) / (side * 0.5))) + 1) for length in (width, height))
        for x in np.linspace(0, width - side, nx) if width > side else [(width - side) / 2]:
            for y in np.linspace(0, height - side, ny) if height > side else [(height - side) / 2]:
                found += _window(image, float(x), float(y), side)
    kept: list[Detection] = []
    for one in sorted(found, key=lambda d: -d.score):
        if all(overlap(one, other) < OVERLAP for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda d: -(d.box[2] - d.box[0]))
