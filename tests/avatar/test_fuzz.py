"""Hostile files: whatever is flipped, cut or rewritten, the reader answers with AvatarError or a pack that can be drawn,
within bounded time and memory."""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.avatar.contents import examine
from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.glb import read_glb
from gpu_engine.avatar.pack import AvatarPack, assemble
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.sheet import pose_frame
from gpu_engine.avatar.validate import validate
from tests.avatar.build import document_of, joined, sheet_pack

pytestmark = pytest.mark.unit

SECONDS_EACH = 3.0
BYTES = 400 << 20
NASTY: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 10**400, 1e308, -0.5, "", "x" * 5000, [], {}, [[]], {"a": 1},
    [None] * 30, "NaN",
]  # fmt: skip


@pytest.fixture(scope="module")
def raw() -> bytes:
    return sheet_pack()


def load(data: bytes) -> AvatarPack:
    """As ``load_pack``, from memory."""
    contents, problems = examine(read_glb(data), thorough=False)
    if problems:
        raise AvatarError(problems[0])
    return assemble(contents)


def try_it(data: bytes) -> str:
    """``"drawn"`` or ``"refused"``; anything else is a failure of the test."""
    started = time.process_time()
    try:
        pack = load(data)
        renderer = CpuRenderer(pack, 320, 180)
        canvas = np.zeros((180, 320, 3), np.uint8)
        renderer.render(pose_frame({"jawOpen": 0.5, "eyeLookUp": 1.0}, (15, 8, 5), {"left_elbow": (-90, 0, 0)}), canvas)
        outcome = "drawn"
    except AvatarError:
        outcome = "refused"
    assert time.process_time() - started < SECONDS_EACH
    return outcome


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes(raw: bytes, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        data = bytearray(raw)
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try_it(bytes(data))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_geometry_with_a_right_hash(raw: bytes, seed: int) -> None:
    """A maker of hostile files signs them: random bytes in the binary chunk, the hash made right again."""
    rng = random.Random(100 + seed)
    outcomes = []
    for _ in range(20):
        document, blob = document_of(raw)
        at, length = rng.randrange(len(blob)), rng.choice((1, 4, 64, 2000))
        blob[at : at + length] = rng.randbytes(len(blob[at : at + length]))
        outcomes.append(try_it(joined(document, blob)))
    assert "refused" in outcomes


def test_truncated_everywhere(raw: bytes) -> None:
    rng = random.Random(7)
    for keep in [*range(0, 40, 3), *(rng.randrange(len(raw)) for _ in range(60))]:
        assert try_it(raw[:keep]) == "refused"


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in [(*path, k), *_places(v, (*path, k))]]
    if isinstance(value, list):
        return [p for k, v in enumerate(value[:6]) for p in [(*path, k), *_places(v, (*path, k))]]
    return []


def test_every_field_replaced_by_nonsense(raw: bytes) -> None:
    """Each place in the JSON (of lists, the first entries) is replaced by something else in turn."""
    document, blob = document_of(raw)
    text = json.dumps(document)
    rng = random.Random(11)
    places = _places(document)
    assert len(places) > 500
    refused = 0
    for place in rng.sample(places, 300):
        changed = json.loads(text)
        table = changed
        for key in place[:-1]:
            table = table[key]
        if rng.random() < 0.2:
            del table[place[-1]]
        else:
            table[place[-1]] = rng.choice(NASTY)
        refused += try_it(joined(changed, blob)) == "refused"
    assert refused > 180


def test_every_kind_of_number_in_every_accessor(raw: bytes) -> None:
    document, blob = document_of(raw)
    text = json.dumps(document)
    rng = random.Random(13)
    for _ in range(80):
        changed = json.loads(text)
        entry = rng.choice(changed["accessors"] if rng.random() < 0.6 else changed["bufferViews"])
        key = rng.choice(("byteOffset", "byteLength", "count", "componentType", "bufferView", "byteStride", "type"))
        entry[key] = rng.choice((0, 1, 3, 5121, 5123, 5125, 5126, 255, 65535, 10**6, 2**40, "VEC2", "VEC4", "MAT4", "SCALAR"))
        try_it(joined(changed, blob))


def test_memory_stays_bounded(raw: bytes) -> None:
    document, blob = document_of(raw)
    for entry in document["accessors"]:
        if "bufferView" not in entry:
            entry["count"] = 2_000_000
    tracemalloc.start()
    try:
        assert validate(joined(document, blob)).problems
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()


def test_messages_are_short_and_printable(raw: bytes) -> None:
    document, blob = document_of(raw)
    document["nodes"][0]["name"] = "\x1b[31m" + "x" * 100_000
    document["materials"][0]["name"] = "\u202eevil" * 1000
    for problem in validate(joined(document, blob)).problems:
        assert len(problem) < 400
        assert problem.isprintable()


def test_a_folder_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match="cannot be read"):
        read_glb(tmp_path)
