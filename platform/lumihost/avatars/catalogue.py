"""Stock avatars, voices and backdrops: what every tenant may put on the air. Tenants' own come with the avatar studio."""

from __future__ import annotations

import json
import logging
import re
import struct
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

log = logging.getLogger(__name__)

EXTENSION = "LUMIHOST_avatar"
MAX_JSON_BYTES = 8 << 20
_ID = re.compile(r"[a-z0-9_-]{1,64}")

DEFAULT_VOICES = ("zf_xiaoxiao", "af_heart")
"""Chinese and English voice of a presenter that has none of their own here."""

OWN_VOICES = {
    "lin": ("zf_xiaoxiao", "af_heart"),
    "marco": ("zm_yunxi", "am_michael"),
    "amara": ("zf_xiaobei", "af_bella"),
}
"""Chinese and English voice of each presenter that comes with the engine."""


@dataclass(frozen=True, slots=True)
class StockAvatar:
    """An avatar pack on disk; ``id`` is its file's name without ``.glb``, which a show names.

    Attributes:
        presents: who is shown, in the maker's words.
        licence: ``spdx``, ``origin``, ``attribution``.
        consent: ``subject`` (synthetic or person), ``statement``, and for a person who granted it and when.
        version: changes when the file does.
        voice_zh: the voice it speaks Chinese with unless a show names another; ``voice_en`` likewise English.
    """

    id: str
    name_zh: str
    name_en: str
    presents: str = ""
    licence: dict[str, str] = field(default_factory=dict)
    consent: dict[str, str] = field(default_factory=dict)
    framings: tuple[str, ...] = ()
    bytes: int = 0
    version: str = ""
    pack: Path = Path()
    voice_zh: str = DEFAULT_VOICES[0]
    voice_en: str = DEFAULT_VOICES[1]

    @property
    def portrait(self) -> Path | None:
        """The JPEG beside the pack, if one was taken."""
        picture = self.pack.with_suffix(".jpg")
        return picture if self.pack.name and picture.is_file() else None


@dataclass(frozen=True, slots=True)
class StockVoice:
    """A voice of the embedded speech engine (Kokoro voice id)."""

    id: str
    language: str
    gender: str
    name_zh: str
    name_en: str


@dataclass(frozen=True, slots=True)
class StockBackdrop:
    """A studio that comes with the engine; a show names its ``id``."""

    id: str
    name_zh: str
    name_en: str

    def picture(self, shape: str) -> Path | None:
        """The JPEG of the studio for a ``wide`` or ``tall`` frame, if the engine is installed here."""
        files = (Path(folder) / f"{self.id}_{shape}.jpg" for folder in settings.BACKDROP_DIRS)
        return next((file for file in files if file.is_file()), None)


VOICES = (
    StockVoice("zf_xiaoxiao", "zh", "female", "晓晓", "Xiaoxiao"),
    StockVoice("zf_xiaobei", "zh", "female", "晓北", "Xiaobei"),
    StockVoice("zm_yunxi", "zh", "male", "云希", "Yunxi"),
    StockVoice("af_heart", "en", "female", "Heart", "Heart"),
    StockVoice("af_bella", "en", "female", "Bella", "Bella"),
    StockVoice("am_michael", "en", "male", "Michael", "Michael"),
)
"""The voices shipped in the repository; tests/unit compares this with the engine's voice files."""

BACKDROPS = (
    StockBackdrop("daylight", "日光房间", "Daylight room"),
    StockBackdrop("boutique", "暖光小店", "Evening boutique"),
    StockBackdrop("studio", "演播室", "Broadcast studio"),
)
"""gpu_engine.stage.backdrop_names.BACKDROPS; tests/unit compares the two."""

SHAPES = ("wide", "tall")


def stock_avatars() -> list[StockAvatar]:
    """The packs (``*.glb``) in ``AVATAR_PACK_DIRS``, by id; a file that names no host is logged and left out."""
    found: dict[str, StockAvatar] = {}
    for folder in settings.AVATAR_PACK_DIRS:
        for pack in sorted(Path(folder).glob("*.glb")):
            avatar = _read(pack)
            if avatar is not None:
                found.setdefault(avatar.id, avatar)
    return [found[key] for key in sorted(found)]


def stock_avatar(avatar_id: str) -> StockAvatar | None:
    """The pack called ``avatar_id``."""
    return next((avatar for avatar in stock_avatars() if avatar.id == avatar_id), None)


def stock_backdrop(backdrop_id: str) -> StockBackdrop | None:
    """The studio called ``backdrop_id``."""
    return next((backdrop for backdrop in BACKDROPS if backdrop.id == backdrop_id), None)


def _read(pack: Path) -> StockAvatar | None:
    try:
        state = pack.stat()
        return _parse(pack, state.st_mtime_ns, state.st_size)
    except OSError as error:
        log.warning("avatar pack %s cannot be offered: %s", pack, error)
        return None


@lru_cache(maxsize=256)
def _parse(pack: Path, changed_ns: int, size: int) -> StockAvatar | None:
    """What the JSON chunk tells (glTF 2.0 §4.4, docs/avatar-pack.md); the node's engine checks the rest when it loads it."""
    try:
        if not _ID.fullmatch(pack.stem):
            raise ValueError("its name must be of a-z, 0-9, _ and -")
        with pack.open("rb") as file:
            magic, _, _, length, kind = struct.unpack("<4sIII4s", file.read(20))
            if magic != b"glTF" or kind != b"JSON" or length > MAX_JSON_BYTES:
                raise ValueError("no glTF binary")
            content = json.loads(file.read(length))
        about = content["extensions"][EXTENSION]
        name = about["display_name"]
        return StockAvatar(
            pack.stem, str(name["zh"]), str(name["en"]), str(about.get("presents", "")), _texts(about, "licence"),
            _texts(about, "consent"), tuple(map(str, about.get("framings", ()))), size, f"{size:x}-{changed_ns:x}", pack,
            *OWN_VOICES.get(pack.stem, DEFAULT_VOICES),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        log.warning("avatar pack %s cannot be offered: %s: %s", pack, type(error).__name__, error)
        return None


def _texts(about: dict[str, Any], part: str) -> dict[str, str]:
    return {key: str(value) for key, value in about.get(part, {}).items() if value is not None}
