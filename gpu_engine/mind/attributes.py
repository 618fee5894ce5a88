"""From what a viewer asks about to the attribute a merchant filled in, whatever the merchant called it."""

from __future__ import annotations

import re

from gpu_engine.mind import lexicon
from gpu_engine.mind.catalogue import stem, tokens
from gpu_engine.session.spec import Lang, Product

_CANONICAL: dict[str, str] = {}
for _name, _keys in lexicon.ATTRIBUTE_KEYS.items():
    for _key in _keys:
        _CANONICAL.setdefault(_key, _name)
    _CANONICAL[_name] = _name


_HOW_LONG = re.compile(r"多久|几个?小时|多长时间|几天|几个月|几年|how long|how many (?:hours|days|months|years)")
_DURATION = re.compile(r"\d\s*(?:个)?(?:小时|分钟|天|月|年)|\d\s*(?:hours?|h\b|minutes?|days?|months?|years?)")


def attribute_name(key: str, lang: Lang) -> str:
    """How the host calls an attribute key, e.g. 'net_content' -> '净含量'."""
    if lang == "en":
        return key.replace("_", " ")
    if key in lexicon.KEY_NAMES_ZH:
        return lexicon.KEY_NAMES_ZH[key]
    canonical = _CANONICAL.get(key)
    if canonical is None:
        canonical = next((_CANONICAL[w] for w in key.split("_") if w in _CANONICAL), None)
    return lexicon.ATTRIBUTE_NAMES[canonical][0] if canonical in lexicon.ATTRIBUTE_NAMES else "这一项"


def resolve_attribute(product: Product, name: str, folded: str) -> str | None:
    """The product's attribute key for a canonical ``name``; with an empty one, the key whose words or value are mentioned."""
    if not name:
        return _mentioned(product, folded)
    wanted = lexicon.ATTRIBUTE_KEYS.get(name, ())
    ranked: list[tuple[float, str]] = []
    for key in product.attributes:
        words = key.lower().split("_")
        score = 0.0
        if key == name:
            score = 100.0
        elif key in wanted:
            score = 50.0 - wanted.index(key)
        elif any(w in wanted for w in words):
            score = 20.0 - min(wanted.index(w) for w in words if w in wanted)
        if (
            score > 0
            and _HOW_LONG.search(folded)
            and _DURATION.search(f"{product.attributes[key].zh} {product.attributes[key].en}")
        ):
            score += 60.0
        if score > 0:
            ranked.append((score + _mention_score(product, key, folded), key))
    return max(ranked)[1] if ranked else None


def _mentioned(product: Product, folded: str) -> str | None:
    ranked = [(_mention_score(product, key, folded), key) for key in product.attributes]
    best = max(ranked, default=(0.0, ""))
    return best[1] if best[0] >= 2.0 else None


def _mention_score(product: Product, key: str, folded: str) -> float:
    """Words of the key or of its value that the text contains."""
    asked = set(tokens(folded))
    score = 0.0
    for word in key.lower().split("_"):
        if len(word) > 2 and stem(word) in asked and word not in lexicon.STOP_EN:
            score += 2.0
    value = product.attributes[key]
    title = set(tokens(f"{product.title.zh} {product.title.en} {' '.join(product.aliases)}"))
    common = {t for t in asked & set(tokens(f"{value.zh} {value.en}")) if t not in lexicon.STOP_EN and t not in title}
    common -= {t for t in common if t in lexicon.STOP_ZH or re.fullmatch(r"[a-z]{1,2}", t)}
    return score + 1.0 * len(common)
