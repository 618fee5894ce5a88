"""Draws the portrait of every shipped pack, beside it, with the live CPU renderer before a studio backdrop.

    python frontend/tools/portraits.py

The JPEG's comment holds the pack's checksum: the tests tell when a pack has changed since its portrait was taken.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import numpy as np
from PIL import Image

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import PACKS, load_pack
from gpu_engine.avatar.sheet import pose_frame
from gpu_engine.stage import backdrop

WIDTH, HEIGHT, FACTOR = 1080, 1920, 2
SIDE = 480
BACKDROP = "daylight"
LOOK = {"mouthSmileLeft": 0.35, "mouthSmileRight": 0.32, "cheekSquint": 0.2}
HEAD_ROOM, ASPECT = 0.55, 1.25


def portrait(pack_file: Path) -> bytes:
    """JPEG of head and shoulders, ``SIDE`` pixels wide, 4:5."""
    pack = load_pack(pack_file)
    renderer = CpuRenderer(pack, WIDTH, HEIGHT)
    with Image.open(backdrop.FOLDER / f"{BACKDROP}_tall.jpg") as picture:
        canvas = np.ascontiguousarray(np.asarray(picture.convert("RGB").resize((WIDTH, HEIGHT)))[..., ::-1])
    renderer.render(pose_frame(LOOK, (-3, 1, 1)), canvas)
    # The face, from the crown to the chin, is about six radii of an eyeball times three: frame by it, whoever it is.
    eyes = np.array([pack.eye(side)[0] for side in ("l", "r")]).mean(0)
    depth = renderer.lens[3] - eyes[2]
    per_dm = renderer.lens[0] / depth
    x = renderer.lens[4] + (eyes[0] - renderer.lens[1]) * per_dm
    y = renderer.lens[5] - (eyes[1] - renderer.lens[2]) * per_dm
    height = min(4.6 * per_dm, HEIGHT)
    width = min(height / ASPECT, WIDTH)
    height = width * ASPECT
    left = min(max(x - width / 2, 0), WIDTH - width)
    top = min(max(y - height * 0.40, 0), HEIGHT - height)
    cut = Image.fromarray(canvas[..., ::-1]).crop((round(left), round(top), round(left + width), round(top + height)))
    out = io.BytesIO()
    cut.resize((SIDE, round(SIDE * ASPECT)), Image.Resampling.LANCZOS).save(
        out, "JPEG", quality=86, optimize=True, comment=f"pack sha256 {pack.manifest['sha256']}".encode()
    )
    return out.getvalue()


def main() -> None:
    """Take them all, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="packs; by default all that are shipped")
    names = parser.parse_args().names or sorted(p.stem for p in PACKS.glob("*.glb"))
    for name in names:
        (PACKS / f"{name}.jpg").write_bytes(portrait(PACKS / f"{name}.glb"))


if __name__ == "__main__":
    main()
