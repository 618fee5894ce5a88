"""Mesh work shared by the bake and the pack: Catmull–Clark as a matrix, skin atlas, texel positions, normals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit

ATLAS_W, ATLAS_H = 2048, 2048
CHEST_ROWS = 400
"""Texel rows at the top of the atlas for the chest island; the head island takes the rest, magnified at eyes and mouth."""


@dataclass
class Refined:
    """One Catmull–Clark step: ``positions = matrix @ coarse positions``; morphs go through the same matrix."""

    matrix: sp.csr_matrix
    faces: np.ndarray
    parents: np.ndarray


def catmull_clark(faces: np.ndarray, count: int) -> Refined:
    """Refine quads int[f, 4] over ``count`` vertices; borders follow the cubic curve rule."""
    nf = len(faces)
    edges = np.stack([faces, np.roll(faces, -1, 1)], -1).reshape(-1, 2)
    key = np.sort(edges, 1)
    unique, inverse = np.unique(key, axis=0, return_inverse=True)
    inverse = inverse.reshape(nf, 4)
    ne = len(unique)
    face_rows = sp.csr_matrix((np.full(nf * 4, 0.25), (np.repeat(np.arange(nf), 4), faces.ravel())), (nf, count))
    ef = sp.csr_matrix((np.ones(nf * 4), (inverse.ravel(), np.repeat(np.arange(nf), 4))), (ne, nf))
    degree = np.asarray(ef.sum(1)).ravel()
    ends = sp.csr_matrix((np.full(ne * 2, 0.5), (np.repeat(np.arange(ne), 2), unique.ravel())), (ne, count))
    inner = (degree >= 2).astype(float)
    edge_rows = sp.diags(inner * 0.5) @ (ends + sp.diags(1 / np.maximum(degree, 1)) @ (ef @ face_rows))
    edge_rows = edge_rows + sp.diags(1 - inner) @ ends
    ve = sp.csr_matrix((np.ones(ne * 2), (unique.ravel(), np.repeat(np.arange(ne), 2))), (count, ne))
    vf = sp.csr_matrix((np.ones(nf * 4), (faces.ravel(), np.repeat(np.arange(nf), 4))), (count, nf))
    n = np.maximum(np.asarray(vf.sum(1)).ravel(), 1)
    border_edge = sp.diags((degree == 1).astype(float))
    on_border = np.asarray((ve @ border_edge).sum(1)).ravel() > 0
    smooth = sp.diags(1 / n**2) @ (vf @ face_rows) + sp.diags(2 / n**2) @ (ve @ ends) + sp.diags((n - 3) / n)
    rim = sp.diags(np.full(count, 0.5)) + 0.25 * (ve @ border_edge @ ends)
    vert_rows = sp.diags((~on_border).astype(float)) @ smooth + sp.diags(on_border.astype(float)) @ rim
    matrix = sp.vstack([vert_rows, edge_rows, face_rows]).tocsr()
    e = inverse + count
    centre = np.arange(nf) + count + ne
    new = [np.stack([faces[:, k], e[:, k], centre, e[:, k - 1]], 1) for k in range(4)]
    return Refined(matrix, np.stack(new, 1).reshape(-1, 4), np.repeat(np.arange(nf), 4))


def refine_corners(face_uvs: np.ndarray) -> np.ndarray:
    """Corner values float[f, 4, 2] of the same refinement, linear, float[4f, 4, 2]."""
    mid = (face_uvs + np.roll(face_uvs, -1, 1)) / 2
    centre = face_uvs.mean(1)
    new = [np.stack([face_uvs[:, k], mid[:, k], centre, mid[:, k - 1]], 1) for k in range(4)]
    return np.stack(new, 1).reshape(-1, 4, 2)


def _stretch(values: np.ndarray, knots: list[float], density: list[float]) -> np.ndarray:
    """Monotone piecewise-linear map of ``values`` to 0..1 giving each knot interval its density of texels."""
    k = np.array(knots)
    span = np.diff(k) * np.array(density)
    return np.interp(values, k, np.concatenate([[0], np.cumsum(span)]) / span.sum())


def atlas(uv: np.ndarray) -> np.ndarray:
    """Map base-mesh UVs of head and chest (v up) to atlas UVs (0..1, v down); separable and monotone, so no overlap."""
    x, y = uv[..., 0] * 900, 900 - uv[..., 1] * 900
    head_u = _stretch(x, [575, 640, 735, 778, 785, 835, 896], [0.45, 1.2, 3.4, 2.0, 3.0, 2.0])
    knots = [160, 288, 312, 362, 405, 525, 568, 618, 642, 770]
    head_v = _stretch(y, knots, [0.22, 0.5, 1.5, 1.3, 3.4, 1.3, 1.5, 0.5, 0.22])
    chest_u = _stretch(x, [165, 235, 450, 520], [0.5, 1.5, 0.5])
    chest_v = _stretch(y, [18, 250], [1.0])
    mouth_u = _stretch(x, [680, 833], [1.0])
    mouth_v = _stretch(y, [770, 892], [1.0])
    edge = CHEST_ROWS / ATLAS_H
    pad = 6 / ATLAS_H
    chest, mouth = (y < 300) & (x < 560), y > 771
    socket = (x < 150) & (y > 300) & ~mouth
    u = np.where(chest, chest_u * 0.70, head_u)
    v = np.where(chest, pad + chest_v * (edge - 3 * pad), edge + head_v * (1 - edge - pad))
    u = np.where(mouth, 0.72 + mouth_u * 0.16, u)
    v = np.where(mouth, pad + mouth_v * (edge - 3 * pad), v)
    u = np.where(socket, 0.90 + (x / 150) * 0.09, u)
    v = np.where(socket, pad + (y - 325) / 90 * (edge - 3 * pad), v)
    return np.stack([np.clip(u, 0.001, 0.999), np.clip(v, 0.001, 0.999)], -1)


def triangles(quads: np.ndarray) -> np.ndarray:
    """Split quads int[f, 4] into int[2f, 3]."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def vertex_normals(verts: np.ndarray, tris: np.ndarray) -> np.ndarray:
    """Area-weighted unit normals float64[v, 3]."""
    a, b, c = (verts[tris[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    out = np.zeros_like(verts)
    for k in range(3):
        np.add.at(out, tris[:, k], n)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)


@njit(cache=True)
def texel_map(uv: np.ndarray, values: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Rasterise per-corner ``values`` f64[t, 3, c] at ``uv`` f64[t, 3, 2] into (f32[h, w, c], bool[h, w])."""
    channels = values.shape[2]
    out = np.zeros((height, width, channels), np.float32)
    hit = np.zeros((height, width), np.bool_)
    for t in range(uv.shape[0]):
        x0, y0 = uv[t, 0, 0] * width - 0.5, uv[t, 0, 1] * height - 0.5
        x1, y1 = uv[t, 1, 0] * width - 0.5, uv[t, 1, 1] * height - 0.5
        x2, y2 = uv[t, 2, 0] * width - 0.5, uv[t, 2, 1] * height - 0.5
        det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if abs(det) < 1e-9:
            continue
        for y in range(max(0, int(min(y0, y1, y2))), min(height - 1, int(max(y0, y1, y2)) + 1) + 1):
            for x in range(max(0, int(min(x0, x1, x2))), min(width - 1, int(max(x0, x1, x2)) + 1) + 1):
                b1 = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / det
                b2 = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / det
                b0 = 1 - b1 - b2
                if b0 >= -0.02 and b1 >= -0.02 and b2 >= -0.02:
                    hit[y, x] = True
                    for c in range(channels):
                        out[y, x, c] = b0 * values[t, 0, c] + b1 * values[t, 1, c] + b2 * values[t, 2, c]
    return out, hit
