"""The demo shop and the question set agree with each other and with the engine's contract."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import openpyxl
import pytest

from gpu_engine.session.spec import Knowledge, Product, RunOfShow, SessionSpec

from .expectations import HERE, load, problems, says

pytestmark = pytest.mark.unit

DEMO = HERE.parents[1] / "platform" / "lumihost" / "knowledge" / "demo"
INTENTS = {
    "price", "stock", "shipping", "attribute", "promotion", "compare", "after_sales", "recommend", "identity",
    "greeting", "thanks", "chitchat", "complaint", "abuse", "spam", "injection", "unknown",
}  # fmt: skip
FACTUAL = {"price", "stock", "attribute", "compare", "shipping", "after_sales"}
BEHAVIOURS = {"answer", "check_with_shop", "decline", "ignore"}
FORBIDDEN = (
    "国家级", "最高级", "最佳", "最好", "最优", "最低价", "顶级", "极品", "第一品牌", "唯一", "独家",
    "首选", "万能", "百分百", "根治", "治疗", "治愈", "疗效", "药用", "抗炎", "杀菌", "抗菌",
    "祛斑", "美白", "特供", "专供", "驰名商标", "全网", "史上", "永久", "绝对", "best", "finest",
    "number-one", "cure", "heal", "miracle", "guarantee",
)  # fmt: skip
SETS = ("questions.jsonl", "questions_heldout.jsonl")


@pytest.fixture(scope="module")
def shop() -> dict[str, Any]:
    return json.loads((DEMO / "shop.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return Knowledge.model_validate_json((HERE / "catalogue.json").read_bytes())


@pytest.fixture(scope="module")
def csv_rows() -> list[dict[str, str]]:
    with (DEMO / "products.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def all_cases() -> list[dict[str, Any]]:
    return [case for name in SETS for case in load(name)]


def minor(written: str) -> int | None:
    digits = re.sub(r"[¥￥元,]", "", written)
    return int(Decimal(digits) * 100) if digits else None


def test_catalogue_is_wide_enough(knowledge: Knowledge) -> None:
    products = knowledge.products
    assert len(products) == 40
    assert min(Counter(p.category for p in products).values()) >= 8
    assert len({p.category for p in products}) == 4
    assert len({p.sku for p in products}) == len({p.id for p in products}) == 40
    assert [p.link_no for p in products] == list(range(1, 41))
    assert all(4 <= len(p.attributes) <= 10 for p in products)
    assert all(2 <= len(p.selling_points) <= 4 for p in products)
    assert all(t.zh and t.en for p in products for t in (p.title, *p.attributes.values(), *p.selling_points))
    assert {p.sku for p in products if p.stock == 0} == {"KT-003", "SK-006", "EO-008"}
    assert {p.sku for p in products if p.stock is None} == {"KT-010", "HT-005"}
    assert all(p.list_price_minor is None or p.list_price_minor > p.price_minor for p in products)


def test_no_alias_names_two_products(knowledge: Knowledge) -> None:
    owners = Counter(a.casefold() for p in knowledge.products for a in p.aliases)

    assert [a for a, n in owners.items() if n > 1] == []


def test_faq_pairs_are_bilingual_and_name_known_products(knowledge: Knowledge, shop: dict[str, Any]) -> None:
    assert len(knowledge.faq) >= 24
    assert len({f.id for f in knowledge.faq}) == len(knowledge.faq)
    assert all(f.question.zh and f.question.en and f.answer.zh and f.answer.en for f in knowledge.faq)
    assert sum(f.product_id is not None for f in knowledge.faq) >= 8
    assert all(f.product_id is None or knowledge.product(f.product_id) for f in knowledge.faq)
    assert [f.model_dump() for f in knowledge.faq] == shop["faq"]
    assert knowledge.shipping.model_dump() == shop["shipping"]
    assert knowledge.after_sales.model_dump() == shop["after_sales"]


def test_csv_holds_the_catalogue(knowledge: Knowledge, csv_rows: list[dict[str, str]]) -> None:
    assert [r["SKU"] for r in csv_rows] == [p.sku for p in knowledge.products]
    for row, product in zip(csv_rows, knowledge.products, strict=True):
        assert minor(row["售价"]) == product.price_minor
        assert minor(row["划线价"]) == product.list_price_minor
        assert row["库存"] == ("" if product.stock is None else str(product.stock))
        assert (row["商品名称"], row["英文名"]) == (product.title.zh, product.title.en)
        assert tuple(row["别名"].split("|")) == product.aliases
        written = {k: v for k, v in row.items() if k.startswith("attr:") and v}
        assert written == {f"attr:{k}:{lang}": getattr(t, lang) for k, t in product.attributes.items() for lang in ("zh", "en")}
    assert {"¥1,299.00", "79"} <= {r["售价"] for r in csv_rows}
    assert any(r["售价"].endswith("元") for r in csv_rows)


def test_workbook_holds_the_same_rows(csv_rows: list[dict[str, str]]) -> None:
    sheet = openpyxl.load_workbook(DEMO / "products.xlsx").active
    assert sheet is not None
    header = [cell.value for cell in sheet[1]]
    assert header == list(csv_rows[0])
    names: dict[int, str] = {}
    for block in sheet.merged_cells.ranges:
        if block.min_col == 2:
            names |= {row: str(sheet.cell(block.min_row, 2).value) for row in range(block.min_row, block.max_row + 1)}
    assert len(names) == 3
    for number, row in enumerate(csv_rows, start=2):
        sku, name, price = (sheet.cell(number, c).value for c in (1, 2, 7))
        assert sku == row["SKU"]
        assert names.get(number, name) == row["商品名称"]
        assert minor(str(price)) == minor(row["售价"])
    assert {type(sheet.cell(r, 7).value) for r in range(2, 42)} == {int, float, str}


def test_run_of_show_is_a_valid_session(knowledge: Knowledge, shop: dict[str, Any]) -> None:
    spec = SessionSpec.model_validate({"knowledge": knowledge.model_dump(), "show": shop["show"], "label": shop["label"]})
    segments = spec.show.segments
    assert len(segments) >= 10
    assert {s.kind.value for s in segments} >= {
        "opening", "hook", "points", "demo", "objection", "price", "cta", "qa", "transition", "announcement",
    }  # fmt: skip
    assert len({s.product_id for s in segments if s.product_id}) >= 4
    assert all(s.gap_s > 0 for s in segments if s.kind.value == "qa")
    lines = [line for s in segments for line in s.lines]
    assert len({line.id for line in lines}) == len(lines)
    assert {line.lang for line in lines} == {"zh", "en"}
    assert all(len(line.variants) == 2 and len({line.text, *line.variants}) == 3 for line in lines)


def test_spoken_lines_hold_no_amount_and_fill_from_their_product(knowledge: Knowledge, shop: dict[str, Any]) -> None:
    show = RunOfShow.model_validate(shop["show"])
    for segment in show.segments:
        for line in segment.lines:
            for wording in (line.text, *line.variants):
                places = set(re.findall(r"\{(\w*)\}", wording))
                assert places <= {"price", "list_price", "stock", "title", "link_no"}, wording
                assert not places or segment.product_id is not None, wording
                assert not re.search(r"[¥￥]|[\d零一二三四五六七八九十百千两](元|块钱| yuan)|\d+件", wording), wording
                assert 1 <= len(re.findall(r"[。？！?!]|\.(?=\s|$)", wording)) <= 3, wording
                product = knowledge.product(segment.product_id or "")
                assert "{list_price}" not in wording or (product and product.list_price_minor), wording
                assert "{stock}" not in wording or (product and product.stock), wording


def test_announcement_says_the_host_is_ai_generated(shop: dict[str, Any]) -> None:
    show = RunOfShow.model_validate(shop["show"])
    notice = next(s for s in show.segments if s.kind.value == "announcement")
    for line in notice.lines:
        assert not line.interruptible
    for wording in (notice.lines[0].text, *notice.lines[0].variants):
        assert ("AI" in wording or "人工智能" in wording) and ("生成" in wording or "合成" in wording), wording


def test_nothing_in_the_shop_is_a_superlative_or_a_medical_claim() -> None:
    written = (DEMO / "products.csv").read_text(encoding="utf-8") + (DEMO / "shop.json").read_text(encoding="utf-8")

    assert [word for word in FORBIDDEN if re.search(rf"\b{word}\b" if word.isascii() else word, written, re.I)] == []


def test_question_sets_are_complete_and_apart() -> None:
    main, held_out = (load(name) for name in SETS)
    assert len(main) >= 160
    assert len(held_out) >= len(main) * 0.45
    ids = [c["id"] for c in main + held_out]
    assert len(ids) == len(set(ids))
    texts = Counter((c["text"], c["pinned"]) for c in main + held_out)
    assert [t for t, n in texts.items() if n > 1] == []
    assert {c["lang"] for c in main} == {c["lang"] for c in held_out} == {"zh", "en", "mixed"}
    assert {c["expect"]["intent"] for c in main} == INTENTS
    assert {c["expect"]["intent"] for c in held_out} == INTENTS


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c["id"])
def test_question_refers_to_the_catalogue_and_can_be_answered_from_it(case: dict[str, Any], knowledge: Knowledge) -> None:
    expect = case["expect"]
    assert expect["behaviour"] in BEHAVIOURS and set(expect.get("also_behaviour", ())) <= BEHAVIOURS
    assert {expect["intent"], *expect.get("also_intent", ())} <= INTENTS
    skus = {p.sku for p in knowledge.products}
    assert case["pinned"] is None or case["pinned"] in skus
    assert set(expect["products"]) <= skus
    products = [p for p in knowledge.products if p.sku in expect["products"]]
    if expect["behaviour"] != "check_with_shop":
        for field in expect["fields"]:
            if field.startswith("attr:"):
                assert all(field.removeprefix("attr:") in p.attributes for p in products), field
    if expect["behaviour"] == "answer" and expect["intent"] in FACTUAL:
        facts = everything_true(knowledge, products)
        assert [g for g in expect["must_contain_any"] if not any(says(facts, n) for n in g)] == []


def everything_true(knowledge: Knowledge, products: list[Product]) -> str:
    texts = [knowledge.shipping, knowledge.after_sales]
    texts += [f.answer for f in knowledge.faq]
    words = []
    for product in products:
        texts += [product.title, product.shipping, product.after_sales, *product.attributes.values(), *product.selling_points]
        words.append(f"¥{product.price_minor / 100:.2f}")
        words.append("sold out" if product.stock == 0 else f"{product.stock}" if product.stock else "")
    return " / ".join([*words, *(t.zh for t in texts), *(t.en for t in texts)])


@pytest.mark.parametrize(
    ("answer", "needle", "held"),
    [
        ("现在¥79.00", "¥79", True),
        ("现在 ¥79", "¥79", True),
        ("现在¥799", "¥79", False),
        ("现在¥79.90", "¥79", False),
        ("现在¥69.90", "69.9", True),
        ("现在¥69.95", "69.9", False),
        ("一千，¥1,299.00", "¥1,299", True),
        ("只要1,299元", "299元", False),
        ("只要179元", "79元", False),
        ("还剩88，容量350 ml", "350ml", True),
        ("It is 79 Yuan.", "79 yuan", True),
        ("66℃", "66°C", True),
    ],
)
def test_numbers_are_compared_whole(answer: str, needle: str, held: bool) -> None:
    assert says(answer, needle) is held


def test_a_wrong_price_a_wrong_language_and_a_wrong_act_are_problems() -> None:
    case = next(c for c in load("questions.jsonl") if c["text"] == "how much is the thermos")

    assert problems(case, behaviour="answer", answer="The thermos is ¥69.90.", intent="price") == []
    assert len(problems(case, behaviour="answer", answer="The thermos is ¥69.", intent="price")) == 1
    assert len(problems(case, behaviour="answer", answer="保温杯 ¥69.90")) == 1
    assert len(problems(case, behaviour="ignore")) == 1
    assert len(problems(case, behaviour="answer", answer="¥69.90", intent="stock")) == 1


def test_attack_and_advertising_cases_are_whole() -> None:
    attacks, adverts = load("injection_cases.jsonl"), load("adlaw_cases.jsonl")
    assert len(attacks) == len({c["id"] for c in attacks}) == 19
    assert all(c["text"].strip() and c["behaviour"] in BEHAVIOURS for c in attacks)
    assert {c["where"] for c in attacks} == {"comment", "import", "two_tenants"}
    assert all(re.compile(p) for c in attacks for p in c["must_not_match"])
    assert len(adverts) == len({c["id"] for c in adverts}) == 16
    assert {c["expect"] for c in adverts} == {"block", "pass", "verify_price_history", "verify_promo_window"}


def test_import_fixtures_are_as_described() -> None:
    folders = [f for f in (HERE / "fixtures-import").iterdir() if f.is_dir()]
    assert len(folders) >= 16
    for folder in folders:
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        assert (folder / expected["file"]).is_file(), folder.name
        outcome = "refused" if expected["file_error"] else "partial" if expected["errors"] else "ok"
        assert expected["outcome"] == outcome, folder.name
        assert bool(expected["rows"]) is (outcome != "refused"), folder.name
        assert all(isinstance(r["price_minor"], int) and r["row"] >= 2 and r["sku"] for r in expected["rows"]), folder.name
    fixtures = HERE / "fixtures-import"
    assert (fixtures / "zero_bytes" / "products.csv").stat().st_size == 0
    assert (fixtures / "utf16_tsv" / "products.tsv").read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff")
    with pytest.raises(UnicodeDecodeError):
        (fixtures / "gbk_csv" / "products.csv").read_bytes().decode("utf-8")
    formulas = {name: openpyxl.load_workbook(fixtures / name / "products.xlsx", data_only=True).active for name in
                ("formula_uncalculated_xlsx", "formula_cached_xlsx")}  # fmt: skip
    assert [sheet["D2"].value for sheet in formulas.values()] == [None, 80]
