"""Reads and checks an avatar pack (format ``lumihost-avatar`` version 1, see docs/avatar-pack.md)."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import WEIGHTS

FORMAT = "lumihost-avatar"
VERSION = 1
PACKS = Path(__file__).parent / "packs"


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
class Part:
    """A run of the mesh drawn with one texture; ``verts`` and ``tris`` are half-open ranges."""

    name: str
    texture: str
    verts: tuple[int, int]
    tris: tuple[int, int]
    blend: bool


@dataclass(frozen=True, slots=True)
class Plate:
    """A flat layer that bends with the joints.

    Attributes:
        image: uint8[h, w, 4], premultiplied BGRA in canvas pixels, covering ``box`` (x0, y0, x1, y1).
        depth: float32[rows, cols], z of each grid node in decimetres; nodes lie ``cell`` canvas pixels apart.
        weights: float32[rows, cols, 2], share of head and of neck motion; the rest is spine.
    """

    name: str
    image: NDArray[np.uint8]
    box: tuple[int, int, int, int]
    cell: int
    depth: NDArray[np.float32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AvatarPack:
    """Everything a renderer needs, decoded.

    Attributes:
        rest: float32[v, 3], decimetres, +x the host's left, +y up, +z to the viewer.
        tris: int32[t, 3]; uv: float32[v, 2] in 0..1 with v down; shade: float32[v].
        joint_weights: float32[v, 2], share of head and of neck.
        morph_offset: int64[33]; morph_index: int32[m]; morph_delta: float32[m, 3]: weight i of ``WEIGHTS`` moves
            ``morph_index[morph_offset[i]:morph_offset[i + 1]]`` by its deltas at full strength.
    """

    name: str
    version: int
    manifest: dict[str, Any]
    camera: Camera
    framings: dict[str, Framing]
    parts: tuple[Part, ...]
    plates: tuple[Plate, ...]
    textures: dict[str, NDArray[np.uint8]]
    rest: NDArray[np.float32]
    tris: NDArray[np.int32]
    uv: NDArray[np.float32]
    shade: NDArray[np.float32]
    joint_weights: NDArray[np.float32]
    morph_offset: NDArray[np.int64]
    morph_index: NDArray[np.int32]
    morph_delta: NDArray[np.float32]

    def part(self, name: str) -> Part:
        """The part called ``name``; raises AvatarError when the pack has none."""
        for part in self.parts:
            if part.name == name:
                return part
        raise AvatarError(f"avatar pack '{self.name}' has no part '{name}' (has: {', '.join(p.name for p in self.parts)})")


def pack_path(name_or_path: str | Path) -> Path:
    """Folder of a shipped pack by name, or the path itself when it is one."""
    path = Path(name_or_path)
    if path.is_dir():
        return path
    shipped = PACKS / str(name_or_path)
    if shipped.is_dir():
        return shipped
    known = ", ".join(sorted(p.name for p in PACKS.iterdir() if p.is_dir())) if PACKS.is_dir() else "none"
    raise AvatarError(f"avatar pack '{name_or_path}' not found: give a pack folder or one of the shipped packs ({known})")


def _need(table: dict[str, Any], key: str, kind: type | tuple[type, ...], where: Path) -> Any:
    if key not in table:
        raise AvatarError(f"{where}: field '{key}' is missing; rebuild the pack with the recipe or see docs/avatar-pack.md")
    if not isinstance(table[key], kind):
        raise AvatarError(f"{where}: field '{key}' is {type(table[key]).__name__}; see docs/avatar-pack.md")
    return table[key]


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, with format, version and field types checked."""
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise AvatarError(f"{path} is missing: '{folder}' is not an avatar pack") from None
    except (OSError, ValueError) as error:
        raise AvatarError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise AvatarError(f"{path}: format is not '{FORMAT}'")
    if manifest.get("version") != VERSION:
        raise AvatarError(
            f"{path}: version {manifest.get('version')!r} is not read by this engine (reads {VERSION}); rebuild the pack"
        )
    kinds: dict[str, type | tuple[type, ...]] = {
        "name": str, "licence": dict, "camera": dict, "framings": dict, "joints": dict, "gaze": dict, "eyes": dict,
        "limits_deg": dict, "lash_columns": int,
        "units": list, "weights": dict, "parts": list, "textures": dict, "plates": list, "geometry": str, "files": dict,
    }  # fmt: skip
    for key, kind in kinds.items():
        _need(manifest, key, kind, path)
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Every listed file is there and has its hash; raises AvatarError naming the first that does not."""
    for name, entry in manifest["files"].items():
        path = folder / name
        if Path(name).name != name:
            raise AvatarError(f"{folder / 'manifest.json'}: file name '{name}' must not contain a folder")
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raise AvatarError(f"{path} is missing: copy the pack again") from None
        except OSError as error:
            raise AvatarError(f"{path} cannot be read: {error}") from None
        digest = hashlib.sha256(raw).hexdigest()
        if digest != entry.get("sha256"):
            listed = str(entry.get("sha256"))
            raise AvatarError(f"{path} is damaged: SHA-256 {digest[:12]}… is not {listed[:12]}… as listed; copy the pack again")


def _image(folder: Path, name: str, channels: int) -> NDArray[np.uint8]:
    image = cv2.imread(str(folder / name), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise AvatarError(f"{folder / name} cannot be decoded as an image")
    if image.ndim != 3 or image.shape[2] != channels or image.dtype != np.uint8:
        raise AvatarError(f"{folder / name} must have {channels} channels of 8 bits, is {image.dtype}{list(image.shape)}")
    return np.ascontiguousarray(image)


def _arrays(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    try:
        with np.load(folder / name, allow_pickle=False) as data:
            return {key: data[key] for key in data.files}
    except FileNotFoundError:
        raise AvatarError(f"{folder / name} is missing: copy the pack again") from None
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise AvatarError(f"{folder / name} cannot be read: {error}") from None


def _fraction(values: NDArray[Any], full: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(values.astype(np.float32) / np.float32(full), np.float32)


def _texture(folder: Path, name: str) -> NDArray[np.uint8]:
    """uint8[h, w, 4] BGRA; JPEG has no alpha and gets an opaque one."""
    if not name.endswith((".jpg", ".jpeg")):
        return _image(folder, name, 4)
    opaque = np.full((*(image := _image(folder, name, 3)).shape[:2], 4), 255, np.uint8)
    opaque[..., :3] = image
    return opaque


def _merge_morphs(
    manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], where: Path
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Fold the 52 stored units through the weight matrix into 32 sparse morphs."""
    units = {name: i for i, name in enumerate(manifest["units"])}
    table: dict[str, dict[str, float]] = manifest["weights"]
    missing = [w for w in WEIGHTS if w not in table]
    if missing:
        raise AvatarError(f"{where}: 'weights' has no row for {', '.join(missing)}")
    offset, index, value = arrays["morph_offset"], arrays["morph_index"], arrays["morph_value"]
    count, step = len(arrays["rest"]), float(arrays["morph_step"])
    offsets, indices, deltas = [0], [], []
    for weight in WEIGHTS:
        dense = np.zeros((count, 3), np.float32)
        for unit, gain in table[weight].items():
            if unit not in units:
                raise AvatarError(f"{where}: weight '{weight}' names unit '{unit}', which the pack does not carry")
            i = units[unit]
            run = slice(int(offset[i]), int(offset[i + 1]))
            dense[index[run]] += gain * step * value[run].astype(np.float32)
        moved = np.nonzero(np.abs(dense).max(1) > 1e-4)[0]
        indices.append(moved.astype(np.int32))
        deltas.append(dense[moved])
        offsets.append(offsets[-1] + len(moved))
    return np.array(offsets, np.int64), np.concatenate(indices), np.ascontiguousarray(np.concatenate(deltas))


def load_pack(name_or_path: str | Path, *, verify: bool = True) -> AvatarPack:
    """Load a pack by shipped name or folder.

    Args:
        name_or_path: for example ``"lin"`` or a folder.
        verify: check the SHA-256 of every file first.

    Raises:
        AvatarError: naming the file and what is wrong with it.
    """
    folder = pack_path(name_or_path)
    manifest = read_manifest(folder)
    where = folder / "manifest.json"
    if verify:
        check_files(folder, manifest)
    geometry = folder / manifest["geometry"]
    arrays = _arrays(folder, manifest["geometry"])
    for key in (
        "rest",
        "origin",
        "quantum",
        "tris",
        "uv",
        "shade",
        "weights",
        "morph_index",
        "morph_value",
        "morph_offset",
        "morph_step",
    ):
        if key not in arrays:
            raise AvatarError(f"{geometry}: array '{key}' is missing")
    count = len(arrays["rest"])
    for key in ("uv", "shade", "weights"):
        if len(arrays[key]) != count:
            raise AvatarError(f"{geometry}: '{key}' has {len(arrays[key])} rows, 'rest' has {count}")
    if len(arrays["tris"]) == 0 or int(arrays["tris"].max()) >= count:
        raise AvatarError(f"{geometry}: 'tris' points past the {count} vertices")
    if len(arrays["morph_offset"]) != len(manifest["units"]) + 1 or (
        len(arrays["morph_index"]) and int(arrays["morph_index"].max()) >= count
    ):
        raise AvatarError(f"{geometry}: morphs do not fit the {len(manifest['units'])} units and {count} vertices")
    offset, index, delta = _merge_morphs(manifest, arrays, where)
    try:
        camera = Camera(
            float(manifest["camera"]["focal_px"]), tuple(manifest["camera"]["eye"]),
            tuple(manifest["camera"]["principal"]), tuple(manifest["camera"]["canvas"]),
        )  # fmt: skip
        framings = {k: Framing(**v) for k, v in manifest["framings"].items()}
        parts = tuple(
            Part(p["name"], p["texture"], (p["verts"][0], p["verts"][1]), (p["tris"][0], p["tris"][1]), bool(p["blend"]))
            for p in manifest["parts"]
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise AvatarError(f"{where}: camera, framings or parts are malformed: {error!r}") from None
    plates = []
    for entry in manifest["plates"]:
        image = _image(folder, entry["file"], 4)
        x0, y0, x1, y1 = entry["box"]
        depth, weights = arrays.get(f"{entry['name']}_depth"), arrays.get(f"{entry['name']}_weights")
        nodes = ((y1 - y0) // entry["cell"] + 1, (x1 - x0) // entry["cell"] + 1)
        if image.shape[:2] != (y1 - y0, x1 - x0):
            raise AvatarError(
                f"{folder / entry['file']} is {image.shape[1]}x{image.shape[0]}, its box says {x1 - x0}x{y1 - y0}"
            )
        if depth is None or weights is None or depth.shape != nodes or weights.shape != (*nodes, 2):
            raise AvatarError(f"{geometry}: the grid of plate '{entry['name']}' must have {nodes[0]}x{nodes[1]} nodes")
        plates.append(
            Plate(
                entry["name"],
                image,
                (x0, y0, x1, y1),
                int(entry["cell"]),
                depth.astype(np.float32),
                _fraction(weights, 255),
            )
        )
    textures = {key: _texture(folder, name) for key, name in manifest["textures"].items()}
    for part in parts:
        if part.texture not in textures:
            raise AvatarError(f"{where}: part '{part.name}' uses texture '{part.texture}', which the pack does not carry")
        if part.verts[1] > count or part.tris[1] > len(arrays["tris"]):
            raise AvatarError(f"{where}: part '{part.name}' reaches past the geometry")
    rest = arrays["rest"].astype(np.float32) * np.float32(arrays["quantum"]) + arrays["origin"].astype(np.float32)
    return AvatarPack(
        name=manifest["name"], version=manifest["version"], manifest=manifest, camera=camera, framings=framings, parts=parts,
        plates=tuple(plates), textures=textures,
        rest=np.ascontiguousarray(rest, np.float32), tris=arrays["tris"].astype(np.int32),
        uv=_fraction(arrays["uv"], 65535), shade=np.minimum(_fraction(arrays["shade"], 200), np.float32(1)),
        joint_weights=_fraction(arrays["weights"], 255), morph_offset=offset, morph_index=index, morph_delta=delta,
    )  # fmt: skip
