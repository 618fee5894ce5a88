"""What one tenant's code can reach of another tenant's rows: nothing, by any road of the ORM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core import serializers
from django.db import DatabaseError, transaction
from django.db.models import F, OuterRef, Q, Subquery, Value

from lumihost.core.models import AuditEvent
from lumihost.knowledge.models import Faq, Product
from tenants.context import current_tenant, current_tenant_or_none, scope, scopes_disabled
from tenants.errors import ScopeError, TenancyError, TenantMismatch
from tenants.models import Tenant
from tenants.testing.tenants import CANARY, TwoTenants

pytestmark = pytest.mark.services


@dataclass(frozen=True)
class Field:
    """Tenant A with a product and a question about it; tenant B with a product."""

    a: Tenant
    b: Tenant
    product_a: Product
    faq_a: Faq
    product_b: Product
    faq_b: Faq


def product(sku: str, title: str, **fields: Any) -> Product:
    return Product.objects.create(sku=sku, title_zh=title, currency="CNY", price_minor=100, **fields)


@pytest.fixture
def field(two_tenants: TwoTenants) -> Field:
    a, b = two_tenants.a.tenant, two_tenants.b.tenant
    with scope(a):
        product_a = product("A-1", CANARY)
        faq_a = Faq.objects.create(question_zh="问", answer_zh=CANARY, product=product_a)
    with scope(b):
        product_b = product("B-1", "乙的商品")
        faq_b = Faq.objects.create(question_zh="问", answer_zh="答")
    return Field(a, b, product_a, faq_a, product_b, faq_b)


def snapshot() -> list[dict[str, Any]]:
    with scopes_disabled("the test compares every row"):
        return [*Product.objects.order_by("id").values(), *Faq.objects.order_by("id").values()]


Road = Callable[[Field], Any]

READS: dict[str, Road] = {
    "get": lambda f: Product.objects.get(pk=f.product_a.pk),
    "filter": lambda f: list(Product.objects.filter(pk=f.product_a.pk)),
    "exclude": lambda f: list(Product.objects.exclude(pk="x")),
    "all": lambda f: list(Product.objects.all()),
    "first": lambda f: Product.objects.first(),
    "count": lambda f: Product.objects.count(),
    "exists": lambda f: Product.objects.exists(),
    "aggregate": lambda f: Product.objects.aggregate(n=F("price_minor")),
    "values": lambda f: list(Product.objects.values("title_zh")),
    "in_bulk": lambda f: Product.objects.in_bulk([f.product_a.pk]),
    "iterator": lambda f: list(Product.objects.iterator()),
    "dates": lambda f: list(Product.objects.dates("created_at", "day")),
    "explain": lambda f: Product.objects.all().explain(),
    "contains": lambda f: Product.objects.contains(f.product_a),
    "base_manager": lambda f: list(Product._base_manager.all()),
    "default_manager": lambda f: list(Product._default_manager.all()),
    "refresh": lambda f: f.product_a.refresh_from_db(),
    "related_manager": lambda f: list(f.product_a.faq.all()),
    "foreign_key": lambda f: Faq._base_manager.get(pk=f.faq_a.pk).product,
    "raw": lambda f: list(Product.objects.raw("SELECT * FROM knowledge_product")),
    "extra": lambda f: list(Product.objects.extra(where=["1=1"])),
    "get_or_create": lambda f: Product.objects.get_or_create(
        sku="n", defaults={"title_zh": "n", "price_minor": 1, "currency": "CNY"}
    ),
    "async_get": lambda f: async_to_sync(_aget)(f),
    "select_for_update": lambda f: list(Product.objects.select_for_update()),
}


async def _aget(f: Field) -> Product:
    return await Product.objects.aget(pk=f.product_a.pk)


WRITES: dict[str, Road] = {
    "create": lambda f: product("n", "n"),
    "save": lambda f: f.product_a.save(),
    "delete": lambda f: f.product_a.delete(),
    "update": lambda f: Product.objects.update(price_minor=1),
    "delete_all": lambda f: Product.objects.all().delete(),
    "bulk_create": lambda f: Product.objects.bulk_create([Product(sku="n", title_zh="n", currency="CNY", price_minor=1)]),
    "bulk_update": lambda f: Product.objects.bulk_update([f.product_a], ["price_minor"]),
    "update_or_create": lambda f: Product.objects.update_or_create(sku="A-1", defaults={"price_minor": 1}),
    "base_update": lambda f: Product._base_manager.update(price_minor=1),
    "raw_delete": lambda f: Product.objects.all()._raw_delete("default"),
    "related_create": lambda f: f.product_a.faq.create(question_zh="q", answer_zh="a"),
    "related_add": lambda f: f.product_a.faq.add(f.faq_b),
    "fixture": lambda f: [o.save() for o in serializers.deserialize("json", serializers.serialize("json", [f.product_a]))],
    "tenant_delete": lambda f: f.a.delete(),
    "tenants_delete": lambda f: Tenant.objects.filter(pk=f.a.pk).delete(),
}


@pytest.mark.parametrize("road", READS | WRITES)
def test_without_a_scope_every_road_raises(field: Field, road: str) -> None:
    before = snapshot()

    with pytest.raises((ScopeError, TenancyError)), transaction.atomic():
        (READS | WRITES)[road](field)

    assert snapshot() == before


@pytest.mark.parametrize("road", READS)
def test_no_read_reaches_the_other_tenant(field: Field, road: str) -> None:
    with scope(field.b), transaction.atomic():
        try:
            found = READS[road](field)
        except (Product.DoesNotExist, Faq.DoesNotExist, TenancyError, ScopeError, TypeError):
            return

    assert CANARY not in repr(found)
    assert field.product_a.pk not in repr(found)
    if road == "count":
        assert found == 1


HOSTILE_WRITES: dict[str, Road] = WRITES | {
    "save_as_mine": lambda f: _claim(f).save(),
    "save_as_mine_forced": lambda f: _claim(f).save(force_update=True),
    "save_base": lambda f: _claim(f).save_base(raw=True),
    "forged_delete": lambda f: Product(
        id=f.product_a.pk, tenant=f.b, sku="x", title_zh="x", currency="CNY", price_minor=1
    ).delete(),
    "forged_save": lambda f: Product(
        id=f.product_a.pk, tenant=f.b, sku="x", title_zh="x", currency="CNY", price_minor=1
    ).save(),
    "forged_bulk_update": lambda f: Product.objects.bulk_update([_claim(f)], ["price_minor"]),
    "create_for_the_other": lambda f: product("n", "n", tenant=f.a),
    "bulk_create_for_the_other": lambda f: Product.objects.bulk_create(
        [Product(tenant=f.a, sku="n", title_zh="n", currency="CNY", price_minor=1)]
    ),
    "upsert": lambda f: Product.objects.bulk_create(
        [Product(id=f.product_a.pk, sku="x", title_zh="x", currency="CNY", price_minor=1)],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["price_minor"],
    ),
    "give_away": lambda f: Product.objects.filter(pk=f.product_b.pk).update(tenant=f.a),
    "give_away_by_id": lambda f: Product.objects.filter(pk=f.product_b.pk).update(tenant_id=f.a.pk),
    "give_away_bulk": lambda f: Product.objects.bulk_update([f.product_b], ["tenant"]),
    "foreign_key_instance": lambda f: Faq.objects.create(question_zh="q", answer_zh="a", product=f.product_a),
    "foreign_key_id": lambda f: Faq.objects.create(question_zh="q", answer_zh="a", product_id=f.product_a.pk),
    "foreign_key_forged": lambda f: Faq.objects.create(
        question_zh="q", answer_zh="a", product=Product(id=f.product_a.pk, tenant=f.b, sku="x", currency="CNY", price_minor=1)
    ),
    "foreign_key_save": lambda f: _point(f).save(),
    "foreign_key_save_only": lambda f: _point(f).save(update_fields=["product"]),
    "foreign_key_update": lambda f: Faq.objects.filter(pk=f.faq_b.pk).update(product=f.product_a),
    "foreign_key_update_id": lambda f: Faq.objects.filter(pk=f.faq_b.pk).update(product_id=f.product_a.pk),
    "foreign_key_update_value": lambda f: Faq.objects.filter(pk=f.faq_b.pk).update(product=Value(f.product_a.pk)),
    "foreign_key_bulk_update": lambda f: Faq.objects.bulk_update([_point(f)], ["product"]),
    "foreign_key_bulk_create": lambda f: Faq.objects.bulk_create([Faq(question_zh="q", answer_zh="a", product=f.product_a)]),
    "related_set": lambda f: f.product_b.faq.set([f.faq_a]),
    "related_add_bulk": lambda f: f.product_b.faq.add(f.faq_a),
}


def _claim(f: Field) -> Product:
    """A's row, loaded as A and relabelled as B's."""
    with scope(f.a):
        row = Product.objects.get(pk=f.product_a.pk)
    row.tenant = f.b
    row.price_minor = 1
    return row


def _point(f: Field) -> Faq:
    row = Faq.objects.get(pk=f.faq_b.pk)
    row.product_id = f.product_a.pk
    return row


MAY_WRITE_OWN_ROWS = {
    "create",
    "update",
    "delete_all",
    "bulk_create",
    "update_or_create",
    "base_update",
    "raw_delete",
    "related_set",
    "related_add_bulk",
}
"""Roads that raise nothing and touch B's rows only (the last two find no row of that id in B)."""


@pytest.mark.parametrize("road", HOSTILE_WRITES)
def test_no_write_reaches_the_other_tenant(field: Field, road: str) -> None:
    with scopes_disabled("the test compares A's rows"):
        before = [*Product.objects.filter(tenant=field.a).values(), *Faq.objects.filter(tenant=field.a).values()]

    with scope(field.b):
        if road in MAY_WRITE_OWN_ROWS:
            with transaction.atomic():
                # A new product for "A-1" in B is B's own affair: SKUs are unique within a tenant.
                if road == "update_or_create":
                    WRITES["create"](field)
                else:
                    HOSTILE_WRITES[road](field)
        else:
            with pytest.raises((TenancyError, ScopeError, DatabaseError, Product.DoesNotExist)), transaction.atomic():
                HOSTILE_WRITES[road](field)

    with scopes_disabled("the test compares A's rows"):
        after = [*Product.objects.filter(tenant=field.a).values(), *Faq.objects.filter(tenant=field.a).values()]
        assert after == before
        assert not Faq.objects.filter(tenant=field.b, product__tenant=field.a).exists()
        assert not Faq.objects.filter(tenant=field.a, product__tenant=field.b).exists()


def test_query_sets_do_not_travel_between_scopes(field: Field) -> None:
    with scope(field.a):
        carried = Product.objects.all()
        also = Product.objects.filter(title_zh=CANARY)
    with scopes_disabled("the test makes a query set of everything"):
        everything = Product.objects.all()

    with scope(field.b):
        own = Product.objects.all()
        for leak in (
            lambda: list(carried),
            lambda: carried.count(),
            lambda: carried.filter(pk="x"),
            lambda: carried.update(price_minor=1),
            lambda: list(own | carried),
            lambda: list(own.union(carried)),
            lambda: list(own & also),
            lambda: list(own ^ carried),
            lambda: list(everything),
            lambda: list(own.annotate(leak=Subquery(carried.values("title_zh")[:1]))),
            lambda: list(own.annotate(leak=Subquery(everything.values("title_zh")[:1]))),
            lambda: list(own.filter(pk__in=carried)),
            lambda: list(own.union(everything)),
        ):
            with pytest.raises(ScopeError):
                leak()


def test_conditions_cannot_widen_a_query(field: Field) -> None:
    with scope(field.b):
        assert [p.sku for p in Product.objects.filter(Q(tenant=field.a) | Q(pk__isnull=False))] == ["B-1"]
        assert list(Product.objects.filter(tenant=field.a)) == []
        correlated = Product.objects.filter(tenant_id=OuterRef("tenant_id")).values("title_zh")[:1]
        assert [p.t for p in Product.objects.annotate(t=Subquery(correlated))] == ["乙的商品"]


def test_the_tenant_leads_to_no_rows(field: Field) -> None:
    # Given FKs to global models have hidden reverse names, when someone joins from the tenant, then there is no such name.
    names = {f.name for f in Tenant._meta.get_fields()}
    assert names == {"id", "name", "slug", "is_active", "currency", "locale", "timezone", "created_at", "memberships"}


def test_scope_takes_exactly_one_saved_tenant(field: Field) -> None:
    for wrong in (None, [field.a, field.b], field.a.pk, Tenant(name="unsaved", id="")):
        with pytest.raises(TypeError), scope(wrong):  # type: ignore[arg-type]
            pass
    with pytest.raises(ScopeError):
        current_tenant()


def test_scopes_nest_and_are_left_on_errors(field: Field) -> None:
    def work() -> None:
        with scope(field.a):
            with scope(field.b):
                assert current_tenant() == field.b
            assert current_tenant() == field.a
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    assert current_tenant_or_none() is None


def test_disabling_scopes_needs_a_reason_and_still_checks_foreign_keys(field: Field) -> None:
    with pytest.raises(ValueError, match="reason"), scopes_disabled(" "):
        pass
    with scopes_disabled("a sweep in the test"):
        assert Product.objects.count() == 2
        with pytest.raises(TenantMismatch), transaction.atomic():
            Faq.objects.create(tenant=field.b, question_zh="q", answer_zh="a", product=field.product_a)
        with pytest.raises(TenantMismatch), transaction.atomic():
            Faq.objects.filter(pk=field.faq_b.pk).update(product=field.product_a)
        with pytest.raises(TenancyError), transaction.atomic():
            product("n", "no tenant given")
        with pytest.raises(TenancyError), transaction.atomic():
            Product.objects.filter(pk=field.product_a.pk).update(tenant=field.b)
        forged = Product(id=field.product_a.pk, tenant=field.b, sku="x", title_zh="x", currency="CNY", price_minor=1)
        with pytest.raises(TenantMismatch), transaction.atomic():
            forged.save()
        moved = Product.objects.get(pk=field.product_a.pk)
        moved.tenant = field.b
        with pytest.raises(TenantMismatch), transaction.atomic():
            moved.save()


def test_none_works_without_a_scope() -> None:
    assert list(Product.objects.none()) == []
    assert list(Product.objects.none().filter(sku="x")) == []
    assert Product.objects.none().count() == 0


def test_none_is_no_way_to_write(field: Field) -> None:
    row = Product(tenant=field.a, sku="n", title_zh="n", currency="CNY", price_minor=1)
    for write in (
        lambda: Product.objects.none().bulk_create([row]),
        lambda: Product.objects.none().create(tenant=field.a, sku="n", currency="CNY", price_minor=1),
        lambda: Product.objects.none().update(price_minor=1),
        lambda: Product.objects.none()._raw_delete("default"),
    ):
        with pytest.raises(ScopeError):
            write()


def test_own_rows_work_as_in_plain_django(field: Field) -> None:
    with scope(field.b):
        row = product("B-2", "新品")
        row.price_minor = 250
        row.save()
        row.refresh_from_db()
        assert (row.price_minor, row.tenant_id, row.id[:4]) == (250, field.b.pk, "prd_")
        faq = row.faq.create(question_zh="q", answer_zh="a")
        row.faq.add(field.faq_b)
        assert sorted(row.faq.values_list("pk", flat=True)) == sorted([faq.pk, field.faq_b.pk])
        assert Product.objects.bulk_update([row], ["title_zh"]) == 1
        assert Faq.objects.filter(pk=faq.pk).update(product=field.product_b) == 1
        assert Product.objects.filter(pk=row.pk).defer("title_zh").get().title_zh == "新品"
        assert row.delete()[0] == 2


def test_many_rows_pointing_at_one_ask_for_it_once(field: Field, django_assert_num_queries: Any) -> None:
    with scope(field.b):
        rows = [Faq(question_zh=str(n), answer_zh="a", product=field.product_b) for n in range(50)]
        # Whether the product is there, and the insert (in the test's own transaction).
        with django_assert_num_queries(2):
            Faq.objects.bulk_create(rows)


def test_trails_are_written_once(field: Field) -> None:
    with scope(field.b):
        event = AuditEvent.objects.create(actor_label="x", action="a", target_type="t", target_id="i")
        event.action = "b"
        for change in (
            event.save,
            event.delete,
            lambda: AuditEvent.objects.update(action="b"),
            lambda: AuditEvent.objects.all().delete(),
            lambda: AuditEvent.objects.bulk_update([event], ["action"]),
            lambda: AuditEvent.objects.all()._raw_delete("default"),
            lambda: event.save_base(),
        ):
            with pytest.raises(TenancyError), transaction.atomic():
                change()
        assert list(AuditEvent.objects.values_list("action", flat=True)) == ["a"]
