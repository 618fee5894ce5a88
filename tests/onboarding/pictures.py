"""Photographs for the tests: a public-domain portrait, and a frame of a shipped presenter whose truth is known."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.landmarks.face import Face
from gpu_engine.avatar.onboarding.photo import Photo, read_photo
from gpu_engine.avatar.onboarding.quality import Report, check_photo
from gpu_engine.avatar.pack import load_pack
from gpu_engine.avatar.sheet import pose_frame

ASTRONAUT = Path(__file__).parent / "data" / "astronaut.jpg"
PRESENTER = "lin"
WIDTH, HEIGHT = 1920, 1080
BACKGROUND = (150, 160, 165)
CROP = slice(200, 1280)
"""Columns of a 1080-line frame that make a portrait of the presenter."""

U8 = NDArray[np.uint8]


@cache
def presenter() -> CpuRenderer:
    return CpuRenderer(load_pack(PRESENTER), WIDTH, HEIGHT)


def frame(weights: dict[str, float] | None = None, turn: tuple[float, float, float] = (0, 0, 0)) -> U8:
    """The presenter photographed: uint8[1080, 1080, 3] BGR."""
    canvas = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    presenter().render(pose_frame(weights or {}, turn), canvas)
    return np.ascontiguousarray(canvas[:, CROP])


@cache
def portrait() -> U8:
    return frame()


@cache
def astronaut() -> U8:
    return np.asarray(cv2.imread(str(ASTRONAUT)), np.uint8)


def photo(image: U8) -> Photo:
    return read_photo(cv2.imencode(".png", image)[1].tobytes(), "test.png")


def report(image: U8) -> Report:
    return check_photo(photo(image))


def found(image: U8) -> Face:
    face = report(image).face
    assert face is not None
    return face
