"""Workbooks of a few kilobytes that name millions of cells: refused, or read, within a second."""

from __future__ import annotations

import io
import time
import zipfile

import openpyxl
import pytest

from lumihost.knowledge.importers.report import FileRefused
from lumihost.knowledge.importers.table import Table, read_table

pytestmark = pytest.mark.unit


def workbook(extra: str = "", encoding: str = "utf-8", far: str | None = None) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["B1"], sheet["A2"], sheet["B2"] = "sku", "price", "x", 9
    if far:
        sheet[far] = "far"
    plain = io.BytesIO()
    book.save(plain)
    made = io.BytesIO()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            part = source.read(name)
            if name.endswith("sheet1.xml"):
                part = part.replace(b"</sheetData>", b"</sheetData>" + extra.encode()).decode().encode(encoding)
            target.writestr(name, part)
    return made.getvalue()


def read(content: bytes) -> Table:
    return read_table("a.xlsx", content, max_rows=5000, recognised=lambda text: text in ("sku", "price"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "extra",
    [
        '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        "<mergeCells>" + '<mergeCell ref="A3:A1048576"/>' * 50 + "</mergeCells>",
        '<hyperlinks><hyperlink ref="A1:XFD1048576" location="S!A1"/></hyperlinks>',
    ],
)
def test_cells_named_by_the_million_are_refused_at_once(extra: str, encoding: str) -> None:
    content = workbook(extra, encoding)
    started_s = time.monotonic()
    with pytest.raises(FileRefused, match="too_large"):
        read(content)
    assert time.monotonic() - started_s < 1


def test_a_lone_value_in_the_far_corner_costs_nothing() -> None:
    started_s = time.monotonic()
    table = read(workbook(far="OJ99999"))
    assert time.monotonic() - started_s < 1
    assert [row.number for row in table.rows] == [2, 99999]
