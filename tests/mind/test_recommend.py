"""Wishes find a product that serves them, budgets are kept, and a word that sounds like another product does not price it."""

from __future__ import annotations

import pytest

from gpu_engine.mind.desk import Desk
from gpu_engine.mind.recommend import Recommender, budget
from tests.mind.shop import CUP, SHOP
from tests.mind.test_questions import NOW, catalogue

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(catalogue())


@pytest.mark.parametrize(
    ("text", "categories"),
    [
        ("露营带啥好", {"EO-002", "EO-005", "EO-006"}),
        ("something for camping", {"EO-002", "EO-005", "EO-006"}),
        ("干皮推荐哪款", {"SK-002", "SK-004", "SK-007"}),
        ("which one suits oily skin", {"SK-001", "SK-005"}),
        ("送长辈推荐什么", {"KT-002", "KT-004", "KT-005", "HT-006"}),
        ("best for hiking?", {"EO-009"}),
        ("想买个杯子推荐哪个", {"KT-002", "KT-007"}),
    ],
)
def test_a_wish_finds_a_product_that_serves_it(desk: Desk, text: str, categories: set[str]) -> None:
    reply = desk.ask(text, now=NOW)
    assert reply.understanding.intent == "recommend"
    assert reply.product_ids[0] in categories


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("100块以内有什么", 100),
        ("预算两百推荐哪个", 200),
        ("anything under 30 yuan", 30),
        ("a gift below $50", 50),
        ("有什么推荐", None),
    ],
)
def test_a_budget_is_read_and_kept(desk: Desk, text: str, most: int | None) -> None:
    assert budget(text) == most
    if most is not None:
        product = desk.knowledge.product(desk.ask(text, now=NOW).product_ids[0])
        assert product is not None
        assert product.price_minor <= most * 100


def test_what_is_sold_out_is_not_recommended() -> None:
    sold_out = SHOP.model_copy(update={"products": (CUP.model_copy(update={"stock": 0}), *SHOP.products[1:])})
    assert Recommender(SHOP).best("想买个保温杯") == CUP
    assert Recommender(sold_out).best("想买个保温杯") is None


def test_a_word_that_only_sounds_like_a_product_is_not_priced_as_it(desk: Desk) -> None:
    assert "1299" not in desk.ask("杯子多少钱", now=NOW).text
    assert "1299" in desk.ask("鹅绒被多少钱", now=NOW).text


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("平底锅咋卖的", "159元"),
        ("那个帐篷啥价啊", "459元"),
        ("充电宝几块钱", "119元"),
        ("毛毯贵不贵", "89元"),
        ("how much does the tent go for", "459 yuan"),
        ("how pricey is the duvet", "1299 yuan"),
        ("what would the lamp run me", "259 yuan"),
    ],
)
def test_prices_are_asked_in_many_words(desk: Desk, text: str, price: str) -> None:
    assert price in desk.ask(text, now=NOW).text


@pytest.mark.parametrize(
    "question",
    [
        "苹果手机17多少钱",
        "iPhone 17 price",
        "is the iPhone 17 in stock?",
        "戴森吹风机多少钱",
        "how much is the laptop",
        "do you sell an iphone",
        "Do you sell an iPhone 17 and how much?",
    ],
)
def test_a_thing_that_is_not_sold_is_never_answered_with_the_product_on_the_card(desk: Desk, question: str) -> None:
    reply = desk.ask(question, card_product="KT-001")

    assert reply.behaviour == "check_with_shop"
    assert reply.facts == ()
