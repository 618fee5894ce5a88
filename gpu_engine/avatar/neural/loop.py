"""The recorded loop: decoded, its seam chosen, cut to the canvas and kept memory-mapped, so that hours cost what a frame costs.

Frames lie on disk as I420 at the canvas' size, shared by every session that uses the same head at that size; the kernel may
drop pages when memory is short. The cross-fade over the seam is in the stored frames, not in the show.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.crops import box_affine, cut, similarity
from gpu_engine.avatar.neural.manifest import Head
from gpu_engine.avatar.neural.seam import Seam, find_seam, open_frames, openness
from gpu_engine.avatar.renderer import AvatarError

MAX_FRAMES = 3000
MAX_STORED_BYTES = 2 << 30
MAX_SIDE_PX = 4096
_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
"""FFmpeg's names of the formats a loop may have. Playlists are none: they would have other files of this machine read."""
MAX_CROP_BYTES = 8 << 20
"""Of an unpacked crop file: 3,000 frames of five points are 0.1 MB."""
_THUMB = (64, 36)
_STORED_VERSION = 2

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/lumihost``, else ``~/.cache/lumihost``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lumihost"


def read_frames(path: Path) -> Iterator[Image]:
    """Frames uint8[h, w, 3] BGR of a video, at most ``MAX_FRAMES``.

    Raises:
        AvatarError: no video in it, or it cannot be decoded.
    """
    try:
        with av.open(str(path), options={"format_whitelist": _CONTAINERS}) as container:
            if not container.streams.video:
                raise AvatarError(f"{path} holds no video: the loop must be a recorded clip")
            size = container.streams.video[0].width, container.streams.video[0].height
            if max(size) > MAX_SIDE_PX:
                raise AvatarError(f"{path} is {size[0]}x{size[1]}: sides of a loop are at most {MAX_SIDE_PX} px")
            for number, frame in enumerate(container.decode(video=0)):
                if number >= MAX_FRAMES:
                    raise AvatarError(f"{path} is longer than {MAX_FRAMES} frames: cut it to a loop of some seconds")
                yield np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
    except (av.FFmpegError, OSError) as error:
        raise AvatarError(f"{path} cannot be decoded: {error}; a loop is one MP4, MOV, MKV, WebM or AVI file") from None


def read_crop_file(head: Head, frames: int, width: int, height: int) -> list[NDArray[np.float32]]:
    """The map from loop picture to crop for every frame, float32[2, 3] each.

    Raises:
        AvatarError: the file has another shape, too few frames, or points outside the picture.
    """
    path = head.path(head.crop)
    key, shape = ("points", (5, 2)) if head.crop.kind == "landmarks" else ("boxes", (4,))
    values = np.asarray(_arrays(path).get(key, ()), np.float32)
    if not values.size:
        raise AvatarError(f"{path} has no array '{key}', which crop '{head.crop.kind}' needs")
    if values.ndim != len(shape) + 1 or values.shape[1:] != shape or len(values) < frames:
        raise AvatarError(f"{path}: '{key}' is {list(values.shape)}, must be [{frames}, {', '.join(map(str, shape))}]")
    if not np.isfinite(values).all():
        raise AvatarError(f"{path}: '{key}' holds values that are not finite, first in frame {int(_first_bad(values))}")
    matrices: list[NDArray[np.float32]] = []
    template = np.array(head.crop.template or (), np.float32)
    for i in range(frames):
        flat = values[i].reshape(-1, 2)
        if (flat < -0.25 * width).any() or (flat[:, 0] > 1.25 * width).any() or (flat[:, 1] > 1.25 * height).any():
            raise AvatarError(f"{path}: '{key}' of frame {i} lies outside the picture of {width}x{height}")
        if head.crop.kind == "box":
            if flat[1, 0] - flat[0, 0] < 8 or flat[1, 1] - flat[0, 1] < 8:
                raise AvatarError(f"{path}: box of frame {i} is smaller than 8 px")
            matrices.append(box_affine(values[i], head.image.width, head.image.height))
        else:
            try:
                matrices.append(similarity(values[i], template))
            except ValueError as error:
                raise AvatarError(f"{path}: frame {i}: {error}") from None
    return matrices


def _first_bad(values: Floats) -> int:
    return int(np.nonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0][0])


def analyse(head: Head) -> Seam:
    """Decode the recording and choose its seam; what the manifest already says is kept."""
    thumbs, openings, size = [], [], (0, 0)
    matrices: list[NDArray[np.float32]] = []
    for number, picture in enumerate(read_frames(head.path(head.loop))):
        if number == 0:
            size = (picture.shape[1], picture.shape[0])
            matrices = read_crop_file(head, _crop_frames(head), *size)
        if number >= len(matrices):
            raise AvatarError(f"{head.path(head.crop)} has {len(matrices)} frames, the loop has more: prepare the head again")
        thumbs.append(cv2.resize(picture, _THUMB, interpolation=cv2.INTER_AREA).reshape(-1))
        openings.append(openness(cut(picture, matrices[number], head.image.width, head.image.height)))
    if len(thumbs) < 2:
        raise AvatarError(f"{head.path(head.loop)} has {len(thumbs)} frame(s): record some seconds")
    opened = head.loop.open_frames if head.loop.open_frames is not None else open_frames(np.array(openings, np.float32))
    opened = tuple(i for i in opened if i < len(thumbs))
    loop = head.loop
    if loop.first is not None and loop.last is not None:
        if not loop.first < loop.last < len(thumbs):
            raise AvatarError(f"{head.path(loop)}: loop {loop.first} to {loop.last} does not lie in its {len(thumbs)} frames")
        fade = min(loop.fade_frames, loop.first) if (loop.mode or "cut") == "cut" else 0
        return Seam(loop.first, loop.last, loop.mode or "cut", fade, 0.0, opened)
    return find_seam(np.array(thumbs, np.float32), opened, loop.fps, loop.fade_frames)


def _crop_frames(head: Head) -> int:
    return max((len(values) for values in _arrays(head.path(head.crop)).values() if values.ndim), default=0)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What an .npz holds, refused before it is unpacked when that is more than any loop needs."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MAX_CROP_BYTES:
            raise AvatarError(f"{path} unpacks to {size >> 20} MiB, more than {MAX_CROP_BYTES >> 20}: prepare the head again")
        with np.load(path, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError) as error:
        raise AvatarError(f"{path} cannot be read: {error}") from None


def cover(width: int, height: int, to_width: int, to_height: int, focus_x: float) -> NDArray[np.float32]:
    """The map float32[2, 3] that makes a picture cover the canvas, with ``focus_x`` (px of the picture) kept in the middle."""
    scale = max(to_width / width, to_height / height)
    spare = width * scale - to_width
    left = min(max(focus_x * scale - to_width / 2, 0.0), spare) if spare > 0.5 else 0.0
    top = 0.0 if height * scale - to_height < 0.5 else (height * scale - to_height) * 0.25
    return np.array([[scale, 0, -left + (scale - 1) / 2], [0, scale, -top + (scale - 1) / 2]], np.float32)


class RecordedLoop:
    """The loop as the renderer plays it on a canvas of one size.

    Attributes:
        seam: what is played.
        crops: uint8[n, h, w, 3], the network's view of each frame, memory-mapped.
        maps: float32[n, 2, 3], canvas to crop.
        opened: bool[n], frames with an open mouth.
    """

    def __init__(self, head: Head, width: int, height: int, folder: Path | None = None) -> None:
        """Opens the stored loop, building it the first time (some seconds).

        Raises:
            AvatarError: the recording or its crop file cannot be used, or the loop would be too large to keep.
        """
        if width % 2 or height % 2 or not (160 <= width <= 4096 and 160 <= height <= 4096):
            raise AvatarError(f"canvas {width}x{height}: the avatar needs even sides between 160 and 4096 px")
        self.width, self.height, self.fps = width, height, head.loop.fps
        root = (folder or cache_folder()) / "heads"
        about = head.model_dump_json(include={"loop", "crop", "image"}) + f"{width}x{height} v{_STORED_VERSION}"
        place = root / hashlib.sha256(about.encode()).hexdigest()[:24]
        if not (place / "loop.json").exists():
            self._build(head, place)
        self._open(place)

    def _open(self, place: Path) -> None:
        try:
            kept = json.loads((place / "loop.json").read_text("utf-8"))
            self.seam = Seam(**{**kept, "open_frames": tuple(kept["open_frames"])})
            self.crops: Image = np.load(place / "crops.npy", mmap_mode="r")
            self.maps: Floats = np.load(place / "maps.npy")
            count = self.seam.last - self.seam.first + 1
            self._frames = np.memmap(place / "frames.i420", np.uint8, "r", shape=(count, self.height * 3 // 2, self.width))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AvatarError(f"stored loop in {place} is damaged ({error}): remove that folder, it is built again") from None
        self.opened = np.zeros(count, bool)
        self.opened[[i - self.seam.first for i in self.seam.open_frames if self.seam.first <= i <= self.seam.last]] = True

    def _build(self, head: Head, place: Path) -> None:
        seam = analyse(head)
        count = seam.last - seam.first + 1
        size = count * (self.width * self.height * 3 // 2 + head.image.width * head.image.height * 3)
        if size > MAX_STORED_BYTES:
            raise AvatarError(
                f"a loop of {count} frames at {self.width}x{self.height} takes {size >> 20} MB, more than "
                f"{MAX_STORED_BYTES >> 20}: shorten it with 'first' and 'last'"
            )
        part = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            part.mkdir(parents=True, exist_ok=True)
            self._write(head, seam, part)
            # Another session may have built the same in the meantime: either is good.
            with contextlib.suppress(OSError):
                part.replace(place)
        except OSError as error:
            raise AvatarError(f"the loop cannot be kept in {place.parent}: {error}; set XDG_CACHE_HOME") from None
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _write(self, head: Head, seam: Seam, folder: Path) -> None:
        count = seam.last - seam.first + 1
        frames = np.memmap(folder / "frames.i420", np.uint8, "w+", shape=(count, self.height * 3 // 2, self.width))
        crops = np.zeros((count, head.image.height, head.image.width, 3), np.uint8)
        maps = np.zeros((count, 2, 3), np.float32)
        before: dict[int, Image] = {}
        fit = np.eye(2, 3, dtype=np.float32)
        matrices: list[NDArray[np.float32]] = []
        for number, raw in enumerate(read_frames(head.path(head.loop))):
            if number == 0:
                matrices = read_crop_file(head, _crop_frames(head), raw.shape[1], raw.shape[0])
                back = cv2.invertAffineTransform(matrices[seam.first].astype(np.float64))
                middle = float(back[0] @ np.array([head.image.width / 2, head.image.height / 2, 1.0]))
                fit = cover(raw.shape[1], raw.shape[0], self.width, self.height, middle)
            if number > seam.last or number < seam.first - seam.fade_frames:
                continue
            picture = raw if raw.shape[:2] == (self.height, self.width) else _fitted(raw, fit, self.width, self.height)
            to_crop = _compose(matrices[number], fit)
            if number < seam.first:
                before[number] = picture
                continue
            at = number - seam.first
            left = seam.last - number
            twin = before.get(seam.first - 1 - left)
            if seam.mode == "cut" and twin is not None and left < seam.fade_frames:
                share = 1.0 - (left + 1) / (seam.fade_frames + 1)
                picture = np.asarray(cv2.addWeighted(picture, 1 - share, twin, share, 0), np.uint8)
                to_crop = (1 - share) * to_crop + share * _compose(matrices[seam.first - 1 - left], fit)
            maps[at] = to_crop
            crops[at] = cut(picture, maps[at], head.image.width, head.image.height)
            frames[at] = cv2.cvtColor(picture, cv2.COLOR_BGR2YUV_I420)
        frames.flush()
        np.save(folder / "crops.npy", crops)
        np.save(folder / "maps.npy", maps)
        kept = {name: getattr(seam, name) for name in Seam.__slots__}
        (folder / "loop.json").write_text(json.dumps(kept), "utf-8")

    def index(self, media_ms: float) -> int:
        """Row of ``crops`` and ``maps`` shown at a media time, however late in the show."""
        return self.seam.frame(int(media_ms * self.fps / 1000.0 + 1e-6))

    def show(self, index: int, canvas: Image) -> None:
        """Write frame ``index`` over the canvas (uint8[height, width, 3] BGR)."""
        cv2.cvtColor(self._frames[index], cv2.COLOR_YUV2BGR_I420, dst=canvas)


def _fitted(picture: Image, fit: NDArray[np.float32], width: int, height: int) -> Image:
    scale = float(fit[0, 0])
    mode = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    resized = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=mode)
    left, top = max(0, round((scale - 1) / 2 - float(fit[0, 2]))), max(0, round((scale - 1) / 2 - float(fit[1, 2])))
    found: Image = np.ascontiguousarray(resized[top : top + height, left : left + width])
    if found.shape[:2] != (height, width):
        found = np.asarray(cv2.resize(found, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)
    return found


def _compose(to_crop: NDArray[np.float32], fit: NDArray[np.float32]) -> NDArray[np.float32]:
    """Canvas to crop, from loop to crop and loop to canvas."""
    back = cv2.invertAffineTransform(fit.astype(np.float64))
    full = np.vstack([back, [0, 0, 1]])
    return np.asarray(to_crop.astype(np.float64) @ full, np.float32)
