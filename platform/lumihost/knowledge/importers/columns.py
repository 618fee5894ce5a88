"""Header texts → the columns of a product, in the words merchants and shop systems use."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from lumihost.knowledge.importers.report import FileRefused, Remark

ALIASES: dict[str, tuple[str, ...]] = {
    "sku": ("SKU", "商品编码", "货号", "商家编码", "Variant SKU"),
    "title_zh": ("商品名称", "商品名", "名称", "标题", "品名", "名称（中文）", "Title (Chinese)"),
    "title_en": ("英文名", "英文名称", "English name", "Title", "Name", "名称（英文）", "Title (English)"),
    "aliases": ("别名", "俗称", "关键词"),
    "category": ("类目", "分类", "品类", "Type"),
    "link_no": ("链接号", "链接", "序号", "Link no.", "Link no", "Link number"),
    "price": ("售价", "价格", "现价", "直播价", "到手价", "Variant Price"),
    "list_price": ("划线价", "原价", "吊牌价", "建议零售价", "List price", "Compare-at price", "Variant Compare At Price"),
    "currency": ("币种", "货币"),
    "stock": ("库存", "库存数量", "Inventory quantity", "Variant Inventory Qty"),
    "selling_points_zh": ("卖点",),
    "selling_points_en": ("英文卖点",),
    "shipping_zh": ("发货说明",),
    "shipping_en": ("英文发货说明",),
    "after_sales_zh": ("售后说明",),
    "after_sales_en": ("英文售后说明",),
    "promo_zh": ("促销",),
    "promo_en": ("英文促销",),
    "promo_starts": ("促销开始",),
    "promo_ends": ("促销结束",),
}

ATTRIBUTES: dict[str, str] = {
    "material": "材质",
    "capacity": "容量",
    "weight": "重量",
    "colour": "颜色",
    "heat_source": "适用炉灶",
    "care": "清洗保养",
    "origin": "产地",
    "keep_warm": "保温",
    "warranty": "保修",
    "net_content": "净含量",
    "ingredients": "成分",
    "shelf_life": "保质期",
    "storage": "储存",
    "brewing": "冲泡",
    "size": "尺寸",
    "microwave": "微波炉",
    "power": "功率",
    "voltage": "电压",
    "spf": "防晒指数",
    "pa": "PA值",
    "skin_type": "适合肤质",
    "scent": "香味",
    "usage": "用法",
    "pack": "包装清单",
    "hair_type": "适合发质",
    "shade": "色号",
    "finish": "妆效",
    "battery": "电池续航",
    "charging": "充电",
    "waterproof": "防水",
    "modes": "模式",
    "fill": "填充物",
    "season": "适用季节",
    "shading": "遮光",
    "playback": "播放时间",
    "bluetooth": "蓝牙",
    "brightness": "亮度",
    "interface": "接口",
    "certification": "认证",
    "colour_temperature": "色温",
    "load": "承重",
    "noise": "噪音",
    "room": "适用面积",
    "noise_cancelling": "降噪",
}
"""Attribute key → its Chinese name, which alone as a header means ``attr:<key>:zh``."""

ATTRIBUTE_HEADER = re.compile(r"attr:(?P<key>[a-z][a-z0-9_]{0,39}):(?P<lang>zh|en)")
ONLY_ONE = frozenset({"sku", "price", "list_price", "currency", "stock"})
"""Columns of which a second one makes the file ambiguous: no guess decides a price."""


def normalise(header: str) -> str:
    """Compare headers without regard to case, width, blanks around and a trailing ``*``."""
    return " ".join(unicodedata.normalize("NFKC", header).replace("\ufeff", "").casefold().split()).rstrip("* ").strip()


_CANONICAL = {normalise(text): column for column, texts in ALIASES.items() for text in (column, *texts)}
_CANONICAL |= {normalise(chinese): f"attr:{key}:zh" for key, chinese in ATTRIBUTES.items()}


def canonical(header: str) -> str | None:
    """The column a header text means, e.g. ``price`` or ``attr:material:zh``; ``None`` when unknown."""
    text = normalise(header)
    if ATTRIBUTE_HEADER.fullmatch(text):
        return text
    return _CANONICAL.get(text)


def _accepted(column: str) -> tuple[str, ...]:
    """Every header that fills a required column; a title in either language does."""
    columns = ("title_zh", "title_en") if column == "title_zh" else (column,)
    return tuple(text for name in columns for text in (name, *ALIASES[name]))


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each known column is."""

    index: dict[str, int]
    warnings: tuple[Remark, ...]


def map_columns(header: tuple[str, ...]) -> Columns:
    """Find the columns.

    Raises:
        FileRefused: ``missing_column`` or ``ambiguous_column``.
    """
    index: dict[str, int] = {}
    warnings: list[Remark] = []
    for at, text in enumerate(header):
        if not normalise(text):
            continue
        column = canonical(text)
        if column is None:
            warnings.append(Remark("unknown_column", column=text.strip()))
        elif column not in index:
            index[column] = at
        elif column in ONLY_ONE:
            raise FileRefused("ambiguous_column", columns=(header[index[column]].strip(), text.strip()))
        else:
            warnings.append(Remark("duplicate_column", column=text.strip()))
    missing = [column for column in ("sku", "price") if column not in index]
    if "title_zh" not in index and "title_en" not in index:
        missing.append("title_zh")
    if missing:
        raise FileRefused(
            "missing_column",
            columns=tuple(missing),
            hint_zh="；".join(f"{column} 可写作：{'、'.join(_accepted(column))}" for column in missing),
            hint_en="; ".join(f"{column} may be called: {', '.join(_accepted(column))}" for column in missing),
        )
    return Columns(index, tuple(warnings))
