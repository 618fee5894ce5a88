"""Photographs for the tests: of presenters, who do not exist, because nobody's likeness is animated without consent.

Two are kept as files (``python -m tests.onboarding.pictures`` makes them anew); the others are frames whose truth is known.
"""

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

DATA = Path(__file__).parent / "data"
CLOSED, SMILING = DATA / "marco.jpg", DATA / "amara.jpg"
"""Light skin, lips closed, 123 px between the eyes; dark skin, an open smile, 47 px."""
PRESENTER, TEMPLATE = "marco", "lin"
"""Whom most tests photograph, and whose head is fitted to him: never the same."""
WIDTH, HEIGHT = 1920, 1080
BACKGROUND = (150, 160, 165)
CROP = slice(170, 1250)
"""Columns of a 1080-line frame that make a portrait."""
OPEN_SMILE = {"jawOpen": 0.18, "mouthSmileLeft": 0.7, "mouthSmileRight": 0.7, "mouthUpperUp": 0.3}
BACKDROPS = Path(__file__).parents[2] / "gpu_engine" / "stage" / "backdrops"

U8 = NDArray[np.uint8]


@cache
def presenter(name: str = PRESENTER) -> CpuRenderer:
    return CpuRenderer(load_pack(name), WIDTH, HEIGHT)


def frame(weights: dict[str, float] | None = None, turn: tuple[float, float, float] = (0, 0, 0), name: str = PRESENTER) -> U8:
    """A presenter on a plain ground: uint8[1080, 1080, 3] BGR."""
    canvas = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    presenter(name).render(pose_frame(weights or {}, turn), canvas)
    return np.ascontiguousarray(canvas[:, CROP])


def camera(name: str, backdrop: str, weights: dict[str, float], side: int) -> bytes:
    """A presenter in a room as a camera would have it: a little soft, noisy and dark; a JPEG of ``side`` pixels."""
    room = cv2.imread(str(BACKDROPS / f"{backdrop}_wide.jpg"))
    assert room is not None
    canvas = np.ascontiguousarray(cv2.resize(room, (WIDTH, HEIGHT)), np.uint8)
    presenter(name).render(pose_frame(weights), canvas)
    light = cv2.GaussianBlur(canvas[:, CROP].astype(np.float32), (0, 0), 0.6)
    light = cv2.resize(255 * (light / 255) ** 1.08, (side, side), interpolation=cv2.INTER_AREA)
    random = np.random.default_rng(7)
    light = light + random.normal(0, 2.0, light.shape[:2])[..., None] + random.normal(0, 1.2, light.shape)
    return cv2.imencode(".jpg", np.clip(light, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


@cache
def portrait() -> U8:
    return frame()


@cache
def smiling() -> U8:
    return np.asarray(cv2.imread(str(SMILING)), np.uint8)


@cache
def closed() -> U8:
    return np.asarray(cv2.imread(str(CLOSED)), np.uint8)


def photo(image: U8) -> Photo:
    return read_photo(cv2.imencode(".png", image)[1].tobytes(), "test.png")


def report(image: U8) -> Report:
    return check_photo(photo(image))


def found(image: U8) -> Face:
    face = report(image).face
    assert face is not None
    return face


if __name__ == "__main__":
    CLOSED.write_bytes(camera("marco", "daylight", {}, 1080))
    SMILING.write_bytes(camera("amara", "boutique", OPEN_SMILE, 432))
