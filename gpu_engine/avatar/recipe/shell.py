"""The garment shell: cut from the base mesh's tights, refined twice, draped, and carried as one chain of quad levels."""

from __future__ import annotations

from dataclasses import dataclass

import drape
import numpy as np
import rig
import source
import surface
from garment import laplace

LIFT_DEG = 30.0
"""Arms are held this far out while the shell is cut; then they come down."""

ARM_JOINTS = tuple(f"{s}_{j}" for s in ("left", "right") for j in ("shoulder", "elbow", "wrist"))


@dataclass
class Shell:
    """A draped shell.

    Attributes:
        used: coarse base-mesh vertices of level 0.
        levels: the two refinements; level 1 and 2 vertices begin with those of the level before.
        quads: faces of level 0, 1 and 2.
        verts: positions float64[n, 3] of level 2, so ``verts[:k]`` are those of a coarser level with k vertices.
        weights: float64[n, 22].
        arm: float64[n], how much a vertex belongs to a sleeve.
    """

    used: np.ndarray
    levels: tuple[surface.Refined, surface.Refined]
    quads: tuple[np.ndarray, np.ndarray, np.ndarray]
    verts: np.ndarray
    weights: np.ndarray
    arm: np.ndarray


def smooth_on(verts: np.ndarray, faces: np.ndarray, steps: int, amount: np.ndarray | float) -> np.ndarray:
    """Laplacian smoothing with a per-vertex amount."""
    tris = surface.triangles(faces) if faces.shape[1] == 4 else faces
    for _ in range(steps):
        verts = verts + (laplace(verts, tris, 1, 1.0) - verts) * amount
    return verts


class Cutter:
    """Level-0 faces of torso and arms and their refinement."""

    def __init__(self, mesh: source.BaseMesh, weight: np.ndarray) -> None:
        quads = mesh.faces[mesh.group("helper-tights")]
        arm = weight[:, [rig.INDEX[j] for j in ARM_JOINTS]].sum(1)
        low = weight[:, [rig.INDEX[j] for j in rig.JOINTS if j.endswith(("hip", "knee", "ankle", "foot"))]].sum(1)
        # Chosen by weights alone, so that every identity gets the same faces.
        keep = (arm[quads].mean(1) > 0.5) | ((low[quads].max(1) < 0.25) & (weight[:, rig.INDEX["pelvis"]][quads].mean(1) < 0.8))
        self.used, compact = np.unique(quads[keep], return_inverse=True)
        q0 = compact.reshape(-1, 4)
        one = surface.catmull_clark(q0, len(self.used))
        two = surface.catmull_clark(one.faces, one.matrix.shape[0])
        self.levels, self.quads = (one, two), (q0, one.faces, two.faces)
        self.mesh, self.weight = mesh, weight
        self.arm0 = np.clip(arm[self.used], 0, 1)

    def up(self, values: np.ndarray, level: int = 2) -> np.ndarray:
        """Level-0 vertex values refined."""
        for step in self.levels[:level]:
            values = step.matrix @ values
        return np.asarray(values)

    def cut(self, degrees: float, ease: float, sleeve_ease: float, cloth: drape.Cloth, level: int = 2) -> np.ndarray:
        """The shell before it falls, arms lifted by ``degrees``."""
        joints = rig.skeleton(self.mesh)
        posed = rig.skin(self.mesh.verts[self.used], self.weight[self.used], joints, drape.lifted(degrees))
        # A cut bridges hollows of the body: smoothed coarse, where one step reaches two centimetres.
        posed = smooth_on(posed, self.quads[0], cloth.smooth, 0.6 * (1 - 0.75 * self.arm0)[:, None])
        v, arm = self.up(posed, level), np.clip(self.up(self.arm0, level), 0, 1)
        faces = self.quads[level]
        v = smooth_on(v, faces, 4, 0.5)
        v = v + surface.vertex_normals(v, surface.triangles(faces)) * (ease + (sleeve_ease - ease) * arm)[:, None]
        return smooth_on(v, faces, 3, 0.5)


def build(mesh: source.BaseMesh, weight: np.ndarray, cloth: drape.Cloth) -> Shell:
    """Cut and drape; ``mesh`` is settled by ``rig.relax``."""
    cutter = Cutter(mesh, weight)
    joints = rig.skeleton(mesh)
    steps = [LIFT_DEG * (1 - k / (drape.KEYS - 1)) for k in range(drape.KEYS)]
    shells = [cutter.cut(d, cloth.ease, cloth.sleeve_ease, cloth) for d in steps]
    inner = [cutter.cut(d, cloth.body_ease, 0.0, cloth, level=1) for d in steps]
    rest, arm = shells[-1], np.clip(cutter.up(cutter.arm0), 0, 1)
    shoulder = mesh.joint("l-shoulder")
    side, y = np.abs(rest[:, 0]), rest[:, 1]
    wrist = joints[rig.INDEX["left_wrist"]] * np.array([1.0, 1, 1])
    along = np.linalg.norm(np.abs(rest * [1, 0, 0]) + rest * [0, 1, 1] - wrist, axis=1)
    ramp = lambda v, a, b: np.clip((v - a) / (b - a), 0, 1)  # noqa: E731
    collar = ramp(y, shoulder[1] + 0.02, shoulder[1] + 0.35) * ramp(-side, -0.75 * shoulder[0], -0.55 * shoulder[0])
    cap = cloth.shoulder_hold * ramp(y, shoulder[1] - 0.55, shoulder[1] - 0.05)
    cuff = ramp(-along, -0.42, -0.15) * (arm > 0.6)
    panel = cloth.hold * ramp(-arm, -0.6, 0.0) * ramp(y, shoulder[1] - 3.4, shoulder[1] - 2.6)
    pinned = np.max([collar, cap, cuff, panel], axis=0)
    extra = cloth.extra + (cloth.sleeve_extra - cloth.extra) * arm
    verts = drape.drape(shells, cutter.quads[2], pinned, extra, inner, surface.triangles(cutter.quads[1]), cloth)
    # Chest and shoulders are pressed flat; sleeves keep what they did.
    verts = smooth_on(verts, cutter.quads[2], cloth.iron, 0.5 * (1 - 0.9 * ramp(arm, 0.35, 0.8))[:, None])
    w = np.clip(cutter.up(weight[cutter.used]), 0, None)
    # Wider blends at shoulder and elbow keep the volume when an arm is raised.
    w = smooth_on(w, cutter.quads[2], 12, 0.5)
    return Shell(cutter.used, cutter.levels, cutter.quads, verts, w / w.sum(1, keepdims=True), arm)


def save(shell: Shell, rest: np.ndarray, path: str) -> None:
    """Keep what the fall changed against the cut ``rest``, so that a small change of the body needs no new fall."""
    np.savez_compressed(path, fall=(shell.verts - rest).astype(np.float16), weights=shell.weights.astype(np.float16))


def load(mesh: source.BaseMesh, weight: np.ndarray, cloth: drape.Cloth, path: str) -> Shell:
    """The shell of this body with the fall saved by ``save``."""
    cutter, data = Cutter(mesh, weight), np.load(path)
    arm = np.clip(cutter.up(cutter.arm0), 0, 1)
    verts = cutter.cut(0.0, cloth.ease, cloth.sleeve_ease, cloth) + data["fall"].astype(float)
    sleeve = np.clip((arm - 0.35) / 0.3, 0, 1)
    verts = smooth_on(verts, cutter.quads[2], cloth.press, 0.5 * sleeve[:, None])
    return Shell(cutter.used, cutter.levels, cutter.quads, verts, data["weights"].astype(float), arm)
