"""The voices offered are the voices shipped; packs are offered when they can be read."""

from __future__ import annotations

import json
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


def test_packs_are_listed_once_and_broken_ones_left_out(tmp_path: Path, settings: Any) -> None:
    for folder, pack, content in (
        ("first", "lin", json.dumps({"name": "lin", "display_name": {"zh": "小林", "en": "Lin"}})),
        ("second", "lin", json.dumps({"display_name": "another"})),
        ("second", "mei", json.dumps({"display_name": "Mei"})),
        ("second", "broken", "{"),
        ("second", "list", "[]"),
    ):
        (tmp_path / folder / pack).mkdir(parents=True)
        (tmp_path / folder / pack / "manifest.json").write_text(content, encoding="utf-8")
    settings.AVATAR_PACK_DIRS = [tmp_path / "first", tmp_path / "second", tmp_path / "none"]

    assert stock_avatars() == [StockAvatar("lin", "小林", "Lin"), StockAvatar("mei", "Mei", "Mei")]
