"""Whatever two tenants do, in whatever order: neither sees or changes a row of the other."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from lumihost.knowledge.models import Faq, Product
from tenants.context import scope, scopes_disabled
from tenants.errors import TenancyError
from tenants.models import Tenant

pytestmark = pytest.mark.services

SKUS = st.sampled_from(["s1", "s2", "s3"])
STEP = st.tuples(
    st.sampled_from(["create", "upsert", "rename", "delete", "point", "bulk_rename", "steal", "bulk_steal", "wipe"]),
    st.booleans(),
    SKUS,
    st.integers(0, 5),
)


class TwoTenantsTest(TestCase):
    """Runs each example in a transaction of its own."""

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps=st.lists(STEP, max_size=14))
    def test_tenants_behave_as_two_databases(self, steps: list[tuple[str, bool, str, int]]) -> None:
        a = Tenant.objects.create(name="a", slug="prop-a")
        b = Tenant.objects.create(name="b", slug="prop-b")
        # The model: what each tenant would hold if it had a database to itself. SKU → price.
        expected: dict[str, dict[str, int]] = {a.pk: {}, b.pk: {}}
        for verb, by_a, sku, price in steps:
            me, other = (a, b) if by_a else (b, a)
            try:
                with scope(me), transaction.atomic():
                    self._do(verb, me, other, sku, price, expected[me.pk])
            except (TenancyError, IntegrityError, Product.DoesNotExist):
                assert verb in ("create", "steal", "bulk_steal", "point", "rename", "delete")
        for tenant in (a, b):
            with scope(tenant):
                assert dict(Product.objects.values_list("sku", "price_minor")) == expected[tenant.pk]
                assert {p.tenant_id for p in Product.objects.all()} <= {tenant.pk}
        with scopes_disabled("the test looks for links between tenants"):
            assert all(faq.tenant_id == faq.product.tenant_id for faq in Faq.objects.select_related("product"))

    def _do(self, verb: str, me: Tenant, other: Tenant, sku: str, price: int, held: dict[str, int]) -> None:
        with scopes_disabled("the attacker knows the other tenant's ids"):
            foreign: Any = Product.objects.filter(tenant=other, sku=sku).first()
        fields = {"title_zh": "t", "currency": "CNY", "price_minor": price}
        match verb:
            case "create":
                Product.objects.create(sku=sku, **fields)
                held[sku] = price
            case "upsert":
                Product.objects.update_or_create(sku=sku, defaults=fields)
                held[sku] = price
            case "rename":
                Product.objects.get(sku=sku)
                Product.objects.filter(sku=sku).update(price_minor=price)
                held[sku] = price
            case "bulk_rename":
                Product.objects.update(price_minor=price)
                held.update(dict.fromkeys(held, price))
            case "delete":
                Product.objects.get(sku=sku).delete()
                held.pop(sku)
            case "wipe":
                Product.objects.all().delete()
                held.clear()
            case "point" if foreign is not None:
                Faq.objects.create(question_zh="q", answer_zh="a", product_id=foreign.pk)
                raise AssertionError("a foreign key reached the other tenant")
            case "steal" if foreign is not None:
                foreign.tenant_id = me.pk
                foreign.save()
                raise AssertionError("a row was taken from the other tenant")
            case "bulk_steal" if foreign is not None:
                foreign.price_minor = 99
                Product.objects.bulk_update([foreign], ["price_minor"])
                raise AssertionError("a row of the other tenant was written")
