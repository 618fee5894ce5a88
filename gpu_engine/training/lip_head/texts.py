"""Sentences the lip head learns from and is measured on: what the demo shop says, in Chinese and English."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Lang = Literal["zh", "en"]
Role = Literal["train", "sentences", "voice"]
"""train; held out: new sentences in known voices; held out: new sentences in a voice never heard."""

SOURCES = ("docs/examples/show.json", "platform/lumihost/knowledge/demo/shop.json", "tests/questions/catalogue.json")
"""Files of the checkout that hold texts of the demo shop."""
VOICES: dict[Lang, tuple[str, ...]] = {"zh": ("zf_xiaoxiao", "zm_yunxi"), "en": ("af_heart", "am_michael", "af_bella")}
HELD_OUT_VOICE = "zf_xiaobei"
_SHORTEST: dict[Lang, int] = {"zh": 10, "en": 28}
_LONGEST: dict[Lang, int] = {"zh": 60, "en": 150}
_HELD_OUT_EVERY = 6


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence in one voice."""

    role: Role
    lang: Lang
    voice: str
    text: str


def _strings(node: Any, lang: Lang | None = None) -> Iterator[tuple[Lang, str]]:
    if isinstance(node, dict):
        own = node.get("lang")
        for key, value in node.items():
            yield from _strings(value, key if key in ("zh", "en") else own if own in ("zh", "en") else lang)
    elif isinstance(node, list):
        for value in node:
            yield from _strings(value, lang)
    elif isinstance(node, str):
        chinese = any("一" <= c <= "鿿" for c in node)
        found: Lang = lang or ("zh" if chinese else "en")
        if chinese == (found == "zh"):
            yield found, node.strip()


def sentences(root: Path, lang: Lang) -> list[str]:
    """Distinct sentences of the sources under ``root``, in a fixed shuffled order, without placeholders.

    Raises:
        FileNotFoundError: run from a complete checkout.
    """
    found: dict[str, None] = {}
    for source in SOURCES:
        for said, text in _strings(json.loads((root / source).read_text("utf-8"))):
            if said == lang and _SHORTEST[lang] <= len(text) <= _LONGEST[lang] and "{" not in text:
                found.setdefault(text)
    listed = sorted(found)
    random.Random(7).shuffle(listed)
    return listed


def plan(root: Path) -> Iterator[Utterance]:
    """All utterances, languages and roles interleaved; a held-out sentence is never spoken in training, by no voice."""
    queues: list[list[Utterance]] = []
    for lang in ("zh", "en"):
        listed = sentences(root, lang)
        held = listed[::_HELD_OUT_EVERY]
        kept = [text for text in listed if text not in set(held)]
        voices = VOICES[lang]
        queues.append([Utterance("train", lang, voices[i % len(voices)], text) for i, text in enumerate(kept)])
        queues.append([Utterance("sentences", lang, voices[i % len(voices)], text) for i, text in enumerate(held)])
        if lang == "zh":
            queues.append([Utterance("voice", "zh", HELD_OUT_VOICE, text) for text in held])
    for i in range(max(len(q) for q in queues)):
        for queue in queues:
            if i < len(queue):
                yield queue[i]
