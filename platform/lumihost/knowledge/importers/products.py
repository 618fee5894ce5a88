"""A product file → drafts of products and remarks; touches no database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from lumihost.knowledge.importers.columns import ATTRIBUTE_HEADER, canonical, map_columns
from lumihost.knowledge.importers.report import CellError, FileRefused, Remark
from lumihost.knowledge.importers.table import Cell, Row, read_table
from lumihost.knowledge.importers.values import (
    count_value,
    currency_value,
    instant_value,
    list_value,
    money_value,
    raw_text,
    sku_value,
    text_value,
)
from lumihost.knowledge.models import PROSE_CHARS, TITLE_CHARS

SKU_CHARS = 64
CATEGORY_CHARS = 120
ALIASES, ALIAS_CHARS = 50, 60
POINTS, POINT_CHARS = 20, 300
ATTRIBUTE_CHARS = 500

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Draft:
    """One valid row: the SKU and the model fields its file has columns for; other fields of a stored product stay."""

    row: int
    sku: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Parsed:
    """What a file holds."""

    drafts: list[Draft] = field(default_factory=list)
    errors: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)


def parse_products(file_name: str, content: bytes, *, currency: str, timezone: str, max_bytes: int, max_rows: int) -> Parsed:
    """Read a product file.

    Args:
        file_name: for its ending only.
        content: CSV, TSV (UTF-8, UTF-16, GB18030) or XLSX.
        currency: ISO 4217 code where a row names none.
        timezone: IANA zone of dates.
        max_bytes, max_rows: the limits of one file.

    Raises:
        FileRefused: the file as a whole cannot be used.
    """
    if len(content) > max_bytes:
        raise FileRefused("too_large", hint_zh=f"最多 {max_bytes // 1024} KB", hint_en=f"at most {max_bytes // 1024} KB")
    table = read_table(file_name, content, max_rows=max_rows, recognised=lambda text: canonical(text) is not None)
    columns = map_columns(table.header)
    parsed = Parsed(warnings=list(columns.warnings))
    zone = ZoneInfo(timezone)
    seen_skus: dict[str, int] = {}
    seen_links: dict[int, int] = {}
    records = 0
    for row in table.rows:
        reader = _RowReader(row, columns.index, currency, zone)
        if reader.is_blank():
            continue
        records += 1
        draft = reader.read()
        if draft is not None:
            _refuse_repeated(reader, draft, seen_skus, seen_links)
        parsed.warnings += reader.warnings
        if draft is None or reader.errors:
            parsed.errors += reader.errors
            continue
        seen_skus[draft.sku] = row.number
        if draft.fields.get("link_no"):
            seen_links[draft.fields["link_no"]] = row.number
        parsed.drafts.append(draft)
    if not records:
        raise FileRefused("no_rows")
    return parsed


def _refuse_repeated(reader: _RowReader, draft: Draft, skus: dict[str, int], links: dict[int, int]) -> None:
    first = skus.get(draft.sku)
    if first is not None:
        reader.fail("sku", CellError("duplicate_sku", hint_zh=f"见第 {first} 行", hint_en=f"see row {first}"))
        return
    first = links.get(draft.fields.get("link_no") or 0)
    if first is not None:
        reader.fail("link_no", CellError("duplicate_link_no", hint_zh=f"见第 {first} 行", hint_en=f"see row {first}"))


class _RowReader:
    """Reads the cells of one row, gathering every error instead of stopping at the first."""

    def __init__(self, row: Row, index: dict[str, int], currency: str, zone: ZoneInfo) -> None:
        self.row = row
        self.index = index
        self.currency = currency
        self.zone = zone
        self.errors: list[Remark] = []
        self.warnings: list[Remark] = []

    def cell(self, column: str) -> Cell:
        at = self.index.get(column)
        return self.row.cells[at] if at is not None and at < len(self.row.cells) else None

    def is_blank(self) -> bool:
        """Whether no known column holds anything; text in columns nobody reads makes no record."""
        return all(not raw_text(self.cell(column)).strip() for column in self.index)

    def fail(self, column: str, error: CellError) -> None:
        raw = raw_text(self.cell(column))
        self.errors.append(Remark(error.code, self.row.number, column, raw, error.hint_zh, error.hint_en))

    def warn(self, column: str, code: str) -> None:
        self.warnings.append(Remark(code, self.row.number, column, raw_text(self.cell(column))))

    def take(self, column: str, read: Callable[[Cell], Value], otherwise: Value) -> Value:
        try:
            return read(self.cell(column))
        except CellError as error:
            self.fail(column, error)
            return otherwise

    def text(self, column: str, most: int) -> str:
        text, removed = self.take(column, lambda cell: text_value(cell, most=most), ("", False))
        if removed:
            self.warn(column, "markup_removed")
        return text

    def entries(self, column: str, most: int, each: int) -> list[str]:
        nothing: tuple[list[str], bool] = ([], False)
        entries, removed = self.take(column, lambda cell: list_value(cell, most=most, each=each), nothing)
        if removed:
            self.warn(column, "markup_removed")
        return entries

    def money(self, column: str, currency: str) -> int | None:
        nothing: tuple[int | None, bool] = (None, False)
        minor, note = self.take(column, lambda cell: money_value(cell, currency), nothing)
        if note:
            self.warn(column, "note_removed")
        return minor

    def read(self) -> Draft | None:
        """The draft, or ``None`` when a cell of the row cannot be used."""
        sku = self.take("sku", lambda cell: sku_value(cell, most=SKU_CHARS), "")
        currency = self.take("currency", lambda cell: currency_value(cell, self.currency), self.currency)
        fields: dict[str, Any] = {"currency": currency, "price_minor": self._price(currency)}
        fields |= self._texts()
        for column, name in (("list_price", "list_price_minor"), ("stock", "stock"), ("link_no", "link_no")):
            if column not in self.index:
                continue
            if column == "list_price":
                fields[name] = self.money(column, currency)
            else:
                fields[name] = self.take(column, count_value, None)
        if "link_no" in fields:
            fields["link_no"] = fields["link_no"] or 0
        fields |= self._promotion()
        if self.errors:
            return None
        list_price = fields.get("list_price_minor")
        if list_price is not None and list_price <= fields["price_minor"]:
            self.warn("list_price", "list_price_not_above_price")
        return Draft(self.row.number, sku, fields)

    def _price(self, currency: str) -> int | None:
        before = len(self.errors)
        price = self.money("price", currency)
        if price is None and len(self.errors) == before:
            self.fail("price", CellError("missing"))
        return price

    def _texts(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        before = len(self.errors)
        for column, most in (("title_zh", TITLE_CHARS), ("title_en", TITLE_CHARS), ("category", CATEGORY_CHARS)):
            if column in self.index:
                fields[column] = self.text(column, most)
        if not fields.get("title_zh") and not fields.get("title_en") and len(self.errors) == before:
            self.fail("title_zh" if "title_zh" in self.index else "title_en", CellError("missing"))
        for column in ("shipping_zh", "shipping_en", "after_sales_zh", "after_sales_en"):
            if column in self.index:
                fields[column] = self.text(column, PROSE_CHARS)
        if "aliases" in self.index:
            fields["aliases"] = self.entries("aliases", ALIASES, ALIAS_CHARS)
        if "selling_points_zh" in self.index or "selling_points_en" in self.index:
            zh = self.entries("selling_points_zh", POINTS, POINT_CHARS)
            en = self.entries("selling_points_en", POINTS, POINT_CHARS)
            count = max(len(zh), len(en))
            zh, en = zh + [""] * (count - len(zh)), en + [""] * (count - len(en))
            fields["selling_points"] = [{"zh": z, "en": e} for z, e in zip(zh, en, strict=True)]
        attributes = self._attributes()
        if attributes is not None:
            fields["attributes"] = attributes
        return fields

    def _attributes(self) -> dict[str, dict[str, str]] | None:
        found: dict[str, dict[str, str]] = {}
        has_columns = False
        for column in self.index:
            match = ATTRIBUTE_HEADER.fullmatch(column)
            if match is None:
                continue
            has_columns = True
            text = self.text(column, ATTRIBUTE_CHARS)
            if text:
                found.setdefault(match["key"], {"zh": "", "en": ""})[match["lang"]] = text
        return found if has_columns else None

    def _promotion(self) -> dict[str, Any]:
        if not {"promo_zh", "promo_en"} & self.index.keys():
            return {}
        fields: dict[str, Any] = {column: self.text(column, PROSE_CHARS) for column in ("promo_zh", "promo_en")}
        starts = self.take("promo_starts", lambda cell: instant_value(cell, self.zone, end=False), None)
        ends = self.take("promo_ends", lambda cell: instant_value(cell, self.zone, end=True), None)
        if starts and ends and ends < starts:
            self.fail("promo_ends", CellError("ends_before_start"))
        return fields | {"promo_starts_at": starts, "promo_ends_at": ends}
