"""A small shop for tests of the mind, and a show about it."""

from __future__ import annotations

from typing import Any

from gpu_engine.session.spec import (
    Faq,
    Knowledge,
    Line,
    Product,
    Promotion,
    RunOfShow,
    Segment,
    SegmentKind,
    SessionSpec,
    Text,
)

CUP = Product(
    id="cup",
    sku="CUP-1",
    link_no=1,
    title=Text(zh="山野316不锈钢保温杯", en="Shanye 316 Steel Thermos"),
    aliases=("保温杯", "thermos"),
    category="drinkware",
    price_minor=12_900,
    list_price_minor=19_900,
    stock=36,
    attributes={
        "material": Text(zh="316不锈钢内胆", en="316 stainless steel liner"),
        "capacity": Text(zh="500毫升", en="500 ml"),
        "keep_warm": Text(zh="12小时保温", en="keeps hot for 12 hours"),
        "color": Text(zh="墨绿、米白两色", en="dark green and cream"),
    },
    selling_points=(
        Text(zh="杯盖可以当杯子用", en="the lid doubles as a cup"),
        Text(zh="单手就能开盖", en="opens with one hand"),
    ),
    shipping=Text(zh="48小时内发货，江浙沪包邮", en="ships within 48 hours"),
    after_sales=Text(zh="七天无理由退货，一年质保", en="7-day returns and a one-year warranty"),
)
CREAM = Product(
    id="cream",
    sku="CRM-2",
    link_no=2,
    title=Text(zh="晨露保湿面霜", en="Morning Dew Face Cream"),
    aliases=("面霜", "face cream"),
    category="beauty",
    price_minor=5_990,
    stock=0,
    attributes={
        "skin_type": Text(zh="敏感肌也能用", en="suitable for sensitive skin"),
        "net_content": Text(zh="50克", en="50 g"),
        "ingredients": Text(zh="神经酰胺、角鲨烷", en="ceramides and squalane"),
    },
    promotion=Promotion(
        text=Text(zh="第二件半价", en="second one half price"),
        starts_at="2026-01-01T00:00:00+00:00",
        ends_at="2026-02-01T00:00:00+00:00",
    ),
)
LAMP = Product(
    id="lamp",
    sku="LMP-3",
    link_no=3,
    title=Text(zh="暖月护眼台灯", en="Warm Moon Desk Lamp"),
    aliases=("台灯", "desk lamp"),
    category="home",
    currency="CNY",
    price_minor=19_990,
    stock=8,
    attributes={"power": Text(zh="12瓦", en="12 W"), "material": Text(zh="铝合金灯臂", en="aluminium arm")},
)
SHOP = Knowledge(
    version=1,
    shop_name=Text(zh="山野好物", en="Shanye Goods"),
    shipping=Text(zh="默认中通快递，满99元包邮", en="free shipping over 99 yuan"),
    after_sales=Text(zh="支持七天无理由退货", en="returns within 7 days"),
    products=(CUP, CREAM, LAMP),
    faq=(
        Faq(
            id="invoice",
            question=Text(zh="可以开发票吗", en="can I get an invoice"),
            answer=Text(zh="可以开电子发票，下单时备注抬头就行。", en="Yes, we issue e-invoices; add the title to your order."),
        ),
        Faq(
            id="dishwasher",
            product_id="cup",
            question=Text(zh="保温杯能放洗碗机吗", en="is the thermos dishwasher safe"),
            answer=Text(zh="杯身不建议放洗碗机，手洗就好。", en="Please wash it by hand, not in the dishwasher."),
        ),
    ),
)


def lines(count: int, *, prefix: str = "第", segment: str = "s", **options: Any) -> tuple[Line, ...]:
    """``count`` lines of one sentence each, all different."""
    digits = "一二三四五六七八九十甲乙丙丁戊己庚辛壬癸"
    return tuple(
        Line(id=f"{segment}{i}", text=f"这是{prefix}{digits[i % 20]}句介绍的话，大家慢慢听我讲清楚。", **options)
        for i in range(count)
    )


def show_of(*segments: Segment, loop: bool = True) -> RunOfShow:
    """A run-of-show."""
    return RunOfShow(segments=segments, loop=loop)


def spec_of(show: RunOfShow, **options: Any) -> SessionSpec:
    """A session of the test shop."""
    options.setdefault("knowledge", SHOP)
    return SessionSpec(show=show, **options)


def plain_show(count: int = 20) -> RunOfShow:
    """One segment about the cup with ``count`` sentences."""
    return show_of(
        Segment(id="points", kind=SegmentKind.POINTS, title="保温杯", product_id="cup", lines=lines(count)), loop=False
    )
