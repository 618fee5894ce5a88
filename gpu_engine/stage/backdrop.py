"""The picture behind the host: a shipped studio or the merchant's own, cut to the frame and darkened softly under the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from gpu_engine.stage.backdrop_names import BACKDROPS, PICTURE_SUFFIXES
from gpu_engine.stage.layout import Layout
from gpu_engine.stage.text import StageError

FOLDER = Path(__file__).parent / "backdrops"
EYE_LINE = 0.35
"""Share of the height at which the host's eyes stand; kept in view when a picture is cut."""
SMALLEST_PX = (640, 360)
LARGEST_PIXELS = 40_000_000
LARGEST_BYTES = 30_000_000
MOST_SCANS = 64
"""Of a JPEG file; a progressive one has about ten. Each goes over the whole picture again, and 30 bytes are enough for one."""
_FORMATS = ("JPEG", "PNG", "WEBP")
_GROUND = 0.20
"""How much light the host takes from the wall behind the shoulders, at most."""


def load_backdrop(backdrop: str, plan: Layout) -> NDArray[np.uint8]:
    """The picture for a stage of ``plan``, uint8[height, width, 3] BGR, C-contiguous.

    Args:
        backdrop: a name of ``BACKDROPS`` or the path of a JPEG, PNG or WebP picture, cropped to cover the frame.

    Raises:
        StageError: the file is missing, is no such picture, or is too small or too large.
    """
    path = FOLDER / f"{backdrop}_{'tall' if plan.tall else 'wide'}.jpg" if backdrop in BACKDROPS else Path(backdrop)
    picture = _read(path)
    size = (plan.width, plan.height)
    fitted = ImageOps.fit(picture, size, Image.Resampling.LANCZOS, centering=(plan.host_x, EYE_LINE))
    return _grounded(np.asarray(fitted, dtype=np.uint8)[..., ::-1], plan)


def _read(path: Path) -> Image.Image:
    try:
        length = path.stat().st_size
    except OSError as error:
        raise StageError(
            f"backdrop {path}: {error.strerror or error}: give the path of a readable picture or one of {', '.join(BACKDROPS)}"
        ) from error
    if length > LARGEST_BYTES:
        raise StageError(f"backdrop {path}: {length / 1e6:.0f} MB is over {LARGEST_BYTES / 1e6:.0f} MB: save it smaller")
    try:
        with Image.open(path, formats=_FORMATS) as picture:
            # The header's size is checked before a pixel is decoded: a small file can claim a huge picture.
            width, height = picture.size
            if width * height > LARGEST_PIXELS:
                raise StageError(
                    f"backdrop {path}: {width}x{height} is over {LARGEST_PIXELS / 1e6:.0f} megapixels: 1920x1080 is enough"
                )
            if max(width, height) < SMALLEST_PX[0] or min(width, height) < SMALLEST_PX[1]:
                raise StageError(
                    f"backdrop {path}: {width}x{height} is smaller than {SMALLEST_PX[0]}x{SMALLEST_PX[1]}: use a larger picture"
                )
            if picture.format == "JPEG" and (scans := path.read_bytes().count(b"\xff\xda")) > MOST_SCANS:
                raise StageError(f"backdrop {path}: {scans} scans, at most {MOST_SCANS} are read: save the picture again")
            return ImageOps.exif_transpose(picture).convert("RGB")
    except StageError:
        raise
    except Exception as error:
        # Decoders answer damaged files with whatever they stumble over.
        raise StageError(
            f"backdrop {path}: cannot be read as a picture ({error}): use a JPEG, PNG or WebP file "
            f"({', '.join(PICTURE_SUFFIXES)})"
        ) from error


def _grounded(bgr: NDArray[np.uint8], plan: Layout) -> NDArray[np.uint8]:
    """A soft shade where the host stands, falling away from the key light at the upper left: without it the host floats."""
    middle = plan.host_x * plan.width + 0.05 * plan.short
    x = (np.arange(plan.width, dtype=np.float32)[None, :] - middle) / (0.46 * plan.short)
    y = (np.arange(plan.height, dtype=np.float32)[:, None] - 1.02 * plan.height) / (0.62 * plan.short)
    keep = 1.0 - _GROUND * np.exp(-(x**2) - y**2)
    # Light that is left in a shade is the room's: red goes a little less than blue.
    shade = keep[..., None] ** np.array([1.08, 1.0, 0.92], dtype=np.float32)
    return np.ascontiguousarray(np.clip(bgr * shade + 0.5, 0, 255).astype(np.uint8))
