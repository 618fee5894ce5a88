"""Heads made to hurt whoever opens them: bombs, playlists and empty ranges are refused by name."""

from __future__ import annotations

import zipfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from gpu_engine.avatar.neural.loop import RecordedLoop, analyse, read_frames
from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.renderer import AvatarError
from tests.neural import heads

pytestmark = pytest.mark.media


def test_a_crop_file_that_unpacks_to_far_more_than_a_loop_needs(tmp_path: Path) -> None:
    heads.wav2lip(tmp_path)
    np.savez_compressed(tmp_path / "landmarks.npz", points=np.zeros((1_000_000, 5, 2), np.float32))
    head = load_head(heads.write_head(tmp_path))

    assert (tmp_path / "landmarks.npz").stat().st_size < 100_000
    with pytest.raises(AvatarError, match=r"landmarks\.npz unpacks to 38 MiB, more than 8: prepare the head again"):
        analyse(head)


@pytest.mark.parametrize("damage", ["no zip", "cut off", "bits", "an array of terabytes"])
def test_a_crop_file_that_cannot_be_unpacked(tmp_path: Path, damage: str) -> None:
    heads.wav2lip(tmp_path)
    path = tmp_path / "landmarks.npz"
    np.savez_compressed(path, points=np.random.default_rng(1).normal(size=(100, 5, 2)).astype(np.float32))
    raw = bytearray(path.read_bytes())
    if damage == "no zip":
        path.write_bytes(b"points")
    elif damage == "cut off":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "bits":
        for at in range(200, 260):
            raw[at] ^= 0xFF
        path.write_bytes(raw)
    else:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000, 5, 2), }"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("points.npy", b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n")

    with pytest.raises(AvatarError, match=r"landmarks\.npz cannot be read: "):
        analyse(load_head(heads.write_head(tmp_path)))


def test_a_playlist_is_no_loop_and_has_no_other_file_read(tmp_path: Path) -> None:
    """FFmpeg would follow it to any recording on this machine, another shop's too."""
    with av.open(str(tmp_path / "secret.ts"), "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt, stream.time_base = heads.WIDTH, heads.HEIGHT, "yuv420p", Fraction(1, 25)
        for i in range(5):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(heads.picture(i)[0], format="bgr24")))
        container.mux(stream.encode())
    (tmp_path / "loop.m3u8").write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.2,\n{tmp_path / 'secret.ts'}\n#EXT-X-ENDLIST\n"
    )

    with pytest.raises(AvatarError, match=r"loop\.m3u8 cannot be decoded: .*; a loop is one MP4, MOV, MKV, WebM or AVI file"):
        list(read_frames(tmp_path / "loop.m3u8"))


def test_a_picture_too_large_for_any_show_is_not_decoded(tmp_path: Path) -> None:
    heads.write_video(tmp_path / "loop.mp4", [np.zeros((16, 4112, 3), np.uint8)])

    with pytest.raises(AvatarError, match=r"loop\.mp4 is 4112x16: sides of a loop are at most 4096 px"):
        list(read_frames(tmp_path / "loop.mp4"))


def test_crops_count_towards_what_a_loop_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads.wav2lip(tmp_path)
    loop = heads.ref(tmp_path, "loop.mp4", fps=heads.FPS, first=1, last=90, mode="pingpong", open_frames=[])
    head = load_head(heads.write_head(tmp_path, loop=loop))
    # 90 frames are 10.4 MB at this size, their crops 2.5 MB more.
    monkeypatch.setattr("gpu_engine.avatar.neural.loop.MAX_STORED_BYTES", 11 << 20)

    with pytest.raises(AvatarError, match=r"a loop of 90 frames at 320x240 takes 12 MB, more than 11"):
        RecordedLoop(head, heads.WIDTH, heads.HEIGHT, tmp_path)
