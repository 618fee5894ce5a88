"""The template a photograph is fitted with: head pieces, targets and skeleton of a shipped pack, read from its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.glb import Glb, GlbError, read_glb
from gpu_engine.avatar.skeleton import SKELETON
from gpu_engine.avatar.writer import EXTENSION, SHADE_GAMMA

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Piece:
    """One primitive of the head; lengths in decimetres, UVs with v down, targets dense where they move anything."""

    name: str
    layer: str
    verts: F32
    tris: NDArray[np.int32]
    uv: F32
    shade: F32
    joints: NDArray[np.int64]
    weights: F32
    texture: int
    blend: bool
    targets: dict[str, F32]


@dataclass(frozen=True, slots=True)
class Template:
    """What onboarding takes from a pack.

    Attributes:
        pieces: by name, in drawing order.
        textures: BGRA by index in the file.
        joints: float32[22, 3] dm.
        info: the pack's own extension object, lengths in metres as stored.
    """

    name: str
    pieces: dict[str, Piece]
    textures: dict[int, NDArray[np.uint8]]
    joints: F32
    info: dict[str, Any]

    @property
    def focal_px(self) -> float:
        return float(self.info["camera"]["focal_px"])

    @property
    def eye(self) -> NDArray[np.float64]:
        """Camera position, dm."""
        return np.array(self.info["camera"]["eye"], np.float64) * 10

    def eyeball(self, side: str) -> tuple[NDArray[np.float64], float]:
        """Centre and radius of an eyeball, dm; ``side`` is ``l`` or ``r``."""
        entry = self.info["eyes"][side]
        return np.array(entry["centre"], np.float64) * 10, float(entry["radius"]) * 10


def _texture(glb: Glb, index: int) -> NDArray[np.uint8]:
    source = glb.entry("textures", index)["source"]
    image = cv2.imdecode(np.frombuffer(glb.image(source).data, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise GlbError(f"{glb.name}: picture {source} cannot be decoded")
    return np.asarray(image if image.shape[2] == 4 else cv2.cvtColor(image, cv2.COLOR_BGR2BGRA), np.uint8)


def _piece(glb: Glb, primitive: dict[str, Any], names: list[str]) -> Piece:
    attributes = primitive["attributes"]
    verts = glb.accessor(attributes["POSITION"]).astype(np.float32) * 10
    weights = glb.accessor(attributes["WEIGHTS_0"])
    shade = np.ones(len(verts), np.float32)
    if "COLOR_0" in attributes:
        colour = glb.accessor(attributes["COLOR_0"])
        full = 255.0 if colour.dtype == np.uint8 else 65535.0 if colour.dtype == np.uint16 else 1.0
        shade = (colour[:, 0].astype(np.float32) / full) ** np.float32(1 / SHADE_GAMMA)
    targets = {}
    for name, entry in zip(names, primitive.get("targets", []), strict=False):
        delta = glb.accessor(entry["POSITION"]).astype(np.float32) * 10
        if np.abs(delta).max() > 0:
            targets[name] = delta
    material = glb.entry("materials", primitive["material"])
    return Piece(
        str(primitive["extras"]["name"]),
        str(primitive["extras"].get("layer", "mesh")),
        verts,
        glb.accessor(primitive["indices"]).astype(np.int32).reshape(-1, 3),
        glb.accessor(attributes["TEXCOORD_0"]).astype(np.float32),
        shade,
        glb.accessor(attributes["JOINTS_0"]).astype(np.int64),
        weights.astype(np.float32) / np.float32(255 if weights.dtype == np.uint8 else 1),
        int(material["pbrMetallicRoughness"]["baseColorTexture"]["index"]),
        material.get("alphaMode") == "BLEND",
        targets,
    )


def read_template(path: Path) -> Template:
    """Read the head of a version 2 pack.

    Raises:
        GlbError: the file is damaged, or has no head, no skeleton or no targets.
    """
    glb = read_glb(path)
    info = glb.document.get("extensions", {}).get(EXTENSION)
    if not isinstance(info, dict):
        raise GlbError(f"{path}: is not an avatar pack of version 2; name one that `validate` accepts")
    try:
        mesh = next(m for m in glb.document["meshes"] if m.get("name") == "head")
        names = [str(n) for n in mesh["extras"]["targetNames"]]
        pieces = {p.name: p for p in (_piece(glb, primitive, names) for primitive in mesh["primitives"])}
        skin_joints = glb.document["skins"][0]["joints"]
        parents = {child: i for i, n in enumerate(glb.document["nodes"]) for child in n.get("children", [])}
        joints = np.zeros((len(SKELETON), 3), np.float32)
        for number in range(len(SKELETON)):
            at: int | None = skin_joints[number]
            while at is not None:
                joints[number] += np.array(glb.document["nodes"][at].get("translation", [0, 0, 0]), np.float32) * 10
                at = parents.get(at)
        textures = {p.texture: _texture(glb, p.texture) for p in pieces.values()}
    except (KeyError, IndexError, TypeError, StopIteration, ValueError) as error:
        raise GlbError(f"{path}: head, skeleton or targets are malformed ({error!r})") from None
    missing = {"skin", "eye_l", "eye_r", "teeth_upper", "teeth_lower"} - set(pieces)
    if missing:
        raise GlbError(f"{path}: the head has no {', '.join(sorted(missing))}; name another template")
    return Template(str(info["name"]), pieces, textures, joints, info)
