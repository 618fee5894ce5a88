"""Rendered footage to learn from: the same instant with the mouth at rest, as a recorded loop has it, and speaking.

Crops are cut by the five-point similarity that the runtime uses (:mod:`gpu_engine.avatar.neural.crops`), so that the network
sees in training what it sees in a show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.neural.crops import cut, similarity
from gpu_engine.avatar.pack import load_pack
from gpu_engine.motion.lips import compile_lips
from gpu_engine.motion.mixer import Mixer, interpolate_lips
from gpu_engine.motion.visemes import lip_opening
from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_COUNT, WEIGHT_INDEX, MotionFrame
from gpu_engine.session.timeline import Emotion
from gpu_engine.stage.compositor import Stage
from gpu_engine.training.lip_head.speech import Spoken, read

FPS = 25
SIZE = 96
TRAIN_STEP = 2
"""Of the sentences to learn from every second frame is drawn: neighbours differ little."""
TEMPLATE = np.array([[22.9, -10.0], [73.1, -10.0], [48.0, 19.0], [33.0, 44.0], [63.0, 44.0]], np.float32)
"""Where the host's right eye, left eye, nose tip, right and left mouth corner lie in the crop, px. The eyes lie above it."""
_LIPS = np.array([WEIGHT_INDEX[name] for name in LIP_WEIGHTS], np.intp)

Crop = NDArray[np.uint8]


class Studio:
    """A presenter before the demo backdrop, and where five points of the face are in each picture."""

    def __init__(self, pack_name: str, width: int = 1280, height: int = 720) -> None:
        self.pack = load_pack(pack_name)
        self.renderer = CpuRenderer(self.pack, width, height)
        self.background = Stage(width, height, "zh", "AI生成 · 数字人").background()
        self._canvas = np.zeros_like(self.background)
        skin = self.pack.rest[slice(*self.pack.part("skin").verts)]
        mouth_y = float(self.pack.rest[slice(*self.pack.part("teeth_upper").verts), 1].mean())
        eyes_y = float(self.pack.rest[slice(*self.pack.part("eye_l").verts), 1].mean())
        middle = (np.abs(skin[:, 0]) < 0.08) & (skin[:, 1] > mouth_y) & (skin[:, 1] < eyes_y)
        front = skin[:, 2] > float(skin[middle, 2].max()) - 0.6
        self._nose = int(np.nonzero(middle)[0][np.argmax(skin[middle, 2])])
        corners = [(x, mouth_y) for x in (-0.23, 0.23)]
        distance = [np.where(front, np.hypot(skin[:, 0] - x, skin[:, 1] - y), 9.0) for x, y in corners]
        self._corners = [int(np.argmin(d)) for d in distance]

    def draw(self, motion: MotionFrame) -> NDArray[np.uint8]:
        """The picture of one instant, uint8[h, w, 3] BGR; the buffer is used again by the next call."""
        np.copyto(self._canvas, self.background)
        self.renderer.render(motion, self._canvas)
        return self._canvas

    def landmarks(self) -> NDArray[np.float32]:
        """float32[5, 2] px in the picture last drawn, in the order of ``TEMPLATE``."""
        # Columns 0 and 1 of the renderer's vertices are where they lie in the picture last drawn.
        screen = self.renderer._vertices
        eyes = [screen[slice(*self.pack.part(name).verts), :2].mean(axis=0) for name in ("eye_r", "eye_l")]
        return np.array([*eyes, screen[self._nose, :2], *(screen[i, :2] for i in self._corners)], np.float32)


def at_rest(motion: MotionFrame) -> MotionFrame:
    """The same instant with the lips at rest."""
    weights = motion.weights.copy()
    weights[_LIPS] = 0.0
    return MotionFrame(weights, motion.joints)


@dataclass(frozen=True, slots=True)
class Clip:
    """The pictures of one sentence, of frames ``index``.

    Attributes:
        index: int32[n], frame numbers at 25 a second.
        rest: uint8[n, 96, 96, 3] BGR, mouth at rest.
        speaking: uint8[n, 96, 96, 3].
        opening: float32[n], how far the lips are apart, in jaw units.
    """

    index: NDArray[np.int32]
    rest: Crop
    speaking: Crop
    opening: NDArray[np.float32]


def film(studio: Studio, spoken: Spoken, seed: int, step: int) -> Clip:
    """Draw every ``step``-th frame of a sentence; the lips are those of the middle of each frame, as in a show."""
    rows = compile_lips(spoken.phonemes, spoken.seconds * 1000, spoken.utterance.lang)
    mixer, lips = Mixer(seed), np.zeros(WEIGHT_COUNT, np.float32)
    start_ms = (seed * 7919) % 600_000
    index: list[int] = []
    rest: list[Crop] = []
    speaking: list[Crop] = []
    opening: list[float] = []
    for i in range(int(spoken.seconds * FPS)):
        at_ms = (i + 0.5) * 1000 / FPS
        frame = mixer.mix(start_ms + at_ms, interpolate_lips(rows, at_ms, lips), Emotion(), speaking=True)
        if (i + seed) % step:
            continue
        picture = studio.draw(at_rest(frame))
        matrix = similarity(studio.landmarks(), TEMPLATE)
        rest.append(cut(picture, matrix, SIZE, SIZE))
        speaking.append(cut(studio.draw(frame), matrix, SIZE, SIZE))
        opening.append(float(lip_opening(frame.weights)))
        index.append(i)
    return Clip(np.array(index, np.int32), np.stack(rest), np.stack(speaking), np.array(opening, np.float32))


def film_all(studio: Studio, speech: list[Path], folder: Path, say: Callable[[str], None]) -> list[Path]:
    """Film every sentence once into ``folder``; held-out ones at 25 frames a second, the others at half of that."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    frames = 0
    for number, source in enumerate(speech):
        path = folder / source.name
        if not path.exists():
            spoken = read(source)
            clip = film(studio, spoken, number, TRAIN_STEP if spoken.utterance.role == "train" else 1)
            np.savez(path, index=clip.index, rest=clip.rest, speaking=clip.speaking, opening=clip.opening)
            frames += len(clip.index)
        files.append(path)
        if number % 20 == 19:
            say(f"footage: {number + 1} of {len(speech)} sentences, {frames} frames drawn")
    return files


def load(path: Path) -> Clip:
    """The pictures that :func:`film_all` kept."""
    with np.load(path) as data:
        return Clip(data["index"], data["rest"], data["speaking"], data["opening"])
