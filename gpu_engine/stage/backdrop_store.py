"""Painted backdrops kept on disk: painting one takes about two seconds, reading it back a hundredth of that."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import cv2
import numpy as np
import structlog
from numpy.typing import NDArray

from gpu_engine.stage import backdrop as painter

log = structlog.get_logger(__name__)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/lumihost``, else ``~/.cache/lumihost``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lumihost"


def stored_backdrop(width: int, height: int, host_x: float, folder: Path | None = None) -> NDArray[np.uint8]:
    """The backdrop uint8[height, width, 3] (BGR), painted at most once for each size and version of the painter.

    A folder that cannot be written, or a damaged file, costs the painting time and nothing else.
    """
    source = Path(painter.__file__).read_bytes()
    name = hashlib.sha256(source + f"{width}x{height}@{host_x:.4f}".encode()).hexdigest()[:24]
    path = (folder or cache_folder()) / f"backdrop-{name}.png"
    if path.exists():
        kept = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if kept is not None and kept.shape == (height, width, 3):
            return np.asarray(kept, dtype=np.uint8)
    painted = painter.backdrop(width, height, host_x)
    part = path.with_name(f".{path.stem}.{os.getpid()}.png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if cv2.imwrite(str(part), painted):
            part.replace(path)
    except (OSError, cv2.error) as error:
        with contextlib.suppress(OSError):
            part.unlink()
        log.info("backdrop not kept", folder=str(path.parent), error=str(error))
    return painted
