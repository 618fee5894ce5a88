"""Long layered bob: side parting, locks that frame the cheeks, soft waves to the collarbones."""

from __future__ import annotations

import numpy as np

from hair.scalp import Head, Skull, roots, unit_vectors
from hair.strands import Solid, clump, frizz, in_company, nearest_guides, shell, smooth, taper, trace

POINTS = 44
PART_X = 0.29
"""The parting starts this far (head units) to the host's left of centre and runs back to the crown."""

FACE_HEIGHT = [-1.7, -1.1, -0.75, -0.45, -0.2, 0.0, 0.2, 0.38, 0.52, 0.64]
FACE_AZIMUTH = [44.0, 49.0, 55.0, 57.0, 57.0, 54.5, 50.0, 40.0, 25.0, 6.0]
"""Height over the eyes → azimuth about the ears' axis inside which no hair falls: the face stays open."""


def part_x(z: np.ndarray, head: Head) -> np.ndarray:
    """The parting's x at depth ``z``: it drifts to the middle toward the crown."""
    back = np.clip((head.centre[2] + 0.75 * head.unit - z) / (1.1 * head.unit), 0, 1)
    return head.unit * (PART_X - 0.20 * back)


def _fall(
    start: np.ndarray, normal: np.ndarray, head: Head, skull: Skull, solid: Solid, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Strands f64[n, POINTS, 3] as gravity and comb lay them, and the side (+1 host's left) each falls to."""
    n, u = len(start), head.unit
    side = np.where(start[:, 0] > part_x(start[:, 2], head), 1.0, -1.0)
    h0 = head.height(start)
    rank = np.clip(h0 / 1.0, 0, 1)
    layer = u * (0.024 + 0.084 * rank**1.2 + 0.028 * rng.random(n))
    front = np.clip((start[:, 2] - head.centre[2]) / (0.55 * u), 0, 1)
    sweep = 0.30 + 0.25 * (1 - front) + rng.normal(0, 0.06, n)
    tight = rng.normal(0, 2.0, n) - 3.0 - 2.0 * (side < 0) + 7.0 * rng.random(n) ** 2

    def field(p: np.ndarray, d: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        rel = p - head.centre
        out = unit_vectors(rel)
        away = np.zeros_like(p)
        end = head.centre[2] - 0.35 * u
        # Behind the crown nothing parts: the back falls straight and closes over the nape.
        parted = np.interp(p[:, 2] - end, [-0.25 * u, 0.55 * u], [0.10, 1.0])
        away[:, 0] = side * np.maximum(np.abs(p[:, 0] - part_x(p[:, 2], head)), 0.10) * parted
        away[:, 2] = np.minimum(p[:, 2] - end, 0.0)
        away = unit_vectors(away)
        # Hair of the forehead rises and runs back before it turns to the side: a curtain that starts at the roots is a wig's.
        away[:, 2] -= sweep * (1.0 + 1.8 * np.exp(-s / 0.06))
        away -= out * (away * out).sum(1, keepdims=True)
        away = unit_vectors(away)
        h = head.height(p)
        weight = np.clip((0.86 - h) / 0.62, 0.04, 1)[:, None] ** 1.2
        inward = -rel * np.array([1.0, 0.0, 0.6]) * np.clip(-h / 0.5, 0, 1)[:, None] * 0.20
        want = away * (1 - weight) + (np.array([0, -1.0, 0]) + inward) * weight
        return unit_vectors(want), 0.30

    def settle(p: np.ndarray, s: float) -> np.ndarray:
        # Volume swells away from the parting, so that the dome dips there softly and has no notch.
        swell = 0.25 + 0.75 * np.clip(np.abs(p[:, 0] - part_x(p[:, 2], head)) / (0.50 * u), 0, 1) ** 0.8
        thick = layer * np.where(head.height(p) > 0.55, swell, 1.0)
        p = shell(skull, thick, head.eye_y - 0.62 * u, ramp=0.11)(p, s)
        rel = p - head.centre
        # A roof as well as a floor: hair lies on the head and hangs from its widest place.
        r = np.linalg.norm(rel, axis=1)
        roof = skull.radius(rel) + thick * min(1.0, s / 0.11) * 1.15 + 0.035 * u
        over = (head.height(p) > 0.0) & (r > roof)
        rel = rel * np.where(over, 0.35 + 0.65 * roof / np.maximum(r, 1e-6), 1.0)[:, None]
        p = head.centre + rel
        az = np.degrees(np.arctan2(side * rel[:, 0], rel[:, 2]))
        gate = np.interp(head.height(p), FACE_HEIGHT, FACE_AZIMUTH) + tight
        gate = np.where(s > 0.03, gate, -180)
        turn = np.radians(np.clip(gate - az, 0, 60)) * 0.45 * (rel[:, 2] > 0) * side
        c, sn = np.cos(turn), np.sin(turn)
        p = p.copy()
        p[:, 0] = head.centre[0] + rel[:, 0] * c + rel[:, 2] * sn
        p[:, 2] = head.centre[2] + rel[:, 2] * c - rel[:, 0] * sn
        if s > 0.2:
            p = solid.push(p, 0.03 + 0.6 * layer)
        return p

    heading = unit_vectors(normal * 0.75 + np.stack([side * 0.5, 0.25 * front, -0.9 * sweep - 0.3 * front], -1))
    heading[:, 1] = np.maximum(heading[:, 1], -0.2)
    long = trace(start, heading, np.full(n, 4.3 * u), 66, field, settle)
    # Layers: what falls beside the face is cut shorter; every lock ends at a height of its own.
    low = long[:, 40:].mean(1)
    fall = np.abs(head.azimuth(low))
    frame = (fall < 66) & (h0 > 0.3) & (rng.random(n) < 0.30)
    # Over the shoulder the cut ends where the shoulder begins; before it locks hang to the collarbones.
    tip = np.interp(fall, [50, 66, 82, 100, 120], [-1.86, -1.80, -1.44, -1.44, -1.80])
    tip += 0.30 * np.clip((80 - fall) / 30, 0, 1) * rng.random(n) + 0.30 * rank * rng.random(n) ** 2
    tip = np.where(frame, rng.uniform(-1.30, -0.70, n), tip) + rng.normal(0, 0.05, n)
    # A strand that slides out over the shoulder is cut there, or it would lie along the arm.
    wide = (np.abs(long[..., 0]) > rng.uniform(0.84, 0.95, n)[:, None] * u) & (head.height(long) < -1.12)
    return _cut(long, head.eye_y + tip * u, wide, POINTS), side


def _cut(path: np.ndarray, tip_y: np.ndarray, stop: np.ndarray, points: int) -> np.ndarray:
    """End each strand where it first passes below ``tip_y`` or into ``stop`` bool[n, k], and space its points evenly."""
    n, k, _ = path.shape
    done = (path[..., 1] < tip_y[:, None]) | stop
    last = np.where(done.any(1), done.argmax(1), k - 1)
    rows = np.arange(n)
    i = np.maximum(last, 1)
    y0, y1 = path[rows, i - 1, 1], path[rows, i, 1]
    share = np.where(stop[rows, i], 1.0, np.clip((y0 - tip_y) / np.maximum(y0 - y1, 1e-6), 0, 1))
    last = np.where(done.any(1), i - 1 + share, last)
    at = np.linspace(0, 1, points)[None] * last[:, None]
    a = np.minimum(at.astype(int), k - 2)
    f = (at - a)[..., None]
    return path[rows[:, None], a] * (1 - f) + path[rows[:, None], a + 1] * f


def _wave(path: np.ndarray, head: Head, phase: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Soft S-waves over the lower lengths and tips that turn in."""
    n, k, _ = path.shape
    drop = np.clip((head.eye_y + 0.05 * head.unit - path[..., 1]) / (1.9 * head.unit), 0, 1)
    grow = np.clip(drop * 2.0, 0, 1) ** 1.2
    angle = 9.5 * drop + phase[:, None]
    wave = head.unit * size[:, None] * grow
    out = np.stack([path[..., 0], np.zeros((n, k)), path[..., 2] - head.centre[2] + 0.35], -1)
    out = unit_vectors(out)
    along = np.stack([out[..., 2], np.zeros((n, k)), -out[..., 0]], -1)
    s = np.linspace(0, 1, k)[None]
    curl = head.unit * 0.13 * np.clip((s - 0.80) / 0.20, 0, 1) ** 2
    return path + (wave * np.sin(angle))[..., None] * along + ((0.4 * wave * np.cos(angle)) - curl)[..., None] * out


def _baby(
    mesh: tuple[np.ndarray, np.ndarray], head: Head, skull: Skull, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Fine short hairs along the hairline, most at the temples."""
    p, normal = roots(*mesh, head, "lin", 90000, rng, soft=0.02, band=(-0.035, 0.07))
    az = np.abs(head.azimuth(p))
    keep = rng.random(len(p)) < np.interp(az, [0, 35, 48, 60, 66], [0.12, 0.25, 0.55, 0.5, 0.0])
    p, normal = p[keep][:900], normal[keep][:900]
    side = np.where(p[:, 0] > part_x(p[:, 2], head), 1.0, -1.0)
    az = np.abs(head.azimuth(p))
    down = np.clip((az - 30) / 35, 0, 1)
    comb = np.stack([side * (0.8 - 0.5 * down), 0.35 - 1.25 * down, -0.35 - 0.25 * down], -1) + rng.normal(0, 0.22, p.shape)
    length = head.unit * rng.uniform(0.10, 0.30, len(p))
    settle = shell(skull, np.full(len(p), 0.012), head.eye_y - 0.6)
    path = trace(p, comb + 0.25 * normal, length, POINTS, lambda q, d, s: (unit_vectors(comb), 0.12), settle)
    radius = taper(len(p), POINTS, 0.00050, 0.2, 1.5)
    return path, radius


def grow(
    mesh: tuple[np.ndarray, np.ndarray], solid: Solid, head: Head, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, radii, whether a strand hangs behind the neck, and melanin of ``count`` strands (about)."""
    verts, tris = mesh
    upper = verts[verts[:, 1] > head.eye_y - head.unit]
    skull = Skull(upper, head.centre)
    # Hair presses the ears to the head a little.
    skull.table = 0.85 * skull.table + 0.15 * Skull(upper[~head.is_ear(upper)], head.centre).table
    start, normal = roots(verts, tris, head, "lin", int(count * 1.45), rng)
    start, normal = start[:count], normal[:count]
    guide, guide_normal = roots(verts, tris, head, "lin", 2600, rng)
    path, side = _fall(start, normal, head, skull, solid, rng)
    gpath, gside = _fall(guide, guide_normal, head, skull, solid, rng)
    # Locks: about two hundred broad ones, each holding the fine ones; a lock waves as one.
    broad = rng.permutation(len(guide))[:230]
    middle = POINTS * 2 // 3
    lock = broad[nearest_guides(gpath[:, middle] + 0.4 * guide, (gpath[:, middle] + 0.4 * guide)[broad], gside, gside[broad])]
    s = np.linspace(0, 1, POINTS)[None]
    gpath = clump(gpath, gpath[lock], 0.55 * np.clip((s - 0.25) / 0.6, 0, 1) * np.ones((len(guide), 1)),
                  rng.normal(0, 0.05, (len(guide), 1, 3)))  # fmt: skip
    fall = np.radians(head.azimuth(gpath[:, middle]))
    phase = 2.2 * fall + rng.normal(0, 0.75, len(guide))[lock] + rng.normal(0, 0.12, len(guide))
    size = rng.uniform(0.065, 0.125, len(guide))[lock]
    key, guide_key = np.concatenate([start, path[:, middle]], 1), np.concatenate([guide, gpath[:, middle]], 1)
    near = nearest_guides(key, guide_key, side, gside)
    hold = 0.80 * np.clip((s - 0.08) / 0.62, 0, 1) ** 0.8 * rng.uniform(0.5, 1.0, (len(path), 1))
    path = clump(path, gpath[near], hold, rng.normal(0, 0.020, (len(path), 1, 3)) * (1.1 - 0.5 * s[..., None]))
    path = _wave(path, head, phase[near] + rng.normal(0, 0.10, len(path)), size[near])
    loose = rng.random(len(path)) < 0.05
    path = frizz(path, np.where(loose, 0.0060, 0.0022), rng)
    for _ in range(2):
        flat = solid.push(path[:, POINTS // 4 :].reshape(-1, 3), 0.035)
        path[:, POINTS // 4 :] = flat.reshape(len(path), -1, 3)
        path[:, POINTS // 4 :] = smooth(path[:, POINTS // 4 :], 2, 0.4)
    az, h = np.abs(head.azimuth(path)), head.height(path)
    open_face = np.interp(h, FACE_HEIGHT, FACE_AZIMUTH) - 12.0
    path = path[~((az < open_face) & (h < 0.52) & (h > -1.5) & (path[..., 2] > head.centre[2])).any(1)]
    path = path[in_company(path, 0.065 * head.unit * np.sqrt(max(1.0, 30000 / len(path))))]
    low = path[:, POINTS // 2 :]
    back = (np.abs(head.azimuth(low.mean(1))) > 96) | (low[..., 2].mean(1) < head.centre[2] - 0.18 * head.unit)
    radius = taper(len(path), POINTS, 0.00082, 0.22)
    baby, baby_radius = _baby(mesh, head, skull, rng)
    melanin = np.clip(rng.normal(0.75, 0.06, len(path) + len(baby)), 0.58, 0.92)
    return (
        np.concatenate([path, baby]),
        np.concatenate([radius, baby_radius]),
        np.concatenate([back, np.zeros(len(baby), bool)]),
        melanin,
    )
