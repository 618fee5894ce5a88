"""Teeth as separate crowns on an arch, and their gums; each jaw moves as one."""

from __future__ import annotations

import numpy as np
import source
import surface
from piece import PALETTE, Piece, grid_tris


def _rigid(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and translation that best carry ``before`` onto ``after`` (Kabsch)."""
    cb, ca = before.mean(0), after.mean(0)
    u, _, vt = np.linalg.svd((before - cb).T @ (after - ca))
    d = np.diag([1, 1, np.sign(np.linalg.det(vt.T @ u.T))])
    rot = vt.T @ d @ u.T
    return rot, ca - rot @ cb


WIDTHS = {"upper": [8.5, 6.6, 7.5, 6.9, 6.7, 9.6], "lower": [5.3, 5.9, 6.7, 6.9, 7.1, 10.2]}


def teeth(mesh: source.BaseMesh, units: dict[str, np.ndarray], jaw: str) -> list[Piece]:
    """Twelve separate crowns of one jaw and their gum; the jaw moves rigidly with the helper teeth."""
    used = np.unique(mesh.faces[mesh.group(f"helper-{jaw}-teeth")])
    helper = mesh.verts[used]
    low, high = helper.min(0), helper.max(0)
    half = (high[0] - low[0]) / 2
    upper = jaw == "upper"
    scale = half / 0.315 * 0.0100
    front = high[2] - (0.012 if upper else 0.030)
    edge = low[1] - 0.022 if upper else high[1] - 0.100
    grow = 1.0 if upper else -1.0
    verts, tris, shade, uv = [], [], [], []
    base = 0

    def arch(s: np.ndarray) -> np.ndarray:
        """z of the arch's front at x, dm."""
        return front - 0.46 * np.abs(s / half) ** 2.7

    for sign in (1, -1):
        x = -0.0012 * scale / 0.01
        for k, mm in enumerate(WIDTHS[jaw]):
            w = mm * scale * (0.93 - 0.05 * k)
            # Walk along the arch by arc length so that back teeth turn away.
            slope = (arch(np.array(x + w)) - arch(np.array(x))) / w
            step = w / np.hypot(1, slope)
            cx = x + step / 2
            tangent = np.array([step, 0, float(arch(np.array(x + step)) - arch(np.array(x)))])
            tangent /= np.linalg.norm(tangent)
            normal = np.array([-tangent[2], 0, tangent[0]])
            height = (0.098, 0.088, 0.098, 0.082, 0.076, 0.07)[k] * (1.0 if upper else 0.86)
            tip = (0.0, 0.005, -0.003, 0.005, 0.009, 0.012)[k] * (1 if upper else -0.4)
            rings, n = 7, 14
            t = np.linspace(0, 1, rings)
            ang = np.linspace(0, 2 * np.pi, n, endpoint=False)
            c, s = np.cos(ang), np.sin(ang)
            sq = (np.abs(c) ** 3.0 + np.abs(s) ** 3.0) ** (-1 / 3.0)
            width = w * 0.5 * 0.985 * (0.80 + 0.20 * np.sin(np.pi / 2 * np.clip(t * 1.7, 0, 1)))
            round_edge = np.where(t > 0.85, 1 - (0.10 if k < 2 else 0.30) * ((t - 0.85) / 0.15) ** 2, 1)
            depth = (0.036 if k < 3 else 0.045) * (1.0 - 0.55 * t)
            ring = (width * round_edge)[:, None, None] * (c * sq)[None, :, None] * tangent
            ring = ring + depth[:, None, None] * (s * sq)[None, :, None] * normal
            bulge = 0.010 * np.sin(np.pi * t)[:, None, None] * normal
            origin = np.array([cx, 0, float(arch(np.array(cx)))])
            y = edge + tip + grow * height * (1 - t)
            p = ring + bulge + origin
            p[..., 1] = y[:, None]
            p = p.reshape(-1, 3) * [sign, 1, 1]
            cap = p[-n:].mean(0, keepdims=True) - [0, grow * 0.002, 0]
            v = np.concatenate([p, cap])
            f = grid_tris(rings, n, wrap=True)
            last = (rings - 1) * n + np.arange(n)
            f = np.concatenate([f, np.stack([last, np.roll(last, -1), np.full(n, rings * n)], 1)])
            nz = surface.vertex_normals(v, f)
            if ((v - v.mean(0)) * nz).sum() < 0:
                f, nz = f[:, ::-1], -nz
            key = np.array([-0.35, 0.45, 0.82]) / np.linalg.norm([-0.35, 0.45, 0.82])
            lit = 0.66 + 0.36 * np.clip(nz @ key, 0, 1)
            inward = np.clip((front - v[:, 2]) / 0.36, 0, 1)
            gum_side = np.concatenate([np.repeat(1 - t, n), [0.0]])
            verts.append(v)
            tris.append(f + base)
            shade.append(lit * (1 - 0.80 * inward**0.65) * (1 - 0.20 * gum_side) * (1.0 if upper else 0.86))
            # The last molars only ever show as the dark of a lip corner, which is red and not grey.
            uv.append(np.tile(PALETTE["enamel" if k < 5 else "gum"], (len(v), 1)))
            base += len(v)
            x += step
    cols, rows = 48, 5
    gx = np.linspace(-1, 1, cols) * half * 0.86
    r = np.linspace(0, 1, rows)[:, None]
    scallop = 0.006 * np.cos(gx / (0.076 * scale / 0.01 / 2) * np.pi)
    top = edge + grow * (0.082 if upper else 0.070)
    g = np.stack(
        [
            np.tile(gx, (rows, 1)),
            top + grow * (r * 0.10) + scallop * (1 - r) + 0 * gx,
            arch(gx)[None] + 0.008 + 0.014 * np.sin(np.pi * r) - 0.02 * r,
        ],
        -1,
    ).reshape(-1, 3)
    gshade = (0.85 - 0.25 * np.repeat(np.linspace(0, 1, rows), cols)) * (1 - 0.7 * np.clip((front - g[:, 2]) / 0.36, 0, 1))
    verts.append(g)
    gt = grid_tris(rows, cols)
    tris.append((gt if not upper else gt[:, ::-1]) + base)
    shade.append(gshade * (1.0 if upper else 0.8))
    uv.append(np.tile(PALETTE["gum"], (len(g), 1)))
    v = np.concatenate(verts)
    piece = Piece(f"teeth_{jaw}", v, np.concatenate(tris), np.concatenate(uv).astype(float), np.concatenate(shade))
    for name, delta in units.items():
        if np.abs(delta[used]).max() > 1e-4:
            rot, move = _rigid(helper, helper + delta[used])
            piece.units[name] = v @ rot.T + move - v
    return [piece]
