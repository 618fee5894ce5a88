"""Networks of exactly the shapes of Wav2Lip, Ultralight and MuseTalk run from their manifests, and wrong ones are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.neural.network import HeadNetwork
from gpu_engine.avatar.neural.renderer import NeuralRenderer
from gpu_engine.avatar.neural.sound import RecordedSound, open_ear
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import rest_frame
from tests.neural import heads

pytestmark = pytest.mark.media


def ultralight(folder: Path) -> Path:
    """(1,6,160,160) + (1,128,16,32) to (1,3,160,160): 16 steps of 4096 features, fixed batch, RGB, box mask."""
    heads.write_recording(folder)
    shapes = [1, 6, 160, 160], [1, 128, 16, 32], [1, 3, 160, 160]
    heads.save_network(folder / "net.onnx", *shapes, ("input", "audio", "output"))
    heads.save_sound_encoder(folder / "hubert.onnx", 80, 4096)
    encoder = heads.ref(folder, "hubert.onnx", input="mel", rate_hz=50, width=4096, context_s=1.0)
    return heads.write_head(
        folder,
        audio_feature={"kind": "hubert", "n_fft": 400, "window": 16, "look_ahead": 8, "encoder": encoder},
        image={"name": "input", "width": 160, "height": 160, "colour": "RGB", "mask": "box", "mask_box": [5, 5, 155, 150],
               "order": "reference-first"},
        audio={"name": "audio", "shape": [128, 16, 32], "order": "time-bands"},
        crop=heads.ref(folder, "landmarks.npz", kind="landmarks", template=heads.template(160)),
    )  # fmt: skip


def musetalk(folder: Path) -> Path:
    """Latents (B,8,32,32) + whisper features (B,50,384) to (B,4,32,32), a VAE for 256x256 around it."""
    heads.write_recording(folder)
    shapes: list[list[Any]] = [["batch", 8, 32, 32], ["batch", 50, 384], ["batch", 4, 32, 32]]
    heads.save_network(folder / "net.onnx", *shapes, ("latents", "whisper", "out"))
    heads.save_vae(folder)
    heads.save_sound_encoder(folder / "whisper.onnx", 80, 5 * 384)
    encoder = heads.ref(folder, "whisper.onnx", input="mel", rate_hz=50, width=5 * 384)
    latent = {"encoder": heads.ref(folder, "vae_encoder.onnx"), "decoder": heads.ref(folder, "vae_decoder.onnx")}
    return heads.write_head(
        folder,
        audio_feature={"kind": "whisper", "n_fft": 400, "window": 10, "look_ahead": 5, "encoder": encoder},
        image={
            "name": "latents",
            "width": 256,
            "height": 256,
            "low": -1.0,
            "high": 1.0,
            "mask": "lower-half",
            "latent": latent,
        },
        audio={"name": "whisper", "shape": [50, 384], "order": "time-bands"},
        output={"name": "out", "low": -1.0, "high": 1.0},
        crop=heads.ref(folder, "landmarks.npz", kind="landmarks", template=heads.template(256)),
    )  # fmt: skip


@pytest.mark.parametrize(("build", "size"), [(heads.wav2lip, 96), (ultralight, 160), (musetalk, 256)])
def test_each_family_speaks_from_its_manifest(tmp_path: Path, build: Any, size: int) -> None:
    head = load_head(build(tmp_path))
    renderer = NeuralRenderer(head, heads.WIDTH, heads.HEIGHT, cache=tmp_path, batch=4)
    renderer.warm_up()
    events: list[str] = []
    renderer.on_event = lambda state, reason: events.append(reason)
    sound = RecordedSound(heads.speech(1.0))
    canvas = np.zeros((heads.HEIGHT, heads.WIDTH, 3), np.uint8)
    silent = canvas.copy()
    for frame in range(6):
        sound.at = round((frame + 0.5) * 1920)
        renderer.hear(sound, frame * 40.0)
        renderer.render(rest_frame(), canvas)
    assert renderer.loop.crops.shape[1:] == (size, size, 3)
    assert (renderer.drawn_frames, renderer.held_frames, events) == (6, 0, [])
    renderer.loop.show(renderer.loop.index(200.0), silent)
    assert np.abs(canvas.astype(int) - silent).max() > 3


def test_what_the_network_is_given_is_what_the_family_expects(tmp_path: Path) -> None:
    network = HeadNetwork(load_head(heads.wav2lip(tmp_path)))
    crop = np.random.default_rng(1).integers(0, 256, (96, 96, 3), np.uint8)
    face = network._face(crop)
    assert face.shape == (6, 96, 96)
    assert np.array_equal(face[:3, 48:], np.zeros((3, 48, 96), np.float32))
    assert np.allclose(face[:3, :48], crop[:48].transpose(2, 0, 1) / 255, atol=1e-6)
    assert np.allclose(face[3:], crop.transpose(2, 0, 1) / 255, atol=1e-6)
    window = np.arange(80 * 16, dtype=np.float32).reshape(1, 80, 16)
    assert np.array_equal(network.sound_input(window)[0, 0], window[0])


def test_ultralight_is_given_rgb_with_the_reference_first_and_a_box(tmp_path: Path) -> None:
    network = HeadNetwork(load_head(ultralight(tmp_path)))
    crop = np.random.default_rng(1).integers(1, 256, (160, 160, 3), np.uint8)
    face = network._face(crop)
    assert np.allclose(face[:3], crop[..., ::-1].transpose(2, 0, 1) / 255, atol=1e-6)
    assert face[3:, 5:150, 5:155].max() == 0.0 and face[3:, :5].min() > 0.0
    # A column of the window is a run of the input: steps in order, features inside.
    window = np.random.default_rng(2).normal(size=(1, 4096, 16)).astype(np.float32)
    assert np.array_equal(network.sound_input(window).reshape(16, 4096), window[0].T)
    assert network.fixed_batch == 1


def test_encoder_features_are_taken_around_the_frame(tmp_path: Path) -> None:
    head = load_head(musetalk(tmp_path))
    ear = open_ear(head.audio_feature, head.folder)
    pcm = np.zeros(96_000, np.int16)
    pcm[48_000:52_800] = heads.speech(0.1)
    sound = RecordedSound(pcm)
    ats = [24_000, 50_400, 80_000]
    windows = ear.windows(sound, ats)
    assert windows.shape == (3, 1920, 10)
    heard = np.abs(windows - windows[2, :, -1:]).mean(axis=(1, 2))
    assert heard[1] > 3 * heard[0] and heard[1] > 3 * heard[2]


@pytest.mark.parametrize(
    ("shapes", "names", "message"),
    [
        ((["b", 6, 96, 96], ["b", 1, 80, 16], ["b", 3, 96, 96]), ("face", "mel_spectrogram", "output"),
         r"has no image 'video_frames' \(has: face, mel_spectrogram\)"),
        ((["b", 6, 128, 128], ["b", 1, 80, 16], ["b", 3, 128, 128]), ("video_frames", "mel_spectrogram", "output"),
         r"image 'video_frames' is \[batch, 6, 128, 128\], the manifest says \[batch, 6, 96, 96\]"),
        ((["b", 6, 96, 96], ["b", 1, 80, 20], ["b", 3, 96, 96]), ("video_frames", "mel_spectrogram", "output"),
         r"audio 'mel_spectrogram' is \[batch, 1, 80, 20\], the manifest says \[batch, 1, 80, 16\]"),
        ((["b", 6, 96, 96], ["b", 1, 80, 16], ["b", 3, 96, 96]), ("video_frames", "mel_spectrogram", "picture"),
         r"has no output 'output' \(has: picture\)"),
        (([3, 6, 96, 96], [3, 1, 80, 16], [3, 3, 96, 96]), ("video_frames", "mel_spectrogram", "output"),
         r"takes batches of 3 only"),
    ],
)  # fmt: skip
def test_a_network_of_another_shape_is_named(tmp_path: Path, shapes: Any, names: tuple[str, str, str], message: str) -> None:
    heads.write_recording(tmp_path, 4)
    heads.save_network(tmp_path / "net.onnx", *shapes, names)
    with pytest.raises(AvatarError, match=message):
        HeadNetwork(load_head(heads.write_head(tmp_path)))


def test_a_damaged_network_is_refused(tmp_path: Path) -> None:
    heads.write_recording(tmp_path, 4)
    (tmp_path / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(AvatarError, match=r"onnxruntime refuses .*net\.onnx"):
        HeadNetwork(load_head(heads.write_head(tmp_path)))


def test_providers_are_reported_as_they_are(tmp_path: Path) -> None:
    network = HeadNetwork(load_head(heads.wav2lip(tmp_path)), providers=("TensorrtExecutionProvider", "CUDAExecutionProvider"))
    found = network.providers
    assert found.configured == ("TensorrtExecutionProvider", "CUDAExecutionProvider")
    assert "CPUExecutionProvider" in found.available
    assert set(found.active) <= set(found.available)
    assert found.active[-1] == "CPUExecutionProvider"
