"""Where the network's crop lies in a picture: five-point similarity, cutting out, and the map back."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Affine = NDArray[np.float32]
Points = NDArray[np.float32]
Image = NDArray[np.uint8]


def similarity(points: Points, template: Points) -> Affine:
    """The similarity (turn, scale, shift) that brings ``points`` nearest to ``template`` in the least-squares sense.

    Args:
        points: float32[n, 2] px in the picture, n >= 2, not all the same.
        template: float32[n, 2] px in the crop.

    Returns:
        float32[2, 3], picture to crop, for ``cv2.warpAffine``.

    Raises:
        ValueError: the points lie on one spot.

    Source: S. Umeyama, "Least-squares estimation of transformation parameters between two point patterns", PAMI 1991.
    """
    source, target = np.asarray(points, np.float64), np.asarray(template, np.float64)
    mean_s, mean_t = source.mean(axis=0), target.mean(axis=0)
    s, t = source - mean_s, target - mean_t
    spread = float((s * s).sum())
    if spread < 1e-6:
        raise ValueError(f"the {len(source)} landmarks lie on one spot ({mean_s[0]:.1f}, {mean_s[1]:.1f})")
    a = float((s * t).sum()) / spread
    b = float((s[:, 0] * t[:, 1] - s[:, 1] * t[:, 0]).sum()) / spread
    turn = np.array([[a, -b], [b, a]])
    return np.concatenate([turn, (mean_t - turn @ mean_s)[:, None]], axis=1).astype(np.float32)


def box_affine(box: NDArray[np.float32], width: int, height: int) -> Affine:
    """The map of a box (x0, y0, x1, y1) px onto a crop ``width`` x ``height``: float32[2, 3]."""
    x0, y0, x1, y1 = (float(v) for v in box)
    sx, sy = width / (x1 - x0), height / (y1 - y0)
    return np.array([[sx, 0, -sx * x0], [0, sy, -sy * y0]], np.float32)


def inverse(matrix: Affine) -> Affine:
    """The map back, float32[2, 3]."""
    back: Affine = cv2.invertAffineTransform(np.asarray(matrix, np.float64)).astype(np.float32)
    return back


def cut(picture: Image, matrix: Affine, width: int, height: int) -> Image:
    """The crop uint8[height, width, 3]; a picture larger than the crop is filtered on the way, so that nothing aliases."""
    shrink = 1.0 / max(1e-6, float(np.sqrt(abs(np.linalg.det(matrix[:, :2].astype(np.float64))))))
    factor = max(1, min(4, int(np.ceil(shrink))))
    if factor == 1:
        plain = cv2.warpAffine(picture, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(plain, np.uint8)
    # Pixel centres lie at whole numbers: a crop `factor` times as fine starts half a fine pixel less half a coarse one earlier.
    fine = matrix.astype(np.float64) * factor
    fine[:, 2] += (factor - 1) / 2
    large = cv2.warpAffine(
        picture, fine, (width * factor, height * factor), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def bounds(matrix: Affine, width: int, height: int, frame_width: int, frame_height: int) -> tuple[int, int, int, int]:
    """The frame's region (x0, y0, x1, y1) that a crop ``width`` x ``height`` can reach, clipped to the frame."""
    back = inverse(matrix)
    corners = np.array([[-0.5, -0.5, 1], [width - 0.5, -0.5, 1], [-0.5, height - 0.5, 1], [width - 0.5, height - 0.5, 1]])
    at = corners @ back.T.astype(np.float64)
    low, high = np.floor(at.min(axis=0)).astype(int), np.ceil(at.max(axis=0)).astype(int) + 1
    x0, y0 = max(0, int(low[0])), max(0, int(low[1]))
    return x0, y0, max(x0, min(frame_width, int(high[0]))), max(y0, min(frame_height, int(high[1])))
