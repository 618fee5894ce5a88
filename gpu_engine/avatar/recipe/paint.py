"""Paints the skin's albedo in atlas space: complexion, lips, brows, stubble, lids, pores; and lays the baked light over it.

Everything is painted procedurally; only region masks of the base mesh's own UV layout are read. Places on the face are
given in face units: one unit across is half the distance between the eyes, one unit down is from the eyes to the mouth's
seam, so that one recipe fits every identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import brows
import cv2
import groom
import numpy as np
import source
import surface
from faces import Complexion
from presenters import Presenter
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.spatial import cKDTree

SKIN_HALF_WIDTH = ((-0.75, 0.62), (-0.30, 0.70), (0.05, 0.72), (0.30, 1.20))
"""Height over the neck's root → |x| (dm) beyond which skin lies under clothes and would poke through."""

KEY_DIRECTION = np.array([-0.47, 0.36, 0.80])
"""Unit vector towards the key light, for pores."""


@dataclass
class Skin:
    """The refined skin patch: coarse vertex ids ``used``, refinement, corner UVs (atlas and mesh layout)."""

    used: np.ndarray
    step: surface.Refined
    uv: np.ndarray
    mesh_uv: np.ndarray
    verts: np.ndarray


@dataclass
class Painted:
    """Albedo f32[H, W, 3] (linear), coverage bool[H, W], and f32[H, W]: mouth lining and lips, pore shading, where light
    is smoothed."""

    albedo: np.ndarray
    hit: np.ndarray
    mouth: np.ndarray
    pores: np.ndarray
    soft: np.ndarray


def skin_patch(mesh: source.BaseMesh) -> Skin:
    """Head, neck and upper chest of the base mesh, refined once."""
    body = mesh.group("body")
    centre = mesh.verts[mesh.faces[body]].mean(1)
    root = mesh.joint("neck")[1]
    half = np.interp(centre[:, 1] - root, *zip(*SKIN_HALF_WIDTH, strict=True))
    body = body[(centre[:, 1] > 3.3) & (np.abs(centre[:, 0]) < half)]
    used, compact = np.unique(mesh.faces[body], return_inverse=True)
    step = surface.catmull_clark(compact.reshape(-1, 4), len(used))
    corner = mesh.uvs[mesh.face_uvs[body]]
    return Skin(
        used,
        step,
        surface.refine_corners(surface.atlas(corner)),
        surface.refine_corners(corner),
        step.matrix @ mesh.verts[used],
    )


def srgb(r: float, g: float, b: float) -> np.ndarray:
    """Linear colour of 8-bit sRGB."""
    c = np.array([r, g, b]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def smooth(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Smoothstep from ``a`` to ``b`` (which may be the smaller)."""
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def noise(pos: np.ndarray, period: float, seed: int) -> np.ndarray:
    """Smooth random field, about N(0, 1), of features ``period`` dm across; f32[h, w] for positions f32[h, w, 3]."""
    lattice = gaussian_filter(np.random.default_rng(seed).normal(0, 1, (48, 48, 48)), 0.8, mode="wrap")
    lattice /= lattice.std()
    flat = (pos.reshape(-1, 3).T / (0.5 * period)) % 48
    field = map_coordinates(lattice.astype(np.float32), flat, order=1, mode="grid-wrap")
    return field.reshape(pos.shape[:2]).astype(np.float32)


def mask_at(data: Path, name: str, mesh_uv: np.ndarray) -> np.ndarray:
    """Region mask of the base mesh (0 to 1) at UVs f[..., 2] of its own layout."""
    grey = cv2.imread(str(data / "mpfb2/textures" / f"mpfb_{name}.jpg"), cv2.IMREAD_GRAYSCALE).astype(np.float32) / 255
    h, w = grey.shape
    u, v = (mesh_uv[..., 0] * w).astype(np.float32), ((1 - mesh_uv[..., 1]) * h).astype(np.float32)
    return cv2.remap(grey, u, v, cv2.INTER_LINEAR)


class Canvas:
    """Texel maps of one presenter's atlas: positions, masks, face units, and the albedo being painted."""

    def __init__(self, mesh: source.BaseMesh, data: Path, size: int) -> None:
        patch = skin_patch(mesh)
        tris = surface.triangles(patch.step.faces)
        two = lambda c: np.concatenate([c[:, [0, 1, 2]], c[:, [0, 2, 3]]])  # noqa: E731
        normals = surface.vertex_normals(patch.verts, tris)
        values = np.concatenate([patch.verts[tris], two(patch.mesh_uv), normals[tris]], -1)
        out, self.hit = surface.texel_map(two(patch.uv), values, size, size)
        self.pos, muv, self.normal = out[..., :3], out[..., 3:5], out[..., 5:]
        k = size / 2048
        self.k = k
        lips = mask_at(data, "lips", muv)
        self.inside = smooth(gaussian_filter(mask_at(data, "inside-mouth", muv), 2.0 * k), 0.3, 0.8)
        self.lips = smooth(gaussian_filter(lips, 5.0 * k), 0.22, 0.72)
        self.lids = smooth(gaussian_filter(mask_at(data, "eyelids", muv), 4.0 * k), 0.1, 0.6)
        self.ears = gaussian_filter(mask_at(data, "ears", muv), 3.0 * k)
        self.eye = (mesh.joint("l-eye") * [1, 1, 1] + mesh.joint("r-eye") * [-1, 1, 1]) / 2
        self.x, self.y, self.z = (self.pos[..., i].astype(np.float32) for i in range(3))
        rim = (self.inside > 0.3) & (self.inside < 0.7) & (np.abs(self.x) < 0.05) & self.hit & (self.z > 1.0)
        self.drop = float(self.eye[1] - np.median(self.y[rim]))
        vermilion = (self.lips > 0.5) & (self.inside < 0.3) & self.hit
        self.mouth_half = float(np.abs(self.x[vermilion]).max())
        middle = self.y[vermilion & (np.abs(self.x) < 0.04)]
        self.lip_low, self.lip_high = float(middle.min()), float(middle.max())
        self.fx, self.fy = self.x / self.eye[0], (self.y - self.eye[1]) / self.drop
        self.ax = np.abs(self.fx)
        self.albedo = np.ones((size, size, 3), np.float32)

    def mix(self, colour: np.ndarray, amount: np.ndarray) -> None:
        """Lay a colour over the albedo."""
        a = np.clip(amount, 0, 1)[..., None].astype(np.float32)
        self.albedo += (colour.astype(np.float32) - self.albedo) * a

    def spot(self, cx: float, cy: float, rx: float, ry: float) -> np.ndarray:
        """Soft ellipse in face units, on both sides, on the front of the head."""
        return np.exp(-(((self.ax - cx) / rx) ** 2) - ((self.fy - cy) / ry) ** 2) * (self.z > 0.3)

    def corners(self) -> np.ndarray:
        """Small soft spots on the corners of the mouth."""
        lips = (self.lips > 0.5) & self.hit & (np.abs(self.x) > 0.93 * self.mouth_half)
        level = float(np.median(self.y[lips]))
        return np.exp(-(((np.abs(self.x) - self.mouth_half) / 0.022) ** 2) - ((self.y - level) / 0.016) ** 2) * (self.z > 0.8)


def _cells(canvas: Canvas, spacing: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distance to the nearest and second-nearest of points strewn over the skin, and the nearest one's random number."""
    rng = np.random.default_rng(seed)
    front = canvas.hit & (canvas.z > -0.1) & (canvas.inside < 0.5)
    p = canvas.pos[front].astype(np.float64)
    du = np.linalg.norm(np.gradient(canvas.pos, axis=1), axis=2)[front]
    dv = np.linalg.norm(np.gradient(canvas.pos, axis=0), axis=2)[front]
    area = np.minimum(du, 0.02) * np.minimum(dv, 0.02)
    count = int(area.sum() / spacing**2)
    seeds = p[rng.choice(len(p), count, p=area / area.sum())] + rng.normal(0, spacing * 0.1, (count, 3))
    dist, index = cKDTree(seeds).query(p, k=2, workers=1)
    full = [np.zeros(canvas.hit.shape, np.float32) for _ in range(3)]
    for target, value in zip(full, (dist[:, 0], dist[:, 1], rng.random(count)[index[:, 0]]), strict=True):
        target[front] = value
    return full[0], full[1], full[2]


def _creases(c: Canvas) -> np.ndarray:
    """Lines that years of smiling leave, 0 to 1: folds beside the mouth, at the eyes' corners, under them, on the forehead."""
    deep, fine = brows.FrontCanvas(c.eye[1]), brows.FrontCanvas(c.eye[1])
    w, h = c.eye[0], c.drop
    t = np.linspace(0, 1, 24)[:, None]

    def bend(a: tuple[float, float], b: tuple[float, float], d: tuple[float, float]) -> np.ndarray:
        p = (1 - t) ** 2 * np.array(a) + 2 * t * (1 - t) * np.array(b) + t**2 * np.array(d)
        return p * [w, h] + [0, c.eye[1]]

    for sign in (1, -1):
        flip = np.array([sign, 1.0])
        deep.stroke(bend((0.50, -0.56), (0.86, -0.66), (1.08, -1.02))[::-1] * flip, 0.030, 1.0)
        for k, (dy, end) in enumerate(((0.10, 0.10), (0.02, -0.02), (-0.06, -0.17))):
            fine.stroke(bend((1.62, dy * 0.6), (1.85, dy), (2.02 - 0.05 * k, end)) * flip, 0.010, 0.7)
        fine.stroke(bend((0.50, -0.13), (0.80, -0.25), (1.35, -0.17)) * flip, 0.013, 0.8)
        fine.stroke(bend((0.62, -0.21), (0.90, -0.33), (1.30, -0.27)) * flip, 0.010, 0.5)
    rng = np.random.default_rng(51)
    for level in (0.62, 0.74, 0.87):
        x = np.linspace(-1.5, 1.5, 40) + rng.normal(0, 0.05)
        y = level + 0.025 * np.cos(x * 1.6 + rng.normal()) - 0.02 * x**2
        fine.stroke(np.stack([x * w, c.eye[1] + y * h], 1), 0.012, 0.35)
    deep.blur, fine.blur = 0.016 * deep.k, 0.006 * fine.k
    return np.clip(deep.sample(c.pos) * 1.2 + fine.sample(c.pos) * 1.5, 0, 1).astype(np.float32)


def _pores(canvas: Canvas, strength: float, creases: np.ndarray) -> np.ndarray:
    """Multiplier of the light, about 1: skin's fine relief lit by the key."""
    spacing = 0.0125
    near, second, lot = _cells(canvas, spacing, 21)
    zone = 0.55 + 0.5 * canvas.spot(0.0, -0.45, 0.55, 0.55) + 0.5 * canvas.spot(1.5, -0.45, 0.8, 0.4)
    zone += 0.3 * canvas.spot(0.0, 0.9, 1.6, 0.45) + 0.3 * canvas.spot(0, -1.35, 0.8, 0.25)
    ridge = np.clip((second - near) / (0.55 * spacing), 0, 1)
    pit = np.exp(-((near / (0.30 * spacing)) ** 2)) * (lot > 0.35)
    height = 0.0009 * ridge - 0.0020 * pit * zone
    height += 0.0004 * noise(canvas.pos, 0.034, 22) + 0.0005 * noise(canvas.pos, 0.012, 23)
    height = gaussian_filter(height.astype(np.float32), 0.9 * canvas.k) - 0.010 * creases
    pu, pv = np.gradient(canvas.pos, axis=1), np.gradient(canvas.pos, axis=0)
    hu, hv = np.gradient(height, axis=1), np.gradient(height, axis=0)
    e, f, g = (pu * pu).sum(-1), (pu * pv).sum(-1), (pv * pv).sum(-1)
    det = np.maximum(e * g - f * f, 1e-13)
    grad = pu * ((g * hu - f * hv) / det)[..., None] + pv * ((e * hv - f * hu) / det)[..., None]
    lit = np.clip(canvas.normal @ KEY_DIRECTION, 0.0, 1)
    slope = np.clip(-(grad @ KEY_DIRECTION) / np.maximum(lit, 0.5), -0.5, 0.5)
    # Away from the key and towards the outline there is only soft light, which shows no relief; lids and lips are smooth.
    calm = (1 - 0.8 * canvas.lips) * (1 - 0.75 * canvas.lids) * (1 - canvas.inside) * (1 - canvas.ears) * (canvas.z > 0.0)
    calm = calm * smooth(canvas.normal[..., 2], 0.15, 0.65) * (0.45 + 0.55 * smooth(lit, 0.1, 0.7))
    relief = slope * 0.42 + 0.010 * (ridge - 0.6) - 0.045 * pit * zone
    return (1 + strength * relief * calm).astype(np.float32)


def _complexion(c: Canvas, skin: Complexion) -> None:
    base, blush, shadow = srgb(*skin.base), srgb(*skin.blush), srgb(*skin.shadow)
    c.albedo[:] = base
    broad, mid, fine = noise(c.pos, 0.55, 1), noise(c.pos, 0.16, 2), noise(c.pos, 0.05, 3)
    b = skin.blush_amount
    patchy = np.clip(1 + 0.25 * mid + 0.15 * fine, 0.3, 1.7)
    c.mix(blush, b * patchy * c.spot(1.62, -0.52, 0.80, 0.30))
    c.mix(blush, 0.9 * b * patchy * c.spot(0.0, -0.60, 0.42, 0.20))
    c.mix(blush, 0.5 * b * patchy * c.spot(0.0, -1.50, 0.70, 0.20))
    c.mix(blush, 0.35 * b * patchy * c.spot(0.0, 0.55, 0.9, 0.2))
    c.mix(blush, 1.2 * b * patchy * c.ears)
    # Forehead and eyelids are yellower, sockets darker, the skin round the mouth and under the jaw cooler.
    c.mix(base * [1.02, 1.02, 0.93], 0.5 * c.spot(0.0, 0.85, 2.0, 0.4))
    c.mix(shadow, 0.30 * c.spot(1.0, 0.13, 0.62, 0.12) + 0.16 * c.spot(0.45, 0.0, 0.22, 0.22))
    c.mix(shadow * [1.0, 0.92, 1.0], 0.20 * c.spot(0.85, -0.17, 0.50, 0.075) + 0.10 * c.spot(0.55, -0.20, 0.25, 0.07))
    c.mix(shadow, 0.12 * c.spot(0.85, -0.95, 0.30, 0.22) + 0.10 * c.spot(0.0, -1.28, 0.5, 0.06))
    c.mix(base * [0.93, 0.90, 0.88], 0.6 * smooth(c.fy, -1.75, -2.3) * (c.z > -1))
    for field, strength in ((broad, 0.020), (mid, 0.020), (fine, 0.022), (noise(c.pos, 0.02, 4), 0.018)):
        c.albedo *= 1 + strength * field[..., None] * np.float32([0.55, 1, 1])
    rng = np.random.default_rng(31)
    for _ in range(skin.freckles):
        x, y, r = rng.choice([-1, 1]) * rng.uniform(0.5, 2.4), rng.uniform(-1.0, 0.9), rng.uniform(0.007, 0.014)
        d = np.hypot(c.x - x * c.eye[0], c.y - c.eye[1] - y * c.drop) / r
        c.mix(shadow, 0.35 * np.exp(-(d**2)) * (c.z > 0.5))
    for x, y, r in skin.moles:
        d = np.hypot(c.x - x, (c.y - c.eye[1] - y) * 1.1) / r
        c.mix(shadow * 0.42, 0.85 * smooth(d, 1.25, 0.55) * (c.z > 0.5))


def _eyes(c: Canvas, skin: Complexion) -> None:
    shade = srgb(*skin.shadow) * 0.75
    c.mix(shade, (0.18 + 0.40 * skin.make_up) * c.spot(1.05, 0.145, 0.55, 0.085))
    c.mix(shade * 0.7, 0.35 * skin.make_up * c.spot(1.45, 0.08, 0.22, 0.07))
    # The inner corner is wet and pink.
    c.mix(srgb(190, 104, 92), 0.35 * c.spot(0.53, -0.035, 0.07, 0.045))


def _lips(c: Canvas, skin: Complexion) -> None:
    lip = srgb(*skin.lip)
    streak = noise(c.pos * np.float32([1, 0.16, 0.3]), 0.016, 8)
    c.mix(lip, skin.lip_amount * c.lips * np.clip(1 + 0.10 * streak + 0.08 * noise(c.pos, 0.06, 9), 0, 1.3))
    height, seam = c.lip_high - c.lip_low, c.eye[1] - c.drop
    lower = np.exp(-((c.x / (0.55 * c.mouth_half)) ** 2) - ((c.y - (c.lip_low + 0.30 * height)) / (0.16 * height)) ** 2)
    c.mix(np.clip(lip * 1.35 + 0.04, 0, 1), 0.30 * lower * c.lips)
    c.albedo *= (1 + (0.06 * streak * c.lips)[..., None] * np.float32([0.6, 1, 1])).astype(np.float32)
    dark = np.exp(-(((c.y - seam) / (0.10 * height)) ** 2)) * c.lips
    corner = smooth(np.abs(c.x), 0.72 * c.mouth_half, 1.02 * c.mouth_half) * c.lips
    c.mix(lip * [0.42, 0.32, 0.32], 0.40 * dark + 0.18 * corner)
    c.mix(lip * [0.50, 0.42, 0.42], 0.45 * c.corners())
    c.mix(srgb(104, 42, 40), c.inside)


def _stubble(c: Canvas, skin: Complexion) -> None:
    """Shadow and single dark hairs of a shaved beard."""
    # The beard's upper edge runs from the ear down past the corner of the mouth and on to the moustache under the nose.
    wander = 0.03 * noise(c.pos, 0.12, 40)
    cheek = np.interp(c.ax, [0.0, 0.75, 1.15, 1.6, 2.2, 2.7], [-0.64, -0.68, -0.80, -0.78, -0.55, -0.30])
    beard = smooth(c.fy - cheek + wander, 0.10, -0.16) * smooth(c.fy, -2.25, -1.75)
    fold = c.spot(0.98, -0.86, 0.10, 0.12)
    beard *= (1 - 0.55 * fold) * (1 - c.lips) * (c.z > -0.1) * (1 - c.ears)
    bare = c.spot(0.45, -1.20, 0.18, 0.07) * 0.6 + c.spot(0.0, -0.72, 0.10, 0.06) * 0.5
    beard *= np.clip(1 - bare, 0, 1) * np.clip(0.85 + 0.18 * noise(c.pos, 0.18, 41), 0.3, 1.2)
    hair = srgb(*skin.brow)
    c.mix(hair * 1.6 + [0.02, 0.025, 0.03], 0.62 * skin.stubble * beard)
    near, _, lot = _cells(c, 0.0092, 42)
    c.mix(hair, 1.15 * skin.stubble * beard * np.exp(-((near / 0.0025) ** 2)) * (0.35 + 0.6 * lot))


def roughness(mesh: source.BaseMesh, patch: Skin, data: Path, who: Presenter) -> np.ndarray:
    """Roughness of the refined skin's vertices: forehead, nose and lips shine, cheeks less, chest least."""
    n = len(patch.verts)
    lips = np.zeros(n)
    np.maximum.at(lips, patch.step.faces.ravel(), mask_at(data, "lips", patch.mesh_uv).ravel())
    eye = mesh.joint("l-eye")
    x, y = np.abs(patch.verts[:, 0]) / eye[0], (patch.verts[:, 1] - eye[1]) / 0.62
    zone = lambda cx, cy, rx, ry: np.exp(-(((x - cx) / rx) ** 2) - ((y - cy) / ry) ** 2)  # noqa: E731
    shine = zone(0, 0.7, 1.4, 0.4) + zone(0, -0.35, 0.4, 0.5) + 0.8 * zone(1.6, -0.25, 0.5, 0.2) + 0.4 * zone(0, -1.4, 0.4, 0.2)
    return who.face.skin.roughness * (1.08 - 0.20 * np.clip(shine, 0, 1)) * (1 - 0.30 * smooth(lips, 0.2, 0.7))


def paint(mesh: source.BaseMesh, data: Path, who: Presenter, size: int = surface.ATLAS_W) -> Painted:
    """Paint the whole atlas of a presenter at ``size`` texels square."""
    skin = who.face.skin
    c = Canvas(mesh, data, size)
    _complexion(c, skin)
    _eyes(c, skin)
    _lips(c, skin)
    if skin.stubble:
        _stubble(c, skin)
    head = mesh.verts[np.unique(mesh.faces[mesh.group("body")])]
    edge = groom.above_hairline(c.pos.astype(float), head[head[:, 1] > c.eye[1] - 1.6], c.eye[1], who.hair)
    scalp = smooth(edge + 0.012 * noise(c.pos, 0.02, 12), -0.04, 0.16) * (c.fy > -1.1) * (1 - c.ears)
    c.mix(srgb(*skin.hair), 0.80 * scalp)
    soft, hairs = brows.draw(c.eye, c.drop, skin)
    colour = srgb(*skin.brow)
    c.mix(colour * 1.25, 0.9 * soft.sample(c.pos))
    c.mix(colour * 0.8, 0.95 * hairs.sample(c.pos))
    creases = skin.creases * _creases(c) if skin.creases else np.zeros(c.hit.shape, np.float32)
    c.albedo *= 1 - creases[..., None] * np.float32([0.16, 0.22, 0.22])
    mouth = np.maximum(c.inside, c.lips).astype(np.float32)
    soft = np.maximum(skin.soft_folds * c.spot(1.03, -0.53, 0.36, 0.30) ** 0.7, c.corners())
    return Painted(np.clip(c.albedo, 0.002, 1), c.hit, mouth, _pores(c, skin.pore, creases), soft.astype(np.float32))


def light_over(painted: Painted, plain: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Baked light on skin of the linear colour ``plain`` (f32[s, s, 3]) carried over to the painted albedo; f32[H, W, 3]."""
    hit, size = painted.hit, painted.hit.shape[0]
    light = np.nan_to_num(light.astype(np.float32), posinf=8, neginf=0)
    side = light.shape[0]
    covered = cv2.resize(hit.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA) > 0.999
    lit = cv2.erode(covered.astype(np.uint8), np.ones((3, 3)))
    # Half-covered texels at island rims are dark; grow the light outwards from sound ones before enlarging.
    logl = np.log(np.clip(light, 2e-3, 8)) * lit[..., None]
    known = lit.astype(np.float32)
    for sigma in (1.5, 4.0, 12.0):
        blur = cv2.GaussianBlur(known, (0, 0), sigma)
        grown = cv2.GaussianBlur(logl, (0, 0), sigma) / np.maximum(blur, 1e-4)[..., None]
        take = (known == 0) & (blur > 0.02)
        logl[take] = grown[take]
        known[take] = 1
    logl = cv2.resize(logl, (size, size), interpolation=cv2.INTER_CUBIC)
    broad = cv2.resize(cv2.GaussianBlur(cv2.resize(logl, (side, side)), (0, 0), side / 22), (size, size))
    logl += (broad - logl) * painted.soft[..., None]
    out = np.exp(logl) * (painted.albedo / plain.astype(np.float32)) * painted.pores[..., None]
    # Lip corners stay a deep red instead of holes.
    out = np.maximum(out, painted.albedo * (0.14 * painted.mouth)[..., None])
    bad = ~hit
    weight = np.maximum(gaussian_filter(hit.astype(np.float32), 6), 1e-4)
    fill = np.stack([gaussian_filter(out[..., k] * hit, 6) for k in range(3)], -1) / weight[..., None]
    out[bad] = fill[bad]
    return out
