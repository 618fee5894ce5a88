"""A shipped pack loads into what renderers need; a name that is none says which there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu_engine.avatar.__main__ import main
from gpu_engine.avatar.pack import PACKS, load_pack, shipped_packs
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.skeleton import JOINT_NUMBER, SKELETON
from gpu_engine.motion.arkit import ARKIT
from gpu_engine.motion.vocabulary import WEIGHTS

pytestmark = pytest.mark.unit

LIMIT_BYTES = 12_000_000


@pytest.fixture(scope="module", params=shipped_packs())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_shipped_pack_is_small_and_free(name: str) -> None:
    assert (PACKS / f"{name}.glb").stat().st_size <= LIMIT_BYTES
    pack = load_pack(name)
    assert pack.name == name
    assert pack.manifest["licence"]["spdx"] == "CC0-1.0"
    assert pack.manifest["consent"]["subject"] == "synthetic"
    assert set(pack.framings) == {"16:9", "9:16"}
    assert {p.layer for p in pack.plates} <= {"under", "front"}


def test_every_weight_moves_vertices(name: str) -> None:
    pack = load_pack(name)
    assert [w for w, n in zip(WEIGHTS, np.diff(pack.morph_offset), strict=True) if n == 0] == []
    assert len(pack.morph_offset) == 33
    assert len(pack.target_offset) == len(ARKIT) + 1
    assert int(pack.morph_index.max()) < len(pack.rest)
    assert float(np.abs(pack.morph_delta).max()) < 1.0


def test_eyeballs_are_turned_and_not_morphed(name: str) -> None:
    pack = load_pack(name)
    for side in ("l", "r"):
        low, high = pack.part(f"eye_{side}").verts
        assert not ((pack.morph_index >= low) & (pack.morph_index < high)).any()
        assert ((pack.target_index >= low) & (pack.target_index < high)).any(), "other viewers see them look"


def test_joints_stand_like_a_person(name: str) -> None:
    joints = load_pack(name).joints
    height = {n: float(joints[JOINT_NUMBER[n], 1]) for n in SKELETON}
    assert height["pelvis"] < height["spine1"] < height["spine2"] < height["spine3"] < height["neck"] < height["head"]
    assert height["left_wrist"] < height["left_elbow"] < height["left_shoulder"], "arms hang at rest"
    assert float(joints[JOINT_NUMBER["left_shoulder"], 0]) > 0.5 > -0.5 > float(joints[JOINT_NUMBER["right_shoulder"], 0])


def test_weights_and_shades_are_fractions(name: str) -> None:
    pack = load_pack(name)
    assert np.allclose(pack.joint_weights.sum(1), 1, atol=1e-5)
    assert int(pack.joint_index.max()) < len(SKELETON)
    assert float(pack.shade.min()) >= 0.0
    assert float(pack.shade.max()) <= 1.0
    assert np.allclose(np.linalg.norm(pack.normals, axis=1), 1, atol=1e-3)


def test_plates_are_premultiplied_and_project_onto_their_grid(name: str) -> None:
    pack = load_pack(name)
    camera = pack.camera
    for plate in pack.plates:
        assert (plate.image[..., :3].max(-1) <= plate.image[..., 3]).all(), plate.name
        scale = camera.focal_px / (camera.eye[2] - plate.nodes[..., 2])
        x = camera.principal[0] + (plate.nodes[..., 0] - camera.eye[0]) * scale
        assert np.allclose(np.diff(x, axis=1), plate.cell, atol=0.02)


@pytest.mark.parametrize("wrong", ["nobody", "../lin", "packs/lin", "lin.glb"])
def test_unknown_name_lists_shipped_packs(wrong: str) -> None:
    with pytest.raises(AvatarError, match=rf"'{wrong}' not found.*lin"):
        load_pack(wrong)


def test_pack_is_loaded_from_a_path(tmp_path: Path) -> None:
    (tmp_path / "host.glb").write_bytes((PACKS / "lin.glb").read_bytes())
    assert load_pack(tmp_path / "host.glb").name == "lin"


def test_damage_is_named_with_the_file(tmp_path: Path) -> None:
    raw = bytearray((PACKS / "lin.glb").read_bytes())
    raw[-1000] ^= 1
    (tmp_path / "host.glb").write_bytes(raw)
    with pytest.raises(AvatarError, match=r"host\.glb: sha256: the binary chunk is damaged.*copy the pack again"):
        load_pack(tmp_path / "host.glb")


def test_validate_command_accepts_the_shipped_pack(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(PACKS / f"{name}.glb")]) == 0
    assert f"{name}: version 2, valid" in capsys.readouterr().out


def test_validate_command_knows_shipped_packs_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "lin"]) == 0
    assert main(["validate", "nobody"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("lin: version 2, valid")
    assert "avatar pack 'nobody' not found: give a .glb file or a shipped pack (amara, lin, marco)" in said.err


def test_validate_command_reports_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = (PACKS / "lin.glb").read_bytes()
    hurt = raw.replace(b'"spdx":"CC0-1.0"', b'"spdx":"       "').replace(b'"lash_columns":26', b'"lash_columns":-2')
    (tmp_path / "host.glb").write_bytes(hurt)
    assert main(["validate", str(tmp_path / "host.glb")]) == 1
    said = capsys.readouterr().err
    assert "licence.spdx: is missing" in said
    assert "lash_columns: is '-2'" in said
    assert "2 problems" in said
