"""The converted networks find what MediaPipe's find, at sizes from a tenth of the picture to all of it."""

from __future__ import annotations

import hashlib
import re

import cv2
import numpy as np
import pytest

from gpu_engine.avatar.landmarks.detector import FOLDER, anchors, detect_faces
from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, find_points
from tests.onboarding.pictures import CROP, found, portrait, presenter, smiling

pytestmark = pytest.mark.unit


def test_every_network_is_the_one_its_card_names() -> None:
    card = (FOLDER / "README.md").read_text("utf-8")
    files = sorted(FOLDER.glob("*.onnx"))
    assert [f.name for f in files] == ["face_detector.onnx", "face_landmarks.onnx", "iris.onnx", "person.onnx"]
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in re.findall(r"[0-9a-f]{64}", card)


def test_anchors_are_the_short_range_models() -> None:
    table = anchors()
    assert table.shape == (896, 2)
    assert table[0].tolist() == table[1].tolist() == [1 / 32, 1 / 32]
    assert table[512].tolist() == table[517].tolist() == [1 / 16, 1 / 16]


def test_known_points_of_a_known_face() -> None:
    # Where the renderer put the pupils; the tip of the nose by hand.
    face = found(smiling())
    for iris, xy in zip(face.irises, [(193.0, 152.0), (239.0, 152.5)], strict=True):
        assert np.hypot(iris.centre[0] - xy[0], iris.centre[1] - xy[1]) < 1.5
    assert face.presence > 0.99
    assert np.hypot(*(face.points[1, :2] - (216, 183))) < 5


def test_points_land_where_the_renderer_drew_them() -> None:
    face, renderer = found(portrait()), presenter()
    for side, outline in (("l", EYE_LEFT), ("r", EYE_RIGHT)):
        centre, radius = renderer.pack.eye(side)
        focal = renderer.lens[0] / (renderer.lens[3] - centre[2] - radius)
        drawn = np.array(
            [
                renderer.lens[4] + (centre[0] - renderer.lens[1]) * focal - CROP.start,
                renderer.lens[5] - (centre[1] - renderer.lens[2]) * focal,
            ]
        )
        iris = np.array(face.irises[1 if side == "l" else 0].centre)
        assert np.linalg.norm(iris - drawn) < 0.05 * face.eye_distance
        assert np.linalg.norm(face.points[list(outline), :2].mean(0) - drawn) < 0.12 * face.eye_distance


@pytest.mark.parametrize("size", [110, 300, 490])
def test_faces_are_found_at_any_size_and_place(size: int) -> None:
    wide = np.full((900, 1400, 3), 140, np.uint8)
    wide[300 : 300 + size, 900 : 900 + size] = cv2.resize(smiling(), (size, size), interpolation=cv2.INTER_AREA)
    faces = [find_points(wide, d) for d in detect_faces(wide)]
    real = [f for f in faces if f.presence > 0.5]
    if size == 110:
        assert len(real) <= 1, "at ten pixels between the eyes nothing is promised but silence about ghosts"
    else:
        assert len(real) == 1
        expected = np.array([900, 300]) + np.array([216, 183]) * size / 432
        assert np.linalg.norm(real[0].points[1, :2] - expected) < 0.02 * size
