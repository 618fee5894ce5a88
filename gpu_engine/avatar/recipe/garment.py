"""Mesh operations on clothes: smoothing, exact cuts, height fields. Pure geometry, decimetres."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter, map_coordinates
from surface import texel_map


def laplace(verts: np.ndarray, tris: np.ndarray, steps: int, amount: float = 0.5) -> np.ndarray:
    """Uniform Laplacian smoothing."""
    n = len(verts)
    e = np.concatenate([tris[:, [0, 1]], tris[:, [1, 2]], tris[:, [2, 0]]])
    adj = sp.coo_matrix((np.ones(len(e)), (e[:, 0], e[:, 1])), (n, n)).tocsr()
    adj = ((adj + adj.T) > 0).astype(float)
    degree = np.maximum(np.asarray(adj.sum(1)).ravel(), 1)[:, None]
    for _ in range(steps):
        verts = verts + amount * ((adj @ verts) / degree - verts)
    return verts


def clip(verts: np.ndarray, tris: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the part of the mesh where ``value`` (per vertex) is positive, cut exactly along its zero line."""
    inside = value > 0
    count = inside[tris].sum(1)
    out = [tris[count == 3]]
    extra: list[np.ndarray] = []
    base = len(verts)
    for keep in (1, 2):
        for t in tris[count == keep]:
            flags = inside[t]
            k = int(np.nonzero(flags == (keep == 1))[0][0])
            a, b, c = t[k], t[(k + 1) % 3], t[(k + 2) % 3]
            ab = verts[a] + (verts[b] - verts[a]) * (value[a] / (value[a] - value[b]))
            ac = verts[a] + (verts[c] - verts[a]) * (value[a] / (value[a] - value[c]))
            i = base + len(extra)
            extra += [ab, ac]
            out.append(np.array([[a, i, i + 1]] if keep == 1 else [[i, b, c], [i, c, i + 1]]))
    all_verts = np.concatenate([verts, np.array(extra).reshape(-1, verts.shape[1])])
    all_tris = np.concatenate(out)
    # Cut vertices of neighbours coincide: merge them so that smoothing and normals see one edge.
    _, first, inverse = np.unique(np.round(all_verts, 5), axis=0, return_index=True, return_inverse=True)
    merged = inverse.ravel()[all_tris]
    merged = merged[(merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 0] != merged[:, 2])]
    used, compact = np.unique(merged, return_inverse=True)
    return all_verts[first[used]], compact.reshape(-1, 3)


class HeightField:
    """Front-most z of a mesh over (x, y), sampled smoothly."""

    def __init__(self, verts: np.ndarray, tris: np.ndarray, blur: float = 3.0) -> None:
        self.x0, self.y0, self.step = -2.4, 0.0, 0.012
        w, h = 400, 480
        order = np.argsort(verts[tris][:, :, 2].mean(1))
        t = verts[tris[order]]
        uv = np.stack([(t[..., 0] - self.x0) / (w * self.step), (t[..., 1] - self.y0) / (h * self.step)], -1)
        z, hit = texel_map(uv, t[..., 2:3].copy(), w, h)
        weight = gaussian_filter(hit.astype(float), blur)
        self.z = gaussian_filter(z[..., 0] * hit, blur) / np.maximum(weight, 1e-3)

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Height z at (x, y)."""
        grid = np.stack([(y - self.y0) / self.step, (x - self.x0) / self.step])
        return map_coordinates(self.z, grid, order=1, mode="nearest")
