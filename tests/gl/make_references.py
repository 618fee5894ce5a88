"""Draws the reference pictures of the GPU renderer on this machine: ``python -m tests.gl.make_references``.

Look at them before committing: the test holds whatever they show.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from gpu_engine.avatar.gl.renderer import GlRenderer
from gpu_engine.avatar.pack import load_pack, shipped_packs
from gpu_engine.motion.mixer import quaternion
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, MotionFrame, rest_frame

FOLDER = Path(__file__).parent / "references"
WIDTH, HEIGHT = 480, 270


def talking() -> MotionFrame:
    """Mouth open, smiling, head turned and tilted, an arm lifted."""
    frame = rest_frame()
    for name, value in (("jawOpen", 0.35), ("mouthSmileLeft", 0.4), ("mouthSmileRight", 0.4), ("eyeLookLeft", 0.4)):
        frame.weights[WEIGHT_INDEX[name]] = value
    frame.joints[JOINT_INDEX["head"]] = quaternion(np.radians(3.0), np.radians(8.0), np.radians(2.0))
    frame.joints[JOINT_INDEX["right_elbow"]] = quaternion(np.radians(-100.0), 0.0, 0.0)
    return frame


FRAMES = {"rest": rest_frame, "talking": talking}


def draw(name: str) -> dict[str, np.ndarray]:
    """Pictures uint8[HEIGHT, WIDTH, 3] BGR of a pack by pose, over grey."""
    renderer = GlRenderer(load_pack(name), WIDTH, HEIGHT)
    pictures = {}
    for pose, frame in FRAMES.items():
        canvas = np.full((HEIGHT, WIDTH, 3), 150, np.uint8)
        renderer.render(frame(), canvas)
        pictures[pose] = canvas
    renderer.release()
    return pictures


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in shipped_packs():
        for pose, picture in draw(name).items():
            cv2.imwrite(str(FOLDER / f"{name}-{pose}.png"), picture[:, : WIDTH * 2 // 3], [cv2.IMWRITE_PNG_COMPRESSION, 9])


if __name__ == "__main__":
    main()
