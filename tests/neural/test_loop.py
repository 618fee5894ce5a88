"""The loop: a good seam is found, a bad recording goes there and back, open mouths are seen, and pastes leave no edge."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.avatar.neural.crops import bounds, box_affine, cut, inverse, similarity
from gpu_engine.avatar.neural.loop import RecordedLoop, analyse, cover, read_frames
from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.neural.paste import Paster, feather_mask
from gpu_engine.avatar.neural.seam import find_seam
from gpu_engine.avatar.renderer import AvatarError
from tests.neural import heads

pytestmark = pytest.mark.media


def test_the_seam_of_a_periodic_recording_is_its_period() -> None:
    t = np.arange(130)
    thumbs = np.stack([np.sin(2 * np.pi * t / 90 + phase) for phase in np.linspace(0, 3, 12)], axis=1).astype(np.float32)
    seam = find_seam(thumbs, (), 25.0, 8)
    assert seam.mode == "cut" and (seam.last - seam.first + 1) == 90
    assert seam.jump < 0.05 and seam.first >= 8


def test_a_recording_that_never_returns_goes_there_and_back() -> None:
    thumbs = np.cumsum(np.ones((100, 6), np.float32), axis=0)
    seam = find_seam(thumbs, (), 25.0, 8)
    assert (seam.mode, seam.first, seam.last, seam.period) == ("pingpong", 0, 99, 198)
    assert [seam.frame(i) for i in (0, 1, 98, 99, 100, 197, 198)] == [0, 1, 98, 99, 98, 1, 0]


def test_a_loop_without_open_mouths_is_preferred() -> None:
    t = np.arange(250)
    thumbs = np.stack([np.sin(2 * np.pi * t / 80 + p) for p in (0, 1, 2)], axis=1).astype(np.float32)
    seam = find_seam(thumbs, tuple(range(10, 60)), 25.0, 8)
    assert seam.first >= 60


def test_a_recording_is_decoded_analysed_and_kept(tmp_path: Path) -> None:
    path = heads.wav2lip(tmp_path, frames=110, open_from=98)
    head = load_head(path)
    loop = RecordedLoop(head, heads.WIDTH, heads.HEIGHT, tmp_path)
    assert loop.seam.mode == "cut" and loop.seam.period in (79, 80, 81)
    assert set(range(99, 107)) <= set(loop.seam.open_frames)
    assert not loop.opened[: 98 - loop.seam.first].any()
    stored = sorted(p.name for p in (tmp_path / "heads").rglob("*") if p.is_file())
    assert stored == ["crops.npy", "frames.i420", "loop.json", "maps.npy"]
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "heads").rglob("*") if p.is_file()}
    again = RecordedLoop(head, heads.WIDTH, heads.HEIGHT, tmp_path)
    assert again.seam == loop.seam
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "heads").rglob("*") if p.is_file()}


def test_no_step_over_the_seam_is_larger_than_elsewhere(tmp_path: Path) -> None:
    loop = RecordedLoop(load_head(heads.wav2lip(tmp_path)), heads.WIDTH, heads.HEIGHT, tmp_path)
    canvas = np.zeros((heads.HEIGHT, heads.WIDTH, 3), np.uint8)
    pictures = []
    for i in range(loop.seam.period + 1):
        loop.show(loop.index(i * 40.0), canvas)
        pictures.append(canvas.astype(np.float32))
    steps = [float(np.abs(a - b).mean()) for a, b in pairwise(pictures)]
    assert max(steps[-9:]) <= 1.5 * max(steps[:-9])


def test_crops_are_steady_though_the_head_moves(tmp_path: Path) -> None:
    loop = RecordedLoop(load_head(heads.wav2lip(tmp_path)), heads.WIDTH, heads.HEIGHT, tmp_path)
    middle = loop.crops[:, 30:60, 30:66].astype(np.float32)
    # Over 20 px of sway the drawn mouth stays within a pixel (the drawing itself is on whole pixels).
    assert np.abs(middle - middle.mean(axis=0)).mean() < 6.0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"boxes": np.zeros((100, 4))}, r"has no array 'points', which crop 'landmarks' needs"),
        ({"points": np.zeros((100, 4, 2))}, r"'points' is \[100, 4, 2\], must be \[100, 5, 2\]"),
        ({"points": np.zeros((50, 5, 2)) + np.eye(5, 2) * 9}, r"has 50 frames, the loop has more"),
        ({"points": np.full((100, 5, 2), np.nan)}, r"not finite, first in frame 0"),
        ({"points": np.full((100, 5, 2), 900.0)}, r"of frame 0 lies outside the picture of 320x240"),
        ({"points": np.full((100, 5, 2), 90.0)}, r"frame 0: the 5 landmarks lie on one spot"),
    ],
)
def test_a_bad_crop_file_is_named(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:  # type: ignore[type-arg]
    heads.wav2lip(tmp_path)
    np.savez(tmp_path / "landmarks.npz", **arrays)
    head = load_head(heads.write_head(tmp_path))
    with pytest.raises(AvatarError, match=message):
        analyse(head)


def test_a_file_that_is_no_video_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop.mp4").write_bytes(b"no video")
    with pytest.raises(AvatarError, match=r"loop\.mp4 cannot be decoded"):
        list(read_frames(tmp_path / "loop.mp4"))


def test_box_crops_work_without_landmarks(tmp_path: Path) -> None:
    heads.wav2lip(tmp_path)
    np.savez(tmp_path / "boxes.npz", boxes=np.tile(np.array([105, 90, 215, 200], np.float32), (heads.FRAMES, 1)))
    path = heads.write_head(tmp_path, crop=heads.ref(tmp_path, "boxes.npz", kind="box"))
    loop = RecordedLoop(load_head(path), heads.WIDTH, heads.HEIGHT, tmp_path)
    assert np.allclose(loop.maps[0], box_affine(np.array([105, 90, 215, 200], np.float32), 96, 96))


# --- crops and pastes -------------------------------------------------------------------------------------------------


def test_similarity_finds_turn_scale_and_shift() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 100, (5, 2)).astype(np.float32)
    angle, scale, shift = 0.3, 0.7, np.array([4.0, -9.0])
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = similarity(points, (points @ turn.T + shift).astype(np.float32))
    assert np.allclose(found[:, :2], turn, atol=1e-5) and np.allclose(found[:, 2], shift, atol=1e-3)
    assert np.allclose(inverse(found)[:, :2] @ found[:, :2], np.eye(2), atol=1e-5)


def test_a_crop_laid_back_unchanged_changes_nothing(tmp_path: Path) -> None:
    head = load_head(heads.wav2lip(tmp_path))
    image, points = heads.picture(3)
    matrix = similarity(points, np.array(heads.template(96), np.float32))
    crop = cut(image, matrix, 96, 96)
    canvas = image.copy()
    Paster(head).paste(canvas, matrix, crop, crop)
    assert np.array_equal(canvas, image)


@pytest.mark.parametrize("detail", [True, False])
def test_a_paste_has_no_visible_border(tmp_path: Path, detail: bool) -> None:
    head = load_head(heads.wav2lip(tmp_path, paste={"detail": detail}))
    image = np.full((240, 320, 3), 120, np.uint8)
    _, points = heads.picture(0)
    matrix = similarity(points, np.array(heads.template(96), np.float32))
    crop = cut(image, matrix, 96, 96)
    mouth = np.full_like(crop, 180)
    Paster(head).paste(image, matrix, crop, mouth)
    step = max(np.abs(np.diff(image.astype(int), axis=0)).max(), np.abs(np.diff(image.astype(int), axis=1)).max())
    x0, y0, x1, y1 = bounds(matrix, 96, 96, 320, 240)
    assert image[(y0 + y1) // 2 + 5, (x0 + x1) // 2].tolist() == [180, 180, 180]
    assert step <= 12
    outside = image.copy()
    outside[y0:y1, x0:x1] = 120
    assert (outside == 120).all()


def test_detail_keeps_the_grain_where_nothing_changes(tmp_path: Path) -> None:
    head = load_head(heads.wav2lip(tmp_path))
    image = np.random.default_rng(2).integers(90, 150, (240, 320, 3)).astype(np.uint8)
    _, points = heads.picture(0)
    matrix = similarity(points, np.array(heads.template(96), np.float32))
    crop = cut(image, matrix, 96, 96)
    canvas = image.copy()
    Paster(head).paste(canvas, matrix, crop, np.clip(crop.astype(int) + 1, 0, 255).astype(np.uint8))
    assert np.abs(canvas.astype(int) - image).max() <= 7
    assert canvas.std() > 0.95 * image.std()


def test_the_mask_is_zero_on_the_border_and_one_inside() -> None:
    mask = feather_mask(96, 96, (0.0, 0.0, 1.0, 1.0), 0.14)
    assert mask[48, 48] == 1.0
    assert max(mask[0].max(), mask[-1].max(), mask[:, 0].max(), mask[:, -1].max()) == 0.0
    assert np.abs(np.diff(mask, axis=0)).max() < 0.2


def test_cover_keeps_the_face_in_view() -> None:
    fit = cover(1280, 720, 720, 1280, 474.0)
    scale = 1280 / 720
    assert fit[0, 0] == pytest.approx(scale)
    assert fit[0] @ np.array([474.0, 0, 1]) == pytest.approx(360, abs=1)
    assert cover(1280, 720, 1280, 720, 10.0).tolist() == [[1, 0, 0], [0, 1, 0]]
