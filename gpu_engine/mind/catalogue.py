# ruff: noqa: E501 - patterns read better on long lines
"""Which product a viewer means: link numbers, titles and aliases in both languages, parts of names, slips of the pen."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pypinyin import lazy_pinyin

from gpu_engine.mind import lexicon
from gpu_engine.mind.quantities import parse_number
from gpu_engine.session.spec import Knowledge, Product

_CJK_RUN = re.compile(r"[\u3400-\u9fff]+")
_WORD = re.compile(r"[a-z][a-z0-9'-]*|\d+[a-z]+")
_CN_DIGITS = "一二三四五六七八九十两零\\d"
_LINK = re.compile(
    rf"(?:第)?(?P<a>[{_CN_DIGITS}]{{1,3}})\s*(?:号|个)?\s*(?:链接|链|品(?!牌|质|种)|商品|宝贝|连接)|链接\s*(?P<b>[{_CN_DIGITS}]{{1,3}})(?!\d)|(?P<c>[{_CN_DIGITS}]{{1,3}})号(?!色|发|到|送|之前|前|能|下|上|码|线|店|晚|早|收|以|电)"
    r"|(?:link|item|product|number|no\.?|#)\s*(?:no\.?|number|num|#)?\s*(?P<d>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)\b(?!\s*(?:ml|g\b|kg|cm|year|day|hour|week|piece))",
    re.IGNORECASE,
)
_ENGLISH_NUMBERS = {
    n: i + 1 for i, n in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
}
_PAIR = re.compile(r"和|跟|与|还是|哪|\b(?:or|and|vs|versus|than)\b")
_STRONG = 0.62
_TIE = 0.86


def stem(word: str) -> str:
    """A crude English stem: possessive and plural endings off."""
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "shes", "ches")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def tokens(text: str) -> list[str]:
    """Chinese bigrams (and single characters of one-character runs) and stemmed English words."""
    lower = text.lower()
    found: list[str] = []
    for run in _CJK_RUN.findall(lower):
        found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    found += [stem(w) for w in _WORD.findall(lower)]
    return found


def distance_at_most(a: str, b: str, limit: int) -> bool:
    """Damerau–Levenshtein (adjacent swaps) distance within ``limit``."""
    if abs(len(a) - len(b)) > limit:
        return False
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i] + [0] * len(b)
        for j, y in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > limit:
            return False
    return row[-1] <= limit


@dataclass(frozen=True, slots=True)
class Named:
    """Products a text names (best first), an unmatched link number, and the text with the names taken out. ``partial``: only parts of the
    name were said."""

    product_ids: tuple[str, ...]
    missing_link: int
    rest: str
    by_link: bool = False
    partial: bool = False


class Catalogue:
    """Product names of one knowledge version."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._by_link = {p.link_no: p.id for p in knowledge.products if p.link_no}
        self._exact: list[tuple[str, str]] = []
        weights: dict[str, Counter[str]] = {}
        owners: defaultdict[str, set[str]] = defaultdict(set)
        self._key_parts: dict[str, set[str]] = {}
        for product in knowledge.products:
            names = [product.title.zh, product.title.en, *product.aliases]
            for name in names:
                plain = _squeeze(name)
                if len(plain) >= (2 if _CJK_RUN.search(plain) else 3):
                    self._exact.append((plain, product.id))
            parts = Counter(t for name in names for t in tokens(name))
            weights[product.id] = parts
            self._key_parts[product.id] = _key_parts(product)
            for token in parts:
                owners[token].add(product.id)
        self._exact.sort(key=lambda e: -len(e[0]))
        self._sounds: list[tuple[tuple[str, ...], str, str]] = []
        self._heads: defaultdict[str, set[str]] = defaultdict(set)
        for plain, product_id in self._exact:
            if _CJK_RUN.fullmatch(plain):
                self._sounds.append((tuple(lazy_pinyin(plain)), plain, product_id))
                self._heads[plain[-1]].add(product_id)
        count = max(1, len(knowledge.products))
        self._idf = {t: math.log(1 + count / len(ids)) for t, ids in owners.items()}
        self._parts = weights
        self._owners = owners
        self._words = {t for t in owners if t.isascii()}
        self._vocabulary = self._words | {stem(w) for w in lexicon.ENGLISH_WORDS} | set(lexicon.ENGLISH_WORDS)
        self._all_words = self._vocabulary | {stem(w) for w in lexicon.STOP_EN} | set(lexicon.STOP_EN) | self._value_words()
        self._correctable = [w for w in self._vocabulary if len(w) >= 4]
        self._vocabulary_text = _squeeze(" ".join(_all_texts(knowledge)))

    def _value_words(self) -> set[str]:
        return {stem(w) for text in _all_texts(self._knowledge) for w in _WORD.findall(text.lower())}

    def correct(self, folded: str) -> str:
        """English words that are nothing we know, replaced by the known word one slip away."""

        def fix(match: re.Match[str]) -> str:
            word = match[0]
            if len(word) < 4 or word in self._all_words or stem(word) in self._all_words:
                return word
            limit = 2 if len(word) >= 8 else 1
            near = [w for w in self._correctable if w[0] == word[0] and distance_at_most(word, w, limit)]
            if not near:
                near = [w for w in self._correctable if distance_at_most(word, w, 1)]
            return min(near, key=lambda w: (abs(len(w) - len(word)), w)) if near else word

        return _WORD.sub(fix, folded)

    def find(self, folded: str) -> Named:
        """Products named in folded text. Several ids come back when the name fits several equally well."""
        rest = folded
        linked: list[str] = []
        missing = 0
        for match in _LINK.finditer(folded):
            number = _link_number(match)
            if number is None:
                continue
            if number in self._by_link:
                linked.append(self._by_link[number])
                rest = rest.replace(match[0], " ", 1)
            elif not match["c"]:
                missing = missing or number
        if linked:
            return Named(tuple(dict.fromkeys(linked)), 0, rest, by_link=True)
        if missing:
            return Named((), missing, rest)
        exact, rest = self._exact_names(folded)
        if exact:
            return self._with_second(exact, rest, folded)
        heard = self._by_sound(folded)
        if heard is not None:
            return heard
        found = self._partial(folded)
        return found if found.product_ids else self._by_head(folded)

    def _exact_names(self, folded: str) -> tuple[tuple[str, ...], str]:
        plain = _squeeze(folded)
        found: list[tuple[int, str]] = []
        taken: list[tuple[int, int]] = []
        rest = plain
        by_place: dict[tuple[int, int], list[str]] = {}
        for name, product_id in self._exact:
            start = plain.find(name)
            if start < 0:
                continue
            span = (start, start + len(name))
            if name.isascii() and not _whole_words(name, folded):
                continue
            if any(span != t and span[0] < t[1] and t[0] < span[1] for t in taken):
                continue
            taken.append(span)
            by_place.setdefault(span, []).append(product_id)
            rest = rest.replace(name, " ")
        for span, ids in by_place.items():
            ids = list(dict.fromkeys(ids))
            if len(ids) > 1:
                ids = self._narrow(ids, folded)
            found.extend((span[0], i) for i in ids)
        if not found:
            return (), folded
        if rest.isascii() or not _CJK_RUN.search(folded):
            rest = self._without_words(folded, {i for _, i in found})
        return tuple(dict.fromkeys(i for _, i in sorted(found, key=lambda f: f[0]))), rest

    def _with_second(self, exact: tuple[str, ...], rest: str, folded: str) -> Named:
        """'绿茶和乌龙哪个…': the second of two things may be named by a part of its name only."""
        if len(exact) == 1 and _PAIR.search(folded):
            other = self._partial(rest)
            if len(other.product_ids) == 1 and other.product_ids[0] not in exact:
                return Named((*exact, *other.product_ids), 0, other.rest)
        return Named(exact, 0, rest)

    def _by_sound(self, folded: str) -> Named | None:
        """Names written with other characters of the same sound (保温悲), or in pinyin (baowenbei)."""
        if _CJK_RUN.search(folded):
            sounds = [lazy_pinyin(c)[0] if _CJK_RUN.match(c) else c for c in folded]
            for name, plain, product_id in self._sounds:
                for start in range(len(sounds) - len(name) + 1):
                    written_here = folded[start : start + len(name)]
                    if sounds[start : start + len(name)] == list(name) and not self._is_kind(written_here, plain):
                        return Named((product_id,), 0, folded[:start] + " " + folded[start + len(name) :])
            if not _WORD.search(folded):
                return None
        letters = folded.replace(" ", "")
        for name, _, product_id in self._sounds:
            joined = "".join(name)
            if len(joined) >= 6 and joined in letters:
                return Named((product_id,), 0, letters.replace(joined, " ", 1))
        return None

    def _is_kind(self, written: str, name: str) -> bool:
        """Whether what differs from a short name names a kind of thing of this shop itself (杯子 is no 被子)."""
        return len(name) <= 2 and any(a != b and a in self._heads for a, b in zip(written, name, strict=True))

    def _by_head(self, folded: str) -> Named:
        """A bare class word (那个锅, 杯子) when exactly one product's name ends in it."""
        bare = _strip_known("".join(_CJK_RUN.findall(folded)), (zh for zh, _ in lexicon.ATTRIBUTES.values()))
        if len(bare) == 2 and bare.endswith("子"):
            bare = bare[0]
        if len(bare) != 1:
            return Named((), 0, folded)
        owners = self._heads.get(bare, set())
        if len(owners) != 1:
            return Named((), 0, folded)
        return Named((next(iter(owners)),), 0, folded.replace(bare, " ", 1), partial=True)

    def _narrow(self, ids: list[str], folded: str) -> list[str]:
        """Of products sharing a name, those whose other name parts or values the text also mentions."""
        scored = {i: self._score(i, Counter(tokens(folded))) for i in ids}
        best = max(scored.values())
        return [i for i in ids if scored[i] >= best * 0.98]

    def _without_words(self, folded: str, ids: set[str]) -> str:
        parts = {t for i in ids for t in self._parts[i]}
        return " ".join(w for w in _WORD.findall(folded) if stem(w) not in parts)

    def _score(self, product_id: str, asked: Counter[str]) -> float:
        parts = self._parts[product_id]
        return sum(self._idf[t] for t in asked if t in parts)

    def _partial(self, folded: str) -> Named:
        asked = Counter(
            t for t in tokens(folded) if t in self._owners and t not in lexicon.STOP_ZH and t not in lexicon.STOP_EN
        )
        if not asked:
            return Named((), 0, folded)
        candidates = {i for t in asked for i in self._owners[t] if asked.keys() & self._key_parts[i]}
        if not candidates:
            return Named((), 0, folded)
        scored = {i: self._score(i, asked) for i in candidates}
        best = max(scored.values())
        strongest = max(self._idf[t] for t in asked)
        if best < _STRONG * math.log(1 + max(1, len(self._knowledge.products)) / 6) or strongest < 0.6:
            return Named((), 0, folded)
        top = sorted((i for i, s in scored.items() if s >= best * _TIE), key=lambda i: (-scored[i], i))
        if len(top) > 4:
            return Named((), 0, folded)
        rest = self._without_words(folded, set(top)) if not _CJK_RUN.search(folded) else _cut_tokens(folded, set(asked))
        return Named(tuple(top), 0, rest, partial=True)

    def knows(self, phrase: str) -> bool:
        """True when a phrase occurs somewhere in the catalogue's texts."""
        return _squeeze(phrase) in self._vocabulary_text

    def unknown_thing(self, rest: str, *, strict: bool = False) -> str:
        """What remains of a question once its known words are taken out, if it can name a thing we do not have; else ''.

        ``strict``: words that only occur somewhere in the catalogue's texts do not count as known (a 'coffee machine' is
        unknown although some cup is good for coffee).
        """
        english = rest
        # What a product works with is itself a thing: 'iPhone' in a question of price names what is asked for.
        attributes = {key: words for key, words in lexicon.ATTRIBUTES.items() if not (strict and key == "compatibility")}
        for _, en in attributes.values():
            english = re.sub(rf"(?<![a-z])(?:{en})", " ", english)
        known = _QUESTION_WORDS if strict else self._all_words
        left = [w for w in _WORD.findall(english) if len(w) > 2 and w not in known and stem(w) not in known]
        han = _strip_known("".join(_CJK_RUN.findall(rest)), (zh for zh, _ in attributes.values()))
        chinese = [p for p in han.split() if len(p) >= 2]
        return " ".join([p for p in chinese if strict or not self.knows(p)] + left)

    def product(self, product_id: str) -> Product | None:
        """The product with this id."""
        return self._knowledge.product(product_id)


_QUESTION_WORDS = lexicon.STOP_EN | set(lexicon.ENGLISH_WORDS) | {stem(w) for w in (*lexicon.STOP_EN, *lexicon.ENGLISH_WORDS)}
_STOPS_BY_LENGTH = sorted(lexicon.STOP_ZH, key=len, reverse=True)


def _key_parts(product: Product) -> set[str]:
    """Parts of its names that stand for a product: what kind of thing it is (their ends) and its own name (its title's start)."""
    parts: set[str] = set()
    for name in (product.title.zh, product.title.en, *product.aliases):
        found = tokens(name)
        if found:
            parts.add(found[-1])
    for title in (product.title.zh, product.title.en):
        found = tokens(title)
        if len(found) > 1:
            parts.add(found[0])
    return parts


def _strip_known(text: str, attribute_words: Iterable[str]) -> str:
    """Chinese text without the words of questions and attributes; what remains names things."""
    for zh in attribute_words:
        text = re.sub(zh, " ", text)
    for word in _STOPS_BY_LENGTH:
        text = text.replace(word, " ")
    return text.strip()


def _cut_tokens(folded: str, parts: set[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        folded = folded.replace(part, " ")
    return folded


def _squeeze(text: str) -> str:
    return re.sub(r"[\s·.,，、:：\-_/()（）【】\[\]\"'!！?？。]+", "", text.lower())


def _whole_words(name: str, folded: str) -> bool:
    joined = r"[\s\-_.,'/]*".join(re.escape(c) for c in name)
    return re.search(rf"(?<![a-z0-9]){joined}(?:s|es)?(?![a-z0-9])", folded) is not None


def _link_number(match: re.Match[str]) -> int | None:
    text = match["a"] or match["b"] or match["c"] or match["d"] or ""
    if text in _ENGLISH_NUMBERS:
        return _ENGLISH_NUMBERS[text]
    value = parse_number(text)
    return int(value) if value is not None else None


def _all_texts(knowledge: Knowledge) -> list[str]:
    texts: list[str] = []
    for product in knowledge.products:
        texts += [product.title.zh, product.title.en, *product.aliases, product.category]
        for text in (*product.attributes.values(), *product.selling_points, product.shipping, product.after_sales):
            texts += [text.zh, text.en]
        texts += [key.replace("_", " ") for key in product.attributes]
    for entry in knowledge.faq:
        texts += [entry.question.zh, entry.question.en, entry.answer.zh, entry.answer.en]
    texts += [knowledge.shipping.zh, knowledge.shipping.en, knowledge.after_sales.zh, knowledge.after_sales.en]
    return [t for t in texts if t]
