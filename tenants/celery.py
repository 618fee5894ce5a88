"""The base of every Celery task that works on one tenant's rows."""

from __future__ import annotations

from typing import Any

from celery import Task
from django.db import transaction

from tenants.context import scope
from tenants.models import Tenant


class TenantTask(Task):
    """A task that runs inside one tenant.

    It is called with the keyword ``tenant_id``; the body receives ``tenant`` (a loaded :class:`Tenant`) in its place and runs
    in its scope, so an id of another tenant finds no row. It is sent when the surrounding transaction commits, never before.
    """

    abstract = True
    typing = False

    def __call__(self, *args: Any, tenant_id: str, **kwargs: Any) -> Any:
        """Run the body as the tenant.

        Raises:
            Tenant.DoesNotExist: no such tenant, or it is suspended.
        """
        tenant = Tenant.objects.get(pk=tenant_id, is_active=True)
        with scope(tenant):
            return self.run(*args, tenant=tenant, **kwargs)

    def apply_async(self, args: Any = None, kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
        """Send on commit.

        Raises:
            TypeError: ``tenant_id`` is missing, noticed where it was forgotten and not on the worker.
        """
        if not (kwargs or {}).get("tenant_id"):
            raise TypeError(f"task {self.name} needs the keyword tenant_id")
        transaction.on_commit(lambda: super(TenantTask, self).apply_async(args, kwargs, **options))
        return None
