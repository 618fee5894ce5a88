"""Takes a glTF file apart into what a pack holds, and says everything that is wrong with it (docs/avatar-pack.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.fields import SEE, check_fields, check_relight, is_number, is_vector
from gpu_engine.avatar.glb import Glb, GlbError
from gpu_engine.avatar.problems import Problems
from gpu_engine.avatar.skeleton import JOINT_NUMBER, PARENTS, SKELETON
from gpu_engine.avatar.writer import EXTENSION, LAYERS, SHADE_GAMMA
from gpu_engine.motion.arkit import ARKIT

F32 = NDArray[np.float32]
T = TypeVar("T")
PARTS = ("skin", "eye_l", "eye_r", "teeth_upper", "teeth_lower", "tongue", "throat")
"""Primitives the head must have; ``glint_*`` and ``lash_*`` are optional."""
MAX_TRIANGLES = {"head": 60_000, "clothes": 24_000}
MAX_PLATES, MAX_PLATE_NODES = 8, 8192
SLIVER_SHARE = 0.05
"""Largest share of triangles without area: the pole of a sphere leaves a few, a broken export leaves many."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """One decoded primitive: metres, joints in the order of ``SKELETON``, targets by ARKit name as (rows, deltas)."""

    mesh: str
    name: str
    layer: str
    material: int
    verts: F32
    normals: F32
    uv: F32
    joints: NDArray[np.uint8]
    weights: F32
    shade: F32
    tris: NDArray[np.int32]
    targets: dict[str, tuple[NDArray[np.int64], F32]]


@dataclass(frozen=True, slots=True)
class Surface:
    """A material: indices of its textures in ``Contents.pictures`` and how it is drawn."""

    name: str
    lit: int
    albedo: int | None
    blend: bool
    two_sided: bool
    roughness: float
    specular: float
    subsurface_mm: tuple[float, float, float]


@dataclass(slots=True)
class Contents:
    """What was found; complete only when no problem was reported."""

    extension: dict[str, Any]
    joints: F32 = field(default_factory=lambda: np.zeros((len(SKELETON), 3), np.float32))
    primitives: list[Primitive] = field(default_factory=list)
    surfaces: list[Surface] = field(default_factory=list)
    pictures: dict[int, NDArray[np.uint8]] = field(default_factory=dict)


def _try(problems: Problems, work: Callable[[], T]) -> T | None:
    """The result of ``work``; what it refuses becomes a problem."""
    try:
        return work()
    except GlbError as error:
        problems.add("", str(error))
    except (TypeError, KeyError, AttributeError, ValueError, IndexError, ArithmeticError, RecursionError) as error:
        problems.add("", f"glTF structure is malformed: {type(error).__name__} {str(error)[:80]}; export the file again")
    return None


def examine(glb: Glb, *, decode: bool = True, thorough: bool = True) -> tuple[Contents, list[str]]:
    """Take ``glb`` apart and collect every problem.

    Args:
        glb: the parsed container.
        decode: also decode the pictures (their real size is checked then).
        thorough: also look for triangles without area.

    Returns:
        What was found, and one sentence per problem: where, what, and the way out. Nothing but memory of the machine stops it.
    """
    problems = Problems()
    extensions = glb.document.get("extensions")
    found = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    if not isinstance(found, dict):
        problems.add(
            f"extensions.{EXTENSION}",
            "is missing: this glTF file is no avatar pack",
            "write it with the recipe or add the extension",
        )
        return Contents({}), problems.lines
    contents = Contents(found)
    _check_used(glb, problems)
    _try(problems, lambda: check_fields(found, problems))
    digest = hashlib.sha256(glb.blob).hexdigest()
    if isinstance(found.get("sha256"), str) and found["sha256"] != digest:
        problems.add(
            "sha256", f"the binary chunk is damaged: it hashes to {digest[:12]}…, listed is {str(found['sha256'])[:12]}…",
            "copy the pack again",
        )  # fmt: skip
    order = _try(problems, lambda: _skeleton(glb, contents, problems))
    _surfaces(glb, contents, problems, decode)
    _meshes(glb, contents, problems, order, thorough)
    _plates(contents, problems)
    return contents, problems.lines


def _check_used(glb: Glb, problems: Problems) -> None:
    used, required = glb.document.get("extensionsUsed", []), glb.document.get("extensionsRequired", [])
    for name in ("KHR_materials_unlit", EXTENSION):
        if not isinstance(used, list) or name not in used:
            problems.add("extensionsUsed", f"does not list {name}", "list it, or other viewers will not say what they ignore")
    if required:
        problems.add("extensionsRequired", f"lists {str(required)[:60]}", "a pack must open in viewers that know none")


def _skeleton(glb: Glb, contents: Contents, problems: Problems) -> NDArray[np.uint8]:
    """Fill ``contents.joints``; returns the joint number of every entry of ``skins[0].joints``."""
    skins = glb.document.get("skins")
    if not isinstance(skins, list) or len(skins) != 1:
        raise GlbError(f"skins: a pack has one skin, this file has {len(skins) if isinstance(skins, list) else 0}")
    listed = glb.entry("skins", 0).get("joints")
    if not isinstance(listed, list) or not 1 <= len(listed) <= 255:
        raise GlbError("skins[0].joints: must list the 22 joint nodes")
    nodes = [glb.entry("nodes", index, f"skins[0].joints[{i}]") for i, index in enumerate(listed)]
    names = [str(node.get("name"))[:40] for node in nodes]
    for name in SKELETON:
        if names.count(name) != 1:
            what = "is missing" if name not in names else f"appears {names.count(name)} times"
            problems.add(f"joint '{name}'", what, f"a pack has each of the 22 joints once: {', '.join(SKELETON[:4])}, …")
    for name in names:
        if name not in JOINT_NUMBER:
            problems.add(f"joint '{name}'", "is none of the 22", "merge its weights into its parent and remove it")
    parent: dict[int, int] = {}
    for i, node in enumerate(glb.document["nodes"]):
        children = node.get("children", []) if isinstance(node, dict) else []
        for child in children if isinstance(children, list) else []:
            if isinstance(child, int):
                parent[child] = i
    for number, name in enumerate(SKELETON):
        if names.count(name) != 1:
            continue
        slot = names.index(name)
        node, above = nodes[slot], parent.get(listed[slot])
        want = SKELETON[PARENTS[number]] if number else None
        have = None if above is None else str(glb.document["nodes"][above].get("name"))[:40]
        if number and have != want:
            problems.add(f"joint '{name}'", f"has parent '{have}'", f"its parent must be '{want}'")
        if any(key in node for key in ("rotation", "scale", "matrix")):
            turned = [
                node.get("rotation", [0, 0, 0, 1]) != [0, 0, 0, 1],
                node.get("scale", [1, 1, 1]) != [1, 1, 1],
                "matrix" in node,
            ]
            if any(turned):
                problems.add(
                    f"joint '{name}'", "is turned or scaled at rest", "joint frames are those of the world; apply the rest pose"
                )
        offset = node.get("translation", [0, 0, 0])
        if (
            not isinstance(offset, list)
            or len(offset) != 3
            or not all(isinstance(v, int | float) and abs(v) < 10 for v in offset)
        ):
            problems.add(f"joint '{name}'", "has no finite translation within 10 m", "give [x, y, z] in metres")
            offset = [0.0, 0.0, 0.0]
        contents.joints[number] = np.array(offset, np.float32) + (contents.joints[PARENTS[number]] if number else 0)
    _check_bind(glb, contents, problems, names)
    return np.array([JOINT_NUMBER.get(name, 0) for name in names], np.uint8)


def _check_bind(glb: Glb, contents: Contents, problems: Problems, names: list[str]) -> None:
    index = glb.entry("skins", 0).get("inverseBindMatrices")
    bind = glb.accessor(index, "inverseBindMatrices")
    if bind.shape != (len(names), 16) or bind.dtype != np.float32:
        raise GlbError(f"skins[0].inverseBindMatrices: must be {len(names)} MAT4 of float")
    for slot, name in enumerate(names):
        if name in JOINT_NUMBER:
            want = np.eye(4, dtype=np.float32)
            want[3, :3] = -contents.joints[JOINT_NUMBER[name]]
            if float(np.abs(bind[slot].reshape(4, 4) - want).max()) > 2e-4:
                problems.add(
                    f"joint '{name}'",
                    "has a bind matrix that is not the inverse of its rest position",
                    "bind in the rest pose, arms down",
                )


def _surfaces(glb: Glb, contents: Contents, problems: Problems, decode: bool) -> None:
    materials = glb.document.get("materials")
    if not isinstance(materials, list) or not materials:
        problems.add("materials", "are missing", "every primitive needs a material with a texture")
        return
    for i in range(len(materials)):
        contents.surfaces.append(
            _try(problems, lambda i=i: _surface(glb, i, contents, problems, decode))  # type: ignore[misc]
            or Surface(f"materials[{i}]", -1, None, False, False, 0.5, 0.5, (0.0, 0.0, 0.0))
        )


def _surface(glb: Glb, index: int, contents: Contents, problems: Problems, decode: bool) -> Surface:
    entry = glb.entry("materials", index)
    name = str(entry.get("name", f"materials[{index}]"))[:60]
    where = f"material '{name}'"
    base = entry.get("pbrMetallicRoughness", {}).get("baseColorTexture")
    if not isinstance(base, dict):
        raise GlbError(f"{where}: has no baseColorTexture; bake its lit colour into one")
    extensions = entry.get("extensions", {})
    if "KHR_materials_unlit" not in extensions:
        problems.add(where, "lacks KHR_materials_unlit", "light is baked into its texture; mark it unlit")
    relight = extensions.get(EXTENSION)
    if not isinstance(relight, dict):
        problems.add(where, f"lacks extensions.{EXTENSION}", "give roughness, specular and subsurface")
        relight = {}
    else:
        check_relight(relight, where, problems)
    lit = _picture(glb, base.get("index"), where, contents, decode)
    albedo = relight.get("albedo")
    if albedo is not None:
        albedo = _picture(glb, albedo, f"{where} albedo", contents, decode)
    blend = entry.get("alphaMode", "OPAQUE") == "BLEND"
    scatter = relight.get("subsurface", [])
    if not is_vector(scatter, 3, 0, 100):
        scatter = [0.0, 0.0, 0.0]
    return Surface(
        name, lit, albedo, blend, entry.get("doubleSided") is True,
        _share(relight, "roughness"), _share(relight, "specular"),
        (float(scatter[0]), float(scatter[1]), float(scatter[2])),
    )  # fmt: skip


def _share(relight: dict[str, Any], key: str) -> float:
    return float(relight[key]) if is_number(relight.get(key), 0, 1) else 0.5


def _picture(glb: Glb, texture: Any, where: str, contents: Contents, decode: bool) -> int:
    """Number of the image of ``textures[texture]``, decoded into ``contents.pictures`` as BGRA."""
    source = glb.entry("textures", texture, f"{where} texture").get("source")
    encoded = glb.image(source, where)
    number = int(str(source))
    if decode and number not in contents.pictures:
        raw = cv2.imdecode(np.frombuffer(encoded.data, np.uint8), cv2.IMREAD_UNCHANGED | cv2.IMREAD_IGNORE_ORIENTATION)
        if raw is None:
            raise GlbError(f"images[{number}] ({where}): cannot be decoded; export the texture again")
        if raw.shape[:2] != (encoded.height, encoded.width) or raw.dtype != np.uint8:
            raise GlbError(
                f"images[{number}] ({where}): header says {encoded.width}x{encoded.height}, it decodes to "
                f"{raw.shape[1]}x{raw.shape[0]}; export the texture again"
            )
        if raw.ndim == 2:
            raw = cv2.cvtColor(raw, cv2.COLOR_GRAY2BGR)
        if raw.shape[2] == 2:
            raise GlbError(f"images[{number}] ({where}): grey with alpha is not read; save it as RGBA")
        contents.pictures[number] = np.ascontiguousarray(
            raw if raw.shape[2] == 4 else cv2.cvtColor(raw, cv2.COLOR_BGR2BGRA), np.uint8
        )
    return number


def _meshes(glb: Glb, contents: Contents, problems: Problems, order: NDArray[np.uint8] | None, thorough: bool) -> None:
    nodes, seen, plates = glb.document.get("nodes", []), set(), 0
    for i, node in enumerate(nodes if isinstance(nodes, list) else []):
        if not isinstance(node, dict) or "mesh" not in node:
            continue
        name = str(node.get("name"))[:60]
        if name not in ("head", "clothes") and not name.startswith("plate."):
            problems.add(
                f"nodes[{i}] '{name}'", "carries a mesh that is no part of a pack", "name it head, clothes or plate.NAME"
            )
            continue
        if name in seen:
            problems.add(f"nodes[{i}] '{name}'", "appears twice", "merge the meshes")
            continue
        seen.add(name)
        plates += name.startswith("plate.")
        if plates > MAX_PLATES:
            # A small file can show one mesh under thousands of names: the rest is not even looked at.
            problems.add("meshes", f"'plate.*' are more than {MAX_PLATES}, which cannot be drawn live", "merge layers")
            break
        if node.get("skin") != 0:
            problems.add(f"mesh '{name}'", "is not skinned", "set the node's skin to 0")
        mesh = _try(problems, lambda node=node, name=name: glb.entry("meshes", node["mesh"], f"mesh '{name}'"))  # type: ignore[misc]
        if mesh is not None:
            _mesh(glb, name, mesh, contents, problems, order, thorough)
    if "head" not in seen:
        problems.add("mesh 'head'", "is missing", f"it holds the primitives {', '.join(PARTS)}")
        return
    _lashes(contents, problems)
    have = [p.name for p in contents.primitives if p.mesh == "head"]
    for part in PARTS:
        if part not in have:
            problems.add(f"mesh 'head' primitive '{part}'", "is missing", "name primitives in primitive.extras.name")


def _lashes(contents: Contents, problems: Problems) -> None:
    columns = contents.extension.get("lash_columns")
    for piece in contents.primitives:
        if piece.name in ("lash_l_upper", "lash_r_upper") and isinstance(columns, int) and columns > len(piece.verts):
            problems.add(
                "lash_columns", f"is {columns}, '{piece.name}' has {len(piece.verts)} vertices", "give the vertices in one row"
            )


def _mesh(
    glb: Glb,
    name: str,
    mesh: dict[str, Any],
    contents: Contents,
    problems: Problems,
    order: NDArray[np.uint8] | None,
    thorough: bool,
) -> None:
    entries = mesh.get("primitives")
    if not isinstance(entries, list) or not 1 <= len(entries) <= 64:
        problems.add(f"mesh '{name}'", "must have 1 to 64 primitives", "export it again")
        return
    targets: list[str] = []
    if name == "head":
        extras = mesh.get("extras", {})
        listed = extras.get("targetNames") if isinstance(extras, dict) else None
        targets = [str(t)[:40] for t in listed[:256]] if isinstance(listed, list) else []
        for target in ARKIT:
            if target not in targets:
                problems.add(
                    f"mesh 'head' target '{target}'", "is missing", "name all 52 ARKit targets in mesh.extras.targetNames"
                )
    total = 0
    for k, entry in enumerate(entries):
        found = _try(
            problems,
            lambda k=k, entry=entry: _primitive(glb, name, k, entry, targets, contents, problems, order, thorough),  # type: ignore[misc]
        )
        if found is not None:
            if any(p.mesh == name and p.name == found.name for p in contents.primitives):
                problems.add(
                    f"mesh '{name}' primitive '{found.name}'", "appears twice", "give every primitive a name of its own"
                )
            contents.primitives.append(found)
            total += len(found.tris)
    limit = MAX_TRIANGLES.get(name)
    if limit is not None and total > limit:
        problems.add(f"mesh '{name}'", f"has {total} triangles, at most {limit} can be drawn live", "decimate it")


def _typed(glb: Glb, index: Any, where: str, width: int, kinds: str) -> NDArray[Any]:
    values = glb.accessor(index, where)
    if (
        values.ndim != (1 if width == 1 else 2)
        or (width > 1 and values.shape[1] != width)
        or values.dtype.str[1:] not in kinds.split()
    ):
        raise GlbError(f"{where}: must be {width} values of {kinds}, is {values.dtype.str[1:]}{list(values.shape)}")
    return values


def _unit(values: NDArray[Any]) -> F32:
    """Floats as they are, normalised integers as fractions (glTF §3.6.2.2)."""
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    return values.astype(np.float32) / np.float32(np.iinfo(values.dtype).max)


def _primitive(
    glb: Glb, mesh: str, number: int, entry: Any, names: list[str], contents: Contents, problems: Problems,
    order: NDArray[np.uint8] | None, thorough: bool,
) -> Primitive:  # fmt: skip
    if not isinstance(entry, dict) or not isinstance(entry.get("attributes"), dict):
        raise GlbError(f"mesh '{mesh}' primitive {number}: needs attributes")
    extras = entry.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    name, layer = str(extras.get("name", mesh.removeprefix("plate.")))[:40], extras.get("layer", "mesh")
    where = f"mesh '{mesh}' primitive '{name}'"
    if layer not in LAYERS:
        problems.add(where, f"has layer {str(layer)[:20]!r}", f"use one of {', '.join(LAYERS)}")
        layer = "mesh"
    if entry.get("mode", 4) != 4:
        raise GlbError(f"{where}: mode {entry.get('mode')!r} is not triangles (4); triangulate it")
    attributes = entry["attributes"]
    for key in ("POSITION", "NORMAL", "TEXCOORD_0", "JOINTS_0", "WEIGHTS_0"):
        if key not in attributes:
            raise GlbError(f"{where}: attribute {key} is missing; export it with normals, UVs and skin weights")
    verts = _typed(glb, attributes["POSITION"], f"{where} POSITION", 3, "f4")
    count = len(verts)
    normals = _typed(glb, attributes["NORMAL"], f"{where} NORMAL", 3, "f4")
    uv = _unit(_typed(glb, attributes["TEXCOORD_0"], f"{where} TEXCOORD_0", 2, "f4 u1 u2"))
    joints = _typed(glb, attributes["JOINTS_0"], f"{where} JOINTS_0", 4, "u1 u2")
    weights = _unit(_typed(glb, attributes["WEIGHTS_0"], f"{where} WEIGHTS_0", 4, "f4 u1 u2"))
    shade = np.ones(count, np.float32)
    if "COLOR_0" in attributes:
        colour = _unit(glb.accessor(attributes["COLOR_0"], f"{where} COLOR_0"))
        if colour.ndim != 2 or colour.shape[1] < 3:
            raise GlbError(f"{where} COLOR_0: must have 3 or 4 values")
        shade = np.clip(colour[:, 1], 0, 1) ** np.float32(1 / SHADE_GAMMA)
    for key, values in (
        ("NORMAL", normals),
        ("TEXCOORD_0", uv),
        ("JOINTS_0", joints),
        ("WEIGHTS_0", weights),
        ("COLOR_0", shade),
    ):
        if len(values) != count:
            raise GlbError(f"{where} {key}: has {len(values)} rows, POSITION has {count}")
    if float(np.abs(verts).max()) > 4.0:
        problems.add(
            where, f"reaches {float(np.abs(verts).max()):.1f} m from the origin", "lengths are metres, the host within 4"
        )
    if float(uv.min()) < -0.001 or float(uv.max()) > 1.001:
        problems.add(
            f"{where} TEXCOORD_0", f"runs from {float(uv.min()):.2f} to {float(uv.max()):.2f}", "textures do not repeat: 0 to 1"
        )
    tris = _triangles(glb, entry, where, count, verts, problems, thorough)
    slots = len(order) if order is not None else len(SKELETON)
    used = joints[weights > 0]
    if len(used) and int(used.max()) >= slots:
        raise GlbError(f"{where} JOINTS_0: names joint {int(used.max())}, the skin has {slots}")
    total = weights.sum(1)
    if float(weights.min()) < 0 or float(np.abs(total - 1).max()) > 0.01:
        worst = int(np.abs(total - 1).argmax())
        problems.add(
            f"{where} WEIGHTS_0", f"sum to {float(total[worst]):.3f} at vertex {worst}", "normalise them: four that sum to 1"
        )
    table = order if order is not None else np.arange(len(SKELETON), dtype=np.uint8)
    joints = table[np.where(weights > 0, joints, 0).astype(np.int64)]
    material = entry.get("material")
    if isinstance(material, bool) or not isinstance(material, int) or not 0 <= material < len(contents.surfaces):
        raise GlbError(f"{where}: has no material; give it one with a texture")
    if mesh.startswith("plate.") and not contents.surfaces[material].blend:
        problems.add(where, "is opaque", "plates have alphaMode BLEND")
    moved = _targets(glb, entry, where, names, count, problems) if mesh == "head" else {}
    return Primitive(
        mesh, name, layer, material, verts, normals, np.clip(uv, 0, 1), joints.astype(np.uint8),
        (weights / np.maximum(total, 1e-6)[:, None]).astype(np.float32), shade, tris, moved,
    )  # fmt: skip


def _triangles(
    glb: Glb, entry: dict[str, Any], where: str, count: int, verts: F32, problems: Problems, thorough: bool
) -> NDArray[np.int32]:
    if "indices" not in entry:
        raise GlbError(f"{where}: has no indices; export it as an indexed mesh")
    flat = _typed(glb, entry["indices"], f"{where} indices", 1, "u1 u2 u4")
    if len(flat) % 3:
        raise GlbError(f"{where} indices: {len(flat)} is no multiple of three")
    if int(flat.max()) >= count:
        raise GlbError(f"{where} indices: point to vertex {int(flat.max())}, the primitive has {count}")
    tris = flat.reshape(-1, 3).astype(np.int32)
    if len(tris) > max(MAX_TRIANGLES.values()):
        raise GlbError(
            f"{where}: has {len(tris)} triangles, at most {max(MAX_TRIANGLES.values())} can be drawn live; decimate it"
        )
    if thorough:
        edge = verts[tris[:, 1]] - verts[tris[:, 0]], verts[tris[:, 2]] - verts[tris[:, 0]]
        flatness = np.linalg.norm(np.cross(*edge), axis=1) <= 1e-12
        if float(flatness.mean()) > SLIVER_SHARE:
            problems.add(
                where,
                f"has {int(flatness.sum())} of {len(tris)} triangles without area",
                "merge doubles and dissolve degenerates",
            )
    return tris


def _targets(
    glb: Glb, entry: dict[str, Any], where: str, names: list[str], count: int, problems: Problems
) -> dict[str, tuple[NDArray[np.int64], F32]]:
    listed = entry.get("targets", [])
    if not isinstance(listed, list) or len(listed) != len(names):
        have = len(listed) if isinstance(listed, list) else 0
        problems.add(
            where, f"has {have} targets, mesh.extras.targetNames lists {len(names)}", "export all 52 on every primitive"
        )
        return {}
    moved = {}
    for name, target in zip(names, listed, strict=True):
        if name not in ARKIT or name in moved:
            continue
        place = f"{where} target '{name}'"
        if not isinstance(target, dict) or "POSITION" not in target:
            problems.add(place, "has no POSITION", "give it an accessor, without buffer view if nothing moves")
            continue
        sparse = glb.sparse(target["POSITION"], place)
        stored = glb.entry("accessors", target["POSITION"]).get("count")
        if stored != count:
            problems.add(place, f"has {stored} rows, POSITION has {count}", "export it again")
            continue
        if sparse is None:
            dense = _typed(glb, target["POSITION"], place, 3, "f4")
            rows = np.nonzero(np.abs(dense).max(1) > 1e-5)[0]
            sparse = rows, dense[rows]
        if len(sparse[1]) and float(np.abs(sparse[1]).max()) > 0.3:
            problems.add(
                place,
                f"moves a vertex by {float(np.abs(sparse[1]).max()):.2f} m",
                "lengths are metres; a face moves centimetres",
            )
        moved[name] = sparse
    return moved


def _grid_numbers(entry: dict[str, Any]) -> list[int] | None:
    """x0, y0, x1, y1, cell, rows, cols of a plate; None when one of them is no whole number in range."""
    box = entry.get("box")
    numbers = [*(box if isinstance(box, list) and len(box) == 4 else [None]), *(entry.get(k) for k in ("cell", "rows", "cols"))]
    if not all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= 4096 for v in numbers) or not entry["cell"]:
        return None
    return [int(str(v)) for v in numbers]


def _plates(contents: Contents, problems: Problems) -> None:
    listed = contents.extension.get("plates")
    if not isinstance(listed, dict):
        return
    if len(listed) > MAX_PLATES:
        problems.add("plates", f"are {len(listed)}, at most {MAX_PLATES} can be drawn live", "merge layers")
    meshes = {p.mesh.removeprefix("plate."): p for p in contents.primitives if p.mesh.startswith("plate.")}
    for name in sorted(set(meshes) - set(listed)):
        problems.add(f"mesh 'plate.{name}'", "is not listed in plates", "list its box, cell, rows and cols")
    for name, entry in listed.items():
        where = f"plates.{str(name)[:40]}"
        if name not in meshes:
            problems.add(where, f"has no mesh 'plate.{str(name)[:40]}'", "add the grid or drop the entry")
            continue
        if not isinstance(entry, dict):
            problems.add(where, "must be an object", "give box, cell, rows, cols")
            continue
        numbers = _grid_numbers(entry)
        if numbers is None:
            problems.add(where, "needs box [x0, y0, x1, y1], cell, rows and cols as whole numbers up to 4096", SEE)
            continue
        (x0, y0, x1, y1), cell, rows, cols = numbers[:4], *numbers[4:]
        if min(rows, cols) < 2 or (x1 - x0, y1 - y0) != ((cols - 1) * cell, (rows - 1) * cell):
            what = f"box {numbers[:4]} in cells of {cell} px does not make {rows} x {cols} nodes"
            problems.add(where, what, "the box is (cols - 1) by (rows - 1) cells")
            continue
        plate = meshes[name]
        if len(plate.verts) != rows * cols or rows * cols > MAX_PLATE_NODES:
            problems.add(
                where,
                f"says {rows} x {cols} nodes, its mesh has {len(plate.verts)}",
                f"one vertex a node, at most {MAX_PLATE_NODES}",
            )
        if entry.get("layer") not in ("under", "front"):
            problems.add(where, f"has layer {str(entry.get('layer'))[:20]!r}", "plates are under or front")
        picture = contents.pictures.get(contents.surfaces[plate.material].lit)
        if picture is not None and picture.shape[:2] != (y1 - y0, x1 - x0):
            problems.add(
                where,
                f"box is {x1 - x0}x{y1 - y0}, its picture {picture.shape[1]}x{picture.shape[0]}",
                "crop the picture to the box",
            )
