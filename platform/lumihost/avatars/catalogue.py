"""Stock avatars and voices: what every tenant may put on the air. Tenants' own come with the avatar studio."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class StockAvatar:
    """An avatar pack on disk; ``id`` is its folder's name, which a show names."""

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
    """The packs in ``AVATAR_PACK_DIRS``, by id; a folder without a readable manifest is logged and left out."""
    found: dict[str, StockAvatar] = {}
    for folder in settings.AVATAR_PACK_DIRS:
        for manifest in sorted(Path(folder).glob(f"*/{MANIFEST}")):
            avatar = _read(manifest)
            if avatar is not None:
                found.setdefault(avatar.id, avatar)
    return [found[key] for key in sorted(found)]


def _read(manifest: Path) -> StockAvatar | None:
    pack_id = manifest.parent.name
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        name = content.get("display_name", pack_id)
    except (OSError, ValueError, AttributeError) as error:
        log.warning("avatar pack %s cannot be offered: %s", manifest, error)
        return None
    if isinstance(name, dict):
        return StockAvatar(pack_id, str(name.get("zh", pack_id)), str(name.get("en", pack_id)))
    return StockAvatar(pack_id, str(name), str(name))
