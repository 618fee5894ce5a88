"""Tiny heads for tests: a drawn recording, five landmarks, and random networks of the families' exact shapes."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gpu_engine.avatar.neural.manifest import sha256_of

WIDTH, HEIGHT, FRAMES, FPS = 320, 240, 100, 25
Image = NDArray[np.uint8]


def picture(number: int, mouth_px: int = 1) -> tuple[Image, NDArray[np.float32]]:
    """A face that sways once in 80 frames, and its landmarks float32[5, 2]."""
    dx = 12 * np.sin(2 * np.pi * number / 80)
    image = np.full((HEIGHT, WIDTH, 3), (120, 140, 110), np.uint8)
    centre = (round(160 + dx), 120)
    cv2.ellipse(image, centre, (52, 70), 0, 0, 360, (150, 175, 215), -1, cv2.LINE_AA)
    points = np.array([[-20, -20], [20, -20], [0, 5], [-15, 32], [15, 32]], np.float32) + np.array(centre, np.float32)
    for x, y in points[:2]:
        cv2.circle(image, (int(x), int(y)), 5, (40, 40, 40), -1, cv2.LINE_AA)
    cv2.ellipse(image, (centre[0], centre[1] + 32), (15, 3 + mouth_px), 0, 0, 360, (90, 80, 190), -1, cv2.LINE_AA)
    if mouth_px > 3:
        cv2.ellipse(image, (centre[0], centre[1] + 32), (12, mouth_px), 0, 0, 360, (10, 10, 20), -1, cv2.LINE_AA)
    return image, points


def write_video(path: Path, pictures: list[Image], fps: int = FPS) -> None:
    """H.264 of the pictures, nearly lossless."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "10", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = pictures[0].shape[1], pictures[0].shape[0], "yuv420p"
        stream.time_base = Fraction(1, fps)
        for image in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode())


def save_network(
    path: Path, face: list[Any], audio: list[Any], out: list[Any], names: tuple[str, str, str], *, seed: int = 1,
    special: str = "",
) -> None:  # fmt: skip
    """A network that shows the last channels of the face input, tinted by the mean of the sound times a random gain.

    ``special``: ``"nan"`` gives values that are not finite.
    """
    rng = np.random.default_rng(seed)
    channels = out[1]
    kernel = np.zeros((channels, face[1], 1, 1), np.float32)
    kernel[range(channels), range(face[1] - channels, face[1])] = 1.0
    gain = rng.uniform(0.05, 0.1, (1, channels, 1, 1)).astype(np.float32)
    bad = np.full((1, channels, 1, 1), np.nan if special == "nan" else 0.0, np.float32)
    flat = numpy_helper.from_array(np.array([0, -1], np.int64), "flat")
    four = numpy_helper.from_array(np.array([-1, 1, 1, 1], np.int64), "four")
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    nodes = [
        helper.make_node("Conv", [names[0], "kernel"], ["seen"]),
        helper.make_node("Reshape", [names[1], "flat"], ["sound"]),
        helper.make_node("ReduceMean", ["sound", "one"], ["mean"], keepdims=1),
        helper.make_node("Reshape", ["mean", "four"], ["mean4"]),
        helper.make_node("Mul", ["mean4", "gain"], ["tint"]),
        helper.make_node("Add", ["tint", "bad"], ["tint2"]),
        helper.make_node("Add", ["seen", "tint2"], [names[2]]),
    ]
    graph = helper.make_graph(
        nodes, "head",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ((names[0], face), (names[1], audio))],
        [helper.make_tensor_value_info(names[2], TensorProto.FLOAT, out)],
        [numpy_helper.from_array(kernel, "kernel"), numpy_helper.from_array(gain, "gain"),
         numpy_helper.from_array(bad, "bad"), flat, four, one],
    )  # fmt: skip
    _save(graph, path)


def _save(graph: Any, path: Path) -> None:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def save_vae(folder: Path, side: int = 256) -> None:
    """A random encoder (B,3,side,side) to (B,4,side/8,side/8) and decoder back, for the MuseTalk family."""
    rng = np.random.default_rng(3)
    down = rng.normal(0, 0.05, (4, 3, 8, 8)).astype(np.float32)
    up = rng.normal(0, 0.3, (4, 3, 8, 8)).astype(np.float32)
    crop, latent = ["batch", 3, side, side], ["batch", 4, side // 8, side // 8]
    for name, kind, weight, ways in (
        ("vae_encoder.onnx", "Conv", down, (crop, latent)), ("vae_decoder.onnx", "ConvTranspose", up, (latent, crop)),
    ):  # fmt: skip
        node = helper.make_node(kind, ["x", "w"], ["y"], strides=[8, 8])
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ways[0])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ways[1])]
        _save(helper.make_graph([node], name, inputs, outputs, [numpy_helper.from_array(weight, "w")]), folder / name)


def save_sound_encoder(path: Path, bands: int, width: int) -> None:
    """A random convolution (1, bands, n) to (1, n/2, width): the shape of a whisper encoder with its layers side by side."""
    weight = np.random.default_rng(4).normal(0, 0.1, (width, bands, 2)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["mel", "w"], ["c"], strides=[2]),
        helper.make_node("Transpose", ["c"], ["features"], perm=[0, 2, 1]),
    ]
    inputs = [helper.make_tensor_value_info("mel", TensorProto.FLOAT, [1, bands, "n"])]
    outputs = [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, "steps", width])]
    _save(helper.make_graph(nodes, "encoder", inputs, outputs, [numpy_helper.from_array(weight, "w")]), path)


def ref(folder: Path, file: str, **more: Any) -> dict[str, Any]:
    """A file's entry in the manifest."""
    return {"file": file, "sha256": sha256_of(folder / file), **more}


def template(side: int) -> list[list[float]]:
    """Where the landmarks of :func:`picture` lie in a crop of ``side`` px that shows the lower face."""
    scale, shift = side / 110.0, np.array([55.0, 40.0])
    return [[float((x + shift[0]) * scale), float((y + shift[1]) * scale)]
            for x, y in ((-20, -20), (20, -20), (0, 5), (-15, 32), (15, 32))]  # fmt: skip


def write_recording(folder: Path, frames: int = FRAMES, open_from: int | None = None) -> None:
    """loop.mp4 and landmarks.npz; from ``open_from`` on ten frames have an open mouth."""
    drawn = [picture(i, 8 if open_from is not None and open_from <= i < open_from + 10 else 1) for i in range(frames)]
    write_video(folder / "loop.mp4", [image for image, _ in drawn])
    np.savez(folder / "landmarks.npz", points=np.stack([points for _, points in drawn]))


def write_head(folder: Path, **changes: Any) -> Path:
    """``head.json`` of a Wav2Lip-shaped head around what lies in ``folder``; ``changes`` replace whole fields."""
    manifest: dict[str, Any] = {
        "format": "lumihost-neural-head", "version": 1, "name": "test",
        "network": ref(folder, "net.onnx") if (folder / "net.onnx").exists() else {"file": "net.onnx", "sha256": "0" * 64},
        "loop": ref(folder, "loop.mp4", fps=FPS),
        "audio_feature": {"kind": "mel-wav2lip", "hop": 200, "n_fft": 800, "bands": 80, "window": 16, "look_ahead": 8},
        "image": {"name": "video_frames", "width": 96, "height": 96, "mask": "lower-half"},
        "audio": {"name": "mel_spectrogram", "shape": [1, 80, 16]},
        "output": {"name": "output"},
        "crop": ref(folder, "landmarks.npz", kind="landmarks", template=template(96)),
        "licence": {"spdx": "CC0-1.0", "origin": "drawn for the test"},
        "consent": {"subject": "synthetic", "statement": "No person is shown."},
    }  # fmt: skip
    manifest |= changes
    path = folder / "head.json"
    path.write_text(json.dumps({k: v for k, v in manifest.items() if v is not None}))
    return path


def wav2lip(folder: Path, *, special: str = "", frames: int = FRAMES, open_from: int | None = None, **changes: Any) -> Path:
    """A whole head of the Wav2Lip family."""
    write_recording(folder, frames, open_from)
    save_network(
        folder / "net.onnx", ["batch", 6, 96, 96], ["batch", 1, 80, 16], ["batch", 3, 96, 96],
        ("video_frames", "mel_spectrogram", "output"), special=special,
    )  # fmt: skip
    return write_head(folder, **changes)


def speech(seconds: float, seed: int = 2) -> NDArray[np.int16]:
    """Syllables of a buzzing 180 Hz voice, four a second: int16 mono 48 kHz."""
    t = np.arange(int(seconds * 48_000)) / 48_000
    voice = sum(np.sin(2 * np.pi * 180 * k * t) / k for k in range(1, 14))
    loud = np.maximum(0.0, np.sin(2 * np.pi * 4 * t)) ** 0.7
    noise = np.random.default_rng(seed).normal(0, 0.01, len(t))
    return np.asarray((voice * loud * 0.25 + noise) * 12_000, np.int16)
