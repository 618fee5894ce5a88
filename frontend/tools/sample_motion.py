"""Records a real run of the motion mixer, lips and gestures included, as DMCP binary frames end to end: the console's previews.

    python frontend/tools/sample_motion.py

Needs the speech model (python -m gpu_engine.models prepare). The end is blended into the beginning, so that it loops.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.dmcp.motion import Motion, encode_binary
from gpu_engine.motion.lips import compile_lips
from gpu_engine.motion.mixer import Mixer, interpolate_lips
from gpu_engine.motion.ring import MotionFlag
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, MotionFrame
from gpu_engine.session.timeline import Emotion, Gesture, GestureKind
from gpu_engine.speech.engine import PhonemeSpan, Style
from gpu_engine.speech.kokoro import KokoroEngine
from gpu_engine.speech.normalise import normalise

TARGET = Path(__file__).parents[1] / "src" / "shared" / "avatar" / "assets" / "sample.dmcp"
FPS, SECONDS, BLEND_S, SEED = 25, 8.0, 0.8, 7
WARM_UP_S = 2.0
BEGINS_MS = 500.0
TEXT, LANG, VOICE = "大家好，欢迎来到直播间！今天给大家带来一款很好用的保温杯。", "zh", "zf_xiaoxiao"


def spoken() -> tuple[tuple[PhonemeSpan, ...], float]:
    """The phonemes of the sentence and its length in milliseconds."""
    phonemes: list[PhonemeSpan] = []
    samples = 0
    for chunk in KokoroEngine().synthesize(normalise(TEXT, LANG).spoken, LANG, Style(VOICE), lambda: False):
        phonemes += chunk.phonemes
        samples += len(chunk.pcm)
    return tuple(phonemes), samples / 48


def record() -> list[MotionFrame]:
    """``SECONDS`` of frames whose last leads to the first."""
    phonemes, length_ms = spoken()
    rows, lips, mixer = compile_lips(phonemes, length_ms, LANG), np.zeros(WEIGHT_COUNT, np.float32), Mixer(SEED)
    start_ms = WARM_UP_S * 1000 + BEGINS_MS
    asked = (Gesture(GestureKind.GREET, int(start_ms + 500)), Gesture(GestureKind.POINT, int(start_ms + 0.62 * length_ms)))
    emphasis = tuple(int(start_ms + share * length_ms) for share in (0.1, 0.38, 0.62, 0.85))
    frames = []
    for i in range(int((WARM_UP_S + SECONDS + BLEND_S) * FPS)):
        at_ms = (i + 0.5) * 1000 / FPS
        inside = 0 <= at_ms - start_ms < length_ms
        said = interpolate_lips(rows, at_ms - start_ms, lips) if inside else None
        frame = mixer.mix(at_ms, said, Emotion(0.5, 0.25, 0.2), emphasis, inside, asked)
        if at_ms >= WARM_UP_S * 1000:
            frames.append(MotionFrame(frame.weights.copy(), frame.joints.copy()))
    count, blend = int(SECONDS * FPS), int(BLEND_S * FPS)
    for i in range(blend):
        share = np.float32((i + 1) / (blend + 1))
        frames[i] = mixed(frames[count + i], frames[i], share * share * (3 - 2 * share))
    return frames[:count]


def mixed(a: MotionFrame, b: MotionFrame, share: np.float32) -> MotionFrame:
    """Between two frames; rotations by the shorter way, normalised."""
    sign: NDArray[np.float32] = np.where((a.joints * b.joints).sum(1, keepdims=True) < 0, -1, 1).astype(np.float32)
    joints = a.joints * (1 - share) + sign * b.joints * share
    return MotionFrame(a.weights * (1 - share) + b.weights * share, joints / np.linalg.norm(joints, axis=1, keepdims=True))


def main() -> None:
    """Write the asset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TARGET)
    whole = MotionFlag.FACE | MotionFlag.POSE | MotionFlag.SPEECH
    data = b"".join(
        encode_binary(Motion(round(i * 1000 / FPS), i, whole, frame.weights, frame.joints)) for i, frame in enumerate(record())
    )
    parser.parse_args().out.write_bytes(data)


if __name__ == "__main__":
    main()
