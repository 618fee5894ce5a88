"""Pieces of clothing as two meshes with one UV layout: dense for the light bake, sparse (the cage) for the pack."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import drape
import numpy as np
import rig
import surface
from garment import clip
from shell import Shell


@dataclass
class Sheet:
    """A triangle mesh: verts float64[n, 3] dm, tris int[m, 3], uv float64[n, 2] in dm (v down), weights float64[n, 22]."""

    verts: np.ndarray
    tris: np.ndarray
    uv: np.ndarray
    weights: np.ndarray

    def cut(self, value: np.ndarray) -> Sheet:
        """The part where ``value`` per vertex is positive, cut exactly."""
        if (value > 0).all():
            return self
        packed, tris = clip(np.concatenate([self.verts, self.uv, self.weights], 1), self.tris, value)
        return Sheet(packed[:, :3], tris, packed[:, 3:5], packed[:, 5:])


@dataclass
class Piece:
    """A named piece; ``density`` is texels per dm, ``layer`` the pack's drawing layer."""

    name: str
    layer: str
    material: str
    high: Sheet
    low: Sheet
    density: float


def unwrap(verts: np.ndarray, quads: np.ndarray, seams: np.ndarray) -> np.ndarray:
    """Low-stretch corner UVs float64[f, 4, 2] scaled to decimetres; ``seams`` int[k, 2] are cut edges."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("unwrap")
    mesh.from_pydata(drape.to_metres(verts).tolist(), [], quads.tolist())
    cut = {(min(a, b), max(a, b)) for a, b in seams.tolist()}
    for edge in mesh.edges:
        a, b = edge.vertices
        edge.use_seam = (min(a, b), max(a, b)) in cut
    mesh.uv_layers.new(name="uv")
    obj = bpy.data.objects.new("unwrap", mesh)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.uv.unwrap(method="ANGLE_BASED", margin=0.01)
    bpy.ops.object.mode_set(mode="OBJECT")
    uv = np.empty(len(mesh.loops) * 2, np.float32)
    mesh.uv_layers["uv"].data.foreach_get("uv", uv)
    corners = uv.reshape(-1, 4, 2).astype(np.float64)
    p = verts[quads]
    real = np.linalg.norm(np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1]), axis=1).sum()
    d1, d2 = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    flat = np.abs(d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0]).sum()
    return corners * np.sqrt(real / flat)


def align(corners: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Turn corner UVs (v up) to lie like ``target`` float[f, 4, 2] (v down) and start at (0, 0); v comes out down."""
    flipped = corners * [1, -1]
    a = flipped.reshape(-1, 2) - flipped.reshape(-1, 2).mean(0)
    b = target.reshape(-1, 2) - target.reshape(-1, 2).mean(0)
    angle = np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b).sum())
    c, s = np.cos(angle), np.sin(angle)
    out = flipped @ np.array([[c, s], [-s, c]])
    return out - out.reshape(-1, 2).min(0)


def join(verts: np.ndarray, weights: np.ndarray, faces: list[tuple[np.ndarray, np.ndarray]]) -> Sheet:
    """Join (tris int[m, 3], corner uv float[m, 3, 2]) lists; vertices split where their UV differs."""
    tris = np.concatenate([t for t, _ in faces])
    uv = np.concatenate([u for _, u in faces])
    key = np.concatenate([tris.reshape(-1, 1), np.round(uv.reshape(-1, 2) * 8192)], 1).astype(np.int64)
    unique, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Sheet(verts[unique[:, 0]], inverse.reshape(-1, 3), uv.reshape(-1, 2)[first], weights[unique[:, 0]])


def split(quads: np.ndarray, uv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]),
        np.concatenate([uv[:, [0, 1, 2]], uv[:, [0, 2, 3]]]),
    )


def sheets(shell: Shell, faces: np.ndarray, corners: np.ndarray, fine: np.ndarray) -> tuple[Sheet, Sheet]:
    """Dense and sparse sheet of the level-0 ``faces``; the sparse one is refined once where ``fine`` (per face)."""
    q1, q2 = shell.quads[1], shell.quads[2]
    uv1 = surface.refine_corners(corners)
    uv2 = surface.refine_corners(uv1)
    child = (faces[:, None] * 4 + np.arange(4)).ravel()
    grand = (child[:, None] * 4 + np.arange(4)).ravel()
    high = join(shell.verts, shell.weights, [split(q2[grand], uv2)])
    kids = q1[child].reshape(-1, 4, 4)
    kid_uv = uv1.reshape(-1, 4, 4, 2)
    split_edges = set(kids[fine][:, :, 1].ravel().tolist())
    parts = [split(kids[fine].reshape(-1, 4), kid_uv[fine].reshape(-1, 4, 2))]
    tris, uvs = [], []
    for k in np.nonzero(~fine)[0]:
        ring, ring_uv, start = [], [], None
        for e in range(4):
            ring.append(kids[k, e, 0])
            ring_uv.append(kid_uv[k, e, 0])
            if int(kids[k, e, 1]) in split_edges:
                start = len(ring)
                ring.append(kids[k, e, 1])
                ring_uv.append(kid_uv[k, e, 1])
        turn = start or 0
        ring, ring_uv = ring[turn:] + ring[:turn], ring_uv[turn:] + ring_uv[:turn]
        for j in range(1, len(ring) - 1):
            tris.append([ring[0], ring[j], ring[j + 1]])
            uvs.append([ring_uv[0], ring_uv[j], ring_uv[j + 1]])
    if tris:
        parts.append((np.array(tris), np.array(uvs)))
    return high, join(shell.verts, shell.weights, parts)


def grid_sheet(points: np.ndarray, weights: np.ndarray, flip: bool = False) -> Sheet:
    """Sheet of a grid float[r, c, 3]; UV follows arc length."""
    rows, cols, _ = points.shape
    across = np.linalg.norm(np.diff(points, axis=1), axis=2).mean(0)
    along = np.linalg.norm(np.diff(points, axis=0), axis=2).mean(1)
    u, v = np.concatenate([[0], np.cumsum(across)]), np.concatenate([[0], np.cumsum(along)])
    uv = np.stack(np.broadcast_arrays(u[None, :], v[:, None]), -1).reshape(-1, 2).copy()
    index = np.arange(rows * cols).reshape(rows, cols)
    quads = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], -1).reshape(-1, 4)
    return Sheet(points.reshape(-1, 3), surface.triangles(quads[:, ::-1] if flip else quads), uv, weights)


def grid_piece(
    name: str, layer: str, material: str, points: np.ndarray, weights: np.ndarray, rows: list[int], cols: list[int],
    density: float, flip: bool = False,
) -> Piece:  # fmt: skip
    """A grid (dense) and its subset of ``rows`` and ``cols`` (sparse) with the same UVs."""
    high = grid_sheet(points, weights, flip)
    r, c, _ = points.shape
    low = grid_sheet(
        points[np.ix_(rows, cols)], weights.reshape(r, c, -1)[np.ix_(rows, cols)].reshape(len(rows) * len(cols), -1), flip
    )
    low.uv = high.uv.reshape(r, c, 2)[np.ix_(rows, cols)].reshape(-1, 2).copy()
    return Piece(name, layer, material, high, low, density)


def steps(count: int, pieces: int) -> list[int]:
    """``pieces`` + 1 indices from 0 to ``count`` - 1, evenly spread."""
    return np.unique(np.round(np.linspace(0, count - 1, pieces + 1)).astype(int)).tolist()


def sleeve_axis(joints: np.ndarray, side: str) -> np.ndarray:
    """Shoulder, elbow and wrist, float64[3, 3]."""
    return joints[[rig.INDEX[f"{side}_{j}"] for j in ("shoulder", "elbow", "wrist")]]


def along_arm(points: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Length along the bones (dm) and angle about them (0 faces outward-front, ±π is the inner back seam)."""
    sign = np.sign(axis[0, 0])
    upper, lower = axis[1] - axis[0], axis[2] - axis[1]
    lu, ll = np.linalg.norm(upper), np.linalg.norm(lower)
    out_len, out_ang = np.zeros(len(points)), np.zeros(len(points))
    below = (points - axis[1]) @ (upper / lu + lower / ll) > 0
    for mask, base, bone, length, offset in ((~below, axis[0], upper, lu, 0.0), (below, axis[1], lower, ll, lu)):
        d = bone / length
        front = np.array([0.75 * sign, 0.0, 0.66])
        front = front - d * (front @ d)
        front /= np.linalg.norm(front)
        side = np.cross(front, d)
        p = points[mask] - base
        out_len[mask] = offset + p @ d
        out_ang[mask] = np.arctan2(p @ side, p @ front)
    return out_len, out_ang


def rim(sheet: Sheet) -> np.ndarray:
    """Directed border edges int[k, 2]; a UV seam is no border."""
    _, same = np.unique(np.round(sheet.verts, 4), axis=0, return_inverse=True)
    directed = np.concatenate([sheet.tris[:, [0, 1]], sheet.tris[:, [1, 2]], sheet.tris[:, [2, 0]]])
    _, inverse, count = np.unique(np.sort(same.ravel()[directed], 1), axis=0, return_inverse=True, return_counts=True)
    return directed[count[inverse.ravel()] == 1]
