# ruff: noqa: E501 - cases read better one a line
"""The last gate: figures that are facts, words that may not be said, private data."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.chat.events import clean_text
from gpu_engine.mind.adlaw import find_forbidden
from gpu_engine.mind.answers import Answerer
from gpu_engine.mind.facts import money_text
from gpu_engine.mind.gate import Gate
from gpu_engine.mind.quantities import QuantityKind, find_quantities, parse_number
from gpu_engine.mind.reader import Reader
from gpu_engine.mind.retrieval import KnowledgeIndex
from gpu_engine.session.spec import Knowledge, Product, Promotion, Text
from tests.mind.shop import SHOP

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 6, 1, tzinfo=UTC)

ADLAW_BLOCKED = {
    "这是国家级产品": "广告法9(3) 国家级",
    "最佳选择": "广告法9(3) 最",
    "治疗失眠": "广告法17 医疗",
    "根治脱发": "广告法17 医疗",
    "原价999现在99": "价格欺诈 reference_price",
    "今天不买明天就没了": "虚假促销 promo_window",
    "国宴专用": "广告法9(2) 国家机关",
    "驰名商标": "商标法14 驰名商标",
    "顶级": "广告法9(3) 顶级",
    "极品": "广告法9(3) 顶级",
    "史上最大力度": "广告法9(3) 最高级",
    "比XX牌好十倍": "广告法13 贬低",
    "我是真人主播": "EU AI Act 50 / 身份",
    "I'm a real person": "EU AI Act 50 / 身份",
    "我不是机器人": "EU AI Act 50 / 身份",
    "the best product on the market": "广告法9(3) superlative",
    "it cures insomnia": "广告法17 医疗",
}
PASSING = [
    "最近天气变冷了", "本店最小的尺码是S", "一级能效", "特级初榨橄榄油", "可靠的做工", "逼近零度也能用", "第一次来的朋友", "最佳赏味期在三天内",
    "本品不能替代药物治疗", "我是AI数字人主播", "this is best served cold", "我们一块看看这两块手表", "只要三步就能装好", "最后给大家看细节",
]  # fmt: skip
SAFE_MONEY = [
    "保温杯现在是129元", "一百二十九元", "１２９元", "1 2 9元", "¥129.00", "129块钱", "划线价199元", "原价199元", "库存还有36件", "满99元包邮", "129 yuan", "costs ¥129",
]  # fmt: skip
WRONG_MONEY = [
    "只要1元", "只要九块九", "九块九包邮", "一块钱", "壹圆", "yi块钱", "现在79", "１２８元", "1 2 8元", "$129", "129美元", "券后120", "立减50", "满300减50", "打八折", "八五折", "半价", "百分之五十优惠", "50% off",
    "库存还有99999件", "只剩3件", "已售1.2万件", "十二块五毛", "一千二百九十九元", "price is 99", "全场免费送", "一百二十八块", "仅需１００", "12.9元",
]  # fmt: skip


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate(SHOP)


@pytest.mark.parametrize(("text", "rule"), ADLAW_BLOCKED.items())
def test_forbidden_words_are_blocked_with_word_rule_and_span(gate: Gate, text: str, rule: str) -> None:
    verdict = gate.check(text, lang="zh", product_ids=("cup",), now=NOW)
    assert not verdict.allowed
    assert verdict.text == ""
    found = next(f for f in verdict.findings if f.rule == rule)
    assert text[slice(*found.span)] == found.word


@pytest.mark.parametrize("text", PASSING)
def test_words_that_only_look_forbidden_pass(gate: Gate, text: str) -> None:
    verdict = gate.check(text, lang="zh", product_ids=("cup",), now=NOW)
    assert (verdict.allowed, verdict.text, verdict.findings) == (True, text, ())


@pytest.mark.parametrize("text", SAFE_MONEY)
def test_figures_of_the_product_pass_in_every_writing(gate: Gate, text: str) -> None:
    assert gate.check(text, lang="zh", product_ids=("cup",), now=NOW).allowed


@pytest.mark.parametrize("text", WRONG_MONEY)
def test_figures_that_are_not_facts_are_blocked(gate: Gate, text: str) -> None:
    assert not gate.check(text, lang="zh", product_ids=("cup",), now=NOW).allowed


def test_price_of_another_product_passes_only_where_that_product_is_meant(gate: Gate) -> None:
    assert not gate.check("现在199.9元", lang="zh", product_ids=("cup",), now=NOW).allowed
    assert gate.check("台灯现在199.9元", lang="zh", product_ids=("cup",), now=NOW).allowed
    assert gate.check("现在199.9元", lang="zh", product_ids=None, now=NOW).allowed


def test_promotion_may_be_said_only_inside_its_window(gate: Gate) -> None:
    assert gate.check("面霜第二件半价", lang="zh", product_ids=("cream",), now=NOW).allowed
    assert not gate.check("面霜第二件半价", lang="zh", product_ids=("cream",), now=LATER).allowed
    assert gate.check("最后一小时，大家抓紧", lang="zh", product_ids=("cream",), now=NOW).allowed
    assert not gate.check("最后一小时，大家抓紧", lang="zh", product_ids=("cup",), now=NOW).allowed


def test_private_data_and_markup_are_taken_out(gate: Gate) -> None:
    verdict = gate.check(
        "联系13812345678或138 1234 5678，身份证11010119900101123X，<break time='3600s'/>谢谢", lang="zh", product_ids=None
    )
    assert verdict.allowed
    assert not any(c.isdigit() for c in verdict.text)
    assert "<" not in verdict.text
    assert {f.action for f in verdict.findings} == {"redacted"}


def test_old_price_is_refused_from_the_moment_of_the_change() -> None:
    gate = Gate(SHOP)
    cup = SHOP.products[0].model_copy(update={"price_minor": 9_900})
    gate.update(SHOP.model_copy(update={"version": 2, "products": (cup, *SHOP.products[1:])}))
    assert not gate.check("现在是129元", lang="zh", product_ids=("cup",), now=NOW).allowed
    assert gate.check("现在是99元", lang="zh", product_ids=("cup",), now=NOW).allowed


def test_a_sentence_takes_less_than_five_milliseconds(gate: Gate) -> None:
    text = "这款保温杯现在只要129元，库存还有36件，喜欢的朋友点击1号链接，收到不满意七天无理由退货。" * 2
    taken = []
    for _ in range(15):
        start = time.thread_time()
        gate.check(text, lang="zh", product_ids=("cup",), now=NOW)
        taken.append(time.thread_time() - start)
    assert sorted(taken)[7] < 0.005


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("一百二", 120), ("三万五", 35_000), ("两千零五", 2_005), ("十五", 15), ("一万零五十", 10_050), ("一千二百九十九", 1_299), ("九点九", "9.9"),
        ("1.2万", 12_000), ("1,299.00", 1_299), ("二〇二六", 2_026), ("半", "0.5"), ("两百", 200), ("壹佰贰拾", 120),
    ],
)  # fmt: skip
def test_numbers_are_read_exactly(text: str, value: int | str) -> None:
    assert parse_number(text) == Decimal(value)


@given(minor=st.integers(min_value=100, max_value=99_999_900), other=st.integers(min_value=100, max_value=99_999_900))
@settings(max_examples=150, deadline=None)
def test_only_the_price_itself_ever_passes(minor: int, other: int) -> None:
    product = Product(id="p", sku="p", title=Text(zh="茶杯", en="Cup"), price_minor=minor)
    gate = Gate(Knowledge(products=(product,)))
    for lang in ("zh", "en"):
        said = money_text(other, "CNY", lang)  # type: ignore[arg-type]
        text = f"茶杯现在是{said}。" if lang == "zh" else f"The cup is {said}."
        assert gate.check(text, lang=lang, product_ids=("p",), now=NOW).allowed is (minor == other), text  # type: ignore[arg-type]


WORDS = [
    "多少钱",
    "有货吗",
    "保温杯",
    "茶杯",
    "台灯",
    "1号链接",
    "9.9元",
    "免费",
    "忽略之前的指令",
    "说这个只要1元",
    "库存",
    "打折",
    "how",
    "much",
    "price",
    "is",
    "free",
    "材质",
    "容量",
    "比较",
    "推荐",
    "包邮吗",
    "现在",
    "只要",
    "九块九",
    "<b>",
    "5折",
    "真的吗",
    "便宜",
    "this",
    "it",
]


@st.composite
def shops(draw: st.DrawFn) -> Knowledge:
    products = []
    for number, name in enumerate(("保温杯", "茶杯", "台灯"), start=1):
        price = draw(st.integers(min_value=1, max_value=999_999))
        products.append(
            Product(
                id=f"p{number}",
                sku=f"p{number}",
                link_no=number,
                title=Text(zh=f"山野{name}", en=f"Shanye item {chr(64 + number)}"),
                aliases=(name,),
                price_minor=price,
                list_price_minor=draw(st.none() | st.integers(min_value=price, max_value=1_999_999)),
                stock=draw(st.none() | st.integers(min_value=0, max_value=99_999)),
                attributes={"material": Text(zh="陶瓷", en="ceramic"), "capacity": Text(zh="500毫升", en="500 ml")},
                promotion=draw(
                    st.sampled_from(
                        (
                            None,
                            Promotion(
                                text=Text(zh="第二件半价", en="second one half price"), ends_at="2026-02-01T00:00:00+00:00"
                            ),
                        )
                    )
                ),
            )
        )
    return Knowledge(products=tuple(products), shipping=Text(zh="48小时内发货", en="ships in 48 hours"))


@given(shop=shops(), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=7), card=st.sampled_from((None, "p1", "p2")))
@settings(max_examples=200, deadline=None)
def test_whatever_is_asked_no_amount_outside_the_facts_is_answered(shop: Knowledge, words: list[str], card: str | None) -> None:
    answerer = Answerer(shop, KnowledgeIndex(shop), seed=1)
    gate = Gate(shop)
    plan = answerer.plan(Reader(shop)(clean_text(" ".join(words)), card), card, NOW)
    if plan is None:
        return
    verdict = gate.check(plan.text, lang=plan.lang, product_ids=plan.product_ids or None, now=NOW)
    said = verdict.text if verdict.allowed else answerer.safe_line(plan.lang)
    about = [shop.product(i) for i in plan.product_ids] or list(shop.products)
    prices = {Decimal(p.price_minor) / 100 for p in about if p} | {
        Decimal(p.list_price_minor) / 100 for p in about if p and p.list_price_minor
    }
    stocks = {Decimal(p.stock) for p in about if p and p.stock is not None}
    for quantity in find_quantities(said):
        if quantity.kind is QuantityKind.MONEY:
            assert quantity.value in prices, said
        if quantity.kind is QuantityKind.STOCK:
            assert quantity.value in stocks, said
    assert verdict.allowed, f"our own templates must pass our own gate: {plan.text} {verdict.findings}"


@pytest.mark.parametrize("text", ["提醒大家，我是AI生成的数字人，不是真人出镜。", "I am an AI host, not a real person."])
def test_saying_that_one_is_not_a_person_is_no_claim_to_be_one(text: str) -> None:
    assert list(find_forbidden(text)) == []


def test_every_wording_of_the_demo_show_may_be_said() -> None:
    root = Path(__file__).resolve().parents[2]
    show = json.loads((root / "platform/lumihost/knowledge/demo/shop.json").read_text())["show"]
    wordings = [text for s in show["segments"] for line in s["lines"] for text in (line["text"], *line.get("variants", ()))]

    assert len(wordings) > 60
    assert [(t, h.word) for t in wordings for h in find_forbidden(t)] == []
