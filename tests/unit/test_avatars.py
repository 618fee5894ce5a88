"""Voices and backdrops offered are those shipped; packs are offered when they can be read."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.session.spec import PRESENTER_VOICES
from gpu_engine.stage import backdrop_names
from lumihost.avatars.catalogue import BACKDROPS, OWN_VOICES, SHAPES, VOICES, stock_avatar, stock_avatars

pytestmark = pytest.mark.unit

ENGINE = Path(__file__).parents[2] / "gpu_engine"


def test_voices_are_those_in_the_repository() -> None:
    assert {voice.id for voice in VOICES} == {file.stem for file in (ENGINE / "speech" / "voices").glob("*.bin")}
    assert {voice.language for voice in VOICES} == {"zh", "en"}


def test_backdrops_are_the_engines_and_have_both_pictures() -> None:
    assert tuple(backdrop.id for backdrop in BACKDROPS) == backdrop_names.BACKDROPS
    assert [backdrop.id for backdrop in BACKDROPS for shape in SHAPES if backdrop.picture(shape) is None] == []


def test_every_shipped_presenter_is_offered_with_portrait_licence_and_consent() -> None:
    offered = {avatar.id: avatar for avatar in stock_avatars()}

    assert {file.stem for file in (ENGINE / "avatar" / "packs").glob("*.glb")} <= offered.keys()
    lin = offered["lin"]
    assert (lin.name_zh, lin.name_en, lin.consent["subject"], lin.licence["spdx"]) == ("小林", "Lin", "synthetic", "CC0-1.0")
    assert set(lin.framings) == {"16:9", "9:16"}


def test_every_shipped_presenter_has_voices_of_their_own_and_one_gender() -> None:
    voices = {voice.id: voice for voice in VOICES}
    shipped = {file.stem for file in (ENGINE / "avatar" / "packs").glob("*.glb")}

    assert set(OWN_VOICES) == shipped
    assert {name: {"zh": zh, "en": en} for name, (zh, en) in OWN_VOICES.items()} == PRESENTER_VOICES
    assert len(set(OWN_VOICES.values())) == len(shipped)
    for zh, en in OWN_VOICES.values():
        assert (voices[zh].language, voices[en].language) == ("zh", "en")
        assert voices[zh].gender == voices[en].gender


def test_portraits_show_the_packs_as_they_are() -> None:
    stale = []
    for pack in sorted((ENGINE / "avatar" / "packs").glob("*.glb")):
        with pack.open("rb") as file:
            length = struct.unpack("<4sIII4s", file.read(20))[3]
            sha256 = json.loads(file.read(length))["extensions"]["LUMIHOST_avatar"]["sha256"]
        portrait = pack.with_suffix(".jpg")
        if not portrait.is_file() or f"pack sha256 {sha256}".encode() not in portrait.read_bytes():
            stale.append(pack.name)
    assert stale == [], "take them again: python frontend/tools/portraits.py"


def glb(content: str) -> bytes:
    text = content.encode()
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text), len(text), b"JSON") + text


def named(zh: str, en: str, **more: Any) -> bytes:
    return glb(json.dumps({"extensions": {"LUMIHOST_avatar": {"display_name": {"zh": zh, "en": en}, **more}}}))


def test_packs_are_listed_once_and_broken_ones_left_out(tmp_path: Path, settings: Any) -> None:
    for folder, pack, content in (
        ("first", "lin", named("小林", "Lin", presents="a woman", licence={"spdx": "CC0-1.0"})),
        ("second", "lin", named("另一位", "Another")),
        ("second", "mei", named("小梅", "Mei")),
        ("second", "broken", glb("{")),
        ("second", "list", glb("[]")),
        ("second", "plain", glb(json.dumps({"asset": {"version": "2.0"}}))),
        ("second", "odd", named("x", "x", licence=["CC0"])),
        ("second", "Not An Id", named("x", "x")),
        ("second", "text", b"not a model"),
        ("second", "short", b"glTF"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{pack}.glb").write_bytes(content)
    (tmp_path / "second" / "mei.jpg").write_bytes(b"\xff\xd8")
    settings.AVATAR_PACK_DIRS = [tmp_path / "first", tmp_path / "second", tmp_path / "none"]

    lin, mei = stock_avatars()

    assert (lin.id, lin.name_zh, lin.name_en, lin.presents, lin.licence) == (
        "lin",
        "小林",
        "Lin",
        "a woman",
        {"spdx": "CC0-1.0"},
    )
    assert (lin.pack, lin.portrait) == (tmp_path / "first" / "lin.glb", None)
    assert (mei.id, mei.portrait, mei.consent) == ("mei", tmp_path / "second" / "mei.jpg", {})
    assert (mei.voice_zh, mei.voice_en) == ("zf_xiaoxiao", "af_heart")
    assert stock_avatar("nobody") is None


def test_a_changed_pack_is_read_again(tmp_path: Path, settings: Any) -> None:
    settings.AVATAR_PACK_DIRS = [tmp_path]
    (tmp_path / "mei.glb").write_bytes(named("小梅", "Mei"))
    before = stock_avatars()[0]
    (tmp_path / "mei.glb").write_bytes(named("小美", "Beauty"))

    after = stock_avatars()[0]

    assert (before.name_en, after.name_en) == ("Mei", "Beauty")
    assert before.version != after.version
