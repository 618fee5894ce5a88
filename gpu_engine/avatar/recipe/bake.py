"""Second stage of the recipe: the painted skin, then its combination with the baked light.

``python bake.py DATA OUT paint --who NAME`` before the light bake (also for previews), ``… light …`` after it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
import paint
import presenters
import source
import surface


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("stages", nargs="+", choices=("paint", "light"))
    parser.add_argument("--who", choices=presenters.PRESENTERS, default="lin")
    parser.add_argument("--size", type=int, default=surface.ATLAS_W)
    args = parser.parse_args()
    who = presenters.presenter(args.who)
    out = args.out / who.name
    out.mkdir(parents=True, exist_ok=True)
    if "paint" in args.stages:
        mesh, _ = source.presenter(args.data, who.name)
        done = paint.paint(mesh, args.data, who, args.size)
        np.savez(out / "skin_paint.npz", **{k: v.astype(np.float16) for k, v in vars(done).items()})
        encoded = np.where(done.albedo <= 0.0031308, done.albedo * 12.92, 1.055 * done.albedo ** (1 / 2.4) - 0.055)
        cv2.imwrite(str(out / "skin_albedo.png"), np.round(np.clip(encoded, 0, 1) * 255).astype(np.uint8)[..., ::-1])
    if "light" in args.stages:
        saved = np.load(out / "skin_paint.npz")
        done = paint.Painted(*(saved[k].astype(np.float32) for k in ("albedo", "hit", "mouth", "pores", "soft")))
        done.hit = done.hit > 0.5
        plain = paint.srgb(*who.face.skin.base)
        np.save(out / "skin_linear.npy", paint.light_over(done, plain, np.load(out / "skin_light.npy")).astype(np.float16))


if __name__ == "__main__":
    main()
