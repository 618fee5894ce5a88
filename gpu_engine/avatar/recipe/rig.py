"""The pack's 22-joint skeleton on the base mesh: merged skin weights, rest pose of arms and fingers, linear blend skinning.

Decimetres, +x the host's left, +y up, +z to the viewer; joint frames are parallel to the world.
"""

from __future__ import annotations

import numpy as np
import source

JOINTS: tuple[str, ...] = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle", "spine3",
    "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
"""Root first, then the order of ``gpu_engine.motion.vocabulary.JOINTS``; the index is the pack's joint number."""

INDEX = {name: i for i, name in enumerate(JOINTS)}
PARENT = {
    "left_hip": "pelvis", "right_hip": "pelvis", "spine1": "pelvis", "left_knee": "left_hip", "right_knee": "right_hip",
    "spine2": "spine1", "left_ankle": "left_knee", "right_ankle": "right_knee", "spine3": "spine2",
    "left_foot": "left_ankle", "right_foot": "right_ankle", "neck": "spine3", "left_collar": "spine3",
    "right_collar": "spine3", "head": "neck", "left_shoulder": "left_collar", "right_shoulder": "right_collar",
    "left_elbow": "left_shoulder", "right_elbow": "right_shoulder", "left_wrist": "left_elbow", "right_wrist": "right_elbow",
}  # fmt: skip

CUBES = {
    "pelvis": "pelvis", "spine1": "spine-4", "spine2": "spine-3", "spine3": "spine-2", "neck": "neck", "head": "head",
    "hip": "upper-leg", "knee": "knee", "ankle": "ankle", "foot": "foot-1", "collar": "clavicle", "shoulder": "shoulder",
    "elbow": "elbow", "wrist": "hand",
}  # fmt: skip
"""Joint helper cubes of the base mesh."""

BONES = (
    ("upperleg", "hip"), ("lowerleg", "knee"), ("foot", "ankle"), ("toe", "foot"),
    ("clavicle", "collar"), ("shoulder01", "collar"), ("upperarm", "shoulder"), ("lowerarm", "elbow"),
    ("wrist", "wrist"), ("metacarpal", "wrist"), ("finger", "wrist"),
    ("root", "pelvis"), ("pelvis", "pelvis"), ("spine05", "pelvis"), ("spine04", "spine1"), ("spine03", "spine2"),
    ("spine02", "spine3"), ("spine01", "spine3"), ("breast", "spine3"), ("neck", "neck"),
)  # fmt: skip
"""Bone prefix of ``rig.default`` → joint; every other bone belongs to the head."""

SIDED = {"hip", "knee", "ankle", "foot", "collar", "shoulder", "elbow", "wrist"}

DROP = 0.09
"""How far the sleeve end of the shoulder sinks, decimetres: the slope of a relaxed shoulder."""
NARROW = 0.15
"""How far the arms come in to the body, in shoulder widths; lowering an A pose by skinning swells the deltoid."""
SPREAD_DEG = 4.5
STRAIGHTEN_DEG = 27.0
"""The base mesh holds its forearms 45 degrees forward; what is left reads as a relaxed bend."""
CURL_DEG = (4.0, 5.0, 3.0)
"""Flexion per finger joint, from the knuckle out, on top of the base mesh's own: open enough for a palm shown to the viewer."""


GATHER = 0.6
"""Share of the base mesh's spread of the fingers that a relaxed hand takes back."""


def weights(mesh: source.BaseMesh) -> np.ndarray:
    """Skin weights float64[vertices, 22], rows sum to one; helper geometry included."""
    out = np.zeros((len(mesh.verts), len(JOINTS)))
    for bone, (index, value) in mesh.weights.items():
        stem, _, side = bone.partition(".")
        joint = next((j for prefix, j in BONES if stem.startswith(prefix)), "head")
        name = {"L": "left_", "R": "right_"}.get(side, "") + joint if joint in SIDED else joint
        out[index, INDEX[name]] += value
    total = out.sum(1, keepdims=True)
    out[total[:, 0] < 1e-6, INDEX["spine3"]] = 1.0
    return out / np.maximum(out.sum(1, keepdims=True), 1e-9)


def skeleton(mesh: source.BaseMesh) -> np.ndarray:
    """Joint positions float64[22, 3]."""
    out = np.zeros((len(JOINTS), 3))
    for name, i in INDEX.items():
        side, _, stem = name.rpartition("_")
        prefix = f"{side[0]}-" if side else ""
        out[i] = mesh.joint(prefix + CUBES[stem])
    return out


def turn(axis: tuple[float, float, float] | np.ndarray, degrees: float) -> np.ndarray:
    """Rotation matrix float64[3, 3] about ``axis`` (right-handed)."""
    a = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    t = np.radians(degrees)
    return np.eye(3) + np.sin(t) * k + (1 - np.cos(t)) * (k @ k)


def pose(joints: np.ndarray, rotations: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """World rotation float64[22, 3, 3] and offset float64[22, 3] per joint: ``p' = R p + t`` for points bound to it."""
    rot, off = np.tile(np.eye(3), (len(JOINTS), 1, 1)), np.zeros((len(JOINTS), 3))
    moved = joints.copy()
    for name in JOINTS:
        i = INDEX[name]
        local = rotations.get(name, np.eye(3))
        if name in PARENT:
            p = INDEX[PARENT[name]]
            moved[i] = rot[p] @ joints[i] + off[p]
            local = rot[p] @ local
        rot[i] = local
        off[i] = moved[i] - local @ joints[i]
    return rot, off


def skin(verts: np.ndarray, weight: np.ndarray, joints: np.ndarray, rotations: dict[str, np.ndarray]) -> np.ndarray:
    """Linear blend skinning of float64[n, 3] with weights float64[n, 22]."""
    rot, off = pose(joints, rotations)
    per = np.einsum("jab,nb->nja", rot, verts) + off
    return np.einsum("nj,nja->na", weight, per)


def _smooth(x: np.ndarray, a: float, b: float) -> np.ndarray:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def _curl(mesh: source.BaseMesh, side: str, sign: float) -> None:
    """Bend the fingers a little, each joint about the axis across its knuckles."""
    tag = "L" if side == "l" else "R"
    across = mesh.joint(f"{side}-finger-5-1") - mesh.joint(f"{side}-finger-2-1")
    for finger in range(1, 6):
        along = mesh.joint(f"{side}-finger-{finger}-4") - mesh.joint(f"{side}-finger-{finger}-1")
        axis = across if finger > 1 else np.cross(along, np.cross(across, along))
        axis = axis - along * (axis @ along) / (along @ along)
        for k in (2, 1, 0):
            degrees = CURL_DEG[k] * (0.55 if finger == 1 else 0.8 + 0.12 * (finger - 2))
            names = tuple(f"finger{finger}-{j}.{tag}" for j in range(k + 1, 4))
            weight = np.clip(source.bone_weight(mesh, names), 0, 1)[:, None]
            # The helper cube of the next joint carries no bone weight: move it by hand.
            for j in range(k + 2, 5):
                cube = np.unique(mesh.faces[mesh.group(f"joint-{side}-finger-{finger}-{j}")])
                weight[cube] = 1.0
            centre = mesh.joint(f"{side}-finger-{finger}-{k + 1}")
            turned = (mesh.verts - centre) @ turn(axis, sign * degrees).T + centre
            mesh.verts = mesh.verts + weight * (turned - mesh.verts)


def _gather(mesh: source.BaseMesh, side: str) -> None:
    """Bring the fingers closer to the middle one, each about its knuckle in the plane of the palm."""
    tag = "L" if side == "l" else "R"
    along = {f: mesh.joint(f"{side}-finger-{f}-4") - mesh.joint(f"{side}-finger-{f}-1") for f in range(2, 6)}
    across = mesh.joint(f"{side}-finger-5-1") - mesh.joint(f"{side}-finger-2-1")
    normal = np.cross(across, along[3])
    normal /= np.linalg.norm(normal)
    flat = {f: a - normal * (a @ normal) for f, a in along.items()}
    for finger in (2, 4, 5):
        degrees = np.degrees(np.arctan2(np.cross(flat[finger], flat[3]) @ normal, flat[finger] @ flat[3]))
        weight = np.clip(source.bone_weight(mesh, tuple(f"finger{finger}-{j}.{tag}" for j in range(1, 4))), 0, 1)[:, None]
        for j in range(2, 5):
            weight[np.unique(mesh.faces[mesh.group(f"joint-{side}-finger-{finger}-{j}")])] = 1.0
        centre = mesh.joint(f"{side}-finger-{finger}-1")
        turned = (mesh.verts - centre) @ turn(normal, GATHER * degrees).T + centre
        mesh.verts = mesh.verts + weight * (turned - mesh.verts)


def relax(mesh: source.BaseMesh) -> np.ndarray:
    """Settle shoulders, elbows and fingers of a mesh whose arms hang; changes ``mesh``, returns its weights."""
    weight = weights(mesh)
    for name in JOINTS:
        side, _, stem = name.rpartition("_")
        cube = np.unique(mesh.faces[mesh.group(f"joint-{side[0]}-{CUBES[stem]}" if side else f"joint-{CUBES[stem]}")])
        weight[cube] = np.eye(len(JOINTS))[INDEX[name]]
    for side in ("l", "r"):
        for finger in range(1, 6):
            for k in range(1, 5):
                cube = np.unique(mesh.faces[mesh.group(f"joint-{side}-finger-{finger}-{k}")])
                weight[cube] = np.eye(len(JOINTS))[INDEX["left_wrist" if side == "l" else "right_wrist"]]
    _gather(mesh, "l")
    _gather(mesh, "r")
    _curl(mesh, "l", 1.0)
    _curl(mesh, "r", -1.0)
    out = mesh.joint("l-shoulder")[0]
    side = np.abs(mesh.verts[:, 0])
    arm = sum(weight[:, INDEX[f"{s}_{j}"]] for s in ("left", "right") for j in ("shoulder", "elbow", "wrist"))
    reach = _smooth(side, 0.42 * out, 0.92 * out) * (mesh.verts[:, 1] > mesh.joint("l-shoulder")[1] - 1.6)
    amount = np.clip(np.maximum(reach * 0.999, arm), 0, 1)
    sleeves = np.clip(arm * 1.3, 0, 1)
    mesh.verts[:, 1] -= DROP * amount
    mesh.verts[:, 0] -= np.sign(mesh.verts[:, 0]) * NARROW * out * np.maximum(_smooth(side, 0.6 * out, out), sleeves)
    joints = skeleton(mesh)
    mesh.verts = skin(
        mesh.verts, weight, joints,
        {
            "left_shoulder": turn((0, 0, 1), SPREAD_DEG), "right_shoulder": turn((0, 0, 1), -SPREAD_DEG),
            "left_elbow": turn((1, 0, 0), STRAIGHTEN_DEG), "right_elbow": turn((1, 0, 0), STRAIGHTEN_DEG),
        },
    )  # fmt: skip
    return weight
