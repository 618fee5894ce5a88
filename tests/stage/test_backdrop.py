"""The picture behind the host: shipped studios, merchants' own pictures, and those that cannot be used."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from gpu_engine.session.spec import RunOfShow, Segment, SegmentKind, SessionSpec
from gpu_engine.stage.backdrop import FOLDER, load_backdrop
from gpu_engine.stage.backdrop_names import BACKDROPS
from gpu_engine.stage.compositor import Stage, StageError
from gpu_engine.stage.layout import layout

pytestmark = pytest.mark.unit

SHOW = RunOfShow(segments=(Segment(id="a", kind=SegmentKind.OPENING),))


def saved(path: Path, size: tuple[int, int], colour: tuple[int, int, int] = (200, 40, 40), **options: object) -> Path:
    Image.new("RGB", size, colour).save(path, **options)
    return path


@pytest.mark.parametrize("name", BACKDROPS)
def test_a_shipped_studio_comes_in_both_shapes_and_stays_small(name: str) -> None:
    for shape, size in (("wide", (1920, 1080)), ("tall", (1080, 1920))):
        path = FOLDER / f"{name}_{shape}.jpg"
        assert path.stat().st_size <= 250_000
        with Image.open(path) as picture:
            assert picture.size == size


@pytest.mark.parametrize("name", BACKDROPS)
@pytest.mark.parametrize("size", [(1280, 720), (720, 1280)])
def test_a_studio_separates_dark_hair_and_keeps_calm_behind_text(name: str, size: tuple[int, int]) -> None:
    plan = layout(*size)

    picture = load_backdrop(name, plan)

    assert picture.shape == (size[1], size[0], 3)
    luma = picture @ np.array([0.114, 0.587, 0.299])
    half = round(0.14 * plan.short)
    middle = round(plan.host_x * size[0])
    behind_head = luma[round(0.10 * size[1]) : round(0.42 * size[1]), middle - half : middle + half]
    # Black hair renders at a luma of about 25.
    assert behind_head.mean() > 90
    text = luma[plan.caption.top : plan.caption.bottom, plan.caption.left : plan.caption.right]
    steps = np.abs(np.diff(text, axis=1))
    assert steps.mean() < 3.0


def test_the_host_stands_in_a_soft_shade() -> None:
    size = (640, 360)
    plan = layout(*size)
    with Image.open(FOLDER / "daylight_wide.jpg") as shipped:
        plain = np.asarray(shipped.resize(size, Image.Resampling.LANCZOS))[..., ::-1].astype(float)

    picture = load_backdrop("daylight", plan).astype(float)

    ratio = picture.mean(2) / np.maximum(plain.mean(2), 1)
    x = round(plan.host_x * size[0]) + 18
    assert ratio[350, x] == pytest.approx(0.80, abs=0.02)
    assert ratio[20, 600] == pytest.approx(1.0, abs=0.01)


def test_a_merchants_picture_covers_the_frame_round_the_host(tmp_path: Path) -> None:
    # Given a square picture with a blue stripe at the host's place
    picture = Image.new("RGB", (1000, 1000), (240, 240, 240))
    picture.paste((0, 0, 255), (360, 0, 380, 1000))
    path = tmp_path / "shop.png"
    picture.save(path)
    plan = layout(1280, 720)

    shown = load_backdrop(str(path), plan)

    assert shown.shape == (720, 1280, 3)
    assert shown.flags.c_contiguous
    blue = np.nonzero(shown[100, :, 0].astype(int) - shown[100, :, 2] > 120)[0]
    assert blue.min() <= plan.host_x * 1280 <= blue.max()


def test_a_phones_turned_picture_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(tmp_path / "phone.jpg", (1600, 900), exif=exif)

    assert load_backdrop(str(path), layout(360, 640)).shape == (640, 360, 3)


def png_claiming(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.jpg", b"", "cannot be read as a picture"),
        ("words.png", b"not a picture at all", "cannot be read as a picture"),
        ("bomb.png", png_claiming(60_000, 60_000), "megapixels|cannot be read"),
        ("cut.png", png_claiming(1280, 720), "cannot be read as a picture"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(StageError, match=says) as refused:
        Stage(640, 360, "zh", "AI生成", backdrop=str(path)).background()
    assert name in str(refused.value)


def test_a_small_picture_says_how_large_it_must_be(tmp_path: Path) -> None:
    path = saved(tmp_path / "thumb.png", (320, 180))

    with pytest.raises(StageError, match=r"320x180 is smaller than 640x360"):
        load_backdrop(str(path), layout(1280, 720))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"gone\.jpg: No such file"):
        load_backdrop(str(tmp_path / "gone.jpg"), layout(1280, 720))


def test_a_stage_reads_its_backdrop_once(tmp_path: Path) -> None:
    path = saved(tmp_path / "own.png", (1280, 720))
    stage = Stage(640, 360, "en", "AI-generated", backdrop=str(path))

    first = stage.background()
    path.unlink()

    assert stage.background() is first


@pytest.mark.parametrize("backdrop", [*BACKDROPS, "/srv/pictures/shop.JPG", "wall.webp"])
def test_a_show_may_name_a_studio_or_a_picture(backdrop: str) -> None:
    assert SessionSpec(show=SHOW, backdrop=backdrop).backdrop == backdrop


@pytest.mark.parametrize("backdrop", ["", "beach", "/etc/passwd", "shop.gif"])
def test_a_show_with_an_unknown_backdrop_is_refused(backdrop: str) -> None:
    with pytest.raises(ValidationError, match="use daylight, boutique, studio or the path of a picture"):
        SessionSpec(show=SHOW, backdrop=backdrop)


def test_a_show_that_names_none_stands_in_daylight() -> None:
    assert SessionSpec(show=SHOW).backdrop == "daylight"


def test_a_jpeg_of_endless_scans_is_not_decoded(tmp_path: Path) -> None:
    """30 bytes a scan keep a decoder busy for hours in a file of a few megabytes."""
    path = saved(tmp_path / "wall.jpg", (1280, 720), progressive=True)
    raw = path.read_bytes()
    count, last = raw.count(b"\xff\xda"), raw[raw.rindex(b"\xff\xda") : -2]
    plan = layout(1280, 720)

    path.write_bytes(raw[:-2] + last * (64 - count) + raw[-2:])
    assert load_backdrop(str(path), plan).shape == (720, 1280, 3)
    path.write_bytes(raw[:-2] + last * (65 - count) + raw[-2:])
    with pytest.raises(StageError, match=r"wall\.jpg: 65 scans, at most 64 are read: save the picture again"):
        load_backdrop(str(path), plan)
