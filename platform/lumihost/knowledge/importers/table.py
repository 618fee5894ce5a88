"""Bytes → rows of cells, whatever the file's kind and encoding; the kind is told by content, not by name."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePath
from xml.parsers import expat

import openpyxl
from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.utils.cell import range_boundaries
from openpyxl.worksheet.worksheet import Worksheet

from lumihost.knowledge.importers.report import FileRefused

MAX_COLUMNS = 400
MAX_UNPACKED_BYTES = 32 * 1024 * 1024
"""A workbook of 5,000 rows and 20 columns unpacks to about 5 MB; reading 32 MB takes some ten seconds."""
HEADER_WITHIN_ROWS = 10
MAX_SHEET_ROWS = 100_000
"""Blank rows between records count here and not as records."""
MAX_SPREAD_CELLS = 400_000
"""Cells that merged blocks and links may cover: openpyxl makes each of them, and one entry of 30 bytes can name 17 billion."""
DELIMITERS = (",", "\t", ";")
OLE_MAGIC = b"\xd0\xcf\x11\xe0"
ZIP_MAGIC = b"PK\x03\x04"
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula cell the file holds no value for."""

    text: str


@dataclass(frozen=True, slots=True)
class SheetError:
    """A cell whose value is an error such as ``#DIV/0!``."""

    text: str


Cell = str | int | float | bool | date | datetime | Formula | SheetError | None


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its number in the sheet (first row is 1) and its cells."""

    number: int
    cells: tuple[Cell, ...]

    def is_blank(self) -> bool:
        """Whether there is nothing but blanks."""
        return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A header and the rows below it, blank rows left out."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(file_name: str, content: bytes, *, max_rows: int, recognised: Callable[[str], bool]) -> Table:
    """Read a CSV, TSV or XLSX file.

    Args:
        file_name: only its ending counts, and only to refuse a workbook that is none.
        content: the file.
        max_rows: most records allowed.
        recognised: whether a header text names a known column; finds the delimiter and the header row under a banner.

    Raises:
        FileRefused: ``empty_file``, ``not_a_spreadsheet``, ``old_workbook``, ``undecodable``, ``too_large``,
            ``too_many_rows``, ``too_many_columns``, ``no_rows``.
    """
    if not content.strip(b" \r\n\t\x00"):
        raise FileRefused("empty_file")
    if content.startswith(ZIP_MAGIC):
        rows = _workbook_rows(content, max_rows)
    elif content.startswith(OLE_MAGIC):
        raise FileRefused("old_workbook")
    elif PurePath(file_name).suffix.lower() in (".xlsx", ".xlsm", ".xls", ".ods", ".numbers"):
        raise FileRefused("not_a_spreadsheet")
    else:
        rows = _text_rows(decode(content), max_rows, recognised)
    return _with_header(rows, recognised)


def decode(content: bytes) -> str:
    """Text of unknown encoding: BOM, else UTF-16 by its zero bytes, else UTF-8, else GB18030 (which holds GBK and GB2312).

    Raises:
        FileRefused: ``undecodable`` or, for binary content, ``not_a_spreadsheet``.
    """
    for bom, encoding in BOMS:
        if content.startswith(bom):
            return _strict(content[len(bom) :], encoding)
    head = content[:4096]
    if b"\x00" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) < len(head) // 8:
            raise FileRefused("not_a_spreadsheet")
        return _strict(content, "utf-16-le" if odd > even else "utf-16-be")
    try:
        return _strict(content, "utf-8")
    except FileRefused:
        return _strict(content, "gb18030")


def _strict(content: bytes, encoding: str) -> str:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise FileRefused("undecodable") from None
    if NOT_TEXT.search(text[:65536]):
        raise FileRefused("not_a_spreadsheet")
    return text


def _text_rows(text: str, max_rows: int, recognised: Callable[[str], bool]) -> list[Row]:
    def score(delimiter: str) -> tuple[int, int]:
        best = (0, 0)
        for _, record in zip(range(HEADER_WITHIN_ROWS), _records(text, delimiter), strict=False):
            best = max(best, (sum(recognised(cell) for cell in record), len(record)))
        return best

    delimiter = max(DELIMITERS, key=score)
    rows: list[Row] = []
    for number, record in enumerate(_records(text, delimiter), start=1):
        if len(rows) > max_rows:
            raise FileRefused("too_many_rows", hint_zh=f"最多 {max_rows} 行", hint_en=f"at most {max_rows}")
        if len(record) > MAX_COLUMNS:
            raise FileRefused("too_many_columns", hint_zh=f"最多 {MAX_COLUMNS} 列", hint_en=f"at most {MAX_COLUMNS}")
        row = Row(number, tuple(record))
        if not row.is_blank():
            rows.append(row)
    return rows


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:
        raise FileRefused("not_a_spreadsheet") from None


def _workbook_rows(content: bytes, max_rows: int) -> list[Row]:
    _refuse_bomb(content)
    sheet = _visible_sheet(_open(content, data_only=False))
    # Borders drawn down to row 1,048,576 make a million empty rows; only cells that hold something count.
    last_row, last_column = 0, 0
    for (row_number, column_number), found in sheet._cells.items():
        if found.value is not None:
            last_row, last_column = max(last_row, row_number), max(last_column, column_number)
    if last_row == 0:
        raise FileRefused("no_rows")
    if last_column > MAX_COLUMNS:
        raise FileRefused("too_many_columns", hint_zh=f"最多 {MAX_COLUMNS} 列", hint_en=f"at most {MAX_COLUMNS}")
    merged = _merged_sources(sheet)
    numbers = sorted({number for number, _ in sheet._cells} | {number for number, _ in merged})
    # What was typed is read first; the saved values of formulas need a second reading, which most files are spared.
    saved: Worksheet | None = None
    rows: list[Row] = []
    last_row = max([last_row, *(block.max_row for block in sheet.merged_cells.ranges if block.min_row <= last_row)])
    # Not iter_rows: it makes every cell it passes, 40 million for a lone value in the far corner.
    for number in numbers:
        if number > min(last_row, MAX_SHEET_ROWS):
            break
        filled: list[Cell] = []
        for column in range(1, last_column + 1):
            source = merged.get((number, column)) or sheet._cells.get((number, column))
            if source is None:
                filled.append(None)
            elif source.data_type == "f":
                saved = saved or _open(content, data_only=True)[sheet.title]
                filled.append(_formula(source, saved.cell(source.row, source.column)))
            else:
                filled.append(_cell(source))
        row = Row(number, tuple(filled))
        if not row.is_blank():
            rows.append(row)
        if len(rows) > max_rows + 1:
            raise FileRefused("too_many_rows", hint_zh=f"最多 {max_rows} 行", hint_en=f"at most {max_rows}")
    return rows


def _refuse_bomb(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > MAX_UNPACKED_BYTES:
                raise FileRefused("too_large")
            spread = sum(_spread_cells(archive.read(entry)) for entry in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, zlib.error):
        raise FileRefused("not_a_spreadsheet") from None
    if spread > MAX_SPREAD_CELLS:
        raise FileRefused("too_large")


def _spread_cells(part: bytes) -> int:
    """How many cells the merged blocks and links of one part of the archive cover."""
    if not any(name in part for name in (b"mergeCell", b"hyperlink")) and b"\x00" not in part[:4]:
        return 0
    covered = 0

    def started(name: str, attributes: dict[str, str]) -> None:
        nonlocal covered
        if name.rpartition(":")[2] in ("mergeCell", "hyperlink"):
            with contextlib.suppress(ValueError, TypeError):
                left, top, right, bottom = range_boundaries(attributes.get("ref", ""))
                covered += (right - left + 1) * (bottom - top + 1)

    parser = expat.ParserCreate()
    parser.StartElementHandler = started
    # What is no XML (a picture) is none of our business here; openpyxl refuses what it cannot read.
    with contextlib.suppress(expat.ExpatError):
        parser.Parse(part, True)
    return covered


def _open(content: bytes, *, data_only: bool) -> Workbook:
    try:
        return openpyxl.load_workbook(io.BytesIO(content), data_only=data_only)
    except Exception:  # noqa: BLE001 - openpyxl raises whatever its parsers raise; to the merchant it is one thing
        raise FileRefused("not_a_spreadsheet") from None


def _visible_sheet(book: Workbook) -> Worksheet:
    sheet = next((s for s in book.worksheets if s.sheet_state == "visible"), None)
    if sheet is None:
        raise FileRefused("no_rows")
    return sheet


def _merged_sources(sheet: Worksheet) -> dict[tuple[int, int], SheetCell]:
    """Cells under a vertical merge → the cell that holds its value. Sideways a merge is only wider, so the rest stays empty."""
    sources = {}
    for block in sheet.merged_cells.ranges:
        for number in range(block.min_row + 1, block.max_row + 1):
            sources[(number, block.min_col)] = sheet.cell(block.min_row, block.min_col)
    return sources


def _formula(typed: SheetCell, saved: SheetCell) -> Cell:
    if saved.value in (None, ""):
        return Formula(str(getattr(typed.value, "text", typed.value)))
    return _cell(saved)


def _cell(cell: SheetCell) -> Cell:
    value = cell.value
    if cell.data_type == "e":
        return SheetError(str(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and re.fullmatch("0{2,32}", cell.number_format or ""):
        # A number shown as 00123 by its format is written 00123 by the merchant.
        return str(int(value)).zfill(len(cell.number_format)) if value == int(value) >= 0 else value
    if value is None or isinstance(value, str | int | float | bool | date | datetime):
        return value
    return str(value)


def _with_header(rows: list[Row], recognised: Callable[[str], bool]) -> Table:
    if not rows:
        raise FileRefused("no_rows")

    def known(row: Row) -> int:
        return sum(recognised(cell) for cell in row.cells if isinstance(cell, str))

    at = max(range(min(len(rows), HEADER_WITHIN_ROWS)), key=lambda i: (known(rows[i]), -i))
    header = tuple("" if cell is None else str(cell) for cell in rows[at].cells)
    return Table(header, tuple(rows[at + 1 :]))
