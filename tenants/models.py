"""Tenant and Membership: the two tables that are asked before any scope exists."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.timezone import now

from tenants import context
from tenants.errors import TenancyError
from tenants.ids import MAX_LENGTH, new_id
from tenants.roles import Permission, Role, permissions_of


def new_tenant_id() -> str:
    """Default of ``Tenant.id``."""
    return new_id("ten")


def new_membership_id() -> str:
    """Default of ``Membership.id``."""
    return new_id("mem")


def _refuse_deletion() -> None:
    """Inside a scope the rows that protect another tenant are invisible, so a deletion there would orphan them."""
    if not context.is_disabled():
        raise TenancyError("a tenant is deleted under scopes_disabled(reason) only: suspend it with is_active=False instead")


class DirectoryQuerySet(models.QuerySet["Tenant"]):
    """All tenants; deleting asks for ``scopes_disabled``."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete tenants that own no rows.

        Raises:
            TenancyError: scopes are active.
        """
        _refuse_deletion()
        return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class Tenant(models.Model):
    """A merchant. Everything else in the database belongs to exactly one, or to the platform."""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH, default=new_tenant_id, editable=False)
    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60, unique=True)
    is_active = models.BooleanField(default=True)
    currency = models.CharField(max_length=3, default="CNY", help_text="ISO 4217; prices without a currency are in it")
    locale = models.CharField(max_length=16, default="zh-hans")
    timezone = models.CharField(max_length=64, default="Asia/Shanghai")
    created_at = models.DateTimeField(default=now, editable=False)

    objects: ClassVar[models.Manager[Tenant]] = models.Manager.from_queryset(DirectoryQuerySet)()

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete a tenant that owns no rows.

        Raises:
            TenancyError: scopes are active.
        """
        _refuse_deletion()
        return super().delete(*args, **kwargs)


class Membership(models.Model):
    """A user's role in a tenant; no row means the tenant does not exist for that user."""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH, default=new_membership_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [models.UniqueConstraint(fields=["user", "tenant"], name="membership_once_per_tenant")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.tenant_id}"

    @property
    def permissions(self) -> frozenset[Permission]:
        """What the member may do in the tenant."""
        return permissions_of(self.role)
