"""Fewer triangles that look the same: removes vertices whose place, texture coordinates and every target follow from their
neighbours within a tolerance. Half-edge collapses in rounds of vertices that do not touch, so that errors do not add up
within a round. Build-time only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDS = 3
SHAPE = 0.3
"""Least double area of a new triangle over the square of its longest side: long slivers are slow to draw."""


@njit(cache=True)
def _rings(tris: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Triangles around each vertex as offsets and a list."""
    size = np.zeros(count + 1, np.int64)
    for t in range(len(tris)):
        for k in range(3):
            size[tris[t, k] + 1] += 1
    offset = np.cumsum(size)
    fill = offset[:-1].copy()
    ring = np.zeros(offset[-1], np.int64)
    for t in range(len(tris)):
        for k in range(3):
            ring[fill[tris[t, k]]] = t
            fill[tris[t, k]] += 1
    return offset, ring


@njit(cache=True)
def _fan(v: int, tris: np.ndarray, offset: np.ndarray, ring: np.ndarray, loop: np.ndarray) -> int:
    """Neighbours of ``v`` in order into ``loop``; their number, or 0 unless the triangles close around it once."""
    n = offset[v + 1] - offset[v]
    if n < 3 or n > 12:
        return 0
    after = np.full(n, -1, np.int64)
    before = np.full(n, -1, np.int64)
    for i in range(n):
        t = ring[offset[v] + i]
        for k in range(3):
            if tris[t, k] == v:
                before[i], after[i] = tris[t, (k + 1) % 3], tris[t, (k + 2) % 3]
    loop[0] = before[0]
    current = after[0]
    for i in range(1, n):
        loop[i] = current
        found = False
        for j in range(n):
            if before[j] == current:
                current = after[j]
                found = True
                break
        if not found:
            return 0
    return n if current == loop[0] else 0


@njit(cache=True)
def _round(
    tris: np.ndarray,
    place: np.ndarray,
    fields: np.ndarray,
    scale: np.ndarray,
    fixed: np.ndarray,
    tolerance: float,
    target: np.ndarray,
) -> int:
    """Choose collapses v → target[v]; returns how many."""
    count = len(place)
    offset, ring = _rings(tris, count)
    locked = fixed.copy()
    loop = np.zeros(16, np.int64)
    done = 0
    for v in range(count):
        if locked[v]:
            continue
        n = _fan(v, tris, offset, ring, loop)
        if n == 0:
            continue
        clear = True
        for i in range(n):
            if target[loop[i]] >= 0:
                clear = False
        if not clear:
            continue
        best, chosen = tolerance, -1
        for i in range(n):
            u = loop[i]
            # Link condition: no edge from u to a neighbour of v other than the two beside it.
            bad = False
            for j in range(offset[u], offset[u + 1]):
                for k in range(3):
                    w = tris[ring[j], k]
                    if w != u and w != v and w != loop[(i + 1) % n] and w != loop[(i - 1) % n]:
                        for m in range(n):
                            if loop[m] == w:
                                bad = True
            if bad:
                continue
            worst, inside = 1e9, False
            for m in range(1, n - 1):
                a, b = loop[(i + m) % n], loop[(i + m + 1) % n]
                e, f, g = place[a] - place[u], place[b] - place[u], place[v] - place[u]
                normal = np.cross(e, f)
                area = np.sqrt((normal**2).sum())
                longest = max((e**2).sum(), (f**2).sum(), ((e - f) ** 2).sum())
                old = np.cross(place[loop[(i + m) % n]] - place[v], place[loop[(i + m + 1) % n]] - place[v])
                if area < SHAPE * longest or (normal * old).sum() <= 0.5 * area * np.sqrt((old**2).sum()):
                    bad = True
                    break
                b1 = (np.cross(g, f) * normal).sum() / area**2
                b2 = (np.cross(e, g) * normal).sum() / area**2
                if b1 >= -1e-6 and b2 >= -1e-6 and b1 + b2 <= 1.000001 and not inside:
                    inside = True
                    worst = 0.0
                    for c in range(0, fields.shape[1], 3):
                        d = 0.0
                        for k in range(c, c + 3):
                            x = fields[v, k] - ((1 - b1 - b2) * fields[u, k] + b1 * fields[a, k] + b2 * fields[b, k])
                            d += x * x
                        worst = max(worst, np.sqrt(d) * scale[c // 3])
            if bad or not inside:
                continue
            if worst < best:
                best, chosen = worst, u
        if chosen >= 0:
            target[v] = chosen
            done += 1
            for i in range(n):
                locked[loop[i]] = True
    return done


def decimate(
    verts: np.ndarray,
    tris: np.ndarray,
    uv: np.ndarray,
    extra: np.ndarray,
    targets: dict[str, np.ndarray],
    *,
    tolerance: float,
    uv_dm: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the vertices kept and the triangles among them.

    Args:
        verts: float[n, 3] dm; tris int[t, 3]; uv float[n, 2].
        extra: float[n, k], more that must stay linear (shade, joint weights), counted as ``tolerance * 20`` per unit.
        targets: name → float[n, 3] dm.
        tolerance: largest error of a place or of a target at full strength, dm.
        uv_dm: decimetres that one unit of uv covers; texture may slide by three tolerances.
    """
    count = len(verts)
    used = np.zeros(count, bool)
    used[tris] = True
    pad = np.zeros((count, (-extra.shape[1]) % 3))
    groups = [verts, np.concatenate([uv, np.zeros((count, 1))], 1), np.concatenate([extra, pad], 1)]
    scale = [1.0, uv_dm / 3] + [0.05] * (groups[2].shape[1] // 3)
    for delta in targets.values():
        if np.abs(delta).max() > 1e-5:
            groups.append(delta)
            scale.append(1.0)
    fields, weights = np.ascontiguousarray(np.concatenate(groups, 1), np.float64), np.array(scale)
    place, live = np.ascontiguousarray(verts, np.float64), np.ascontiguousarray(tris, np.int64)
    for _ in range(ROUNDS):
        target = np.full(count, -1, np.int64)
        if _round(live, place, fields, weights, ~used, tolerance, target) == 0:
            break
        moved = np.where(target >= 0, target, np.arange(count))
        live = moved[live]
        live = live[(live[:, 0] != live[:, 1]) & (live[:, 1] != live[:, 2]) & (live[:, 2] != live[:, 0])]
        live = np.ascontiguousarray(live)
    kept, compact = np.unique(live, return_inverse=True)
    return kept, compact.reshape(-1, 3)
