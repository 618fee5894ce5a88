"""The command line: a head is checked, its seam written down, a sound file spoken, points followed."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import av
import numpy as np
import pytest

from gpu_engine.avatar.neural.__main__ import main
from gpu_engine.avatar.neural.offline import read_sound
from gpu_engine.avatar.neural.prepare import track_points
from gpu_engine.avatar.renderer import AvatarError
from tests.neural import heads

pytestmark = pytest.mark.media


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write_wav(path: Path, seconds: float, rate: int = 24_000) -> None:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(heads.speech(seconds)[:: 48_000 // rate].astype("<i2").tobytes())


def test_check_says_what_a_head_is_and_where_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(heads.wav2lip(tmp_path))]) == 0
    said = capsys.readouterr().out
    assert "test: valid" in said and "CC0-1.0, synthetic" in said
    assert "providers: configured default; available" in said and "active CPUExecutionProvider" in said


def test_check_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "head.json")]) == 1
    assert "head.json is missing" in capsys.readouterr().err


def test_analyse_writes_the_seam_into_the_manifest(tmp_path: Path) -> None:
    path = heads.wav2lip(tmp_path, open_from=88)
    assert main(["analyse", str(path)]) == 0
    loop = json.loads(path.read_text())["loop"]
    assert loop["mode"] == "cut" and loop["last"] - loop["first"] + 1 in (79, 80, 81)
    assert set(range(89, 97)) <= set(loop["open_frames"])
    assert main(["check", str(path)]) == 0


def test_render_writes_picture_and_sound_of_the_same_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = heads.wav2lip(tmp_path), tmp_path / "out.mp4"
    write_wav(tmp_path / "in.wav", 1.0)
    arguments = ["render", "--head", str(path), "--audio", str(tmp_path / "in.wav"), "--out", str(out)]
    assert main([*arguments, "--width", "320", "--height", "240"]) == 0
    assert "35 frames" in capsys.readouterr().out
    with av.open(str(out)) as container:
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    assert len(frames) == 35 and frames[0].shape == (240, 320, 3)
    heard = read_sound(out)
    assert abs(len(heard) - 35 * 1920) < 3 * 1024
    assert np.abs(heard[4_000:40_000].astype(int)).mean() > 500


def test_a_file_without_sound_is_named(tmp_path: Path) -> None:
    heads.write_recording(tmp_path, 4)
    with pytest.raises(AvatarError, match=r"loop\.mp4 holds no sound"):
        read_sound(tmp_path / "loop.mp4")
    (tmp_path / "in.wav").write_bytes(b"RIFF")
    with pytest.raises(AvatarError, match=r"in\.wav cannot be decoded"):
        read_sound(tmp_path / "in.wav")


def test_marked_points_are_followed(tmp_path: Path) -> None:
    heads.write_recording(tmp_path, 60)
    first = heads.picture(0)[1]
    marked = " ".join(f"{x:.1f},{y:.1f}" for x, y in first)
    assert main(["prepare", str(tmp_path / "loop.mp4"), "--points", marked, "--out", str(tmp_path / "found.npz")]) == 0
    found = np.load(tmp_path / "found.npz")["points"]
    true = np.stack([heads.picture(i)[1] for i in range(60)])
    assert found.shape == (60, 5, 2)
    assert np.linalg.norm(found - true, axis=2).mean() < 1.5


def test_points_that_are_no_five_pairs_are_named(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match=r"points '1,2 3': give five pairs"):
        track_points(tmp_path / "loop.mp4", "1,2 3")
