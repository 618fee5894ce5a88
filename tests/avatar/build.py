"""A small but complete pack made from nothing, and ways to hurt it."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from gpu_engine.avatar.skeleton import JOINT_NUMBER, PARENTS, SKELETON
from gpu_engine.avatar.writer import EXTENSION, MaterialSource, PackSource, PieceSource, PlateSource, build_pack
from gpu_engine.motion.arkit import ARKIT


def png(width: int, height: int, colour: tuple[int, ...] = (90, 120, 200, 255)) -> bytes:
    """A plain PNG of ``len(colour)`` channels."""
    return cv2.imencode(".png", np.full((height, width, len(colour)), colour, np.uint8))[1].tobytes()


def _grid(x0: float, x1: float, y0: float, y1: float, z: float, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A square sheet that bulges towards the viewer: verts, tris, uv."""
    s = np.linspace(0, 1, n)
    u, v = np.meshgrid(s, s)
    bulge = 0.2 * (x1 - x0) * np.sin(np.pi * u) * np.sin(np.pi * v)
    verts = np.stack([x0 + (x1 - x0) * u, y1 - (y1 - y0) * v, z + bulge], -1).reshape(-1, 3)
    i = np.arange(n * n).reshape(n, n)
    quads = np.stack([i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]], -1).reshape(-1, 4)
    return verts, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]), np.stack([u, v], -1).reshape(-1, 2)


def piece(
    name: str,
    box: tuple[float, float, float, float],
    z: float,
    material: str,
    joint: str = "head",
    layer: str = "mesh",
    n: int = 6,
) -> PieceSource:
    """A sheet bound to one joint; skin moves with every target."""
    verts, tris, uv = _grid(*box, z, n)
    joints, weights = np.zeros((len(verts), 4), int), np.zeros((len(verts), 4))
    joints[:, 0], weights[:, 0] = JOINT_NUMBER[joint], 1
    targets = {}
    if name == "skin":
        targets = {t: np.tile([0.0, 0.01 * (k % 5 + 1), 0.0], (len(verts), 1)) for k, t in enumerate(ARKIT)}
    return PieceSource(
        name, layer, material, verts, tris, uv, joints, weights, None if name == "skin" else np.full(len(verts), 0.8), targets
    )


def skeleton() -> np.ndarray:
    """Plausible joint positions, dm."""
    at = {
        "pelvis": (0, 0, 0), "spine1": (0, 1, 0), "spine2": (0, 2, 0), "spine3": (0, 3, 0), "neck": (0, 4.6, 0),
        "head": (0, 5.2, 0.3),
        "collar": (0.3, 4.2, 0), "shoulder": (1.5, 4.0, 0), "elbow": (1.6, 1.5, 0), "wrist": (1.5, -0.5, 0.5),
        "hip": (0.9, -0.3, 0), "knee": (1, -4, 0), "ankle": (1, -7.8, 0), "foot": (1, -8.2, 1),
    }  # fmt: skip
    out = np.zeros((len(SKELETON), 3))
    for i, name in enumerate(SKELETON):
        side, _, stem = name.rpartition("_")
        out[i] = at[stem] if side else at[name]
        if side == "right":
            out[i, 0] *= -1
    return out


def source(clothes: bool = True) -> PackSource:
    """A pack of flat sheets: enough of a host for every rule and every code path."""
    head = [
        piece("skin", (-0.7, 0.7, 4.6, 7.0), 0.9, "skin", n=14),
        piece("eye_l", (0.16, 0.40, 5.9, 6.1), 1.2, "features"), piece("eye_r", (-0.40, -0.16, 5.9, 6.1), 1.2, "features"),
        piece("teeth_upper", (-0.2, 0.2, 5.5, 5.6), 0.8, "features"),
        piece("teeth_lower", (-0.2, 0.2, 5.35, 5.45), 0.8, "features"),
        piece("tongue", (-0.1, 0.1, 5.4, 5.5), 0.7, "features"), piece("throat", (-0.2, 0.2, 5.3, 5.6), 0.6, "features"),
        piece("lash_l_upper", (0.16, 0.40, 6.08, 6.14), 1.45, "features.blend"),
        piece("lash_r_upper", (-0.40, -0.16, 6.08, 6.14), 1.45, "features.blend"),
    ]  # fmt: skip
    garments = []
    if clothes:
        garments = [
            piece("torso", (-1.4, 1.4, 0.5, 4.5), 0.4, "cloth", "spine3", n=10),
            piece("sleeve_left", (1.3, 1.8, 1.5, 4.1), 0.3, "cloth", "left_shoulder", "over"),
            piece("forearm_left", (1.3, 1.8, -0.5, 1.5), 0.3, "cloth", "left_elbow", "over"),
            piece("hand_left", (1.4, 1.7, -1.0, -0.5), 0.3, "cloth", "left_wrist", "over"),
            piece("sleeve_right", (-1.8, -1.3, 1.5, 4.1), 0.3, "cloth", "right_collar", "over"),
        ]
    camera = {"focal_px": 1365.0, "eye": [0.0, 5.9, 27.0], "principal": [160.0, 92.0], "canvas": [320, 340]}
    plates = []
    for name, layer, z in (("hair_back", "under", -0.2), ("hair_front", "front", 0.6)):
        image = np.zeros((120, 120, 4), np.uint8)
        cv2.ellipse(image, (60, 60), (55, 58), 0, 0, 360, (20, 25, 30, 255), -1, cv2.LINE_AA)
        if layer == "front":
            image[45:] = 0
        joints = np.zeros((7, 7, 4), int)
        joints[..., 0] = JOINT_NUMBER["head"]
        weights = np.zeros((7, 7, 4))
        weights[..., 0] = 1
        plates.append(PlateSource(name, layer, image, (100, 20, 220, 140), 20, np.full((7, 7), z), joints, weights))
    return PackSource(
        name="sheet", display_name={"zh": "纸人", "en": "Sheet"}, presents="a paper figure",
        licence={"spdx": "CC0-1.0", "origin": "made by the tests", "attribution": "Lumihost"},
        consent={"subject": "synthetic", "statement": "shows nobody"}, camera=camera,
        framings={
            "16:9": {"height_px": 270, "scale": 1.0, "centre_x": 0.37, "top_px": 0},
            "9:16": {"height_px": 480, "scale": 1.3, "centre_x": 0.5, "top_px": 32},
        },
        joints=skeleton(), limits_deg={"head": 16.0, "neck": 8.0, "left_shoulder": 120.0},
        gaze={"degrees_per_unit": {"horizontal": 24.0, "up": 18.0, "down": 20.0}},
        eyes={"l": {"centre": [0.28, 6.0, 1.1], "radius": 0.14}, "r": {"centre": [-0.28, 6.0, 1.1], "radius": 0.14}},
        lash_columns=6, head=head, clothes=garments,
        materials=[
            MaterialSource("skin", png(64, 64, (140, 160, 210)), png(32, 32, (120, 150, 200)), subsurface_mm=(4.0, 1.5, 0.8)),
            MaterialSource("features", png(32, 32), two_sided=True),
            MaterialSource("features.blend", png(32, 32, (20, 20, 20, 128)), blend=True),
            MaterialSource("cloth", png(64, 64, (120, 60, 30)), two_sided=True),
        ],
        plates=plates, generator="tests",
    )  # fmt: skip


def document_of(raw: bytes) -> tuple[dict[str, Any], bytearray]:
    """JSON and binary chunk of a GLB."""
    (length,) = struct.unpack_from("<I", raw, 12)
    return json.loads(raw[20 : 20 + length]), bytearray(raw[20 + length + 8 :])


def joined(document: dict[str, Any], blob: bytes | bytearray, *, sign: bool = True) -> bytes:
    """A GLB of both; ``sign`` makes its hash right again."""
    extensions = document.get("extensions")
    own = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    if sign and isinstance(own, dict):
        own["sha256"] = hashlib.sha256(blob).hexdigest()
    if isinstance(document.get("buffers"), list):
        document["buffers"] = [{"byteLength": len(blob)}]
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(blob))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + bytes(blob)


def hurt(raw: bytes, change: Callable[[dict[str, Any]], None], *, sign: bool = True) -> bytes:
    """``raw`` after ``change`` to its JSON."""
    document, blob = document_of(raw)
    change(document)
    return joined(document, blob, sign=sign)


def values_of(document: dict[str, Any], blob: bytearray, accessor: int, dtype: str) -> np.ndarray:
    """A writable view of a dense accessor."""
    entry = document["accessors"][accessor]
    view = document["bufferViews"][entry["bufferView"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[entry["type"]]
    return np.frombuffer(blob, dtype, entry["count"] * width, view["byteOffset"]).reshape(-1, width)


def sheet_pack(clothes: bool = True) -> bytes:
    """The file of ``source``."""
    return build_pack(source(clothes)).encode()


__all__ = ["PARENTS", "SKELETON", "document_of", "hurt", "joined", "piece", "png", "sheet_pack", "source", "values_of"]
