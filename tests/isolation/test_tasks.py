"""Every Celery task of ours runs inside one tenant, or says why it does not."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery
from django.db import transaction

from lumihost.config.celery import GLOBAL_TASKS, app
from lumihost.knowledge.models import Product
from tenants.celery import TenantTask
from tenants.context import current_tenant_or_none, scope
from tenants.errors import ScopeError
from tenants.models import Tenant
from tenants.testing.tenants import CANARY, TwoTenants

pytestmark = pytest.mark.isolation


def our_tasks(celery: Celery) -> dict[str, Any]:
    celery.loader.import_default_modules()
    celery.finalize(auto=True)
    return {name: task for name, task in celery.tasks.items() if not name.startswith("celery.")}


def test_every_task_is_a_tenant_task_or_says_why() -> None:
    for name, task in our_tasks(app).items():
        assert isinstance(task, TenantTask) or len(GLOBAL_TASKS.get(name, "")) > 20, name
    assert GLOBAL_TASKS.keys() <= our_tasks(app).keys()


def test_nodes_celery_holds_no_task_of_the_platform() -> None:
    from workers.app import app as node_app

    assert all(name.startswith("workers.") for name in our_tasks(node_app))


probe_app = Celery("probe", broker="memory://", set_as_current=False)
ran: list[str] = []


@probe_app.task(base=TenantTask, name="probe.read", shared=False)
def read(product_id: str, *, tenant: Tenant) -> str:
    ran.append(tenant.pk)
    title: str = Product.objects.get(pk=product_id).title_zh
    return title


@pytest.fixture
def product_a(two_tenants: TwoTenants) -> Product:
    ran.clear()
    with scope(two_tenants.a.tenant):
        made: Product = Product.objects.create(sku="1", title_zh=CANARY, currency="CNY", price_minor=1)
    return made


def test_a_task_reads_its_own_tenant(two_tenants: TwoTenants, product_a: Product) -> None:
    assert read(product_a.pk, tenant_id=two_tenants.a.tenant.pk) == CANARY
    assert current_tenant_or_none() is None


def test_a_task_of_another_tenant_finds_nothing(two_tenants: TwoTenants, product_a: Product) -> None:
    with pytest.raises(Product.DoesNotExist):
        read(product_a.pk, tenant_id=two_tenants.b.tenant.pk)
    assert current_tenant_or_none() is None


def test_a_task_cannot_run_or_be_sent_without_a_tenant(two_tenants: TwoTenants, product_a: Product) -> None:
    with pytest.raises(TypeError):
        read(product_a.pk)
    with pytest.raises(TypeError, match="tenant_id"):
        read.delay(product_a.pk)
    with pytest.raises(ScopeError):
        read.run(product_a.pk, tenant=two_tenants.a.tenant)


def test_a_task_of_a_suspended_tenant_does_not_run(two_tenants: TwoTenants, product_a: Product) -> None:
    Tenant.objects.filter(pk=two_tenants.a.tenant.pk).update(is_active=False)

    with pytest.raises(Tenant.DoesNotExist):
        read(product_a.pk, tenant_id=two_tenants.a.tenant.pk)
    assert ran == []


def test_a_task_is_sent_on_commit_only(
    two_tenants: TwoTenants, product_a: Product, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[Any] = []
    with django_capture_on_commit_callbacks() as callbacks, transaction.atomic():
        read.apply_async((product_a.pk,), {"tenant_id": two_tenants.a.tenant.pk}, queue="probe")
        sent += callbacks

    assert sent == []
    assert len(callbacks) == 1
