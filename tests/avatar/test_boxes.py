"""Where what is drawn apart meets: the mouth's fine box under the nose, sleeves at the armholes."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import load_pack, shipped_packs
from gpu_engine.motion.mixer import quaternion
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, MotionFrame, rest_frame

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 1280, 720
GREEN = (0, 255, 0)


def drawn(renderer: CpuRenderer, frame: MotionFrame) -> np.ndarray:
    canvas = np.full((HEIGHT, WIDTH, 3), GREEN, np.uint8)
    renderer.render(frame, canvas)
    return canvas.astype(int)


def smiling_and_nodding() -> MotionFrame:
    frame = rest_frame()
    for name in ("mouthSmileLeft", "mouthSmileRight"):
        frame.weights[WEIGHT_INDEX[name]] = 1.0
    frame.joints[JOINT_INDEX["head"]] = quaternion(np.radians(8.0), 0.0, 0.0)
    return frame


@pytest.mark.parametrize("name", shipped_packs())
def test_the_nose_hides_the_nostrils_when_the_mouth_below_it_is_drawn(name: str) -> None:
    renderer = CpuRenderer(load_pack(name), WIDTH, HEIGHT)

    picture = drawn(renderer, smiling_and_nodding())

    skin = renderer.pack.part("skin")
    tip = renderer._vertices[skin.verts[0] + int(renderer._local[slice(*skin.verts), 2].argmax())]
    x, y = int(tip[0]), int(tip[1])
    light = picture[y - 10 : y + 4, x - 8 : x + 9].mean(2)
    assert light.min() > 0.5 * np.median(light)


@pytest.mark.parametrize("name", shipped_packs())
def test_no_wall_shows_between_torso_and_sleeve(name: str) -> None:
    renderer = CpuRenderer(load_pack(name), WIDTH, HEIGHT)

    picture = drawn(renderer, rest_frame())

    green = (picture[..., 1] - np.maximum(picture[..., 0], picture[..., 2])) > 40
    leaks = 0
    for y in range(HEIGHT * 2 // 3, HEIGHT * 9 // 10):
        inside = np.nonzero(~green[y])[0]
        middle = (inside.min() + inside.max()) // 2
        leaks += int(green[y, inside.min() + 3 : middle - 60].sum() + green[y, middle + 60 : inside.max() - 2].sum())
    assert leaks == 0
