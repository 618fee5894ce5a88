"""Blazer, lapels, collar and knit top built on the base mesh's tights; pure geometry, decimetres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter, map_coordinates
from source import BaseMesh
from surface import catmull_clark, texel_map, triangles, vertex_normals

BUTTON_Y = 2.95
GORGE = np.array([0.60, 4.30])
"""Where the roll line of the lapel meets the collar, (|x|, y)."""


@dataclass
class Part:
    """A named triangle mesh with a material."""

    name: str
    verts: np.ndarray
    tris: np.ndarray
    material: str
    thickness: float = 0.0


def roll_x(y: np.ndarray) -> np.ndarray:
    """|x| of the blazer's front edge at height ``y``; a gentle belly keeps the line from looking ruled."""
    t = np.clip((y - BUTTON_Y) / (GORGE[1] - BUTTON_Y), -1, 1.6)
    return np.where(t < 0, -1.0, (GORGE[0] - 0.02) * t + 0.045 * np.sin(np.pi * np.clip(t, 0, 1)))


def neckline(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Height of the knit's upper edge: a scoop in front, close to the neck behind."""
    return 4.42 - 0.62 * np.exp(-((x / 0.50) ** 4)) * np.clip((z + 0.1) / 0.4, 0, 1)


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


def _shell(mesh: BaseMesh, smooth: int, offset: float) -> tuple[np.ndarray, np.ndarray]:
    index = mesh.group("helper-tights")
    centre = mesh.verts[mesh.faces[index]].mean(1)
    faces = mesh.faces[index[(centre[:, 1] > 0.2)]]
    used, compact = np.unique(faces, return_inverse=True)
    verts, quads = mesh.verts[used], compact.reshape(-1, 4)
    for _ in range(2):
        step = catmull_clark(quads, len(verts))
        verts, quads = step.matrix @ verts, step.faces
    tris = triangles(quads)
    verts = laplace(verts, tris, smooth)
    return verts + offset * vertex_normals(verts, tris), tris


def _folds(v: np.ndarray) -> np.ndarray:
    """Soft directional wrinkles, decimetres: elbows and armpits pull, the chest stays calm."""
    x, y, z = v.T
    side = np.abs(x)
    arm = np.clip((side - 1.0) / 0.25, 0, 1)
    pit = np.exp(-(((side - 1.02) / 0.22) ** 2) - ((y - 3.25) / 0.45) ** 2)
    waist = np.exp(-(((y - 2.2) / 0.5) ** 2)) * np.clip(1 - arm, 0, 1)
    bend = np.exp(-(((y - 1.7) / 0.45) ** 2)) * arm
    sleeve = np.sin(9.0 * y + 5.0 * z + 2.2 * np.sin(2.3 * y + 3 * x)) * (0.012 * arm + 0.03 * bend)
    pull = np.sin(16.0 * (y * 0.75 - side * 0.9) + 1.5 * np.sin(4 * z)) * 0.022 * pit
    body = np.sin(6.5 * y + 4.2 * side + 1.3 * np.sin(3 * x)) * 0.014 * waist
    return sleeve + pull + body


def _lapel(field: HeightField, side: float) -> tuple[np.ndarray, np.ndarray]:
    rows, cols = 90, 18
    t = np.linspace(0.0, 1.22, rows)[:, None]
    w = np.linspace(0, 1, cols)[None, :]
    y0 = BUTTON_Y + (GORGE[1] - BUTTON_Y) * t
    # Above the gorge the shawl turns in to the side of the neck.
    x0 = np.where(t < 1, np.maximum(roll_x(y0), 0.0), GORGE[0] - 0.06 * (t - 1) / 0.22)
    width = 0.44 * np.sin(np.pi / 2 * np.clip(t / 0.72, 0, 1)) ** 0.9 * (1 - 0.30 * np.clip((t - 0.72) / 0.5, 0, 1) ** 1.3)
    out = w * np.maximum(width, 0.004)
    x = x0 + out * 0.97
    y = y0 + out * 0.10
    z = field(side * x, y) + 0.035 + 0.055 * np.sin(np.pi * np.clip(w * 1.15, 0, 1)) ** 0.8 * np.clip(t * 5, 0, 1)
    z = z - 0.03 * (w > 0.98)
    grid = np.stack([side * x, y, z], -1)
    index = np.arange(rows * cols).reshape(rows, cols)
    quads = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], -1).reshape(-1, 4)
    return grid.reshape(-1, 3), triangles(quads if side > 0 else quads[:, ::-1])


def _collar(mesh: BaseMesh) -> tuple[np.ndarray, np.ndarray]:
    """The fall of the collar round the back of the neck; its ends go under the lapels."""
    n, rows = 96, 12
    s = np.linspace(-0.80, 0.80, n)[None, :]
    r = np.linspace(0, 1, rows)[:, None]
    angle = s * np.radians(152)
    back = np.cos(angle / 2) ** 1.0
    neck = mesh.joint("neck")
    rx, rz = 0.60, 0.62
    x = rx * np.sin(angle * 0.92) * (1 + 0.0 * r)
    z = neck[2] + 0.08 - rz * np.cos(angle * 0.92)
    y = GORGE[1] + 0.02 + 0.46 * np.clip(back, 0, 1) ** 1.4
    outward = np.stack([np.sin(angle), np.zeros_like(angle), -np.cos(angle)], -1)
    fall = 0.30 * r
    px = x + outward[..., 0] * (fall * 0.75)
    pz = z + outward[..., 2] * (fall * 0.75)
    py = y - fall * (0.72 + 0.1 * back) + 0.05 * np.sin(np.pi * r)
    grid = np.stack([px, py, pz], -1)
    index = np.arange(rows * n).reshape(rows, n)
    quads = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], -1).reshape(-1, 4)
    return grid.reshape(-1, 3), triangles(quads)


def _placket(field: HeightField) -> tuple[np.ndarray, np.ndarray]:
    """The overlap of the front below the button: a raised edge that curves away at the hem."""
    rows, cols = 80, 14
    y = np.linspace(0.25, BUTTON_Y + 0.03, rows)[:, None]
    w = np.linspace(0, 1, cols)[None, :]
    x = -0.045 + 0.25 * np.clip((1.2 - y) / 1.2, 0, 1) ** 2 + w * 0.42 + 0 * y
    z = field(x, y + 0 * x) + 0.030 * (1 - w) ** 1.5 - 0.004
    grid = np.stack([x, y + 0 * x, z], -1)
    index = np.arange(rows * cols).reshape(rows, cols)
    quads = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], -1).reshape(-1, 4)
    return grid.reshape(-1, 3), triangles(quads)


def _button(field: HeightField) -> tuple[np.ndarray, np.ndarray]:
    n, rings = 40, 8
    a = np.linspace(0, 2 * np.pi, n, endpoint=False)
    rr = np.linspace(0.002, 0.085, rings)
    cx, cy = 0.10, BUTTON_Y - 0.10
    x, y = cx + rr[:, None] * np.cos(a), cy + rr[:, None] * np.sin(a)
    dish = 0.02 * np.cos(np.clip((rr / 0.085 - 0.82) / 0.18, -1, 1) * np.pi / 2) - 0.006
    z = field(np.full(1, cx), np.full(1, cy))[0] + 0.045 + dish[:, None] + 0 * a
    index = np.arange(n * rings).reshape(rings, n)
    nxt = np.roll(index, -1, 1)
    quads = np.stack([index[:-1], index[1:], nxt[1:], nxt[:-1]], -1).reshape(-1, 4)
    return np.stack([x, y, z], -1).reshape(-1, 3), triangles(quads)


def build(mesh: BaseMesh) -> list[Part]:
    """Every garment part of the first presenter."""
    verts, tris = _shell(mesh, 10, 0.075)
    verts = verts + (_folds(verts))[:, None] * vertex_normals(verts, tris)
    side = np.abs(verts[:, 0])
    # Skinning swells the deltoid when arms come down; a tailored sleeve is narrower.
    verts[:, 0] = np.sign(verts[:, 0]) * np.where(side > 1.0, 1.0 + (side - 1.0) * 0.80, side)
    side = np.abs(verts[:, 0])
    verts[:, 1] += 0.15 * np.exp(-(((side - 1.22) / 0.34) ** 2)) * np.clip((verts[:, 1] - 3.35) / 0.5, 0, 1)
    field = HeightField(verts, tris)
    x, y, z = verts.T
    front = np.clip((z - 0.15) / 0.1, 0, 1)
    opening = np.abs(x) - roll_x(y)
    neck = mesh.joint("neck")
    ring = np.hypot(x / 0.72, (z - neck[2] - 0.10) / 0.70) - 1
    # Both cuts are continuous over the whole shell, so the cut line has no steps.
    keep = np.minimum(np.where(front > 0, opening, 1.0), ring + 6.0 * np.clip(4.10 - y, 0, None))
    blazer = clip(verts, tris, keep)
    parts = [Part("blazer", *blazer, "cloth", 0.035)]
    parts.append(Part("placket", *_placket(field), "cloth", 0.02))
    for name, sign in (("lapel_l", 1.0), ("lapel_r", -1.0)):
        parts.append(Part(name, *_lapel(field, sign), "cloth", 0.03))
    parts.append(Part("collar", *_collar(mesh), "cloth", 0.035))
    parts.append(Part("button", *_button(field), "button"))
    kv, kt = _shell(mesh, 4, 0.028)
    kx, ky, kz = kv.T
    sleeveless = 0.80 - np.abs(kx)
    kneck = np.hypot(kx / 0.56, (kz - neck[2]) / 0.56) - 1
    keep = np.minimum(np.minimum(neckline(kx, kz) - ky, sleeveless), np.where(ky > 4.1, kneck + 0.25, 1.0))
    knit = clip(kv, kt, keep)
    parts.append(Part("knit", *knit, "knit", 0.02))
    return parts
