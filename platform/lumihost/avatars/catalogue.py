"""Stock avatars and voices: what every tenant may put on the air. Tenants' own come with the avatar studio."""

from __future__ import annotations

import json
import logging
import struct
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

log = logging.getLogger(__name__)

EXTENSION = "LUMIHOST_avatar"
MAX_JSON_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class StockAvatar:
    """An avatar pack on disk; ``id`` is its file's name without ``.glb``, which a show names."""

    id: str
    name_zh: str
    name_en: str


@dataclass(frozen=True, slots=True)
class StockVoice:
    """A voice of the embedded speech engine (Kokoro voice id)."""

    id: str
    language: str
    gender: str
    name_zh: str
    name_en: str


VOICES = (
    StockVoice("zf_xiaoxiao", "zh", "female", "晓晓", "Xiaoxiao"),
    StockVoice("zf_xiaobei", "zh", "female", "晓北", "Xiaobei"),
    StockVoice("zm_yunxi", "zh", "male", "云希", "Yunxi"),
    StockVoice("af_heart", "en", "female", "Heart", "Heart"),
    StockVoice("af_bella", "en", "female", "Bella", "Bella"),
    StockVoice("am_michael", "en", "male", "Michael", "Michael"),
)
"""The voices shipped in the repository; tests/unit compares this with the engine's voice files."""


def stock_avatars() -> list[StockAvatar]:
    """The packs (``*.glb``) in ``AVATAR_PACK_DIRS``, by id; a file that names no host is logged and left out."""
    found: dict[str, StockAvatar] = {}
    for folder in settings.AVATAR_PACK_DIRS:
        for pack in sorted(Path(folder).glob("*.glb")):
            avatar = _read(pack)
            if avatar is not None:
                found.setdefault(avatar.id, avatar)
    return [found[key] for key in sorted(found)]


def _read(pack: Path) -> StockAvatar | None:
    """Names from the JSON chunk (glTF 2.0 §4.4, docs/avatar-pack.md); the node's engine checks the rest when it loads it."""
    try:
        with pack.open("rb") as file:
            magic, _, _, length, kind = struct.unpack("<4sIII4s", file.read(20))
            if magic != b"glTF" or kind != b"JSON" or length > MAX_JSON_BYTES:
                raise ValueError("no glTF binary")
            content = json.loads(file.read(length))
        name = content["extensions"][EXTENSION]["display_name"]
        return StockAvatar(pack.stem, str(name["zh"]), str(name["en"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        log.warning("avatar pack %s cannot be offered: %s: %s", pack, type(error).__name__, error)
        return None
