"""Lapels, collars, bands, buttons and necklace laid on a draped shell. Decimetres; grids are float64[rows, columns, 3]."""

from __future__ import annotations

from dataclasses import dataclass

import cage
import numpy as np
import surface
from garment import HeightField
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import cKDTree

SIDE_RISE, BACK_RISE = 0.16, 0.34
"""How far a collar's fold stands over the neck point at the side of the neck and behind."""


@dataclass(frozen=True)
class Revers:
    """An opened front: where it breaks, where lapel and collar meet. ``x`` values are |x| from the centre front.

    Attributes:
        break_y: where the lapel begins to roll, above the top button.
        gorge: (x, y below the neck point) where roll line meets collar.
        notch: fraction of the gorge line covered by the collar.
        tip: (x, y below the neck point) of the lapel's corner.
        belly: outward bow of the lapel's edge.
        leaf: width of the collar's fall at the back.
        point: (x, y) of the collar's corner from the notch.
        stand: height of the collar's hidden part.
        lift: how far the cloth stands off the shell.
        roll: how far the fold of the lapel stands off.
        gap: distance of the collar from the neck.
        rise: how much higher than a jacket's the collar folds.
    """

    break_y: float
    gorge: tuple[float, float] = (0.50, 0.22)
    notch: float = 0.72
    tip: tuple[float, float] = (0.94, 0.40)
    belly: float = 0.10
    leaf: float = 0.40
    point: tuple[float, float] = (0.10, 0.17)
    stand: float = 0.26
    lift: float = 0.030
    roll: float = 0.060
    gap: float = 0.09
    rise: float = 0.0


class Ground:
    """What pieces are laid on: the draped shell as a height field from the front and as nearest points."""

    def __init__(self, verts: np.ndarray, quads: np.ndarray, weights: np.ndarray, neck: np.ndarray, body: np.ndarray) -> None:
        tris = surface.triangles(quads)
        self.verts, self.normals, self.weights, self.neck = verts, surface.vertex_normals(verts, tris), weights, neck
        torso = weights[:, 16:22].sum(1) < 0.6
        self.tree, self.ids = cKDTree(verts[torso]), np.nonzero(torso)[0]
        front = torso[tris].all(1)
        self.field = HeightField(verts, tris[front])
        low = body[(body[:, 1] < neck[1] + 0.5) & (body[:, 2] < neck[2] + 0.9)]
        side = np.abs(np.abs(low[:, 0]) - 0.66) < 0.05
        self.neck_point = float(np.percentile(low[side & (low[:, 1] < neck[1]), 1], 97))
        tube = (np.abs(low[:, 0]) < 0.95) & (low[:, 1] > self.neck_point - 0.5)
        d = low[tube] - neck
        angle = np.arctan2(d[:, 0], d[:, 2])
        rho = np.hypot(d[:, 0], d[:, 2])
        wrap = np.concatenate([angle, angle + 2 * np.pi, angle - 2 * np.pi])
        self._radius = LinearNDInterpolator(np.stack([wrap * 0.6, np.tile(d[:, 1], 3)], 1), np.tile(rho, 3))

    def radius(self, angle: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Distance of the neck's cloth from the neck's axis at azimuth ``angle`` (0 = front) and height ``y``."""
        r = self._radius(np.stack([angle * 0.6, y - self.neck[1]], -1))
        return np.where(np.isnan(r), 0.6, r)

    def near(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Averaged nearest surface point, its normal, and vertex weights."""
        flat = points.reshape(-1, 3)
        dist, index = self.tree.query(flat, k=6)
        w = 1 / (dist + 0.02)
        w = (w / w.sum(1, keepdims=True))[..., None]
        ids = self.ids[index]
        n = (self.normals[ids] * w).sum(1)
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        shape = points.shape
        return (self.verts[ids] * w).sum(1).reshape(shape), n.reshape(shape), (self.weights[ids] * w).sum(1)

    def push(self, points: np.ndarray, lift: float) -> np.ndarray:
        """Points moved out until they stand ``lift`` off the surface."""
        p, n, _ = self.near(points)
        gap = ((points - p) * n).sum(-1, keepdims=True)
        return points + n * np.clip(lift - gap, 0, None)


def _bezier(a: np.ndarray, b: np.ndarray, c: np.ndarray, t: np.ndarray) -> np.ndarray:
    t = t[:, None]
    return (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c


def roll_line(shape: Revers, ground: Ground, t: np.ndarray) -> np.ndarray:
    """(|x|, y) of the fold of the lapel, from the break (t = 0) to the gorge (t = 1)."""
    a = np.array([0.03, shape.break_y])
    c = np.array([shape.gorge[0], ground.neck_point - shape.gorge[1]])
    mid = (a + c) / 2 + np.array([0.045, -0.01])
    return _bezier(a, mid, c, t)


def lapel(shape: Revers, ground: Ground, sign: float, density: float) -> cage.Piece:
    """One lapel: rolls out of the fold, lies on the chest, its edge turned down."""
    rows, cols = 72, 26
    t = np.linspace(0, 1, rows)
    inner = roll_line(shape, ground, t)
    tip = np.array([shape.tip[0], ground.neck_point - shape.tip[1]])
    ctrl = np.array([tip[0] * 0.66 + shape.belly, shape.break_y + (tip[1] - shape.break_y) * 0.52])
    outer = _bezier(np.array([0.05, shape.break_y - 0.02]), ctrl, tip, t)
    w = np.concatenate([[0.0, 0.02, 0.05], np.linspace(0.1, 1.0, cols - 4), [1.0]])
    xy = inner[:, None] * (1 - w[None, :, None]) + outer[:, None] * w[None, :, None]
    # The rows fan from the roll line; the upper edge follows the gorge.
    z = ground.field(sign * xy[..., 0], xy[..., 1])
    width = np.linalg.norm(outer - inner, axis=1)[:, None]
    fold = np.clip(width / 0.30, 0, 1)
    rise = shape.lift + shape.roll * fold * np.exp(-(((w * width - 0.10) / 0.16) ** 2)) + 0.012 * np.sin(np.pi * w) * fold
    z = z + np.where(w < 0.01, -0.05 * np.clip(width / 0.2, 0, 1), rise)
    z[:, -1] -= shape.lift + 0.03
    # The point of the lapel lies on the front, not in it: sunken texels would bake black.
    z[0] = ground.field(sign * xy[0, :, 0], xy[0, :, 1]) + 0.006
    points = np.stack([sign * xy[..., 0], xy[..., 1], z], -1)
    edge = points[-1:].copy()
    edge[..., 2] -= shape.lift + 0.04
    points = np.concatenate([points, edge])
    _, _, weights = ground.near(points)
    r = [*cage.steps(rows, 9), rows]
    c = [0, 2, 4, 8, 14, 20, cols - 2, cols - 1]
    return cage.grid_piece(f"lapel_{'l' if sign > 0 else 'r'}", "mesh", "main", points, weights, r, c, density, flip=sign > 0)


def collar(shape: Revers, ground: Ground, density: float, name: str = "collar", material: str = "main") -> cage.Piece:
    """Stand and fall of a collar from one gorge round the back of the neck to the other."""
    half, np_y = 46, ground.neck_point
    s = np.linspace(0, 1, half)
    p0 = np.array([shape.gorge[0], np_y - shape.gorge[1]])
    tip = np.array([shape.tip[0], np_y - shape.tip[1]])
    p1 = p0 + (tip - p0) * shape.notch
    corner = p1 + np.array(shape.point)
    y_side, y_back = np_y + SIDE_RISE + shape.rise, np_y + BACK_RISE + shape.rise
    start = np.array([p0[0], p0[1], ground.field(p0[:1], p0[1:])[0] + shape.lift + shape.roll])
    phi0 = np.arctan2(start[0], start[2] - ground.neck[2])
    phi = phi0 + (np.pi - phi0) * s
    quarter = np.clip((np.pi / 2 - phi0) / (np.pi - phi0), 0.2, 0.6)
    y = np.interp(s, [0, quarter, 1.0], [start[1], y_side, y_back])
    y = np.convolve(np.pad(y, 6, mode="reflect", reflect_type="odd"), np.ones(13) / 13, "valid")
    r = ground.radius(phi, y) + shape.gap
    r0 = np.hypot(start[0], start[2] - ground.neck[2])
    r = np.convolve(np.pad(r, 4, mode="edge"), np.ones(9) / 9, "valid")
    blend = np.clip(s / (quarter * 0.9), 0, 1)
    r = r0 + (r - r0) * blend * blend * (3 - 2 * blend)
    inner = np.stack([r * np.sin(phi), y, ground.neck[2] + r * np.cos(phi)], -1)
    inner[0] = start
    # Outer edge: the corner of the leaf in front, then a constant fall laid on shoulder and back.
    fall = np.stack([np.sin(phi) * 0.82, np.full(half, -0.62), np.cos(phi) * 0.82], -1)
    outer = ground.near(inner + fall * shape.leaf)[0]
    front = 6
    c3 = np.array([corner[0], corner[1], 0.0])
    knee = 20
    for k in range(half):
        if k < front:
            f = k / front
            xy = p1 * (1 - f) + corner * f
            outer[k] = [xy[0], xy[1], ground.field(xy[:1], xy[1:])[0]]
        elif k < knee:
            f = (k - front) / (knee - front)
            c3[2] = ground.field(corner[:1], corner[1:])[0]
            outer[k] = c3 * (1 - f) + outer[knee] * f
    stand = np.clip(s / quarter, 0, 1)[:, None]
    drop = inner - np.stack([np.sin(phi) * 0.05, np.full(half, 1.0), np.cos(phi) * 0.05], -1) * shape.stand * stand
    rows_r = np.concatenate([np.linspace(0, 1, 16), [1.0]])
    leaf = inner[None] * (1 - rows_r[:, None, None]) + outer[None] * rows_r[:, None, None]
    leaf = ground.push(leaf, shape.lift + 0.012)
    bulge = 0.05 * np.sin(np.pi * np.clip(rows_r * 1.25, 0, 1))[:, None, None]
    leaf = leaf + ground.near(leaf)[1] * bulge * np.clip(stand + 0.25, 0, 1)[None]
    leaf[0] = inner
    leaf[-1] = ground.near(leaf[-2])[0] - 0.01
    inside = np.stack([drop * 0.6 + inner * 0.4, inner - [0, 0.012, 0]])
    inside = np.concatenate([drop[None], inside])
    grid = np.concatenate([inside, leaf])
    # The front end is turned down like the outer edge.
    end = grid[:, :1].copy()
    end[..., 2] -= 0.07
    left = np.concatenate([end, grid], 1)
    right = left[:, ::-1][:, 1:] * [-1, 1, 1]
    points = np.concatenate([left, right], 1)
    _, _, weights = ground.near(points)
    total = points.shape[1]
    cols = [0, 1, 3, 5, 7, 9, 11, 13, 16, 19, 22, 25, 28, 32, 36, 41, half]
    cols = cols + [total - 1 - c for c in reversed(cols[:-1])]
    piece = cage.grid_piece(name, "mesh", material, points, weights, [0, 2, 3, 5, 9, 14, 18, 19], cols, density)
    if shape.notch >= 1.0:
        # A shirt's collar ends in a corner: its turned end would show as a dark tick at the fold.
        grid = piece.low.verts.reshape(8, len(cols), 3)
        grid[:4, 0], grid[:4, -1] = grid[:4, 1], grid[:4, -2]
    return piece


def inside_front(shape: Revers, ground: Ground, verts: np.ndarray, margin: float) -> np.ndarray:
    """Positive where cloth stays, negative inside the opened front and above the collar's fold."""
    curve = roll_line(shape, ground, np.linspace(0, 1, 60))
    y = verts[:, 1]
    # The cut hides under the lapel, and closes to its fold where the lapel ends.
    tuck = margin * np.clip((curve[:, 1] - shape.break_y) / 0.35 * 1.4 - 0.4, -0.4, 1)
    x = np.interp(y, curve[:, 1], curve[:, 0] + tuck, left=-1.0, right=curve[-1, 0] + margin)
    below = np.clip((shape.break_y - y) / 0.02, 0, 1)
    front = np.clip((verts[:, 2] - ground.neck[2] - 0.05) / 0.2, 0, 1)
    opening = (np.abs(verts[:, 0]) - x) * (1 - below) + below
    above = below_fold(shape, ground, verts)
    return np.minimum(np.where(front > 0, opening * front + (1 - front), 1.0), above)


def below_fold(shape: Revers, ground: Ground, verts: np.ndarray) -> np.ndarray:
    """Positive below the fold of the collar: what rises above it round the neck would show inside."""
    d = verts - ground.neck
    angle = np.abs(np.arctan2(d[:, 0], d[:, 2]))
    heights = [
        ground.neck_point - shape.gorge[1],
        ground.neck_point + SIDE_RISE + shape.rise,
        ground.neck_point + BACK_RISE + shape.rise,
    ]
    fold = np.interp(angle, [0.6, np.pi / 2, np.pi], heights)
    return fold - 0.05 - verts[:, 1] + 2.0 * np.clip(np.hypot(d[:, 0], d[:, 2]) - 0.95, 0, None)


def button(
    ground: Ground, x: float, y: float, radius: float, density: float, name: str, material: str = "button"
) -> cage.Piece:
    """A dished disc with a rim."""
    n, rings = 24, 9
    rr = np.linspace(0.0, 1.0, rings)
    profile = np.interp(rr, [0, 0.62, 0.74, 0.9, 1.0], [0.018, 0.018, 0.034, 0.030, -0.01])
    a = np.linspace(0, 2 * np.pi, n + 1)
    z0 = float(ground.field(np.array([x]), np.array([y]))[0])
    gx = (ground.field(np.array([x + 0.05]), np.array([y]))[0] - ground.field(np.array([x - 0.05]), np.array([y]))[0]) / 0.1
    gy = (ground.field(np.array([x]), np.array([y + 0.05]))[0] - ground.field(np.array([x]), np.array([y - 0.05]))[0]) / 0.1
    px, py = radius * rr[:, None] * np.cos(a), radius * rr[:, None] * np.sin(a)
    points = np.stack([x + px, y + py, z0 + 0.02 + gx * px + gy * py + profile[:, None] * radius / 0.08], -1)
    _, _, weights = ground.near(points)
    weights[:] = weights.mean(0)
    high = cage.grid_sheet(points, weights)
    flat = np.stack([radius + px, radius - py], -1).reshape(-1, 2)
    high.uv = flat
    low_rows, low_cols = [0, 5, 8], list(range(0, n + 1, 2))
    low = cage.grid_sheet(
        points[np.ix_(low_rows, low_cols)], weights.reshape(rings, n + 1, -1)[np.ix_(low_rows, low_cols)].reshape(-1, 22)
    )
    low.uv = flat.reshape(rings, n + 1, 2)[np.ix_(low_rows, low_cols)].reshape(-1, 2)
    return cage.Piece(name, "mesh", material, high, low, density)


def tube(
    path: np.ndarray, radius: float, sides: int, weights: np.ndarray, name: str, material: str, density: float, keep: int
) -> cage.Piece:
    """A cord along ``path`` float[n, 3]; every ``keep``-th station stays in the cage."""
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    side = np.cross(tangent, np.array([0.0, 0.0, 1.0]))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, tangent)
    a = np.linspace(0, 2 * np.pi, sides + 1)
    points = path[:, None] + radius * (np.cos(a)[None, :, None] * side[:, None] + np.sin(a)[None, :, None] * up[:, None])
    w = np.repeat(weights[:, None], sides + 1, 1).reshape(-1, 22)
    rows = list(range(0, len(path), keep))
    if rows[-1] != len(path) - 1:
        rows.append(len(path) - 1)
    return cage.grid_piece(name, "mesh", material, points, w, rows, list(range(0, sides + 1, 2)), density)
