"""Knowledge as the engine gets it, and the demo shop."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from gpu_engine.session.spec import Knowledge, RunOfShow
from lumihost.core import clock, outbox
from lumihost.core.audit import SYSTEM, Actor, record
from lumihost.core.models import AuditEvent, Outbox
from lumihost.core.problems import Invalid
from lumihost.knowledge import services
from lumihost.knowledge.models import Faq, Import, Product
from lumihost.knowledge.selectors import engine_knowledge
from lumihost.live.models import Channel, Show
from lumihost.web.demo import DATA, EMAIL, load_demo
from tenants.context import scope, scopes_disabled
from tenants.models import Tenant
from tenants.testing.tenants import TwoTenants

pytestmark = pytest.mark.services


@pytest.fixture
def demo(db: None, tmp_path: Path) -> Any:
    return load_demo(tmp_path / "demo_password")


def test_the_engine_accepts_the_demo_shops_knowledge(demo: Any) -> None:
    tenant = Tenant.objects.get(pk=demo.tenant_id)

    knowledge = Knowledge.model_validate(engine_knowledge(tenant))

    assert (len(knowledge.products), knowledge.shop_name.zh) == (40, "云禾小铺")
    by_sku = {p.sku: p for p in knowledge.products}
    assert (by_sku["KT-001"].price_minor, by_sku["KT-001"].list_price_minor, by_sku["KT-001"].stock) == (7900, 10900, 126)
    thermos = by_sku["KT-002"]
    assert (thermos.price_minor, thermos.attributes["capacity"].zh, thermos.link_no) == (6990, "500ml", 2)
    assert thermos.promotion is not None
    assert thermos.promotion.ends_at == "2027-12-31T15:59:59+00:00"
    assert len(knowledge.faq) == len(json.loads((DATA / "shop.json").read_text(encoding="utf-8"))["faq"])
    assert all(entry.product_id is None or knowledge.product(entry.product_id) for entry in knowledge.faq)
    with scope(tenant):
        assert knowledge.version == services.shop_profile().version


def test_the_demo_show_speaks_of_stored_products(demo: Any) -> None:
    with scope(Tenant.objects.get(pk=demo.tenant_id)):
        show = Show.objects.get(pk=demo.show_id)
        ids = set(Product.objects.values_list("id", flat=True))
        run = RunOfShow.model_validate({"segments": show.segments})

    assert len(run.segments) >= 8
    named = {segment.product_id for segment in run.segments} - {None}
    assert named
    assert named <= ids


def test_loading_the_demo_again_adds_nothing_and_keeps_edits(demo: Any, tmp_path: Path) -> None:
    tenant = Tenant.objects.get(pk=demo.tenant_id)
    with scope(tenant):
        product = Product.objects.get(sku="KT-001")
        services.update_product(product.id, changes={"price_minor": 1}, actor=SYSTEM)
    with scopes_disabled("the test counts rows"):
        before = [model.objects.count() for model in (Product, Faq, Import, Show, Channel, AuditEvent)]

    again = load_demo(tmp_path / "demo_password")

    assert (again.tenant_id, again.show_id, again.password) == (demo.tenant_id, demo.show_id, demo.password)
    with scopes_disabled("the test counts rows"):
        assert [model.objects.count() for model in (Product, Faq, Import, Show, Channel, AuditEvent)] == before
        assert Product.objects.get(sku="KT-001").price_minor == 1
    assert Tenant.objects.count() == 1


def test_the_demo_command_prints_how_to_sign_in(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_demo", "--json")
    printed = json.loads(capsys.readouterr().out)

    from django.contrib.auth import authenticate

    assert (printed["email"], printed["products"]) == (EMAIL, 40)
    assert authenticate(username=EMAIL, password=printed["password"]) is not None


def test_a_changed_demo_password_is_set_again(demo: Any, tmp_path: Path) -> None:
    from lumihost.accounts.models import User

    user = User.objects.get(email=EMAIL)
    user.set_password("something else")
    user.save()

    load_demo(tmp_path / "demo_password")

    user.refresh_from_db()
    assert user.check_password(demo.password)


def test_knowledge_of_one_tenant_holds_nothing_of_another(demo: Any, two_tenants: TwoTenants) -> None:
    assert engine_knowledge(two_tenants.b.tenant)["products"] == []
    assert engine_knowledge(two_tenants.b.tenant)["version"] == 1


def test_csv_and_workbook_of_the_demo_hold_the_same(demo: Any) -> None:
    with scope(Tenant.objects.get(pk=demo.tenant_id)):
        version = services.shop_profile().version
        done = services.import_products(file_name="products.csv", content=(DATA / "products.csv").read_bytes(), actor=SYSTEM)

        assert (done.created, done.updated, done.unchanged, done.failed, done.errors) == (0, 0, 40, 0, [])
        assert services.shop_profile().version == version


def test_a_large_catalogue_is_written_in_few_queries(two_tenants: TwoTenants, django_assert_max_num_queries: Any) -> None:
    rows = "".join(f"S{n:04},商品{n},{n}.50\n" for n in range(1, 1001))
    with scope(two_tenants.b.tenant), django_assert_max_num_queries(40):
        done = services.import_products(file_name="a.csv", content=f"sku,title_zh,price\n{rows}".encode(), actor=SYSTEM)
        assert done.created == 1000
    with scope(two_tenants.b.tenant):
        assert [p.sku for p in Product.objects.all()[:3]] == ["S0001", "S0002", "S0003"]


def import_links(*rows: tuple[str, int]) -> Import:
    lines = "".join(f"{sku},商品{sku},1,{number}\n" for sku, number in rows)
    return services.import_products(file_name="a.csv", content=f"sku,title_zh,price,link_no\n{lines}".encode(), actor=SYSTEM)


def links() -> dict[str, int]:
    return dict(Product.objects.values_list("sku", "link_no"))


def test_an_import_may_swap_and_hand_on_link_numbers(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.b.tenant):
        import_links(("A", 1), ("B", 2), ("C", 3))

        swapped = import_links(("A", 2), ("B", 1), ("D", 3), ("C", 0))

        assert (swapped.updated, swapped.created, swapped.errors) == (3, 1, [])
        assert links() == {"A": 2, "B": 1, "C": 0, "D": 3}


def test_an_import_leaves_out_rows_whose_link_number_stays_with_another_product(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.b.tenant):
        import_links(("A", 1), ("B", 2), ("C", 3))

        # B cannot have 3, so it keeps 2, so A keeps 1, so D gets nothing; E is not concerned.
        done = import_links(("D", 1), ("A", 2), ("B", 3), ("E", 4))

        assert [(e["row"], e["column"], e["value"], e["code"]) for e in done.errors] == [
            (2, "link_no", "1", "taken_link_no"),
            (3, "link_no", "2", "taken_link_no"),
            (4, "link_no", "3", "taken_link_no"),
        ]
        assert done.errors[2]["message"] == {
            "zh": "链接号已被其他商品使用（链接号 3 属于“C 商品C”）",
            "en": "Another product has the link number (link number 3 belongs to 'C 商品C')",
        }
        assert (done.created, done.updated, done.failed) == (1, 0, 3)
        assert links() == {"A": 1, "B": 2, "C": 3, "E": 4}


def test_a_failed_change_leaves_neither_version_nor_trail_nor_message(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.b.tenant):
        with pytest.raises(Invalid):
            services.create_faq(fields={"question_zh": "问"}, actor=SYSTEM)
        with pytest.raises(Invalid, match="no field price"):
            services.create_product(fields={"sku": "1", "title_zh": "x", "price": 1}, actor=SYSTEM)
        assert AuditEvent.objects.count() == 0
        assert Outbox.objects.count() == 0


def test_trail_and_message_want_a_transaction(two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch) -> None:
    # The test itself runs in a transaction, so the connection is told otherwise.
    with scope(two_tenants.b.tenant), monkeypatch.context() as patch:
        patch.setattr(transaction.get_connection(), "in_atomic_block", False)
        with pytest.raises(RuntimeError, match="transaction"):
            record(actor=Actor("x"), action="a.b", target=two_tenants.b.tenant)
        with pytest.raises(RuntimeError, match="transaction"):
            outbox.emit("topic", {})


def test_the_outbox_delivers_in_order_and_tries_again(db: None) -> None:
    start = timezone.now()
    heard: list[int] = []
    failing = {2}

    def handle(message: Outbox) -> None:
        if message.payload["n"] in failing:
            raise RuntimeError("receiver is away")
        heard.append(message.payload["n"])

    def deliver_at(seconds: float) -> int:
        with clock.running(lambda: start + timedelta(seconds=seconds)):
            return outbox.deliver({"probe": handle})

    with clock.running(lambda: start), transaction.atomic():
        for n in (1, 2, 3):
            outbox.emit("probe", {"n": n})
        outbox.emit("probe", {"n": 4}, delay_s=60)
        outbox.emit("other", {"n": 5})

    assert (deliver_at(0), heard) == (2, [1, 3])
    assert deliver_at(0.5) == 0
    assert deliver_at(1.1) == 0
    row = Outbox.objects.get(payload__n=2)
    assert (row.attempts, row.last_error, row.done_at) == (2, "receiver is away", None)
    failing.clear()
    assert deliver_at(2) == 0
    assert (deliver_at(3.2), heard) == (1, [1, 3, 2])
    assert (deliver_at(61), heard) == (1, [1, 3, 2, 4])
    assert deliver_at(1000) == 0
