"""Single cells: what is an amount, a number, a date, a text; and what is not."""

from __future__ import annotations

import contextlib
import io
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumihost.core.money import render
from lumihost.knowledge.importers.columns import ALIASES, ATTRIBUTES, canonical, map_columns, normalise
from lumihost.knowledge.importers.products import Parsed, parse_products
from lumihost.knowledge.importers.report import MESSAGES, CellError, FileRefused
from lumihost.knowledge.importers.table import Formula, SheetError, decode
from lumihost.knowledge.importers.values import (
    count_value,
    currency_value,
    instant_value,
    list_value,
    money_value,
    plain,
    sku_value,
    text_value,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("cell", "minor"),
    [
        ("79", 7900),
        ("69.90", 6990),
        ("¥1,299.00", 129900),
        ("￥199", 19900),
        ("19.9元", 1990),
        ("1,299", 129900),
        (" 9.9 ", 990),
        ("１９．９", 1990),
        ("19.9 元", 1990),
        ("RMB 12", 1200),
        ("12CNY", 1200),
        ("人民币8", 800),
        ("9.9包邮", 990),
        ("￥9.9 包邮", 990),
        ("12,345,678.90", 1234567890),
        ("0", 0),
        (19.9, 1990),
        (1299, 129900),
        (100 * 0.29, 2900),
        (1e3, 100000),
        ("  ", None),
        (None, None),
        ("39块", 3900),
        ("39块钱", 3900),
        ("¥ 5", 500),
        ("5/件", 500),
    ],
)
def test_amounts(cell: Any, minor: int | None) -> None:
    assert money_value(cell, "CNY")[0] == minor


def test_a_note_after_a_price_is_told() -> None:
    assert money_value("9.9包邮", "CNY") == (990, True)
    assert money_value("9.9", "CNY") == (990, False)


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("-5", "negative"),
        ("-¥5", "negative"),
        ("¥-5", "negative"),
        (-0.01, "negative"),
        ("面议", "not_an_amount"),
        ("79-99", "not_an_amount"),
        ("79~99", "not_an_amount"),
        ("79起", "not_an_amount"),
        ("9.999", "not_an_amount"),
        (9.999, "not_an_amount"),
        ("1,29", "not_an_amount"),
        ("1299,00", "not_an_amount"),
        ("1.299,00", "not_an_amount"),
        ("一百", "not_an_amount"),
        ("nan", "not_an_amount"),
        ("inf", "not_an_amount"),
        ("1e5", "not_an_amount"),
        ("12%", "not_an_amount"),
        ("8折", "not_an_amount"),
        ("12 34", "not_an_amount"),
        ("9.9abc", "not_an_amount"),
        (True, "not_an_amount"),
        (datetime.fromisoformat("2026-01-01"), "not_an_amount"),
        ("9" * 20, "too_large"),
        (1e20, "too_large"),
        ("$12", "currency_mismatch"),
        ("12 USD", "currency_mismatch"),
        ("€5", "currency_mismatch"),
        (Formula("=A1"), "uncalculated_formula"),
        (SheetError("#DIV/0!"), "formula_error"),
    ],
)
def test_not_amounts(cell: Any, code: str) -> None:
    with pytest.raises(CellError) as refused:
        money_value(cell, "CNY")
    assert refused.value.code == code


def test_symbols_belong_to_currencies() -> None:
    assert money_value("$12.50", "USD")[0] == 1250
    assert money_value("HK$12.5", "HKD")[0] == 1250
    assert money_value("¥500", "JPY")[0] == 500
    with pytest.raises(CellError):
        money_value("500.5", "JPY")


@given(st.integers(0, 10**12))
def test_every_rendered_price_is_read_back(minor: int) -> None:
    assert money_value(render(minor, "CNY"), "CNY") == (minor, False)


@given(st.decimals(0, 10**7, places=2))
def test_every_float_of_a_sheet_is_its_price(amount: Decimal) -> None:
    assert money_value(float(amount), "CNY")[0] == int(amount * 100)


@given(st.text(max_size=30))
def test_no_text_breaks_a_reader(text: str) -> None:
    """Any cell is a value or a CellError, never another exception."""
    for read in (
        lambda: money_value(text, "CNY"),
        lambda: count_value(text),
        lambda: instant_value(text, ZoneInfo("Asia/Shanghai"), end=False),
        lambda: text_value(text, most=100),
        lambda: list_value(text, most=50, each=50),
        lambda: sku_value(text, most=64),
        lambda: currency_value(text, "CNY"),
    ):
        with contextlib.suppress(CellError):
            read()


@pytest.mark.parametrize(
    ("cell", "count"), [("12", 12), ("1,200", 1200), ("12.0", 12), (12.0, 12), (0, 0), ("", None), (None, None), ("０", 0)]
)
def test_counts(cell: Any, count: int | None) -> None:
    assert count_value(cell) == count


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("3.5", "not_a_whole_number"),
        (3.5, "not_a_whole_number"),
        ("很多", "not_a_whole_number"),
        ("-1", "negative"),
        (-1, "negative"),
        (float("nan"), "not_a_whole_number"),
        (float("inf"), "not_a_whole_number"),
        (2**31, "too_large"),
        (False, "not_a_whole_number"),
    ],
)
def test_not_counts(cell: Any, code: str) -> None:
    with pytest.raises(CellError) as refused:
        count_value(cell)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("cell", "end", "instant"),
    [
        ("2027-12-31", False, datetime(2027, 12, 30, 16, tzinfo=UTC)),
        ("2027-12-31", True, datetime(2027, 12, 31, 15, 59, 59, tzinfo=UTC)),
        ("2027/1/2", False, datetime(2027, 1, 1, 16, tzinfo=UTC)),
        ("2027年1月2日", False, datetime(2027, 1, 1, 16, tzinfo=UTC)),
        ("2027-01-02 20:00", True, datetime(2027, 1, 2, 12, tzinfo=UTC)),
        ("2027-01-02T20:00:00Z", True, datetime(2027, 1, 2, 20, tzinfo=UTC)),
        (date(2027, 1, 2), False, datetime(2027, 1, 1, 16, tzinfo=UTC)),
        (datetime.fromisoformat("2027-01-02"), True, datetime(2027, 1, 2, 15, 59, 59, tzinfo=UTC)),
        (datetime.fromisoformat("2027-01-02T08:00"), True, datetime(2027, 1, 2, 0, tzinfo=UTC)),
        ("", True, None),
    ],
)
def test_instants(cell: Any, end: bool, instant: datetime | None) -> None:
    assert instant_value(cell, ZoneInfo("Asia/Shanghai"), end=end) == instant


@pytest.mark.parametrize("cell", ["下周", "2027-13-01", "2027-02-30", "31/12/2027", 46000, True])
def test_not_instants(cell: Any) -> None:
    with pytest.raises(CellError, match="not_a_date"):
        instant_value(cell, ZoneInfo("Asia/Shanghai"), end=False)


@pytest.mark.parametrize(
    ("written", "read", "removed"),
    [
        ("<b>亚麻</b>围裙", "亚麻围裙", True),
        ("耐洗&amp;透气", "耐洗&透气", False),
        ("<script>alert(1)</script>好", "好", True),
        ("<style>a{}</style>好", "好", True),
        ("双层<!-- 指令 -->加厚", "双层加厚", True),
        ("尺寸<30cm>20cm", "尺寸<30cm>20cm", False),
        ("A&B 套装", "A&B 套装", False),
        ("一行<br>二行", "一行\n二行", True),
        ("x\x00y\x1b[31m", "xy[31m", False),
        ("控油\r\n\r\n 保湿 ", "控油\n保湿", False),
        ("<img src=x onerror=alert(1)>好", "好", True),
        ("<<b>x</b>", "<x", True),
    ],
)
def test_markup_leaves_text(written: str, read: str, removed: bool) -> None:
    assert plain(written) == (read, removed)


@given(st.text(alphabet="<>/!-&;abscript \n"))
def test_no_tag_survives(text: str) -> None:
    cleaned, _ = plain(text)
    assert "<script" not in plain(cleaned)[0]
    assert "<!--" not in cleaned or "-->" not in cleaned


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", " =HYPERLINK(1)", "+cmd|' /C calc'!A0", "-SUM(1)"])
def test_text_a_spreadsheet_would_run_is_refused(text: str) -> None:
    with pytest.raises(CellError, match="formula_text"):
        text_value(text, most=100)


@pytest.mark.parametrize("text", ["-5℃冰袖", "+Pro 款", "1=1", "a@b.c", "－"])
def test_text_that_only_looks_odd_is_kept(text: str) -> None:
    assert text_value(text, most=100)[0] == text


def test_headers_are_compared_as_people_write_them() -> None:
    for column, texts in ALIASES.items():
        for text in (column, *texts):
            for spelled in (text, f" {text.upper()} * ", text.replace("S", "Ｓ")):
                assert canonical(spelled) == column
    assert canonical("材质") == "attr:material:zh"
    assert canonical("ATTR:Material:EN") == "attr:material:en"
    assert canonical("attr:material:fr") is None
    assert canonical("nan") is None
    assert canonical("编号") is None, "it may mean the SKU or the link number"


@pytest.mark.parametrize(
    ("label", "column"),
    [
        ("货号", "sku"),
        ("链接号", "link_no"),
        ("Link no.", "link_no"),
        ("Link number", "link_no"),
        ("名称", "title_zh"),
        ("名称（中文）", "title_zh"),
        ("Title (Chinese)", "title_zh"),
        ("Title", "title_en"),
        ("名称（英文）", "title_en"),
        ("Title (English)", "title_en"),
        ("分类", "category"),
        ("Category", "category"),
        ("Currency", "currency"),
        ("价格", "price"),
        ("Price", "price"),
        ("划线价", "list_price"),
        ("List price", "list_price"),
        ("库存", "stock"),
        ("Stock", "stock"),
    ],
)
def test_the_consoles_own_labels_are_headers(label: str, column: str) -> None:
    assert canonical(label) == column


def test_a_missing_column_is_refused_with_the_headers_that_would_do() -> None:
    with pytest.raises(FileRefused) as refused:
        map_columns(("货号", "库存"))
    assert refused.value.columns == ("price", "title_zh")
    message = refused.value.remark.as_dict()["message"]
    assert message["en"].startswith("A required column is missing (price may be called: price, 售价, 价格,")
    assert "; title_zh may be called: title_zh, 商品名称," in message["en"]
    assert "Title (English)" in message["en"]
    assert message["zh"].startswith("缺少必需的列（price 可写作：price、售价、价格、")


def test_no_header_means_two_columns() -> None:
    texts = [normalise(text) for column, aliases in ALIASES.items() for text in (column, *aliases) if normalise(text)]
    texts += [normalise(chinese) for chinese in ATTRIBUTES.values()]
    repeated = {text for text in texts if texts.count(text) > 1}
    assert repeated <= {"sku"}


def test_a_second_price_column_is_refused_and_a_second_title_is_not() -> None:
    with pytest.raises(FileRefused) as refused:
        map_columns(("sku", "商品名称", "售价", "直播价"))
    assert refused.value.columns == ("售价", "直播价")
    columns = map_columns(("sku", "商品名称", "名称", "售价"))
    assert (columns.index["title_zh"], [w.code for w in columns.warnings]) == (1, ["duplicate_column"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gbk", "gb18030"])
def test_encodings(encoding: str) -> None:
    text = "货号,商品名称,售价\n1,玻璃茶壶,9.9\n"
    assert decode(text.encode(encoding)) == text


def sheet(*rows: list[Any], **formats: str) -> Parsed:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cell, number_format in formats.items():
        book.active[cell].number_format = number_format
    file = io.BytesIO()
    book.save(file)
    return parse(file.getvalue(), "a.xlsx")


def parse(content: bytes, name: str = "a.csv") -> Parsed:
    return parse_products(name, content, currency="CNY", timezone="Asia/Shanghai", max_bytes=10**7, max_rows=5000)


def test_a_banner_above_the_header_is_passed_over() -> None:
    parsed = sheet(["云禾小铺 商品表"], [], ["货号", "商品名称", "售价"], ["1", "杯", 9.9])
    assert [(d.row, d.sku, d.fields["price_minor"]) for d in parsed.drafts] == [(4, "1", 990)]


def test_a_number_shown_with_leading_zeros_keeps_them() -> None:
    parsed = sheet(["货号", "商品名称", "售价"], [731, "毛巾", 9.9], [4501, "杯", 5], A2="00000")
    assert [d.sku for d in parsed.drafts] == ["00731", "4501"]


def test_rows_that_are_only_drawn_do_not_count() -> None:
    book = openpyxl.Workbook()
    for row in (["货号", "商品名称", "售价"], ["1", "杯", 9.9]):
        book.active.append(row)
    book.active.cell(1_048_576, 3).number_format = "0.00"
    book.active.cell(2, 900).number_format = "0.00"
    file = io.BytesIO()
    book.save(file)

    assert [d.sku for d in parse(file.getvalue(), "a.xlsx").drafts] == ["1"]


def test_a_bomb_is_not_unpacked() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 40_000_000)
    assert len(file.getvalue()) < 100_000

    with pytest.raises(FileRefused, match="too_large"):
        parse(file.getvalue(), "a.xlsx")


def test_a_hidden_sheet_is_not_read() -> None:
    book = openpyxl.Workbook()
    book.active.title = "hidden"
    book.active.append(["sku", "title_zh", "price"])
    book.active.append(["secret", "旧", 1])
    book.active.sheet_state = "hidden"
    second = book.create_sheet("new")
    second.append(["sku", "title_zh", "price"])
    second.append(["1", "新", 2])
    file = io.BytesIO()
    book.save(file)
    assert [d.sku for d in parse(file.getvalue(), "a.xlsx").drafts] == ["1"]


def test_every_problem_of_a_row_is_reported_at_once() -> None:
    parsed = sheet(
        ["货号", "商品名称", "售价", "库存", "促销", "促销开始", "促销结束"], ["", "杯", "面议", -1, "减", "明天", "2020-01-01"]
    )
    assert [(e.column, e.code) for e in parsed.errors] == [
        ("sku", "missing"), ("price", "not_an_amount"), ("stock", "negative"), ("promo_starts", "not_a_date"),
    ]  # fmt: skip


def test_promotions_and_link_numbers_are_checked() -> None:
    parsed = parse(
        "sku,title_zh,price,link_no,list_price,promo_zh,promo_starts,promo_ends\n"
        "1,杯,9,5,19,减,2027-01-02,2027-01-01\n2,壶,9,5,19,,,\n3,盘,9,5,9,,,\n".encode()
    )
    assert [(e.row, e.column, e.code) for e in parsed.errors] == [
        (2, "promo_ends", "ends_before_start"),
        (4, "link_no", "duplicate_link_no"),
    ]
    assert [d.sku for d in parsed.drafts] == ["2"]
    assert [(w.row, w.code) for w in parsed.warnings] == [(4, "list_price_not_above_price")]


def test_a_semicolon_file_is_read() -> None:
    parsed = parse("sku;title_zh;price;aliases\n1;杯;9.90;a|b\n".encode())
    assert (parsed.drafts[0].fields["price_minor"], parsed.drafts[0].fields["aliases"]) == (990, ["a", "b"])


@given(st.binary(max_size=400), st.sampled_from(["a.csv", "a.xlsx", "a.tsv", "a"]))
def test_no_file_breaks_the_importer(content: bytes, name: str) -> None:
    with contextlib.suppress(FileRefused):
        parse(content, name)


def test_row_480_of_500_is_read() -> None:
    rows = "".join(f"S{n:04},商品{n},{n}.50\n" for n in range(1, 501))
    parsed = parse(f"货号,商品名称,售价\n{rows}".encode("gb18030"))
    assert (len(parsed.drafts), parsed.drafts[479].sku, parsed.drafts[479].fields["price_minor"]) == (500, "S0480", 48050)


def test_every_message_is_in_both_languages() -> None:
    assert all(zh and en and zh != en for zh, en in MESSAGES.values())
