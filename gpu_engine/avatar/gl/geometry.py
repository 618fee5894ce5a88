"""A pack's geometry as OpenGL wants it: one vertex buffer, morphs listed per vertex, normals that follow the morphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.pack import AvatarPack, Plate
from gpu_engine.motion.vocabulary import WEIGHT_COUNT

F32 = NDArray[np.float32]

VERTEX = np.dtype(
    [
        ("position", "<f4", 3),
        ("normal", "<f4", 3),
        ("uv", "<f4", 2),
        ("shade", "<f4"),
        ("joints", "<i4", 4),
        ("weights", "<f4", 4),
        ("morphs", "<i4", 2),
    ]
)
VERTEX_FORMAT = "3f 3f 2f 1f 4i 4f 2i"
VERTEX_INPUTS = ("in_position", "in_normal", "in_uv", "in_shade", "in_joints", "in_weights", "in_morphs")


def smooth_normals(verts: F32, tris: NDArray[np.int32], weld: NDArray[np.int64]) -> F32:
    """Area-weighted unit normals float32[v, 3]; vertices with one ``weld`` number (UV seams) share theirs."""
    a, b, c = (verts[tris[:, i]] for i in range(3))
    face = np.cross(b - a, c - a)
    total = np.zeros((int(weld.max()) + 1, 3))
    for i in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(weld[tris[:, i]], face[:, axis], len(total))
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray((total / np.maximum(length, 1e-12))[weld], np.float32)


def welded(verts: F32) -> NDArray[np.int64]:
    """int64[v]: equal numbers for vertices in one place (to a micrometre)."""
    _, number = np.unique(np.round(verts.astype(np.float64) * 1e5).astype(np.int64), axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int64)


def morph_entries(pack: AvatarPack) -> tuple[NDArray[np.int32], F32]:
    """Morphs by vertex.

    Returns:
        int32[v, 2], first entry and count of each vertex; float32[m, 8], entries (dx, dy, dz, weight number, change of the
        normal, 0), positions in decimetres.
    """
    weld = welded(pack.rest)
    rest_normals = smooth_normals(pack.rest, pack.tris, weld)
    vertex, entries = [], []
    for weight in range(WEIGHT_COUNT):
        run = slice(int(pack.morph_offset[weight]), int(pack.morph_offset[weight + 1]))
        delta = np.zeros_like(pack.rest)
        delta[pack.morph_index[run]] = pack.morph_delta[run]
        turn = smooth_normals(pack.rest + delta, pack.tris, weld) - rest_normals
        moved = np.nonzero((np.abs(delta).max(1) > 0) | (np.abs(turn).max(1) > 0.01))[0]
        rows = np.zeros((len(moved), 8), np.float32)
        rows[:, :3], rows[:, 3], rows[:, 4:7] = delta[moved], weight, turn[moved]
        vertex.append(moved)
        entries.append(rows)
    of = np.concatenate(vertex)
    order = np.argsort(of, kind="stable")
    counts = np.bincount(of, minlength=len(pack.rest))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.stack([first, counts], 1).astype(np.int32), np.ascontiguousarray(np.concatenate(entries)[order])


def vertex_rows(pack: AvatarPack, morphs: NDArray[np.int32]) -> NDArray[np.void]:
    """``VERTEX`` records of the pack's meshes."""
    rows = np.zeros(len(pack.rest), VERTEX)
    rows["position"], rows["normal"], rows["uv"], rows["shade"] = pack.rest, pack.normals, pack.uv, pack.shade
    rows["joints"], rows["weights"], rows["morphs"] = pack.joint_index, pack.joint_weights, morphs
    return rows


def plate_rows(plate: Plate) -> tuple[NDArray[np.void], NDArray[np.int32]]:
    """``VERTEX`` records and triangles int32[t, 3] of a plate's grid; cells without a visible pixel are left out."""
    height, width = plate.nodes.shape[:2]
    rows = np.zeros((height, width), VERTEX)
    rows["position"], rows["normal"] = plate.nodes, (0.0, 0.0, 1.0)
    x0, y0, x1, y1 = plate.box
    rows["uv"][..., 0] = np.arange(width)[None, :] * plate.cell / (x1 - x0)
    rows["uv"][..., 1] = np.arange(height)[:, None] * plate.cell / (y1 - y0)
    rows["shade"], rows["joints"], rows["weights"] = 1.0, plate.joints, plate.weights
    alpha, cell = plate.image[..., 3], plate.cell
    tris = []
    for r in range(height - 1):
        for c in range(width - 1):
            if alpha[r * cell : (r + 1) * cell + 1, c * cell : (c + 1) * cell + 1].any():
                a = r * width + c
                tris += [(a, a + width, a + 1), (a + 1, a + width, a + width + 1)]
    return rows.reshape(-1), np.array(tris, np.int32).reshape(-1, 3)
