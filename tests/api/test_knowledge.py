"""Products, questions, shop and imports through the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from lumihost.core.models import AuditEvent, Outbox
from lumihost.knowledge.models import Faq, Product
from tenants.context import scope
from tenants.roles import Role
from tenants.testing.tenants import TwoTenants

pytestmark = pytest.mark.api

TEA = {
    "sku": "00731",
    "link_no": 3,
    "title": {"zh": "毛巾", "en": "Towel"},
    "aliases": ["洗脸巾"],
    "category": "家居",
    "price_minor": 1990,
    "list_price_minor": 2990,
    "stock": 12,
    "attributes": {"material": {"zh": "纯棉", "en": "cotton"}},
    "selling_points": [{"zh": "吸水", "en": "absorbent"}],
    "shipping": {"zh": "包邮", "en": "free"},
    "after_sales": {"zh": "7天", "en": "7 days"},
    "promotion": {"text": {"zh": "满减", "en": "off"}, "starts_at": "2026-12-01T00:00:00+08:00", "ends_at": None},
}


class Api:
    """A signed-in browser inside one tenant."""

    def __init__(self, party: Any, role: Role = Role.OWNER) -> None:
        self.tenant = party.tenant
        self.client = Client()
        self.client.force_login(party.members[role])

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        arguments: dict[str, Any] = {"headers": headers}
        if body is not None:
            arguments |= {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(f"/api/v1/tenants/{self.tenant.pk}/{path}", **arguments)

    def upload(self, name: str, content: bytes) -> Any:
        return self.client.post(
            f"/api/v1/tenants/{self.tenant.pk}/products/import", {"file": SimpleUploadedFile(name, content)}
        )


@pytest.fixture
def api(two_tenants: TwoTenants) -> Api:
    return Api(two_tenants.b)


def version(api: Api) -> int:
    return int(api("get", "shop").json()["version"])


def test_a_product_comes_back_as_it_was_sent(api: Api) -> None:
    made = api("post", "products", TEA)

    assert made.status_code == 201, made.content
    product = made.json()
    assert product["id"].startswith("prd_")
    sent = {**TEA, "promotion": {**TEA["promotion"], "starts_at": "2026-11-30T16:00:00+00:00"}}  # type: ignore[dict-item]
    read = api("get", f"products/{product['id']}").json()
    read["promotion"]["starts_at"] = read["promotion"]["starts_at"].replace(
        "2026-12-01T00:00:00+08:00", "2026-11-30T16:00:00+00:00"
    )
    assert {name: read[name] for name in TEA} == sent
    assert (read["currency"], read["image"]) == ("CNY", "")


def test_the_smallest_product(api: Api) -> None:
    product = api("post", "products", {"sku": "1", "title": {"en": "Cup"}, "price_minor": 0}).json()

    assert (product["title"], product["stock"], product["promotion"]) == ({"zh": "", "en": "Cup"}, None, None)
    assert (product["aliases"], product["attributes"], product["link_no"]) == ([], {}, 0)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"sku": ""}, "/sku"),
        ({"sku": "x" * 65}, "/sku"),
        ({"title": {"zh": "", "en": ""}}, "/title"),
        ({"title": {}}, "/title"),
        ({"title": "毛巾"}, "/title"),
        ({"title": {"fr": "x"}}, "/title"),
        ({"title": {"zh": "长" * 301}}, "/title"),
        ({"title": {"zh": 7}}, "/title"),
        ({"price_minor": -1}, "/price_minor"),
        ({"price_minor": 19.9}, "/price_minor"),
        ({"price_minor": "免费"}, "/price_minor"),
        ({"price_minor": 10**13}, "/price_minor"),
        ({"price_minor": None}, "/price_minor"),
        ({"stock": -1}, "/stock"),
        ({"currency": "XXX"}, "/currency"),
        ({"aliases": ["x"] * 51}, "/aliases"),
        ({"aliases": "洗脸巾"}, "/aliases"),
        ({"attributes": {"材质": {"zh": "棉"}}}, "/attributes"),
        ({"attributes": {"material": "棉"}}, "/attributes/material"),
        ({"attributes": {"material": {"zh": "棉" * 501}}}, "/attributes"),
        ({"selling_points": [{"zh": "好" * 301}]}, "/selling_points/0"),
        ({"promotion": {"starts_at": None}}, "/promotion"),
        ({"promotion": {"text": {"zh": "x"}, "ends_at": "soon"}}, "/promotion"),
        (
            {"promotion": {"text": {"zh": "x"}, "starts_at": "2027-01-02T00:00:00Z", "ends_at": "2027-01-01T00:00:00Z"}},
            "/promotion/ends_at",
        ),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_stored(api: Api, change: dict[str, Any], pointer: str) -> None:
    before = version(api)

    answer = api("post", "products", {**TEA, **change})

    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert api("get", "products").json()["items"] == []
    assert version(api) == before


def test_a_sku_is_taken_once_per_tenant(api: Api, two_tenants: TwoTenants) -> None:
    api("post", "products", TEA)

    again = api("post", "products", TEA)

    assert (again.status_code, again.json()["code"]) == (409, "duplicate")
    assert Api(two_tenants.a)("post", "products", TEA).status_code == 201


def test_a_link_number_names_one_product(api: Api, two_tenants: TwoTenants) -> None:
    api("post", "products", TEA)
    cup = {"sku": "C", "title": {"en": "Cup"}, "price_minor": 1}
    other = api("post", "products", cup).json()

    made = api("post", "products", {**cup, "sku": "D", "link_no": 3})
    changed = api("patch", f"products/{other['id']}", {"link_no": 3})

    for answer in (made, changed):
        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")
        assert answer.json()["errors"] == [
            {
                "pointer": "/link_no",
                "code": "duplicate",
                "detail": "link number 3 belongs to '00731 毛巾': choose another number or change that product first",
            }
        ]
    assert api("patch", f"products/{other['id']}", {"link_no": 4}).status_code == 200
    assert api("patch", f"products/{other['id']}", {"link_no": 4, "price_minor": 2}).status_code == 200
    assert api("post", "products", {**cup, "sku": "E", "link_no": 0}).status_code == 201
    assert Api(two_tenants.a)("post", "products", TEA).status_code == 201


def test_a_change_touches_only_what_it_names(api: Api) -> None:
    product = api("post", "products", TEA).json()

    changed = api(
        "patch", f"products/{product['id']}", {"title": {"en": "Bath towel"}, "stock": None, "promotion": None}
    ).json()

    assert changed["title"] == {"zh": "毛巾", "en": "Bath towel"}
    assert (changed["stock"], changed["promotion"], changed["price_minor"]) == (None, None, 1990)


def test_a_title_cannot_be_emptied(api: Api) -> None:
    product = api("post", "products", {"sku": "1", "title": {"en": "Cup"}, "price_minor": 1}).json()

    assert api("patch", f"products/{product['id']}", {"title": {"en": ""}}).status_code == 400
    assert api("get", f"products/{product['id']}").json()["title"]["en"] == "Cup"


def test_every_change_is_audited_announced_and_counted_once(api: Api) -> None:
    start = version(api)
    product = api("post", "products", TEA).json()
    api("patch", f"products/{product['id']}", {"price_minor": 2500})
    api("patch", f"products/{product['id']}", {"price_minor": 2500})
    api("delete", f"products/{product['id']}")

    assert version(api) == start + 3
    with scope(api.tenant):
        trail = list(AuditEvent.objects.order_by("created_at", "id").values_list("action", "actor_label", "before", "after"))
    assert [(action, who) for action, who, _, _ in trail] == [
        ("product.created", "owner@tenant-b.test"),
        ("product.updated", "owner@tenant-b.test"),
        ("product.deleted", "owner@tenant-b.test"),
    ]
    assert (trail[1][2], trail[1][3]) == ({"price_minor": 1990}, {"price_minor": 2500})
    messages = Outbox.objects.filter(topic="knowledge.changed").order_by("id")
    assert [m.payload for m in messages] == [{"tenant": api.tenant.pk, "version": start + n} for n in (1, 2, 3)]
    assert {m.tenant_id for m in messages} == {api.tenant.pk}


def test_lists_page_by_cursor_without_gap_or_repeat(api: Api) -> None:
    for n in range(7):
        api("post", "products", {"sku": f"s{n}", "title": {"zh": f"商品{n}"}, "price_minor": n})

    pages, cursor = [], ""
    while True:
        page = api("get", f"products?limit=3{cursor}").json()
        pages.append([item["sku"] for item in page["items"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert pages == [["s0", "s1", "s2"], ["s3", "s4", "s5"], ["s6"]]


@pytest.mark.parametrize(
    "query", ["cursor=nonsense", "limit=0", "limit=abc", "limit=99999", "cursor=%00", "search=%27%22%25_", "category="]
)
def test_absurd_queries_do_not_break_a_list(api: Api, query: str) -> None:
    assert api("get", f"products?{query}").status_code in (200, 404)


@pytest.mark.parametrize(
    ("query", "skus"),
    [
        ("search=毛巾", ["00731"]),
        ("search=洗脸", ["00731"]),
        ("search=TOWEL", ["00731"]),
        ("search=0073", ["00731"]),
        ("search=茶 壶", ["T"]),
        ("category=厨房", ["T"]),
        ("search=%25", []),
    ],
)
def test_products_are_found_by_what_people_type(api: Api, query: str, skus: list[str]) -> None:
    api("post", "products", TEA)
    api("post", "products", {"sku": "T", "title": {"zh": "玻璃茶壶"}, "category": "厨房", "price_minor": 1})

    assert [item["sku"] for item in api("get", f"products?{query}").json()["items"]] == skus


def test_questions(api: Api, two_tenants: TwoTenants) -> None:
    product = api("post", "products", TEA).json()
    foreign = Api(two_tenants.a)("post", "products", TEA).json()
    question = {"question": {"zh": "退吗"}, "answer": {"zh": "可退"}, "product_id": product["id"]}

    made = api("post", "faq", question)
    assert made.status_code == 201, made.content
    assert (
        api("post", "faq", {"question": {"zh": "退吗"}, "answer": {"en": "yes"}}).json()["errors"][0]["pointer"] == "/question"
    )
    for wrong in (foreign["id"], "prd_none"):
        refused = api("post", "faq", {**question, "product_id": wrong})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/product_id")
        assert api("patch", f"faq/{made.json()['id']}", {"product_id": wrong}).status_code == 400
    with scope(api.tenant):
        assert Faq.objects.count() == 1

    api("delete", f"products/{product['id']}")
    assert api("get", f"faq/{made.json()['id']}").status_code == 404


def test_the_shop(api: Api) -> None:
    before = api("get", "shop").json()
    after = api("patch", "shop", {"name": {"zh": "云禾"}, "shipping": {"en": "48 h"}}).json()

    assert (before["name"], before["version"]) == ({"zh": "", "en": ""}, 1)
    assert (after["name"], after["shipping"], after["version"]) == ({"zh": "云禾", "en": ""}, {"zh": "", "en": "48 h"}, 2)


def test_an_import_reports_each_row_and_is_incremental(api: Api) -> None:
    first = api.upload("货.csv", "货号,商品名称,售价\n1,杯,9.9\n2,壶,面议\n3,盘,19.9元\n".encode("gbk"))

    assert first.status_code == 201, first.content
    report = first.json()
    assert (report["state"], report["created"], report["updated"], report["unchanged"], report["failed"]) == (
        "applied",
        2,
        0,
        0,
        1,
    )
    assert report["errors"] == [
        {
            "row": 3, "column": "price", "value": "面议", "code": "not_an_amount",
            "message": {"zh": "不是一个明确的金额，例如 19.90", "en": "Not one clear amount, such as 19.90"},
        }
    ]  # fmt: skip
    assert version(api) == 2

    second = api.upload("货.csv", "货号,商品名称,售价\n1,杯,12\n3,盘,19.90\n4,碗,5\n".encode()).json()
    assert (second["created"], second["updated"], second["unchanged"], second["failed"]) == (1, 1, 1, 0)
    prices = {item["sku"]: item["price_minor"] for item in api("get", "products").json()["items"]}
    assert prices == {"1": 1200, "3": 1990, "4": 500}
    assert version(api) == 3

    third = api.upload("货.csv", "货号,商品名称,售价\n1,杯,12\n".encode()).json()
    assert (third["unchanged"], version(api)) == (1, 3)
    assert [item["id"] for item in api("get", "imports").json()["items"]] == [third["id"], second["id"], report["id"]]
    assert api("get", f"imports/{report['id']}").json() == report


def test_columns_a_file_lacks_keep_their_values(api: Api) -> None:
    api("post", "products", TEA)

    api.upload("p.csv", "sku,title_zh,price,stock\n00731,毛巾,25,\n".encode())

    product = api("get", "products").json()["items"][0]
    assert (product["price_minor"], product["stock"], product["attributes"]) == (2500, None, TEA["attributes"])


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", b"", "empty_file"),
        ("a.xlsx", b"PK\x03\x04 not a zip", "not_a_spreadsheet"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "not_a_spreadsheet"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "old_workbook"),
        ("a.csv", "货号,价格,价格,商品名称\n1,2,3,杯\n".encode(), "ambiguous_column"),
        ("../../etc/passwd", b"root:x:0:0\n", "missing_column"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_report_not_a_crash(api: Api, name: str, content: bytes, code: str) -> None:
    answer = api.upload(name, content)

    assert answer.status_code == 201, answer.content
    report = answer.json()
    assert (report["state"], report["created"], [e["code"] for e in report["errors"]]) == ("refused", 0, [code])
    assert "/" not in report["file_name"]
    assert version(api) == 1


def test_uploads_have_limits(api: Api, settings: Any) -> None:
    settings.KNOWLEDGE_IMPORT_MAX_BYTES = 2000
    settings.KNOWLEDGE_IMPORT_MAX_ROWS = 10
    rows = "".join(f"{n},杯,1\n" for n in range(11))

    assert api.upload("a.csv", b"sku,title_zh,price\n" + b"x" * 3000).json()["errors"][0]["code"] == "too_large"
    assert api.upload("a.csv", f"sku,title_zh,price\n{rows}".encode()).json()["errors"][0]["code"] == "too_many_rows"
    assert api("post", "products/import", {"file": "x"}).status_code == 415
    assert api.client.post(f"/api/v1/tenants/{api.tenant.pk}/products/import", {}).json()["errors"][0]["pointer"] == "/file"
    with scope(api.tenant):
        assert not Product.objects.exists()


def test_avatars_and_voices(api: Api) -> None:
    voices = api("get", "voices").json()

    assert {"id": "zf_xiaoxiao", "language": "zh", "gender": "female", "name": {"zh": "晓晓", "en": "Xiaoxiao"}} in voices[
        "items"
    ]
    assert api("get", "avatars").status_code == 200


@pytest.mark.parametrize("method", ["put", "options", "trace", "delete"])
def test_methods_that_do_not_exist_are_problems(api: Api, method: str) -> None:
    answer = api(method, "products")

    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"


def test_a_body_that_is_no_json_is_a_problem(api: Api) -> None:
    answer = api.client.post(f"/api/v1/tenants/{api.tenant.pk}/products", b"{", content_type="application/json")
    other = api.client.post(f"/api/v1/tenants/{api.tenant.pk}/products", b"<a/>", content_type="application/xml")

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert (other.status_code, other.json()["code"]) == (415, "unsupported_media_type")
