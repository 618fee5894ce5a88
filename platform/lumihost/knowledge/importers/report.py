"""What an import says about a file: errors and warnings with a code, the place, the value and a message in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHOWN_CHARS = 200
"""A value is quoted up to here; a cell may hold megabytes."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the file as a whole
    "empty_file": ("文件是空的", "The file is empty"),
    "too_large": ("数值或文件过大", "The value or file is too large"),
    "too_many_rows": ("行数超过上限，请分成几个文件", "Too many rows: split the file"),
    "too_many_columns": ("列数超过上限", "Too many columns"),
    "not_a_spreadsheet": ("不是可读取的表格，请上传 CSV 或 XLSX", "Not a readable spreadsheet: upload CSV or XLSX"),
    "old_workbook": ("旧版 .xls 工作簿，请另存为 .xlsx", "An old .xls workbook: save it as .xlsx"),
    "undecodable": ("无法识别文字编码，请另存为 UTF-8", "Unknown text encoding: save the file as UTF-8"),
    "missing_column": ("缺少必需的列", "A required column is missing"),
    "ambiguous_column": ("两列含义相同，请保留一列", "Two columns mean the same: keep one"),
    "no_rows": ("没有数据行", "There are no rows"),
    # one row
    "missing": ("必填项为空", "A required value is missing"),
    "negative": ("不能为负数", "May not be negative"),
    "not_an_amount": ("不是一个明确的金额，例如 19.90", "Not one clear amount, such as 19.90"),
    "not_a_whole_number": ("不是整数", "Not a whole number"),
    "not_a_date": ("不是日期，例如 2027-12-31", "Not a date, such as 2027-12-31"),
    "ends_before_start": ("结束早于开始", "It ends before it starts"),
    "unknown_currency": ("未知币种，请用三字母代码，例如 CNY", "Unknown currency: use a three-letter code such as CNY"),
    "currency_mismatch": ("金额的货币符号与币种不一致", "The amount's symbol does not fit the currency"),
    "duplicate_sku": ("货号重复，已采用前面的行", "The SKU occurs twice: the earlier row counts"),
    "duplicate_link_no": ("链接号重复，已采用前面的行", "The link number occurs twice: the earlier row counts"),
    "taken_link_no": ("链接号已被其他商品使用", "Another product has the link number"),
    "too_long": ("文字过长", "The text is too long"),
    "too_many": ("条目过多", "Too many entries"),
    "formula_text": ("单元格内容会被当作公式执行", "The cell would be run as a formula"),
    "uncalculated_formula": (
        "公式没有保存计算结果，请用表格软件打开并保存",
        "A formula without a saved value: open and save the file",
    ),
    "formula_error": ("公式结果是错误值", "The formula's value is an error"),
    # warnings
    "unknown_column": ("未识别的列，已忽略", "An unknown column was ignored"),
    "duplicate_column": ("重复的列，已忽略", "A repeated column was ignored"),
    "markup_removed": ("已去除 HTML 标记", "HTML markup was removed"),
    "note_removed": ("已去除价格后的说明文字", "A note after the price was removed"),
    "list_price_not_above_price": ("划线价不高于售价", "The list price is not above the price"),
}
"""Code → (Chinese, English)."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One error or warning. ``row`` counts records, the header being 1; ``None`` speaks of the whole file or column."""

    code: str
    row: int | None = None
    column: str | None = None
    value: str = ""
    hint_zh: str = ""
    hint_en: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For storage and the API."""
        zh, en = MESSAGES[self.code]
        return {
            "row": self.row,
            "column": self.column,
            "value": self.value[:SHOWN_CHARS],
            "code": self.code,
            "message": {
                "zh": f"{zh}（{self.hint_zh}）" if self.hint_zh else zh,
                "en": f"{en} ({self.hint_en})" if self.hint_en else en,
            },
        }


class FileRefused(ValueError):
    """Nothing of the file can be used."""

    def __init__(self, code: str, *, columns: tuple[str, ...] = (), hint_zh: str = "", hint_en: str = "") -> None:
        self.remark = Remark(
            code,
            column=", ".join(columns) or None,
            hint_zh=hint_zh or "、".join(columns),
            hint_en=hint_en or ", ".join(columns),
        )
        self.columns = columns
        super().__init__(f"{code}: {MESSAGES[code][1]} {self.remark.hint_en}".rstrip())


class CellError(ValueError):
    """One cell cannot be used."""

    def __init__(self, code: str, *, hint_zh: str = "", hint_en: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.hint_zh = hint_zh
        self.hint_en = hint_en
