"""The loader names the file and what is wrong with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.avatar.__main__ import main
from gpu_engine.avatar.pack import PACKS, load_pack
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import WEIGHTS

pytestmark = pytest.mark.unit

LIMIT_BYTES = 12_000_000


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A writable copy of the shipped pack."""
    folder = tmp_path / "lin"
    shutil.copytree(PACKS / "lin", folder)
    return folder


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the manifest of ``folder`` after ``change``."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), "utf-8")


def test_shipped_pack_is_whole_and_small() -> None:
    pack = load_pack("lin")
    listed = set(pack.manifest["files"]) | {"manifest.json"}
    assert {p.name for p in (PACKS / "lin").iterdir()} == listed
    assert sum(p.stat().st_size for p in (PACKS / "lin").iterdir()) <= LIMIT_BYTES
    assert pack.manifest["licence"]["spdx"] == "CC0-1.0"
    assert {p.name for p in pack.plates} == {"hair_back", "cloth_back", "cloth_front", "hair_front"}
    assert set(pack.framings) == {"16:9", "9:16"}


def test_every_weight_has_units_and_moves_vertices() -> None:
    pack = load_pack("lin", verify=False)
    assert set(pack.manifest["weights"]) == set(WEIGHTS)
    assert len(pack.manifest["units"]) == 52
    moved = np.diff(pack.morph_offset)
    assert [w for w, n in zip(WEIGHTS, moved, strict=True) if n == 0] == []
    assert int(pack.morph_index.max()) < len(pack.rest)
    assert float(np.abs(pack.morph_delta).max()) < 1.0


def test_vertex_shades_and_joint_weights_are_fractions() -> None:
    pack = load_pack("lin", verify=False)
    assert float(pack.shade.min()) >= 0.0
    assert float(pack.shade.max()) <= 1.0
    total = pack.joint_weights.sum(1)
    assert float(total.min()) >= 0.0
    assert float(total.max()) <= 1.01


def test_plates_are_premultiplied() -> None:
    for plate in load_pack("lin", verify=False).plates:
        assert (plate.image[..., :3].max(-1) <= plate.image[..., 3]).all(), plate.name


def test_unknown_name_lists_shipped_packs() -> None:
    with pytest.raises(AvatarError, match=r"'nobody' not found.*lin"):
        load_pack("nobody")


def test_folder_without_manifest(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match=r"manifest\.json is missing"):
        load_pack(tmp_path)


def test_manifest_that_is_not_json(copy: Path) -> None:
    (copy / "manifest.json").write_text("{", "utf-8")
    with pytest.raises(AvatarError, match=r"manifest\.json cannot be read as JSON"):
        load_pack(copy)


def test_foreign_format(copy: Path) -> None:
    edit(copy, lambda m: m.update(format="vrm"))
    with pytest.raises(AvatarError, match="format is not 'lumihost-avatar'"):
        load_pack(copy)


def test_newer_version_says_which_is_read(copy: Path) -> None:
    edit(copy, lambda m: m.update(version=2))
    with pytest.raises(AvatarError, match=r"version 2 is not read by this engine \(reads 1\)"):
        load_pack(copy)


def test_missing_field_is_named(copy: Path) -> None:
    edit(copy, lambda m: m.pop("framings"))
    with pytest.raises(AvatarError, match="field 'framings' is missing"):
        load_pack(copy)


def test_field_of_wrong_type_is_named(copy: Path) -> None:
    edit(copy, lambda m: m.update(plates={}))
    with pytest.raises(AvatarError, match="field 'plates' is dict"):
        load_pack(copy)


def test_missing_file_is_named(copy: Path) -> None:
    (copy / "skin.jpg").unlink()
    with pytest.raises(AvatarError, match=r"skin\.jpg is missing"):
        load_pack(copy)


def test_changed_byte_is_found_by_hash(copy: Path) -> None:
    path = copy / "hair_front.png"
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 1
    path.write_bytes(raw)
    with pytest.raises(AvatarError, match=r"hair_front\.png is damaged: SHA-256"):
        load_pack(copy)


def test_file_outside_the_pack_is_refused(copy: Path) -> None:
    edit(copy, lambda m: m["files"].update({"../evil.png": {"sha256": "0", "bytes": 1}}))
    with pytest.raises(AvatarError, match=r"'\.\./evil\.png' must not contain a folder"):
        load_pack(copy)


def test_weight_without_row_is_named(copy: Path) -> None:
    edit(copy, lambda m: m["weights"].pop("jawOpen"))
    with pytest.raises(AvatarError, match="no row for jawOpen"):
        load_pack(copy)


def test_weight_with_unknown_unit_is_named(copy: Path) -> None:
    edit(copy, lambda m: m["weights"].update(jawOpen={"jawDrop": 1.0}))
    with pytest.raises(AvatarError, match="'jawOpen' names unit 'jawDrop'"):
        load_pack(copy)


def test_plate_of_wrong_size_is_named(copy: Path) -> None:
    def shrink(manifest: dict[str, Any]) -> None:
        manifest["plates"][0]["box"][2] -= manifest["plates"][0]["cell"]

    edit(copy, shrink)
    with pytest.raises(AvatarError, match=r"hair_back\.png is \d+x\d+, its box says"):
        load_pack(copy)


def test_broken_geometry_is_named(copy: Path) -> None:
    (copy / "geometry.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(AvatarError, match=r"geometry\.npz cannot be read"):
        load_pack(copy, verify=False)


def test_geometry_that_points_past_its_vertices(copy: Path) -> None:
    with np.load(copy / "geometry.npz") as data:
        arrays = {k: data[k] for k in data.files}
    arrays["tris"] = np.full_like(arrays["tris"], 65535)
    np.savez(copy / "geometry.npz", **arrays)
    with pytest.raises(AvatarError, match="'tris' points past"):
        load_pack(copy, verify=False)


def test_part_with_unknown_texture_is_named(copy: Path) -> None:
    edit(copy, lambda m: m["parts"][0].update(texture="wood"))
    with pytest.raises(AvatarError, match="part 'skin' uses texture 'wood'"):
        load_pack(copy)


def test_validate_command_accepts_the_shipped_pack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(PACKS / "lin")]) == 0
    assert "52 units for 32 weights" in capsys.readouterr().out


def test_validate_command_reports_damage(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "features.png").write_bytes(b"")
    assert main(["validate", str(copy)]) == 1
    assert "features.png is damaged" in capsys.readouterr().err
