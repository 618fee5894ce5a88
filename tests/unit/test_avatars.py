"""The voices offered are the voices shipped; packs are offered when they can be read."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from lumihost.avatars.catalogue import VOICES, StockAvatar, stock_avatars

pytestmark = pytest.mark.unit

SHIPPED = Path(__file__).parents[2] / "gpu_engine" / "speech" / "voices"


def test_voices_are_those_in_the_repository() -> None:
    assert {voice.id for voice in VOICES} == {file.stem for file in SHIPPED.glob("*.bin")}
    assert {voice.language for voice in VOICES} == {"zh", "en"}


def test_the_shipped_presenter_is_offered() -> None:
    assert StockAvatar("lin", "小林", "Lin") in stock_avatars()


def glb(content: str) -> bytes:
    text = content.encode()
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text), len(text), b"JSON") + text


def named(zh: str, en: str) -> bytes:
    return glb(json.dumps({"extensions": {"LUMIHOST_avatar": {"display_name": {"zh": zh, "en": en}}}}))


def test_packs_are_listed_once_and_broken_ones_left_out(tmp_path: Path, settings: Any) -> None:
    for folder, pack, content in (
        ("first", "lin", named("小林", "Lin")),
        ("second", "lin", named("另一位", "Another")),
        ("second", "mei", named("小梅", "Mei")),
        ("second", "broken", glb("{")),
        ("second", "list", glb("[]")),
        ("second", "plain", glb(json.dumps({"asset": {"version": "2.0"}}))),
        ("second", "text", b"not a model"),
        ("second", "short", b"glTF"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{pack}.glb").write_bytes(content)
    settings.AVATAR_PACK_DIRS = [tmp_path / "first", tmp_path / "second", tmp_path / "none"]

    assert stock_avatars() == [StockAvatar("lin", "小林", "Lin"), StockAvatar("mei", "小梅", "Mei")]
