"""The voices that ship with the engine: style tables, language, loudness correction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.speech.engine import SpeechError

FOLDER = Path(__file__).resolve().parent / "voices"
_SHAPE = (510, 1, 256)


@dataclass(frozen=True, slots=True)
class VoiceInfo:
    """What is known about one voice; ``gain_db`` brings its speech to -16 LUFS."""

    id: str
    lang: str
    gender: str
    gain_db: float
    sha256: str


@lru_cache(maxsize=1)
def voices() -> dict[str, VoiceInfo]:
    """All shipped voices by id."""
    raw = json.loads((FOLDER / "voices.json").read_text(encoding="utf-8"))
    return {key: VoiceInfo(id=key, **fields) for key, fields in raw.items()}


def voice(voice_id: str) -> VoiceInfo:
    """One voice.

    Raises:
        SpeechError: no such voice.
    """
    known = voices()
    if voice_id not in known:
        raise SpeechError(f"voice '{voice_id}' is not installed: use one of {', '.join(sorted(known))}")
    return known[voice_id]


@lru_cache(maxsize=16)
def style_table(voice_id: str) -> NDArray[np.float32]:
    """float32[510, 1, 256]: row n is the style for n phoneme symbols.

    Raises:
        SpeechError: no such voice, or its file is damaged.
    """
    voice(voice_id)
    path = FOLDER / f"{voice_id}.bin"
    try:
        table = np.fromfile(path, dtype="<f4")
    except OSError as error:
        raise SpeechError(f"voice file {path.name} cannot be read ({error.strerror}): reinstall the engine") from error
    if table.size != np.prod(_SHAPE):
        raise SpeechError(f"voice file {path.name} has {table.size} values instead of {np.prod(_SHAPE)}: reinstall the engine")
    return table.astype(np.float32, copy=False).reshape(_SHAPE)
