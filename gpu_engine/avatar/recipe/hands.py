"""Hands of the presenter: the base mesh's own, refined for the bake and thinned for the pack."""

from __future__ import annotations

import bpy
import cage
import drape
import numpy as np
import rig
import source
import surface

ISLANDS = {"left": (0.563, 0.77), "right": (0.355, 0.563)}
"""The hands' columns in the base mesh's UV layout; both lie below ``ISLAND_TOP`` (v up)."""
ISLAND_TOP = 0.205
REACH = 0.55
"""The wrist reaches this far into the sleeve, decimetres."""
DENSITY = 215.0


def faces(mesh: source.BaseMesh, side: str) -> np.ndarray:
    """Indices of the body's faces that make up a hand with its wrist."""
    body = mesh.group("body")
    centre = mesh.uvs[mesh.face_uvs[body]].mean(1)
    low, high = ISLANDS[side]
    return body[(centre[:, 0] > low) & (centre[:, 0] < high) & (centre[:, 1] < ISLAND_TOP)]


def thin(verts: np.ndarray, quads: np.ndarray, corners: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collapse to about ``count`` triangles keeping silhouette and UVs: (verts, tris, corner uv float[t, 3, 2])."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("hand")
    mesh.from_pydata(drape.to_metres(verts).tolist(), [], quads.tolist())
    layer = mesh.uv_layers.new(name="uv")
    layer.data.foreach_set("uv", corners.astype(np.float32).ravel())
    obj = bpy.data.objects.new("hand", mesh)
    bpy.context.scene.collection.objects.link(obj)
    tri = obj.modifiers.new("tri", "TRIANGULATE")
    tri.quad_method = "SHORTEST_DIAGONAL"
    collapse = obj.modifiers.new("collapse", "DECIMATE")
    collapse.ratio = count / (2 * len(quads))
    done = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    v = np.empty(len(done.vertices) * 3, np.float32)
    done.vertices.foreach_get("co", v)
    tris = np.empty(len(done.loops), np.int32)
    done.loops.foreach_get("vertex_index", tris)
    uv = np.empty(len(done.loops) * 2, np.float32)
    done.uv_layers[0].data.foreach_get("uv", uv)
    return drape.from_metres(v.reshape(-1, 3).astype(float)), tris.reshape(-1, 3), uv.reshape(-1, 3, 2).astype(float)


def wrist(sheet: cage.Sheet, forearm: np.ndarray) -> cage.Sheet:
    """Lengthen the open end into the sleeve along ``forearm`` (elbow, wrist)."""
    d = (forearm[0] - forearm[1]) / np.linalg.norm(forearm[0] - forearm[1])
    edges = cage.rim(sheet)
    edges = edges[((sheet.verts[edges].mean(1) - forearm[1]) @ d) > -0.5]
    ids = np.unique(edges)
    centre = sheet.verts[ids].mean(0)
    at = {int(v): k for k, v in enumerate(ids)}
    n = len(sheet.verts)
    rings = sheet.verts[ids] + d * REACH + (centre - sheet.verts[ids]) * 0.05
    tris = []
    for a, b in edges.tolist():
        tris += [[b, a, n + at[a]], [b, n + at[a], n + at[b]]]
    # The wrist is the upper border of the island, where the layout is free.
    away = np.array([0.0, -0.12])
    return cage.Sheet(
        np.concatenate([sheet.verts, rings]), np.concatenate([sheet.tris, np.array(tris, int).reshape(-1, 3)]),
        np.concatenate([sheet.uv, sheet.uv[ids] + away]), np.concatenate([sheet.weights, sheet.weights[ids]]),
    )  # fmt: skip


def nails(mesh: source.BaseMesh, side: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per finger: middle of the nail, unit direction to the tip, unit direction out of the nail."""
    out = []
    for finger in range(1, 6):
        chain = np.array([mesh.joint(f"{side}-finger-{finger}-{k}") for k in range(1, 5)])
        along = chain[3] - chain[2]
        along /= np.linalg.norm(along)
        chord = (chain[3] - chain[0]) / np.linalg.norm(chain[3] - chain[0])
        # A bent finger's knuckles stand out on the side of the nail.
        bow = (chain[1] + chain[2]) / 2 - chain[0]
        up = bow - chord * (bow @ chord)
        up -= along * (up @ along)
        up /= np.linalg.norm(up)
        out.append((chain[3] - along * 0.035 + up * 0.055, along, up))
    return out


def pieces(mesh: source.BaseMesh, weight: np.ndarray, count: int) -> list[cage.Piece]:
    """Left and right hand with a cage of about ``count`` triangles each."""
    out = []
    for side in ("left", "right"):
        index = faces(mesh, side)
        used, compact = np.unique(mesh.faces[index], return_inverse=True)
        quads = compact.reshape(-1, 4)
        verts, w = mesh.verts[used], weight[used]
        corners = mesh.uvs[mesh.face_uvs[index]] * [1, -1]
        p = verts[quads]
        real = np.linalg.norm(np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1]), axis=1).sum()
        d1, d2 = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
        corners = (corners - corners.reshape(-1, 2).min(0)) * np.sqrt(
            real / np.abs(d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0]).sum()
        )
        step = surface.catmull_clark(quads, len(verts))
        fine, fine_w = step.matrix @ verts, np.asarray(step.matrix @ w)
        uv = surface.refine_corners(corners)
        high = cage.join(fine, fine_w, [cage.split(step.faces, uv)])
        low_v, low_t, low_uv = thin(fine[: len(verts)], quads, corners, count)
        nearest = ((low_v[:, None] - fine[None, : len(verts)]) ** 2).sum(-1).argmin(1)
        low = cage.join(low_v, w[nearest], [(low_t, low_uv)])
        forearm = rig.skeleton(mesh)[[rig.INDEX[f"{side}_elbow"], rig.INDEX[f"{side}_wrist"]]]
        high, low = wrist(high, forearm), wrist(low, forearm)
        out.append(cage.Piece(f"hand_{side}", "over", "skin", high, low, DENSITY))
    return out
