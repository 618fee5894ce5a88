"""Every rule of the format has a file that breaks it, and the sentence says what, where and how to mend it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.avatar.contents import PARTS
from gpu_engine.avatar.glb import MAX_SIDE_PX, GlbError, read_glb
from gpu_engine.avatar.pack import load_pack
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.validate import validate
from gpu_engine.avatar.writer import EXTENSION
from gpu_engine.motion.arkit import ARKIT
from tests.avatar.build import document_of, hurt, joined, png, sheet_pack, values_of

pytestmark = pytest.mark.unit

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def raw() -> bytes:
    return sheet_pack()


def problems(data: bytes) -> tuple[str, ...]:
    return validate(data).problems


def said(data: bytes, sentence: str) -> None:
    """Exactly one problem, and it is this one."""
    found = problems(data)
    assert [p for p in found if sentence in p], found
    assert len(found) == 1, found


def extension(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["extensions"][EXTENSION]
    return found


def primitive(document: dict[str, Any], name: str) -> dict[str, Any]:
    for mesh in document["meshes"]:
        for entry in mesh["primitives"]:
            if entry["extras"]["name"] == name:
                found: dict[str, Any] = entry
                return found
    raise KeyError(name)


def test_the_pack_of_these_tests_is_valid(raw: bytes, tmp_path: Path) -> None:
    assert problems(raw) == ()
    (tmp_path / "sheet.glb").write_bytes(raw)
    assert load_pack(tmp_path / "sheet.glb").name == "sheet"


# The container


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is not a glTF binary file"),
        (b"PK\x03\x04" + bytes(40), "it starts with b'PK"),
        (b'{"asset": {"version": "2.0"}}     ', "export it as glTF Binary"),
        (struct.pack("<4sIII4s", b"glTF", 1, 20, 0, b"JSON"), "is glTF version 1; only version 2 is read"),
    ],
)
def test_not_gltf(data: bytes, sentence: str) -> None:
    said(data, sentence)


@pytest.mark.parametrize("keep", [12, 40, 1000, -1])
def test_truncated(raw: bytes, keep: int) -> None:
    found = problems(raw[:keep])
    assert len(found) == 1
    assert "is cut off" in found[0] or "is not a glTF" in found[0]


def test_bytes_behind_the_end(raw: bytes) -> None:
    said(raw + b"more", "has bytes behind its end")


def test_chunk_longer_than_the_file(raw: bytes) -> None:
    data = bytearray(raw)
    data[12:16] = struct.pack("<I", len(raw))
    said(bytes(data), "chunk at byte 12 says")


@pytest.mark.parametrize("text", [b"{", b"[]  ", b'{"a":NaN}   ', b"[" * 200_000, b"\xff\xfe\x00\x00"])
def test_json_that_is_none(text: bytes) -> None:
    data = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text), len(text), b"JSON") + text
    assert "JSON chunk" in problems(data)[0]


def test_gltf_that_is_no_pack(raw: bytes) -> None:
    said(hurt(raw, lambda d: d.pop("extensions")), "this glTF file is no avatar pack")


# Fields of the root extension


def drop(*path: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        table = extension(document)
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]

    return change


def put(value: Any, *path: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        table = extension(document)
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value

    return change


PERSON = {
    "subject": "person", "statement": "shows A. B.", "granted_by": "A. B.", "granted_on": "2026-11-02",
    "evidence_sha256": "0" * 64,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put(1, "version"), "version: is '1', this engine reads 2"),
        (put("../lin", "name"), "name: is '../lin'"),
        (drop("display_name", "zh"), "display_name.zh: is missing"),
        (put("", "presents"), "presents: is missing"),
        (drop("licence", "spdx"), "licence.spdx: is missing"),
        (put("  ", "licence", "origin"), "licence.origin: is missing"),
        (drop("licence", "attribution"), "licence.attribution: is missing"),
        (drop("consent"), "consent.subject: must be 'synthetic' or 'person'"),
        (drop("consent", "statement"), "consent.statement: is missing"),
        (put({**PERSON, "granted_by": ""}, "consent"), "consent.granted_by: is missing (a real person may only be shown"),
        (put({**PERSON, "granted_on": "2026-02-30"}, "consent"), "consent.granted_on: is '2026-02-30', no date"),
        (put({**PERSON, "evidence_sha256": "abc"}, "consent"), "consent.evidence_sha256: is missing or no SHA-256"),
        (put(0, "camera", "focal_px"), "camera.focal_px"),
        (put([0, 0, 0], "camera", "eye"), "camera.eye: needs [x, y, z] in metres"),
        (put([1, 2, 3], "camera", "principal"), "camera.principal"),
        (put([320, 99999], "camera", "canvas"), "camera.canvas: needs [w, h], 16 to 4096 px"),
        (drop("framings", "9:16"), "framings.9:16: is missing"),
        (put("big", "framings", "16:9", "scale"), "framings.16:9.scale: is missing or not"),
        (put(1, "framings", "16:9", "zoom"), "framings.16:9: has unknown fields ['zoom']"),
        (put({}, "limits_deg"), "limits_deg: is missing"),
        (put(400, "limits_deg", "head"), "limits_deg.head: is '400'"),
        (put(9, "limits_deg", "tail"), "limits_deg.tail: is none of the 22 joints"),
        (put(0, "gaze", "degrees_per_unit", "up"), "gaze.degrees_per_unit.up: is missing or not 1 to 60"),
        (put(5, "eyes", "l", "radius"), "eyes.l: needs centre [x, y, z] and radius in metres"),
        (put(True, "lash_columns"), "lash_columns: is 'True'"),
        (put(100, "lash_columns"), "lash_columns: is 100, 'lash_"),
        (put(7, "generator"), "generator: is missing"),
        (drop("plates", "hair_back"), "mesh 'plate.hair_back': is not listed in plates"),
        (put("over", "plates", "hair_front", "layer"), "plates.hair_front: has layer 'over' (plates are under or front)"),
        (put(8, "plates", "hair_front", "rows"), "does not make 8 x 7 nodes"),
        (put(0, "plates", "hair_front", "cell"), "needs box [x0, y0, x1, y1], cell, rows and cols"),
        (put([0, 0, 120, 120], "plates", "hair_front", "box"), None),
        (put({"texture": 0}, "plates", "beard"), "plates.beard: has no mesh 'plate.beard'"),
    ],
)
def test_fields(raw: bytes, change: Change, sentence: str | None) -> None:
    data = hurt(raw, change)
    if sentence is None:
        assert problems(data) == ()
    elif "lash_columns: is 100" in sentence:
        assert all("lash_columns: is 100" in p for p in problems(data))
        assert len(problems(data)) == 2
    else:
        said(data, sentence)


def test_a_person_with_consent_is_accepted(raw: bytes) -> None:
    assert problems(hurt(raw, put(PERSON, "consent"))) == ()


def test_hash_mismatch(raw: bytes) -> None:
    document, blob = document_of(raw)
    blob[len(blob) // 2] ^= 255
    assert any(p.startswith("sha256: the binary chunk is damaged") for p in problems(joined(document, blob, sign=False)))


def test_no_hash(raw: bytes) -> None:
    said(hurt(raw, drop("sha256"), sign=False), "sha256: is missing or no SHA-256")


# The document


def used(document: dict[str, Any]) -> None:
    document["extensionsUsed"] = ["KHR_materials_unlit"]


def required(document: dict[str, Any]) -> None:
    document["extensionsRequired"] = [EXTENSION]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(used, f"extensionsUsed: does not list {EXTENSION}"), (required, f"extensionsRequired: lists ['{EXTENSION}']")],
)
def test_extension_lists(raw: bytes, change: Change, sentence: str) -> None:
    said(hurt(raw, change), sentence)


def node(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(n for n in document["nodes"] if n.get("name") == name)
    return found


def test_missing_joint(raw: bytes) -> None:
    found = problems(hurt(raw, lambda d: node(d, "left_wrist").update(name="left_hand")))
    assert any("joint 'left_wrist': is missing" in p for p in found)
    assert any("joint 'left_hand': is none of the 22" in p for p in found)


def test_wrong_parent(raw: bytes) -> None:
    def change(document: dict[str, Any]) -> None:
        names = [n.get("name") for n in document["nodes"]]
        head = names.index("head")
        node(document, "neck")["children"].remove(head)
        node(document, "spine3")["children"].append(head)

    found = problems(hurt(raw, change))
    assert any("joint 'head': has parent 'spine3' (its parent must be 'neck')" in p for p in found)


def test_joint_turned_at_rest(raw: bytes) -> None:
    said(hurt(raw, lambda d: node(d, "neck").update(rotation=[0, 0.7, 0, 0.7])), "joint 'neck': is turned or scaled at rest")


def test_bind_matrix_of_another_pose(raw: bytes) -> None:
    document, blob = document_of(raw)
    bind = document["skins"][0]["inverseBindMatrices"]
    view = document["bufferViews"][document["accessors"][bind]["bufferView"]]
    np.frombuffer(blob, "<f4", 22 * 16, view["byteOffset"])[16 * 15 + 13] += 0.5
    said(joined(document, blob), "joint 'head': has a bind matrix that is not the inverse of its rest position")


def test_two_skins(raw: bytes) -> None:
    said(hurt(raw, lambda d: d["skins"].append(d["skins"][0])), "a pack has one skin, this file has 2")


@pytest.mark.parametrize("part", PARTS)
def test_missing_part(raw: bytes, part: str) -> None:
    said(hurt(raw, lambda d: primitive(d, part)["extras"].update(name="thing")), f"primitive '{part}': is missing")


@pytest.mark.parametrize("target", ["jawOpen", "tongueOut"])
def test_missing_target(raw: bytes, target: str) -> None:
    def change(document: dict[str, Any]) -> None:
        document["meshes"][0]["extras"]["targetNames"][ARKIT.index(target)] = "other"

    said(hurt(raw, change), f"mesh 'head' target '{target}': is missing")


def test_too_few_targets(raw: bytes) -> None:
    said(hurt(raw, lambda d: primitive(d, "tongue")["targets"].pop()), "'tongue': has 51 targets")


def test_target_of_another_length(raw: bytes) -> None:
    def change(document: dict[str, Any]) -> None:
        document["accessors"].append({"componentType": 5126, "count": 7, "type": "VEC3"})
        primitive(document, "eye_l")["targets"][0] = {"POSITION": len(document["accessors"]) - 1}

    said(hurt(raw, change), "'eye_l' target 'eyeBlinkLeft': has 7 rows, POSITION has 36")


def test_unskinned_mesh(raw: bytes) -> None:
    said(hurt(raw, lambda d: node(d, "clothes").pop("skin")), "mesh 'clothes': is not skinned")


def test_foreign_mesh(raw: bytes) -> None:
    said(hurt(raw, lambda d: node(d, "clothes").update(name="lamp")), "'lamp': carries a mesh that is no part of a pack")


@pytest.mark.parametrize("attribute", ["NORMAL", "TEXCOORD_0", "JOINTS_0", "WEIGHTS_0"])
def test_missing_attribute(raw: bytes, attribute: str) -> None:
    def change(document: dict[str, Any]) -> None:
        del primitive(document, "torso")["attributes"][attribute]

    said(hurt(raw, change), f"mesh 'clothes' primitive 'torso': attribute {attribute} is missing")


def test_unknown_layer(raw: bytes) -> None:
    said(hurt(raw, lambda d: primitive(d, "torso")["extras"].update(layer="top")), "'torso': has layer 'top'")


def edited(raw: bytes, part: str, attribute: str, dtype: str, edit: Callable[[np.ndarray], None]) -> bytes:
    """``raw`` after changing an attribute's (or the indices') values in place."""
    document, blob = document_of(raw)
    entry = primitive(document, part)
    accessor = entry["indices"] if attribute == "indices" else entry["attributes"][attribute]
    edit(values_of(document, blob, accessor, dtype))
    return joined(document, blob)


def test_weights_that_do_not_sum_to_one(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values[3] = (100, 0, 0, 0)

    said(edited(raw, "torso", "WEIGHTS_0", "u1", edit), "'torso' WEIGHTS_0: sum to 0.392 at vertex 3")


def test_joint_past_the_skin(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values[:, 0] = 22

    said(edited(raw, "torso", "JOINTS_0", "u1", edit), "'torso' JOINTS_0: names joint 22, the skin has 22")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_positions_that_are_no_numbers(raw: bytes, value: float) -> None:
    def edit(values: np.ndarray) -> None:
        values[5, 1] = value

    said(edited(raw, "torso", "POSITION", "<f4", edit), "holds NaN or infinite values")


def test_lengths_in_other_units(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values *= 100

    said(edited(raw, "torso", "POSITION", "<f4", edit), "m from the origin (lengths are metres")


def test_index_past_the_vertices(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values[0] = 60_000

    said(edited(raw, "torso", "indices", "<u2", edit), "'torso' indices: point to vertex 60000, the primitive has 100")


def test_texture_coordinates_that_repeat(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values *= 3

    said(edited(raw, "torso", "TEXCOORD_0", "<f4", edit), "'torso' TEXCOORD_0: runs from 0.00 to 3.00")


def test_triangles_without_area(raw: bytes) -> None:
    def edit(values: np.ndarray) -> None:
        values[:90] = values[0]

    said(edited(raw, "torso", "indices", "<u2", edit), "'torso': has 30 of 162 triangles without area")


def test_too_many_triangles(raw: bytes) -> None:
    def change(document: dict[str, Any]) -> None:
        # The same six thousand bytes of indices, read again and again.
        document["accessors"].append({"componentType": 5121, "count": 3 * 24_100, "type": "SCALAR"})
        primitive(document, "torso")["indices"] = len(document["accessors"]) - 1

    found = problems(hurt(raw, change))
    assert any("mesh 'clothes': has 24" in p and "at most 24000 can be drawn live" in p for p in found)


def test_strip_instead_of_triangles(raw: bytes) -> None:
    said(hurt(raw, lambda d: primitive(d, "torso").update(mode=5)), "'torso': mode 5 is not triangles")


def test_no_material(raw: bytes) -> None:
    said(hurt(raw, lambda d: primitive(d, "torso").pop("material")), "'torso': has no material")


# Materials and pictures


def material(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in document["materials"] if m["name"] == name)
    return found


def test_lit_material(raw: bytes) -> None:
    said(
        hurt(raw, lambda d: material(d, "cloth")["extensions"].pop("KHR_materials_unlit")),
        "material 'cloth': lacks KHR_materials_unlit",
    )


def test_material_without_relighting(raw: bytes) -> None:
    said(
        hurt(raw, lambda d: material(d, "cloth")["extensions"].pop(EXTENSION)),
        f"material 'cloth': lacks extensions.{EXTENSION}",
    )


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("roughness", 2, "material 'cloth' roughness: is missing or not 0 to 1"),
        ("specular", None, "material 'cloth' specular: is missing or not 0 to 1"),
        ("subsurface", [1, 2], "material 'cloth' subsurface: needs [r, g, b]"),
        ("albedo", 77, "points to textures[77]"),
    ],
)
def test_relighting_fields(raw: bytes, key: str, value: Any, sentence: str) -> None:
    data = hurt(raw, lambda d: material(d, "cloth")["extensions"][EXTENSION].update({key: value}))
    assert any(sentence in p for p in problems(data))


def test_opaque_plate(raw: bytes) -> None:
    said(hurt(raw, lambda d: material(d, "plate.hair_back").pop("alphaMode")), "primitive 'hair_back': is opaque")


def with_picture(raw: bytes, name: str, data: bytes) -> bytes:
    document, blob = document_of(raw)
    image = next(i for i in document["images"] if i["name"] == name)
    blob += b"\0" * (-len(blob) % 4)
    document["bufferViews"].append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)})
    image["bufferView"] = len(document["bufferViews"]) - 1
    return joined(document, blob + data)


def test_texture_bomb_by_its_header(raw: bytes) -> None:
    """Forty bytes that declare four gigabytes are refused before anything is decoded."""
    bomb = bytearray(png(8, 8))
    bomb[16:24] = struct.pack(">II", 32768, 32768)
    said(with_picture(raw, "cloth", bytes(bomb)), f"is 32768x32768 px; sides must be 1 to {MAX_SIDE_PX} px")


def test_pictures_too_large_together(raw: bytes) -> None:
    document, blob = document_of(raw)
    data = png(4096, 4096, (1, 2, 3))
    for image in document["images"]:
        blob += b"\0" * (-len(blob) % 4)
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)})
        image["bufferView"] = len(document["bufferViews"]) - 1
        blob += data
    found = validate_header_only(joined(document, blob))
    assert any("the pictures of this file have more than" in p for p in found)


def validate_header_only(data: bytes) -> list[str]:
    """The checks of examine without decoding pictures, which here are large on purpose."""
    from gpu_engine.avatar.contents import examine

    return examine(read_glb(data), decode=False)[1]


def test_picture_that_is_not_what_its_header_says(raw: bytes) -> None:
    lie = bytearray(png(64, 64, (120, 60, 30)))
    lie[16:24] = struct.pack(">II", 16, 16)
    found = problems(with_picture(raw, "cloth", bytes(lie)))
    assert any("cannot be decoded" in p or "decodes to" in p for p in found)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"GIF89a" + bytes(40), "is neither PNG nor JPEG"), (png(8, 8)[:20], "PNG header is cut off"),
        (b"\xff\xd8\xff\xd9" + bytes(20), "JPEG has no readable frame header"), (png(8, 8)[:60], "cannot be decoded"),
    ],
)  # fmt: skip
def test_unreadable_picture(raw: bytes, data: bytes, sentence: str) -> None:
    assert any(sentence in p for p in problems(with_picture(raw, "cloth", data)))


def test_external_picture(raw: bytes) -> None:
    def change(document: dict[str, Any]) -> None:
        image = next(i for i in document["images"] if i["name"] == "cloth")
        del image["bufferView"]
        image["uri"] = "https://example.com/skin.png"

    assert any("pictures outside the file are not read" in p for p in problems(hurt(raw, change)))


# Accessors


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"componentType": 5126, "count": 1 << 40, "type": "VEC3"}, "must be 1 to"),
        ({"componentType": 9, "count": 4, "type": "VEC3"}, "component type 9"),
        ({"componentType": [], "count": 4, "type": {}}, "is not read"),
        ({"bufferView": 10**9, "componentType": 5126, "count": 4, "type": "VEC3"}, "points to bufferViews"),
        ({"bufferView": 0, "byteOffset": 10**12, "componentType": 5126, "count": 4, "type": "VEC3"}, "must be 0 to"),
        ({"bufferView": 0, "componentType": 5126, "count": 100_000, "type": "VEC3"}, "do not fit"),
        ({"bufferView": -1, "componentType": 5126, "count": 4, "type": "VEC3"}, "is -1, must be"),
        ({"componentType": 5126, "count": 4, "type": "VEC3", "sparse": {"count": 9}}, "needs the objects"),
    ],
)
def test_hostile_accessor(raw: bytes, entry: dict[str, Any], sentence: str) -> None:
    def change(document: dict[str, Any]) -> None:
        document["accessors"].append(entry)
        primitive(document, "torso")["attributes"]["POSITION"] = len(document["accessors"]) - 1

    assert any(sentence in p for p in problems(hurt(raw, change)))


def test_accessors_that_unpack_to_gigabytes(raw: bytes) -> None:
    """Zeros need no bytes in the file: what they unpack to is what counts."""

    def change(document: dict[str, Any]) -> None:
        torso = primitive(document, "torso")
        document["meshes"][1]["primitives"] = [json.loads(json.dumps(torso)) for _ in range(64)]
        for k, entry in enumerate(document["meshes"][1]["primitives"]):
            entry["extras"]["name"] = f"t{k}"
            document["accessors"].append({"componentType": 5126, "count": 1_900_000, "type": "VEC3"})
            entry["attributes"]["POSITION"] = len(document["accessors"]) - 1

    assert any("unpack to more than 512 MiB" in p for p in problems(hurt(raw, change)))


def test_sparse_rows_must_rise(raw: bytes) -> None:
    document, blob = document_of(raw)
    target = primitive(document, "eye_l")["targets"][ARKIT.index("eyeLookOutLeft")]["POSITION"]
    indices = document["accessors"][target]["sparse"]["indices"]
    offset = document["bufferViews"][indices["bufferView"]]["byteOffset"]
    blob[offset : offset + 4] = struct.pack("<HH", 5, 5)
    assert any("must rise strictly" in p for p in problems(joined(document, blob)))


def test_loading_names_the_first_problem_and_how_many_more(raw: bytes, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        del extension(document)["licence"], extension(document)["framings"]

    path = tmp_path / "broken.glb"
    path.write_bytes(hurt(raw, change))
    with pytest.raises(AvatarError, match=r"broken\.glb: licence\.spdx: is missing.*; 4 more: python -m"):
        load_pack(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(GlbError, match=r"none\.glb cannot be read: No such file"):
        read_glb(tmp_path / "none.glb")
