"""Files made to stop whoever opens them: each is refused soon, with a sentence, and nothing escapes as another error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from gpu_engine.avatar.contents import MAX_PLATES, examine
from gpu_engine.avatar.glb import MAX_JPEG_SCANS, GlbError, image_header, read_glb
from gpu_engine.avatar.validate import validate
from gpu_engine.avatar.writer import EXTENSION
from tests.avatar.build import hurt, sheet_pack

pytestmark = pytest.mark.unit

HUGE = 10**400
"""A whole number JSON may hold and no float can."""


@pytest.fixture(scope="module")
def raw() -> bytes:
    return sheet_pack()


@pytest.fixture(scope="module")
def jpeg() -> bytes:
    return cv2.imencode(".jpg", np.full((24, 32, 3), 90, np.uint8))[1].tobytes()


def _focal(document: dict[str, Any]) -> None:
    document["extensions"][EXTENSION]["camera"]["focal_px"] = HUGE


def _canvas(document: dict[str, Any]) -> None:
    document["extensions"][EXTENSION]["camera"]["canvas"] = [HUGE, -HUGE]


def _roughness(document: dict[str, Any]) -> None:
    document["materials"][0]["extensions"][EXTENSION]["roughness"] = HUGE


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_focal, "camera.focal_px: is missing or not 10 to 1000000"), (_canvas, "camera.canvas: needs [w, h]"),
        (_roughness, "roughness: is missing or not 0 to 1"),
    ],
)  # fmt: skip
def test_number_beyond_every_float(raw: bytes, change: Callable[[dict[str, Any]], None], sentence: str) -> None:
    (found,) = validate(hurt(raw, change)).problems
    assert sentence in found


def test_one_mesh_under_thousands_of_names_is_not_unpacked_thousands_of_times(raw: bytes) -> None:
    def change(document: dict[str, Any]) -> None:
        at = next(i for i, mesh in enumerate(document["meshes"]) if mesh["name"] == "plate.hair_back")
        document["meshes"][at]["primitives"] = [
            json.loads(json.dumps(document["meshes"][at]["primitives"][0])) | {"extras": {"name": f"p{k}", "layer": "under"}}
            for k in range(64)
        ]
        document["nodes"] += [{"name": f"plate.{k}", "mesh": at, "skin": 0} for k in range(6000)]

    contents, problems = examine(read_glb(hurt(raw, change)))

    assert f"meshes: 'plate.*' are more than {MAX_PLATES}, which cannot be drawn live (merge layers)" in problems
    assert len([p for p in contents.primitives if p.mesh.startswith("plate.")]) <= MAX_PLATES * 64


@pytest.mark.parametrize("marker", [0x01, 0xD0, 0xD7, 0xD8])
def test_jpeg_whose_frame_hides_from_our_reader_behind_a_marker_without_length(jpeg: bytes, marker: int) -> None:
    """A decoder goes on right behind such a marker; read as a segment, it would carry us past the frame it decodes."""
    hidden = b"\xff\xc0\x00\x11\x08" + (60_000).to_bytes(2, "big") * 2 + b"\x03" + bytes(9)
    hostile = jpeg[:2] + bytes([0xFF, marker]) + (len(hidden) + 2).to_bytes(2, "big") + hidden + jpeg[2:]

    with pytest.raises(GlbError, match="skin: JPEG has no readable frame header"):
        image_header(hostile, "skin")


def test_jpeg_of_endless_scans(jpeg: bytes) -> None:
    start = jpeg.index(b"\xff\xda")
    scan = jpeg[start:-2]

    assert image_header(jpeg[:start] + scan * MAX_JPEG_SCANS + jpeg[-2:], "skin").width == 32
    with pytest.raises(GlbError, match=f"skin: JPEG has {MAX_JPEG_SCANS + 1} scans, at most {MAX_JPEG_SCANS} are read"):
        image_header(jpeg[:start] + scan * (MAX_JPEG_SCANS + 1) + jpeg[-2:], "skin")
