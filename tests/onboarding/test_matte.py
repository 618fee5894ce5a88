"""The cut-out against the renderer's own coverage."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from gpu_engine.avatar.onboarding.matte import own_colours, person_matte
from gpu_engine.avatar.sheet import pose_frame
from tests.onboarding.pictures import CROP, HEIGHT, U8, WIDTH, found, presenter

pytestmark = pytest.mark.unit


def over(background: np.ndarray | int) -> U8:
    canvas = np.ascontiguousarray(np.broadcast_to(background, (HEIGHT, WIDTH, 3)), np.uint8)
    presenter().render(pose_frame({}), canvas)
    return np.ascontiguousarray(canvas[:, CROP])


@pytest.fixture(scope="module")
def coverage() -> np.ndarray:
    return 1 - (over(255).astype(float) - over(0)).mean(2) / 255


@pytest.mark.parametrize("scene", ["plain", "busy", "dark"])
def test_the_cut_follows_the_figure(scene: str, coverage: np.ndarray) -> None:
    noise = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (HEIGHT, WIDTH, 3)).astype(np.float32), (0, 0), 18)
    backgrounds = {
        "plain": np.array([150, 160, 165]),
        "busy": np.clip((noise - 127) * 9 + 127, 0, 255),
        "dark": np.array([40, 38, 36]),
    }
    picture = over(backgrounds[scene])
    error = np.abs(person_matte(picture, found(picture)) - coverage)
    edge = cv2.dilate((np.abs(coverage - 0.5) < 0.49).astype(np.uint8), np.ones((9, 9))) > 0
    assert error.mean() < 0.006 and error[edge].mean() < 0.13


def test_no_old_background_is_left_in_soft_edges(coverage: np.ndarray) -> None:
    green = over(np.array([40, 220, 40]))
    cleaned = own_colours(green, coverage.astype(np.float32)).astype(int)
    soft = (coverage > 0.1) & (coverage < 0.6)
    excess = cleaned[..., 1] - cleaned[..., [0, 2]].max(2)
    before = green[..., 1].astype(int) - green[..., [0, 2]].max(2)
    assert before[soft].mean() > 40 and excess[soft].mean() < 8
