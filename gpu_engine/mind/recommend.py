"""Which product a wish means: by category, use, person or budget. A wish nothing in the shop serves has no answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal

from gpu_engine.mind import lexicon
from gpu_engine.mind.catalogue import tokens
from gpu_engine.mind.concepts import wishes
from gpu_engine.mind.facts import major
from gpu_engine.mind.quantities import parse_number
from gpu_engine.session.spec import Knowledge, Product

_AMOUNT = r"(?:¥|￥|rmb|\$)?\s*(?P<n>[\d.]+|[一二两三四五六七八九十百千]+)"
_BUDGET = (
    re.compile(_AMOUNT + r"\s*(?:块钱|块|元|yuan|rmb|bucks|¥)?\s*(?:以内|以下|之内|内的|左右|上下|预算|or less|or under|max)"),
    re.compile(
        r"(?:预算|不超过|不到|最多|under|below|less than|within|up to|budget(?: of| is)?|max(?:imum)?|around)\s*" + _AMOUNT
    ),
)
_WISH_WORDS = re.compile(
    r"推荐|适合|哪个|哪款|什么好|有没有|想买|想要|送给?|礼物|介绍|有什么|一款|一个|recommend\w*|suggest\w*|something|anything|"
    r"gifts?|present|for my|looking for|which one|should i|good for|any ideas?"
)
_TITLE, _CATEGORY, _TEXT, _SERVED, _SERVED_TITLE, _KIND = 3.0, 1.5, 1.0, 2.0, 2.0, 1.5
_NO_KIND = frozenset("子器品套装件用款的色")


def budget(folded: str) -> Decimal | None:
    """The most a viewer wants to spend, in major units."""
    for pattern in _BUDGET:
        match = pattern.search(folded)
        if match is not None:
            return parse_number(match["n"])
    return None


class Recommender:
    """Ranks the products of one knowledge version against wishes."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._products = knowledge.products
        self._titles = {p.id: _title_text(p) for p in knowledge.products}
        self._texts = {p.id: _described_text(p) for p in knowledge.products}
        self._bags = {p.id: set(tokens(f"{self._titles[p.id]} {p.category} {self._texts[p.id]}")) for p in knowledge.products}
        self._kinds = {p.id: _kinds(p) for p in knowledge.products}
        spread = Counter(t for bag in self._bags.values() for t in bag)
        count = max(1, len(knowledge.products))
        self._rarity = {t: math.log(1 + count / n) / math.log(1 + count) for t, n in spread.items()}

    def best(self, folded: str) -> Product | None:
        """The product in stock that serves the wish best; ``None`` when nothing said fits any."""
        most = budget(folded)
        asked = wishes(folded)
        bare = _WISH_WORDS.sub(" ", folded)
        words = {t for t in tokens(bare) if t not in lexicon.STOP_EN and t not in lexicon.STOP_ZH}
        best: tuple[float, int, Product] | None = None
        for place, product in enumerate(self._products):
            if product.stock == 0:
                continue
            if most is not None and major(product.price_minor, product.currency) > most:
                continue
            score = self._words_score(product, words) + sum(self._served(product, serves) for _, serves in asked)
            score += _KIND * (bool(self._kinds[product.id] & set(bare)))
            if most is not None:
                # Within a budget the dearer of two equals is nearer to what was meant.
                score += 0.5 + 0.3 * float(major(product.price_minor, product.currency) / most) if most else 0.0
            if score >= 0.5 and (best is None or (score, -place) > best[:2]):
                best = (score, -place, product)
        return best[2] if best else None

    def _words_score(self, product: Product, words: set[str]) -> float:
        title, category = set(tokens(self._titles[product.id])), set(tokens(product.category))
        score = 0.0
        for word in words & self._bags[product.id]:
            rare = self._rarity[word] ** 2
            score += _TITLE * rare if word in title else _CATEGORY if word in category else _TEXT * rare
        return score

    def _served(self, product: Product, serves: re.Pattern[str]) -> float:
        in_title = serves.search(self._titles[product.id]) is not None
        hits = {m[0].lower() for m in serves.finditer(f"{self._texts[product.id]} {product.category.lower()}")}
        return _SERVED_TITLE * in_title + min(_SERVED, 0.8 * len(hits))


def _title_text(product: Product) -> str:
    return " ".join([product.title.zh, product.title.en, *product.aliases]).lower()


def _described_text(product: Product) -> str:
    texts = [*product.selling_points, *product.attributes.values()]
    return " ".join(t for text in texts for t in (text.zh, text.en)).lower()


def _kinds(product: Product) -> set[str]:
    """What kind of thing it is, by the last character of its Chinese names (绿茶 -> 茶)."""
    names = (product.title.zh, *product.aliases)
    return {n[-1] for n in names if n and not n[-1].isascii()} - _NO_KIND
