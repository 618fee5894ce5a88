"""Judges a host's answer to a question of the set: what it must say, must not say, and in which language.

Texts are compared after NFKC, without case and blanks. A needle that starts or ends in a digit matches whole numbers
only: ``¥79`` is in ``¥79.00`` but neither in ``¥799`` nor in ``¥79.90``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_CJK = re.compile(r"[\u4e00-\u9fff]")


def load(name: str) -> list[dict[str, Any]]:
    """The records of a ``.jsonl`` file of this folder."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def says(answer: str, needle: str) -> bool:
    """Whether ``answer`` holds ``needle``, numbers compared whole."""
    hay, pin = _folded(answer), _folded(needle)
    if not pin:
        return False
    before = r"(?<!\d)(?<!\d[.,])" if pin[0].isdigit() else ""
    zeros = r"0*" if re.search(r"\d\.\d+$", pin) else r"(?:\.0+)?"
    after = rf"{zeros}(?![.,]?\d)" if pin[-1].isdigit() else ""
    return re.search(f"{before}{re.escape(pin)}{after}", hay) is not None


def problems(case: dict[str, Any], *, behaviour: str, answer: str = "", intent: str | None = None) -> list[str]:
    """What is wrong with an answer to ``case``; empty when it is right.

    ``behaviour`` is what the host did (answer, check_with_shop, decline, ignore), ``answer`` the written answer ('' when
    ignored). ``intent`` is judged when given.
    """
    expect = case["expect"]
    found: list[str] = []
    allowed = {expect["behaviour"], *expect.get("also_behaviour", ())}
    if behaviour not in allowed:
        found.append(f"did {behaviour}, expected {' or '.join(sorted(allowed))}")
    if intent is not None and intent not in {expect["intent"], *expect.get("also_intent", ())}:
        found.append(f"took it for {intent}, expected {expect['intent']}")
    if behaviour == expect["behaviour"]:
        found += [f"says none of {group}" for group in expect["must_contain_any"] if not any(says(answer, n) for n in group)]
    found += [f"says {n!r}" for n in expect["must_not"] if says(answer, n)]
    if answer and case["lang"] == "en" and _CJK.search(answer):
        found.append("answers an English question with Chinese characters")
    if answer and case["lang"] == "zh" and not _CJK.search(answer):
        found.append("answers a Chinese question without Chinese")
    return found


def _folded(text: str) -> str:
    listed = re.sub(r"，|,\s", ";", text)  # a comma between words must not look like a thousands comma
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", listed).casefold())
