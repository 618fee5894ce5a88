"""Opens a photograph somebody sent: its size is known before it is decoded, and a refusal says what to send instead."""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from gpu_engine.avatar.renderer import AvatarError

MAX_BYTES = 30 << 20
MAX_PIXELS = 60_000_000
MAX_SCANS = 64
MIN_SIDE = 160
WORK_SIDE = 2400
"""Longer pictures are shrunk to this: no frame shows more of a face."""
KINDS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
_SEND = {"zh": "请发送一张 JPEG 或 PNG 照片", "en": "send a JPEG or PNG photograph"}


class PhotoError(AvatarError):
    """The file cannot be used as a photograph.

    Attributes:
        code: what is wrong, for programs; text: the sentence by language (``zh``, ``en``).
    """

    def __init__(self, code: str, zh: str, en: str) -> None:
        super().__init__(en)
        self.code, self.text = code, {"zh": zh, "en": en}


@dataclass(frozen=True, slots=True)
class Photo:
    """A decoded picture.

    Attributes:
        image: uint8[h, w, 3] BGR, upright, sRGB, at most ``WORK_SIDE`` px long.
        original: width and height in the file, upright.
        sha256: of the file.
        notes: what was done to it on opening: ``alpha`` (laid on grey), ``shrunk``, ``rotated``, ``cmyk``, ``grey``.
    """

    image: NDArray[np.uint8]
    original: tuple[int, int]
    sha256: str
    notes: tuple[str, ...]


def _damaged(name: str, reason: str) -> PhotoError:
    return PhotoError(
        "damaged",
        f"{name} 不完整或已损坏（{reason}）：请重新上传。",
        f"{name} is cut off or damaged ({reason}): upload it again.",
    )


def _kind_refusal(raw: bytes, name: str) -> PhotoError:
    head = raw[:64]
    if head.startswith((b"\x89PNG\r\n", b"\xff\xd8\xff", b"RIFF", b"II*\0", b"MM\0*", b"GIF8")):
        if head[12:16] == b"IHDR" and len(head) >= 24:
            width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
            if width * height > MAX_PIXELS:
                return _too_many(name, width, height)
        return _damaged(name, "unreadable header")
    if not raw:
        return PhotoError("empty", f"{name} 是空文件：{_SEND['zh']}。", f"{name} is empty: {_SEND['en']}.")
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heif"):
        return PhotoError(
            "heic",
            f"{name} 是 HEIC 照片，无法读取：请在手机上以“最兼容（JPEG）”格式导出，或用看图软件另存为 JPEG。",
            f"{name} is a HEIC photograph, which is not read: export it from the phone as 'Most Compatible' (JPEG), or save it "
            "as JPEG.",
        )
    if head[4:8] == b"ftyp":
        what = ("avif 图片或视频", "an AVIF picture or a video")
    elif head.startswith(b"%PDF"):
        what = ("PDF 文档", "a PDF document")
    elif head.startswith(b"PK\x03\x04"):
        what = ("压缩包或办公文档", "a ZIP archive or office document")
    elif head.lstrip().startswith((b"<svg", b"<?xml", b"<!DOCTYPE", b"<html")):
        what = ("网页或矢量图", "a web page or vector drawing")
    elif all(b in b"\t\n\r" or 32 <= b < 127 or b >= 128 for b in head) and b"\0" not in raw[:4096]:
        what = ("文本文件", "a text file")
    else:
        what = ("无法识别的文件", "no picture format that is read")
    return PhotoError(
        "kind", f"{name} 是{what[0]}，不是照片：{_SEND['zh']}。", f"{name} is {what[1]}, not a photograph: {_SEND['en']}."
    )


def _srgb(picture: Image.Image) -> Image.Image:
    """Colours as sRGB when the file carries a profile that can be read; a broken profile is ignored."""
    profile = picture.info.get("icc_profile")
    if not profile or picture.mode not in ("RGB", "CMYK"):
        return picture
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        moved = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture
    return moved if moved is not None else picture


def read_photo(source: Path | bytes, name: str = "") -> Photo:
    """Open a photograph.

    Args:
        source: a file or its bytes, at most 30 MiB and 60 million pixels.
        name: what messages call it; the file's name by default.

    Raises:
        PhotoError: no picture, one of a kind that is not read, too large, too small, several frames, or cut off.
    """
    name = name or (source.name if isinstance(source, Path) else "photo")
    if isinstance(source, Path):
        try:
            size = source.stat().st_size
            raw = source.read_bytes() if size <= MAX_BYTES else b""
        except OSError as error:
            why = error.strerror or str(error)
            raise PhotoError("missing", f"无法打开 {source}：{why}。", f"{source} cannot be opened: {why}.") from None
    else:
        raw, size = source, len(source)
    if size > MAX_BYTES:
        raise PhotoError(
            "bytes",
            f"{name} 有 {size / 1e6:.0f} MB，上限 {MAX_BYTES >> 20} MB：请以较小尺寸导出。",
            f"{name} has {size / 1e6:.0f} MB, at most {MAX_BYTES >> 20} MB are read: export it smaller.",
        )
    try:
        # Our own pixel limit is checked before anything is decoded; Pillow's warning would only repeat it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(raw), formats=[*KINDS, "GIF"])
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        if isinstance(error, Image.DecompressionBombError):
            raise _too_many(name, 0, 0) from None
        raise _kind_refusal(raw, name) from None
    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise _too_many(name, width, height)
    if picture.format in ("JPEG", "MPO") and (scans := raw.count(b"\xff\xda")) > MAX_SCANS:
        raise PhotoError(
            "scans",
            f"{name} 有 {scans} 次扫描，上限 {MAX_SCANS}：请重新导出为普通 JPEG。",
            f"{name} has {scans} scans, at most {MAX_SCANS} are read: export it again as a plain JPEG.",
        )
    if picture.format == "GIF" or (picture.format != "MPO" and getattr(picture, "n_frames", 1) > 1):
        raise PhotoError(
            "frames",
            f"{name} 是动图或多页图片：请发送单张 JPEG 或 PNG 照片。",
            f"{name} is animated or has several pages: send one JPEG or PNG photograph.",
        )
    if min(width, height) < MIN_SIDE:
        raise PhotoError(
            "small",
            f"{name} 只有 {width}×{height} 像素，短边至少 {MIN_SIDE} 像素：请发送原图。",
            f"{name} has only {width}x{height} px, the shorter side needs {MIN_SIDE}: send the original picture.",
        )
    return _decode(picture, raw, name)


def _too_many(name: str, width: int, height: int) -> PhotoError:
    size = f"{width}×{height}" if width else "过多"
    return PhotoError(
        "pixels",
        f"{name} 有 {size} 像素，上限 {MAX_PIXELS // 1_000_000} 百万像素：请缩小后再发送。",
        f"{name} has {f'{width}x{height}' if width else 'too many'} pixels, at most {MAX_PIXELS // 1_000_000} million are "
        "read: shrink it.",
    )


def _decode(picture: Image.Image, raw: bytes, name: str) -> Photo:
    notes: list[str] = []
    width, height = picture.size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            orientation = int(picture.getexif().get(0x0112, 1))
            turned = orientation not in (0, 1)
            if picture.format == "JPEG" and max(picture.size) > 2 * WORK_SIDE and not turned:
                picture.draft("RGB", (WORK_SIDE, WORK_SIDE))
            picture.load()
            loaded: Image.Image = picture
            if max(picture.size) >= 2 * WORK_SIDE and picture.mode in ("RGB", "RGBA", "L", "LA", "CMYK"):
                # Shrunk at once by whole pixels, so that at most one full-size copy is ever held.
                loaded = picture.reduce(max(picture.size) // WORK_SIDE)
                picture.close()
            upright = ImageOps.exif_transpose(loaded)
    except (OSError, ValueError, SyntaxError, TypeError, KeyError, IndexError, EOFError, MemoryError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise _damaged(name, reason) from None
    if turned:
        notes.append("rotated")
    if upright.mode in ("CMYK", "YCCK"):
        notes.append("cmyk")
    upright = _srgb(upright)
    if upright.mode in ("RGBA", "LA", "PA") or (upright.mode == "P" and "transparency" in upright.info):
        notes.append("alpha")
        ground = Image.new("RGBA", upright.size, (188, 188, 188, 255))
        upright = Image.alpha_composite(ground, upright.convert("RGBA"))
    if upright.mode in ("I;16", "I;16B", "I", "F"):
        values = np.asarray(upright, np.float64)
        top = 65535.0 if values.max() > 255 else 255.0
        upright = Image.fromarray(np.clip(values / top * 255, 0, 255).astype(np.uint8))
    if upright.mode in ("L", "1"):
        notes.append("grey")
    image: NDArray[np.uint8] = np.asarray(upright.convert("RGB"), np.uint8)[..., ::-1]
    original = (height, width) if orientation in (5, 6, 7, 8) else (width, height)
    if max(original) > WORK_SIDE:
        notes.append("shrunk")
    long = max(image.shape)
    if long > WORK_SIDE:
        size = (round(image.shape[1] * WORK_SIDE / long), round(image.shape[0] * WORK_SIDE / long))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Photo(np.ascontiguousarray(image), original, hashlib.sha256(raw).hexdigest(), tuple(notes))
