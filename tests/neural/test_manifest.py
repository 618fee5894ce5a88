"""head.json is read strictly: what is wrong is named with its field, its value and the way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.renderer import AvatarError
from tests.neural import heads

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("net.onnx", "loop.mp4", "landmarks.npz"):
        (tmp_path / name).write_bytes(name.encode())
    heads.write_head(tmp_path)
    return tmp_path


def change(folder: Path, path: str, value: Any) -> Path:
    where = folder / "head.json"
    manifest = json.loads(where.read_text())
    node = manifest
    *parents, last = path.split(".")
    for key in parents:
        node = node[key]
    if value is None:
        del node[last]
    else:
        node[last] = value
    where.write_text(json.dumps(manifest))
    return where


def test_a_whole_head_is_read(folder: Path) -> None:
    head = load_head(folder / "head.json")
    assert (head.name, head.batch, head.image.channels, head.audio_feature.window) == ("test", 1, 6, 16)
    assert head.path(head.network) == folder / "net.onnx"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "other", "format is not 'lumihost-neural-head'"),
        ("version", 2, r"version 2 is not read by this engine \(reads 1\)"),
        ("network", None, "network: Field required"),
        ("network.file", "../net.onnx", "must lie beside head.json"),
        ("crop.file", "/etc/points.npz", "must lie beside head.json"),
        ("image.width", 0, "image.width: Input should be greater than 0"),
        ("image.height", 1025, "image.height: Input should be less than or equal to 1024"),
        ("image.surprise", 1, "image.surprise: Extra inputs are not permitted"),
        ("image.mask_box", [0, 0, 9, 9], "mask 'lower-half' takes none"),
        ("image.low", 1.0, "value range 1 to 1 is empty"),
        ("audio.shape", [1, 80, 17], r"audio shape \[1, 80, 17\] holds 1360 values, a window of 16 columns of 80 holds 1280"),
        ("audio_feature.look_ahead", 17, "look_ahead 17 is longer than the window of 16"),
        ("audio_feature.kind", "whisper", "audio feature 'whisper' needs 'encoder'"),
        ("audio_feature.sample_rate_hz", 22050, "audio_feature.sample_rate_hz: Input should be 16000, 24000 or 48000"),
        ("audio_feature.high_hz", 9000, "lies above half the sample rate of 16000"),
        ("crop.template", None, "needs a 'template' of five points"),
        ("audio_feature.low_hz", 7600, "bands from low_hz 7600 to high_hz 7600 are empty"),
        ("output.high", 0.0, "output: value range 0 to 0 is empty"),
        ("output.low", float("-inf"), "output.low: Input should be a finite number"),
        ("batch", 3, "batch: Input should be 1, 2, 4 or 8"),
        ("consent.statement", "", "consent.statement: String should have at least 1 character"),
        ("consent.subject", "person", "needs 'granted_by', 'granted_on' and 'evidence_sha256'"),
        ("licence.spdx", None, "licence.spdx: Field required"),
    ],
)
def test_a_bad_field_is_named(folder: Path, path: str, value: Any, message: str) -> None:
    with pytest.raises(AvatarError, match=message):
        load_head(change(folder, path, value))


def test_a_missing_manifest_and_a_broken_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match=r"head\.json is missing: give the path of a head\.json"):
        load_head(tmp_path / "head.json")
    for broken in ("{", "[" * 100_000):
        (tmp_path / "head.json").write_text(broken)
        with pytest.raises(AvatarError, match=r"cannot be read as JSON"):
            load_head(tmp_path / "head.json")


@pytest.mark.parametrize("name", ["net.onnx", "loop.mp4", "landmarks.npz"])
def test_missing_and_damaged_files_are_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"something else")
    with pytest.raises(AvatarError, match=rf"{name} is damaged: SHA-256 [0-9a-f]{{12}}… is not [0-9a-f]{{12}}… as listed"):
        load_head(folder / "head.json")
    (folder / name).unlink()
    with pytest.raises(AvatarError, match=rf"{name} is missing: copy the head again"):
        load_head(folder / "head.json")


def test_a_person_with_evidence_is_accepted(folder: Path) -> None:
    consent = {"subject": "person", "statement": "I agree.", "granted_by": "A. Person", "granted_on": "2026-11-01",
               "evidence_sha256": "ab" * 32}  # fmt: skip
    assert load_head(change(folder, "consent", consent)).consent.granted_by == "A. Person"
