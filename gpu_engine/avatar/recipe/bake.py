"""Second stage of the recipe: paint, then combine with the baked light. ``python bake.py DATA OUT``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import paint
import source


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    mesh, _ = source.presenter(data)
    albedo, hit, mouth = paint.paint(mesh, data)
    np.save(out / "skin_linear.npy", paint.light_over(albedo, hit, mouth, np.load(out / "skin_light.npy")).astype(np.float16))
    np.save(out / "skin_hit.npy", hit)


if __name__ == "__main__":
    main()
