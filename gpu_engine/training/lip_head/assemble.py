"""Makes a head of a trained network: records a loop of the presenter at rest, writes ``head.json``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.manifest import FORMAT, VERSION, load_head, sha256_of
from gpu_engine.motion.mixer import Mixer
from gpu_engine.motion.vocabulary import MotionFrame
from gpu_engine.session.timeline import Emotion
from gpu_engine.training.lip_head.card import card
from gpu_engine.training.lip_head.data import COLUMNS, FEATURES, MASK_TOP
from gpu_engine.training.lip_head.footage import FPS, SIZE, TEMPLATE, Studio, at_rest

LOOP_S, JOIN_FRAMES = 10, 30
CRF = "17"
_SEED = 11


def motion(count: int, join: int) -> list[MotionFrame]:
    """``count`` frames of a presenter at rest whose last ``join`` frames lead back into the first: no cut, no fade needed."""
    mixer = Mixer(_SEED)
    frames = []
    for i in range(count + join):
        frame = mixer.mix((i + 0.5) * 1000 / FPS, None, Emotion(), speaking=True)
        frames.append(MotionFrame(at_rest(frame).weights, frame.joints.copy()))
    before, played = frames[:join], frames[join:]
    for i in range(join):
        t = (i + 1) / (join + 1)
        share = np.float32(t * t * (3 - 2 * t))
        here, there = played[count - join + i], before[i]
        joints = here.joints + share * (there.joints - here.joints)
        joints /= np.linalg.norm(joints, axis=1, keepdims=True)
        played[count - join + i] = MotionFrame(here.weights + share * (there.weights - here.weights), joints)
    return played


def record_loop(pack: str, folder: Path) -> int:
    """Draw the loop: loop.mp4 and landmarks.npz; returns its number of frames."""
    frames = motion(LOOP_S * FPS, JOIN_FRAMES)
    studio = Studio(pack)
    points: list[NDArray[np.float32]] = []
    with av.open(str(folder / "loop.mp4"), "w") as container:
        options = {"crf": CRF, "preset": "slow", "threads": "1"}
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = studio.renderer.width, studio.renderer.height, "yuv420p"
        stream.time_base = Fraction(1, FPS)
        for frame in frames:
            picture = studio.draw(frame)
            points.append(studio.landmarks())
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode())
    np.savez_compressed(folder / "landmarks.npz", points=np.stack(points).astype(np.float32))
    return len(frames)


def assemble(pack: str, trained: Path, folder: Path, command: str, say: Callable[[str], None]) -> Path:
    """Write a whole head into ``folder``, with its model card; returns its ``head.json``, read back and checked.

    Args:
        trained: folder with ``head.onnx`` and ``metrics.json``.
        command: the recipe's command line, for the card.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(trained / "head.onnx", folder / "head.onnx")
    metrics = json.loads((trained / "metrics.json").read_text("utf-8"))
    (folder / "CARD.md").write_text(card(pack, folder / "head.onnx", metrics, command), "utf-8")
    count = record_loop(pack, folder)
    say(f"loop: {count} frames, {(folder / 'loop.mp4').stat().st_size >> 10} kB")

    def ref(name: str, **more: Any) -> dict[str, Any]:
        return {"file": name, "sha256": sha256_of(folder / name), **more}

    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "name": f"{pack}-lips",
        "display_name": {"zh": "小林（神经口型）", "en": "Lin (neural lips)"} if pack == "lin" else {},
        "network": ref("head.onnx"),
        "loop": ref("loop.mp4", fps=FPS, first=0, last=count - 1, mode="cut", fade_frames=0, open_frames=[]),
        "audio_feature": {
            "kind": FEATURES.kind, "sample_rate_hz": FEATURES.rate_hz, "hop": FEATURES.hop, "n_fft": FEATURES.n_fft,
            "bands": FEATURES.bands, "low_hz": FEATURES.low_hz, "high_hz": FEATURES.high_hz, "window": COLUMNS,
            "look_ahead": COLUMNS // 2,
        },
        "image": {
            "name": "face", "width": SIZE, "height": SIZE, "colour": "BGR", "low": 0.0, "high": 1.0, "mask": "box",
            "mask_box": [0, MASK_TOP, SIZE, SIZE], "reference": True, "order": "masked-first",
        },
        "audio": {"name": "audio", "shape": [FEATURES.rows, COLUMNS]},
        "output": {"name": "mouth", "low": 0.0, "high": 1.0},
        "crop": ref("landmarks.npz", kind="landmarks", template=[[round(float(v), 2) for v in p] for p in TEMPLATE]),
        "paste": {"box": [0.02, 0.16, 0.98, 0.99], "feather": 0.16, "detail": True},
        "batch": 1,
        "licence": {"spdx": "Apache-2.0", "origin": "trained on rendered footage by gpu_engine.training.lip_head"},
        "consent": {"subject": "synthetic", "statement": "A rendered presenter; no person is shown."},
    }  # fmt: skip
    path = folder / "head.json"
    path.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", "utf-8")
    load_head(path)
    return path
