"""Which triangle covers which pixel: the one raster loop the fit, the texture bake and the plates need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

F32 = NDArray[np.float32]


@njit("void(float32[:,::1], int32[:,::1], int32[:,::1], float32[:,::1], float32[:,:,::1])", cache=True, nogil=True)
def _fill(screen, tris, ids, depth, share):  # type: ignore[no-untyped-def]
    height, width = ids.shape
    for t in range(len(tris)):
        a, b, c = tris[t, 0], tris[t, 1], tris[t, 2]
        ax, ay, az = screen[a, 0], screen[a, 1], screen[a, 2]
        bx, by, bz = screen[b, 0], screen[b, 1], screen[b, 2]
        cx, cy, cz = screen[c, 0], screen[c, 1], screen[c, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        x0, x1 = int(max(0.0, np.floor(min(ax, bx, cx) - 0.5))), int(min(width - 1.0, np.ceil(max(ax, bx, cx))))
        y0, y1 = int(max(0.0, np.floor(min(ay, by, cy) - 0.5))), int(min(height - 1.0, np.ceil(max(ay, by, cy))))
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                px, py = x + 0.5, y + 0.5
                wa = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
                wb = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
                wc = 1.0 - wa - wb
                if wa < -1e-4 or wb < -1e-4 or wc < -1e-4:
                    continue
                z = wa * az + wb * bz + wc * cz
                if z > depth[y, x]:
                    depth[y, x], ids[y, x] = z, t
                    share[y, x, 0], share[y, x, 1] = wa, wb


@dataclass(frozen=True, slots=True)
class Cover:
    """The nearest triangle at every pixel.

    Attributes:
        ids: int32[h, w], triangle number, -1 where nothing is.
        depth: float32[h, w], z of the surface, -1e9 where nothing is.
        share: float32[h, w, 2], barycentric shares of the first two corners.
    """

    tris: NDArray[np.int32]
    ids: NDArray[np.int32]
    depth: F32
    share: F32

    def blend(self, values: NDArray[np.floating]) -> F32:
        """Vertex values float[n, k] interpolated to float32[h, w, k]; zeros where nothing is."""
        seen = self.ids >= 0
        corner = self.tris[self.ids[seen]]
        wa, wb = self.share[seen, 0:1], self.share[seen, 1:2]
        out = np.zeros((*self.ids.shape, values.shape[1]), np.float32)
        out[seen] = wa * values[corner[:, 0]] + wb * values[corner[:, 1]] + (1 - wa - wb) * values[corner[:, 2]]
        return out


def cover(screen: NDArray[np.floating], tris: NDArray[np.integer], width: int, height: int) -> Cover:
    """Rasterise triangles given in pixels (pixel centres at .5), the largest z in front.

    Args:
        screen: float[n, 3], x, y in pixels and z towards the viewer; float[n, 2] counts as flat.
        tris: int[t, 3], either winding.
    """
    if screen.shape[1] == 2:
        screen = np.concatenate([screen, np.zeros((len(screen), 1))], 1)
    order = np.ascontiguousarray(tris, np.int32)
    ids = np.full((height, width), -1, np.int32)
    depth = np.full((height, width), -1e9, np.float32)
    share = np.zeros((height, width, 2), np.float32)
    _fill(np.ascontiguousarray(screen, np.float32), order, ids, depth, share)
    return Cover(order, ids, depth, share)
