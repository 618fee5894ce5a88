"""What somebody may upload, and what every other file is told."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gpu_engine.avatar.onboarding.photo import MAX_BYTES, WORK_SIDE, PhotoError, read_photo
from tests.onboarding.pictures import SMILING

pytestmark = pytest.mark.unit


def picture() -> Image.Image:
    return Image.open(SMILING).convert("RGB")


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png_header(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + b"IHDR"
        + head
        + struct.pack(">I", zlib.crc32(b"IHDR" + head))
        + b"\0" * 64
    )


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "TIFF"])
def test_usual_formats_open_as_bgr(kind: str) -> None:
    photo = read_photo(saved(picture(), kind))
    assert photo.image.shape == (432, 432, 3) and photo.image.dtype == np.uint8
    wall = photo.image[170, 40].astype(int)
    assert wall[2] > wall[0] + 60, "the warm wall is red in the last channel"


def test_a_picture_on_its_side_is_put_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = saved(picture().transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif, quality=95)
    photo = read_photo(turned)
    assert photo.notes == ("rotated",)
    upright = np.asarray(picture())[..., ::-1].astype(int)
    assert np.abs(photo.image.astype(int) - upright).mean() < 4


def test_alpha_cmyk_grey_and_sixteen_bits_become_plain_colour() -> None:
    cut = picture().convert("RGBA")
    cut.putalpha(0)
    clear = read_photo(saved(cut, "PNG"))
    assert clear.notes == ("alpha",) and (clear.image == 188).all()
    assert read_photo(saved(picture().convert("CMYK"), "JPEG")).notes == ("cmyk",)
    assert read_photo(saved(picture().convert("L"), "PNG")).notes == ("grey",)
    deep = Image.fromarray(np.full((200, 300), 32768, np.uint16))
    assert (read_photo(saved(deep, "PNG")).image == 127).all()


def test_a_large_picture_is_shrunk_to_the_working_size() -> None:
    photo = read_photo(saved(picture().resize((3000, 4000)), "JPEG"))
    assert photo.original == (3000, 4000) and photo.image.shape[:2] == (WORK_SIDE, 1800) and photo.notes == ("shrunk",)
    exif = Image.Exif()
    exif[0x0112] = 6
    sideways = read_photo(saved(picture().resize((5000, 4000)), "PNG", exif=exif, compress_level=1))
    assert sideways.original == (4000, 5000) and set(sideways.notes) == {"shrunk", "rotated"}
    assert sideways.image.shape[:2] == (WORK_SIDE, 1920)


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", "empty", "is empty"),
        (b"hello, this is no picture\n" * 9, "kind", "a text file"),
        ("你好，这不是照片".encode(), "kind", "a text file"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "kind", "a PDF document"),
        (b"PK\x03\x04" + b"\0" * 60, "kind", "a ZIP archive"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "kind", "a web page or vector drawing"),
        (b"\0\0\0\x18ftypheic" + b"\0" * 40, "heic", "Most Compatible"),
        (b"\0\0\0\x18ftypmp42" + b"\0" * 40, "kind", "a video"),
        (bytes(range(256)) * 8, "kind", "no picture format"),
        (png_header(50_000, 50_000), "pixels", "50000x50000"),
        (png_header(9000, 9000), "pixels", "9000x9000"),
        (png_header(300, 300), "damaged", "cut off or damaged"),
    ],
)
def test_what_is_no_photograph_is_told_so(raw: bytes, code: str, words: str) -> None:
    with pytest.raises(PhotoError) as refused:
        read_photo(raw, "upload")
    assert refused.value.code == code and words in refused.value.text["en"]
    assert "upload" in refused.value.text["zh"] and refused.value.text["zh"].endswith("。")


def test_cut_off_pictures_are_refused_not_half_shown() -> None:
    for kind in ("JPEG", "PNG", "WEBP"):
        whole = saved(picture(), kind)
        with pytest.raises(PhotoError) as refused:
            read_photo(whole[: len(whole) * 3 // 5])
        assert refused.value.code in ("damaged", "kind")


def test_animations_and_pages_are_refused() -> None:
    second = picture().rotate(5)
    for kind in ("GIF", "WEBP", "TIFF", "PNG"):
        with pytest.raises(PhotoError) as refused:
            read_photo(saved(picture(), kind, save_all=True, append_images=[second, second]))
        assert refused.value.code == "frames"


def test_a_gif_bomb_is_refused_before_its_frames_are_read() -> None:
    frame = b"\x2c\0\0\0\0" + struct.pack("<HH", 60_000, 900) + b"\0\x02\x02\x4c\x01\0"
    bomb = b"GIF89a" + struct.pack("<HH", 60_000, 900) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff" + frame * 20_000 + b"\x3b"
    with pytest.raises(PhotoError) as refused:
        read_photo(bomb)
    assert refused.value.code == "frames"


def test_one_pixel_and_too_many_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PhotoError) as tiny:
        read_photo(saved(picture().resize((1, 1)), "PNG"))
    assert tiny.value.code == "small" and "1x1" in tiny.value.text["en"]
    big = tmp_path / "big.jpg"
    with big.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(PhotoError) as huge:
        read_photo(big)
    assert huge.value.code == "bytes"
    with pytest.raises(PhotoError) as missing:
        read_photo(tmp_path / "nothing.jpg")
    assert missing.value.code == "missing"


def test_a_jpeg_of_endless_scans_is_refused_before_it_is_decoded() -> None:
    held = io.BytesIO()
    Image.new("RGB", (600, 600), (120, 90, 80)).save(held, "JPEG", progressive=True)
    raw = held.getvalue()
    scan = raw[raw.rindex(b"\xff\xda") : raw.rindex(b"\xff\xd9")]

    with pytest.raises(PhotoError) as refused:
        read_photo(raw[: raw.rindex(b"\xff\xd9")] + scan * 200 + b"\xff\xd9")

    assert refused.value.code == "scans"
