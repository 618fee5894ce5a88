"""Where a pack's camera puts things in a picture of a given size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.pack import AvatarPack
from gpu_engine.avatar.renderer import AvatarError


def lens_for(pack: AvatarPack, width: int, height: int, framing: str | None = None) -> tuple[NDArray[np.float32], float]:
    """The pinhole in canvas pixels, float32[6]: focal length, camera position (dm), principal point; and the scale.

    Args:
        pack: a loaded pack.
        width, height: picture size in pixels, even, 160 to 4096.
        framing: name of a framing of the pack; by default 16:9 for landscape and 9:16 for portrait.

    Raises:
        AvatarError: the size or the framing cannot be drawn.
    """
    if width % 2 or height % 2 or not (160 <= width <= 4096 and 160 <= height <= 4096):
        raise AvatarError(f"canvas {width}x{height}: the avatar needs even sides between 160 and 4096 px")
    name = framing or ("16:9" if width >= height else "9:16")
    if name not in pack.framings:
        raise AvatarError(f"avatar pack '{pack.name}' has no framing '{name}' (has: {', '.join(pack.framings)})")
    chosen, camera = pack.framings[name], pack.camera
    scale = height / chosen.height_px * chosen.scale
    tx = round(width * chosen.centre_x) - camera.canvas[0] / 2 * scale
    ty = chosen.top_px * height / chosen.height_px
    lens = [camera.focal_px * scale, *camera.eye, tx + camera.principal[0] * scale, ty + camera.principal[1] * scale]
    return np.array(lens, np.float32), scale
