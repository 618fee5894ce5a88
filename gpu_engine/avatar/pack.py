"""Loads an avatar pack (format ``lumihost-avatar`` version 2, one GLB, docs/avatar-pack.md) into what renderers want."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.contents import Contents, Primitive, examine
from gpu_engine.avatar.glb import read_glb
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.skeleton import SKELETON
from gpu_engine.motion.arkit import ARKIT, MATRIX
from gpu_engine.motion.vocabulary import WEIGHTS

PACKS = Path(__file__).parent / "packs"
DM_PER_M = np.float32(10)


@dataclass(frozen=True, slots=True)
class Camera:
    """Pinhole looking along -z. ``focal_px`` and ``principal`` in canvas pixels, ``eye`` in decimetres."""

    focal_px: float
    eye: tuple[float, float, float]
    principal: tuple[float, float]
    canvas: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Framing:
    """How canvas pixels land in a frame ``height_px`` high: scaled, the canvas middle at ``centre_x`` of the width."""

    height_px: int
    scale: float
    centre_x: float
    top_px: float


@dataclass(frozen=True, slots=True)
class Material:
    """``lit`` and ``albedo`` are keys of ``AvatarPack.textures``; the rest is for renderers that light anew."""

    name: str
    lit: int
    albedo: int | None
    blend: bool
    two_sided: bool
    roughness: float
    specular: float
    subsurface_mm: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Part:
    """A run of the geometry with one material; ``verts`` and ``tris`` are half-open ranges, ``mesh`` is head or clothes."""

    name: str
    mesh: str
    layer: str
    material: int
    verts: tuple[int, int]
    tris: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plate:
    """A flat layer that bends with the joints.

    Attributes:
        image: uint8[h, w, 4], premultiplied BGRA in canvas pixels, covering ``box`` (x0, y0, x1, y1).
        nodes: float32[rows, cols, 3], grid nodes in decimetres; at rest they project ``cell`` canvas pixels apart.
        joints: uint8[rows, cols, 4]; weights: float32[rows, cols, 4], as for vertices.
    """

    name: str
    layer: str
    image: NDArray[np.uint8]
    box: tuple[int, int, int, int]
    cell: int
    nodes: NDArray[np.float32]
    joints: NDArray[np.uint8]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AvatarPack:
    """Everything a renderer needs, decoded. Lengths are decimetres: +x the host's left, +y up, +z to the viewer.

    Attributes:
        manifest: the root extension as in the file (metres).
        textures: image number → uint8[h, w, 4] BGRA, straight alpha.
        joints: float32[22, 3], rest positions in the order of ``SKELETON``; limits_deg: float32[22].
        rest, normals: float32[v, 3]; tris: int32[t, 3]; uv: float32[v, 2] in 0..1 with v down; shade: float32[v].
        joint_index: uint8[v, 4]; joint_weights: float32[v, 4], rows sum to 1.
        target_offset: int64[53]; target_index: int32[m]; target_delta: float32[m, 3]: ARKit shape i of ``ARKIT`` moves
            ``target_index[target_offset[i]:target_offset[i + 1]]`` by its deltas at full strength.
        morph_offset: int64[33]; morph_index; morph_delta: the same for the 32 weights, folded through ``MATRIX``; without
            the eyeballs' look targets, because renderers turn the spheres (``eyes``, ``gaze``).
    """

    name: str
    version: int
    manifest: dict[str, Any]
    camera: Camera
    framings: dict[str, Framing]
    materials: tuple[Material, ...]
    parts: tuple[Part, ...]
    plates: tuple[Plate, ...]
    textures: dict[int, NDArray[np.uint8]]
    joints: NDArray[np.float32]
    limits_deg: NDArray[np.float32]
    rest: NDArray[np.float32]
    normals: NDArray[np.float32]
    tris: NDArray[np.int32]
    uv: NDArray[np.float32]
    shade: NDArray[np.float32]
    joint_index: NDArray[np.uint8]
    joint_weights: NDArray[np.float32]
    target_offset: NDArray[np.int64]
    target_index: NDArray[np.int32]
    target_delta: NDArray[np.float32]
    morph_offset: NDArray[np.int64]
    morph_index: NDArray[np.int32]
    morph_delta: NDArray[np.float32]

    def part(self, name: str) -> Part:
        """The part called ``name``; raises AvatarError when the pack has none."""
        for part in self.parts:
            if part.name == name:
                return part
        raise AvatarError(f"avatar pack '{self.name}' has no part '{name}' (has: {', '.join(p.name for p in self.parts)})")

    def has(self, name: str) -> bool:
        """Whether there is a part called ``name``."""
        return any(part.name == name for part in self.parts)

    def eye(self, side: str) -> tuple[NDArray[np.float32], float]:
        """Centre float32[3] and radius of an eyeball, decimetres; ``side`` is l or r."""
        eye = self.manifest["eyes"][side]
        return np.array(eye["centre"], np.float32) * DM_PER_M, float(eye["radius"]) * float(DM_PER_M)


def shipped_packs() -> list[str]:
    """Names of the packs that come with the product."""
    return sorted(p.stem for p in PACKS.glob("*.glb"))


def pack_path(name_or_path: str | Path) -> Path:
    """File of a shipped pack by name, or the path itself when it is one."""
    path = Path(name_or_path)
    if path.suffix == ".glb" and path.is_file():
        return path
    if path.name == str(name_or_path) and (shipped := PACKS / f"{name_or_path}.glb").is_file():
        return shipped
    raise AvatarError(
        f"avatar pack '{name_or_path}' not found: give a .glb file or a shipped pack ({', '.join(shipped_packs()) or 'none'})"
    )


def load_pack(name_or_path: str | Path) -> AvatarPack:
    """Load a pack by shipped name or file.

    Args:
        name_or_path: for example ``"lin"`` or ``Path("host.glb")``.

    Raises:
        AvatarError: naming the file, the first thing that is wrong with it, and how many more there are.
    """
    path = pack_path(name_or_path)
    contents, problems = examine(read_glb(path), thorough=False)
    if problems:
        more = f"; {len(problems) - 1} more: python -m gpu_engine.avatar validate {path}" if len(problems) > 1 else ""
        raise AvatarError(f"{path}: {problems[0]}{more}")
    return assemble(contents)


def assemble(contents: Contents) -> AvatarPack:
    """The pack of faultless ``contents``."""
    extension = contents.extension
    meshes = sorted((p for p in contents.primitives if not p.mesh.startswith("plate.")), key=lambda p: p.mesh != "head")
    parts, start, first = [], 0, 0
    tris = []
    for piece in meshes:
        parts.append(
            Part(
                piece.name,
                piece.mesh,
                piece.layer,
                piece.material,
                (start, start + len(piece.verts)),
                (first, first + len(piece.tris)),
            )
        )
        tris.append(piece.tris + start)
        start, first = start + len(piece.verts), first + len(piece.tris)
    targets = {name: _target(meshes, name) for name in ARKIT}
    folded = _fold(targets, meshes, start)
    camera = extension["camera"]
    limits = extension["limits_deg"]
    return AvatarPack(
        name=extension["name"], version=extension["version"], manifest=extension,
        camera=Camera(
            float(camera["focal_px"]), tuple(float(v) * 10 for v in camera["eye"]), tuple(map(float, camera["principal"])),  # type: ignore[arg-type]
            tuple(camera["canvas"]),
        ),
        framings={name: Framing(**f) for name, f in extension["framings"].items()},
        materials=tuple(
            Material(s.name, s.lit, s.albedo, s.blend, s.two_sided, s.roughness, s.specular, s.subsurface_mm)
            for s in contents.surfaces
        ),
        parts=tuple(parts), plates=_plates(contents), textures=contents.pictures,
        joints=contents.joints * DM_PER_M,
        limits_deg=np.array([limits.get(name, 180.0) for name in SKELETON], np.float32),
        rest=_stack([p.verts * DM_PER_M for p in meshes]), normals=_stack([p.normals for p in meshes]),
        tris=np.ascontiguousarray(np.concatenate(tris), np.int32), uv=_stack([p.uv for p in meshes]),
        shade=_stack([p.shade for p in meshes]),
        joint_index=np.ascontiguousarray(np.concatenate([p.joints for p in meshes]), np.uint8),
        joint_weights=_stack([p.weights for p in meshes]),
        target_offset=_offsets([targets[n] for n in ARKIT]),
        target_index=np.concatenate([targets[n][0] for n in ARKIT]).astype(np.int32),
        target_delta=_stack([targets[n][1] for n in ARKIT]),
        morph_offset=_offsets(folded), morph_index=np.concatenate([f[0] for f in folded]).astype(np.int32),
        morph_delta=_stack([f[1] for f in folded]),
    )  # fmt: skip


def _stack(arrays: list[NDArray[Any]]) -> NDArray[np.float32]:
    return np.ascontiguousarray(np.concatenate(arrays), np.float32)


def _offsets(runs: list[tuple[NDArray[np.int64], NDArray[np.float32]]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(rows) for rows, _ in runs])]).astype(np.int64)


def _target(meshes: list[Primitive], name: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """One target over all vertices: rows and deltas in dm."""
    rows, deltas, start = [np.zeros(0, np.int64)], [np.zeros((0, 3), np.float32)], 0
    for piece in meshes:
        if name in piece.targets:
            rows.append(piece.targets[name][0] + start)
            deltas.append(piece.targets[name][1] * DM_PER_M)
        start += len(piece.verts)
    return np.concatenate(rows), np.concatenate(deltas).astype(np.float32)


def _fold(
    targets: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]], meshes: list[Primitive], count: int
) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The 32 weights' own morphs through the fixed matrix."""
    start, turned = 0, np.zeros(count, bool)
    for piece in meshes:
        turned[start : start + len(piece.verts)] = piece.name in ("eye_l", "eye_r")
        start += len(piece.verts)
    folded = []
    for i in range(len(WEIGHTS)):
        dense = np.zeros((count, 3), np.float32)
        for k in np.nonzero(MATRIX[i])[0]:
            rows, delta = targets[ARKIT[int(k)]]
            dense[rows] += MATRIX[i, k] * delta
        dense[turned] = 0
        rows = np.nonzero(np.abs(dense).max(1) > 1e-4)[0]
        folded.append((rows, dense[rows]))
    return folded


def _plates(contents: Contents) -> tuple[Plate, ...]:
    meshes = {p.mesh.removeprefix("plate."): p for p in contents.primitives if p.mesh.startswith("plate.")}
    plates = []
    for name, entry in contents.extension["plates"].items():
        piece = meshes[name]
        shape = (entry["rows"], entry["cols"])
        image = contents.pictures[contents.surfaces[piece.material].lit].copy()
        # Rounded once here: colour never exceeds alpha, which compositing relies on.
        image[..., :3] = (image[..., :3].astype(np.uint16) * image[..., 3:] + 127) // 255
        plates.append(
            Plate(
                name, entry["layer"], image, tuple(entry["box"]), entry["cell"],
                np.ascontiguousarray(piece.verts.reshape(*shape, 3) * DM_PER_M, np.float32),
                np.ascontiguousarray(piece.joints.reshape(*shape, 4)),
                np.ascontiguousarray(piece.weights.reshape(*shape, 4), np.float32),
            )
        )  # fmt: skip
    return tuple(plates)
