"""Writes an avatar pack (format ``lumihost-avatar`` version 2, docs/avatar-pack.md) from plain arrays.

The recipe and portrait onboarding fill a ``PackSource`` and call ``write_pack(path, source)``::

    skin = PieceSource("skin", "mesh", "skin", verts, tris, uv, joints, weights, targets={"jawOpen": delta, ...})
    source = PackSource(name="lin", ..., head=[skin, ...], clothes=[], materials=[...], plates=[...])
    write_pack(Path("packs/lin.glb"), source)

All lengths are decimetres here and metres in the file; UVs have v down; images are encoded PNG or JPEG bytes, except plates,
which are uint8 BGRA with straight alpha. The writer computes normals, adds the eyes' own look targets and drops triangles
without area; otherwise what goes in comes out of ``load_pack``, within the rounding stated at each field.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.glb import INDEX, VERTEX, GlbBuilder
from gpu_engine.avatar.skeleton import PARENTS, SKELETON
from gpu_engine.motion.arkit import ARKIT

F32 = NDArray[np.float32]
EXTENSION = "LUMIHOST_avatar"
VERSION = 2
LAYERS = ("under", "mesh", "front", "over")
SHADE_GAMMA = 2.2
"""Vertex colours multiply linear light in glTF and sRGB in our renderers: file = shade ** 2.2."""
STILL_DM = 0.0015
"""Targets leave vertices alone that they move by less than this."""


@dataclass
class PieceSource:
    """One primitive.

    Attributes:
        layer: one of ``LAYERS``.
        material: name of a ``MaterialSource``.
        verts: float[n, 3] dm; tris: int[t, 3], counter-clockwise from outside; uv: float[n, 2], v down.
        joints: int[n, 4] numbers in ``SKELETON``; weights: float[n, 4], stored in 255ths that sum to one.
        shade: float[n] in 0..1, multiplies the texture (stored with 8 bits of linear light); None for all ones.
        targets: ARKit name → float[n, 3] dm; only for pieces of the head.
    """

    name: str
    layer: str
    material: str
    verts: NDArray[Any]
    tris: NDArray[Any]
    uv: NDArray[Any]
    joints: NDArray[Any]
    weights: NDArray[Any]
    shade: NDArray[Any] | None = None
    targets: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass
class MaterialSource:
    """``lit`` is the texture with its light baked in, ``albedo`` the bare colour for renderers that relight (optional).

    ``subsurface_mm`` is the mean free path of red, green and blue; zeros for what light does not enter.
    """

    name: str
    lit: bytes
    albedo: bytes | None = None
    blend: bool = False
    two_sided: bool = False
    roughness: float = 0.5
    specular: float = 0.5
    subsurface_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class PlateSource:
    """A flat layer: ``image`` uint8[h, w, 4] BGRA, straight alpha, covers ``box`` (x0, y0, x1, y1) in canvas pixels.

    Grid nodes lie ``cell`` px apart: ``depth`` float[rows, cols] is their z in dm, ``joints`` int[rows, cols, 4] and
    ``weights`` float[rows, cols, 4] as in ``PieceSource``; rows = (y1 - y0) / cell + 1.
    """

    name: str
    layer: str
    image: NDArray[np.uint8]
    box: tuple[int, int, int, int]
    cell: int
    depth: NDArray[Any]
    joints: NDArray[Any]
    weights: NDArray[Any]


@dataclass
class PackSource:
    """Everything of a pack. Dictionaries go into the file as docs/avatar-pack.md describes them, except that lengths are dm.

    Attributes:
        joints: float[22, 3] dm, rest positions in the order of ``SKELETON``.
        camera: focal_px, eye [x, y, z] dm, principal [x, y] px, canvas [w, h] px.
        eyes: ``l``, ``r``: centre [x, y, z] dm, radius dm.
        limits_deg: joint name → largest angle.
        lash_columns: vertices of one row of a lash fan.
    """

    name: str
    display_name: dict[str, str]
    presents: str
    licence: dict[str, Any]
    consent: dict[str, Any]
    camera: dict[str, Any]
    framings: dict[str, dict[str, float]]
    joints: NDArray[Any]
    limits_deg: dict[str, float]
    gaze: dict[str, dict[str, float]]
    eyes: dict[str, dict[str, Any]]
    lash_columns: int
    head: list[PieceSource]
    clothes: list[PieceSource]
    materials: list[MaterialSource]
    plates: list[PlateSource]
    generator: str = "lumihost"


def vertex_normals(verts: NDArray[Any], tris: NDArray[Any]) -> F32:
    """Area-weighted unit normals float32[n, 3]; coincident vertices (UV seams) share theirs, lone ones look at +z."""
    _, inverse = np.unique(np.round(verts, 5), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    face = np.cross(verts[tris[:, 1]] - verts[tris[:, 0]], verts[tris[:, 2]] - verts[tris[:, 0]])
    total = np.zeros((int(inverse.max()) + 1, 3))
    for corner in range(3):
        np.add.at(total, inverse[tris[:, corner]], face)
    normals = total[inverse]
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 1e-12, normals / np.maximum(length, 1e-12), [0.0, 0.0, 1.0]).astype(np.float32)


def whole_255(weights: NDArray[Any]) -> NDArray[np.uint8]:
    """Rows of four weights as bytes that sum to exactly 255; the largest takes the rounding."""
    share = np.clip(weights, 0, None).astype(np.float64)
    share /= np.maximum(share.sum(1, keepdims=True), 1e-9)
    rounded = np.round(share * 255).astype(np.int64)
    rounded[np.arange(len(rounded)), share.argmax(1)] += 255 - rounded.sum(1)
    whole: NDArray[np.uint8] = rounded.astype(np.uint8)
    return whole


def gaze_turn(yaw_deg: float, pitch_deg: float) -> NDArray[np.float64]:
    """Rotation float64[3, 3] of an eye: yaw to the host's left, pitch down."""
    yaw, pitch = np.radians(yaw_deg), np.radians(pitch_deg)
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    return np.array([[cy, sy * sp, sy * cp], [0, cp, -sp], [-sy, cy * sp, cy * cp]])


def _look_targets(piece: PieceSource, eye: dict[str, Any], gain: dict[str, float], side: str) -> dict[str, NDArray[Any]]:
    """Targets that carry the eyeball to where it looks at weight 1, for viewers that know only morphs."""
    name = {"l": "Left", "r": "Right"}[side]
    out = gain["horizontal"] * (1 if side == "l" else -1)
    turns = {
        f"eyeLookOut{name}": (out, 0.0), f"eyeLookIn{name}": (-out, 0.0),
        f"eyeLookUp{name}": (0.0, -gain["up"]), f"eyeLookDown{name}": (0.0, gain["down"]),
    }  # fmt: skip
    arm = piece.verts - np.asarray(eye["centre"])
    return {target: arm @ (gaze_turn(*angles) - np.eye(3)).T for target, angles in turns.items()}


def solid(verts: NDArray[Any], tris: NDArray[Any]) -> NDArray[Any]:
    """The triangles that have an area."""
    corner = np.asarray(verts, np.float64)[np.asarray(tris)]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    kept: NDArray[Any] = np.asarray(tris)[area > 1e-9]
    return kept


def _primitive(
    builder: GlbBuilder, piece: PieceSource, material: int, targets: dict[str, NDArray[Any]] | None, dense: bool
) -> dict[str, Any]:
    count = len(piece.verts)
    verts = np.asarray(piece.verts, np.float64)
    tris = solid(verts, piece.tris)
    index_type = np.uint16 if count <= 1 << 16 else np.uint32
    attributes = {
        "POSITION": builder.accessor((verts * 0.1).astype(np.float32), bounds=True, target=VERTEX),
        "NORMAL": builder.accessor(vertex_normals(verts, tris), target=VERTEX),
        "TEXCOORD_0": builder.accessor(np.asarray(piece.uv, np.float32), target=VERTEX),
        "JOINTS_0": builder.accessor(np.asarray(piece.joints, np.uint8), target=VERTEX),
        "WEIGHTS_0": builder.accessor(whole_255(np.asarray(piece.weights)), normalised=True, target=VERTEX),
    }
    if piece.shade is not None:
        linear = np.clip(np.asarray(piece.shade, np.float64), 0, 1) ** SHADE_GAMMA
        colour = np.full((count, 4), 255, np.uint8)
        colour[:, :3] = np.round(linear * 255)[:, None]
        attributes["COLOR_0"] = builder.accessor(colour, normalised=True, target=VERTEX)
    primitive: dict[str, Any] = {
        "attributes": attributes, "material": material, "mode": 4,
        "indices": builder.accessor(tris.reshape(-1).astype(index_type), target=INDEX),
        "extras": {"name": piece.name, "layer": piece.layer},
    }  # fmt: skip
    if targets is not None:
        entries = []
        for name in ARKIT:
            delta = np.asarray(targets.get(name, np.zeros((count, 3))), np.float64)
            if dense:
                accessor = builder.accessor((delta * 0.1).astype(np.float32), bounds=True, target=VERTEX)
            else:
                rows = np.nonzero(np.abs(delta).max(1) > STILL_DM)[0]
                accessor = builder.sparse(count, rows, (delta[rows] * 0.1).astype(np.float32))
            entries.append({"POSITION": accessor})
        primitive["targets"] = entries
    return primitive


def _materials(builder: GlbBuilder, source: PackSource) -> dict[str, int]:
    document = builder.document
    document["samplers"] = [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}]
    document["textures"], document["materials"] = [], []
    cache: dict[bytes, int] = {}

    def texture(data: bytes, name: str) -> int:
        digest = hashlib.sha256(data).digest()
        if digest not in cache:
            document["textures"].append({"source": builder.image(data, name), "sampler": 0})
            cache[digest] = len(document["textures"]) - 1
        return cache[digest]

    plates = [
        MaterialSource(
            f"plate.{p.name}", cv2.imencode(".png", p.image, [cv2.IMWRITE_PNG_COMPRESSION, 6])[1].tobytes(), None, True, True
        )
        for p in source.plates
    ]
    found = {}
    for material in [*source.materials, *plates]:
        relight: dict[str, Any] = {
            "roughness": material.roughness, "specular": material.specular, "subsurface": list(material.subsurface_mm),
        }  # fmt: skip
        lit = texture(material.lit, material.name)
        if material.albedo is not None:
            relight["albedo"] = texture(material.albedo, f"{material.name}.albedo")
        entry: dict[str, Any] = {
            "name": material.name,
            "pbrMetallicRoughness": {
                "baseColorTexture": {"index": lit},
                "metallicFactor": 0.0,
                "roughnessFactor": material.roughness,
            },
            "extensions": {"KHR_materials_unlit": {}, EXTENSION: relight},
        }
        if material.blend:
            entry["alphaMode"] = "BLEND"
        if material.blend or material.two_sided:
            entry["doubleSided"] = True
        document["materials"].append(entry)
        found[material.name] = len(document["materials"]) - 1
    return found


def _plate_piece(plate: PlateSource, camera: dict[str, Any]) -> PieceSource:
    """The grid as a mesh: every node where the bake camera sees it at its depth."""
    rows, cols = plate.depth.shape
    x0, y0, x1, y1 = plate.box
    px, py = np.meshgrid(x0 + np.arange(cols) * plate.cell, y0 + np.arange(rows) * plate.cell)
    per_px = (camera["eye"][2] - plate.depth) / camera["focal_px"]
    x = camera["eye"][0] + (px - camera["principal"][0]) * per_px
    y = camera["eye"][1] - (py - camera["principal"][1]) * per_px
    node = np.arange(rows * cols).reshape(rows, cols)
    quad = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], -1).reshape(-1, 4)
    return PieceSource(
        plate.name, plate.layer, f"plate.{plate.name}", np.stack([x, y, plate.depth], -1).reshape(-1, 3),
        np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]]),
        np.stack([(px - x0) / (x1 - x0), (py - y0) / (y1 - y0)], -1).reshape(-1, 2),
        plate.joints.reshape(-1, 4), plate.weights.reshape(-1, 4),
    )  # fmt: skip


def build_pack(source: PackSource, *, dense: bool = False) -> GlbBuilder:
    """The file of ``source`` in memory; ``dense`` keeps targets unpacked (only for comparing sizes)."""
    builder = GlbBuilder()
    document = builder.document
    joints = np.asarray(source.joints, np.float64) * 0.1
    nodes: list[dict[str, Any]] = []
    for number, name in enumerate(SKELETON):
        parent = PARENTS[number]
        offset = joints[number] - (joints[parent] if parent >= 0 else 0)
        node: dict[str, Any] = {"name": name, "translation": [round(float(v), 6) for v in offset]}
        children = [i for i, p in enumerate(PARENTS) if p == number]
        if children:
            node["children"] = children
        nodes.append(node)
    # Bind matrices come from the rounded translations, so that the rest pose is exact.
    placed = np.zeros((len(SKELETON), 3))
    for number, node in enumerate(nodes):
        placed[number] = np.array(node["translation"]) + (placed[PARENTS[number]] if number else 0)
    bind = np.tile(np.eye(4, dtype=np.float32), (len(SKELETON), 1, 1))
    bind[:, 3, :3] = -placed
    document["skins"] = [
        {
            "joints": list(range(len(SKELETON))),
            "skeleton": 0,
            "inverseBindMatrices": builder.accessor(bind.reshape(-1, 16), matrix=True),
        }
    ]
    materials = _materials(builder, source)
    meshes: list[dict[str, Any]] = []

    def add(name: str, primitives: list[dict[str, Any]], **more: Any) -> None:
        meshes.append({"name": name, "primitives": primitives, **more})
        nodes.append({"name": name, "mesh": len(meshes) - 1, "skin": 0})

    head = []
    for piece in source.head:
        targets = dict(piece.targets)
        side = piece.name.removeprefix("eye_")
        if side in source.eyes:
            targets.update(_look_targets(piece, source.eyes[side], source.gaze["degrees_per_unit"], side))
        head.append(_primitive(builder, piece, materials[piece.material], targets, dense))
    add("head", head, weights=[0.0] * len(ARKIT), extras={"targetNames": list(ARKIT)})
    if source.clothes:
        add("clothes", [_primitive(builder, piece, materials[piece.material], None, dense) for piece in source.clothes])
    plates = {}
    for plate in source.plates:
        piece = _plate_piece(plate, source.camera)
        add(f"plate.{plate.name}", [_primitive(builder, piece, materials[piece.material], None, dense)])
        rows, cols = plate.depth.shape
        lit = document["materials"][materials[piece.material]]["pbrMetallicRoughness"]["baseColorTexture"]["index"]
        plates[plate.name] = {
            "texture": lit, "layer": plate.layer, "box": list(plate.box), "cell": plate.cell, "rows": rows, "cols": cols,
        }  # fmt: skip
    document["meshes"], document["nodes"] = meshes, nodes
    document["scenes"] = [{"nodes": [0, *range(len(SKELETON), len(nodes))]}]
    document["scene"] = 0
    document["asset"]["generator"] = source.generator
    document["asset"]["copyright"] = str(source.licence.get("attribution", ""))
    document["extensionsUsed"] = ["KHR_materials_unlit", EXTENSION]
    camera = {**source.camera, "eye": [round(float(v) * 0.1, 6) for v in source.camera["eye"]]}
    eyes = {
        side: {"centre": [round(float(v) * 0.1, 6) for v in eye["centre"]], "radius": round(float(eye["radius"]) * 0.1, 6)}
        for side, eye in source.eyes.items()
    }
    document["extensions"] = {
        EXTENSION: {
            "version": VERSION, "name": source.name, "display_name": source.display_name, "presents": source.presents,
            "licence": source.licence, "consent": source.consent, "camera": camera, "framings": source.framings,
            "limits_deg": source.limits_deg, "gaze": source.gaze, "eyes": eyes, "lash_columns": source.lash_columns,
            "plates": plates, "sha256": hashlib.sha256(builder.blob()).hexdigest(), "generator": source.generator,
        }
    }  # fmt: skip
    return builder


def write_pack(path: Path, source: PackSource) -> int:
    """Write ``source`` as one GLB; returns its size in bytes. Check the result with ``validate``: the writer does not."""
    return build_pack(source).write(path)
