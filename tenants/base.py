"""The base class of every row that belongs to a tenant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Self

from django.db import models, router
from django.utils import timezone

from tenants import context
from tenants.errors import TenancyError, TenantMismatch
from tenants.ids import MAX_LENGTH, new_id
from tenants.managers import EVERY_TENANT, TenantManager, TenantQuerySet, active_binding


class TenantModel(models.Model):
    """A row of one tenant.

    Reads and writes work inside ``tenants.context.scope(tenant)`` only and reach that tenant's rows only; elsewhere they raise
    ``ScopeError``. ``tenant`` is filled from the scope and never changes. A foreign key to another tenant's row is refused
    with ``TenantMismatch``. Subclasses set ``id_prefix`` and declare no other kind of manager.
    """

    id_prefix: ClassVar[str] = ""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects: ClassVar[TenantManager] = TenantManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stored_tenant_id: str | None = None
        if not self.id and "id" not in self.get_deferred_fields():
            self.id = new_id(self.id_prefix)

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **kwargs: Any) -> Self:
        """Remember the tenant the row was stored with, so that an edited ``tenant_id`` is noticed."""
        row = super().from_db(db, field_names, values, **kwargs)
        row._stored_tenant_id = row.__dict__.get("tenant_id")
        return row

    def adopt_active_tenant(self, binding: str) -> None:
        """Fill an empty ``tenant`` from the scope (``binding`` as given by ``active_binding``)."""
        if not self.tenant_id and binding != EVERY_TENANT:
            self.tenant = context.current_tenant()

    def refuse_other_tenant(self, binding: str) -> None:
        """Raise unless this row belongs to the active tenant and always did.

        Raises:
            TenantMismatch: it belongs, or belonged, to another tenant.
            TenancyError: it belongs to none.
        """
        name = type(self).__name__
        if not self.tenant_id:
            raise TenancyError(f"{name} '{self.pk}' has no tenant: set it, or create the row inside scope(tenant)")
        if binding not in (EVERY_TENANT, self.tenant_id):
            raise TenantMismatch(f"{name} '{self.pk}' belongs to tenant '{self.tenant_id}', and '{binding}' is active")
        if self._stored_tenant_id not in (None, self.tenant_id):
            raise TenantMismatch(
                f"{name} '{self.pk}' was stored for tenant '{self._stored_tenant_id}' and cannot move to '{self.tenant_id}'"
            )

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert or update within the active tenant.

        Raises:
            ScopeError: no scope is active.
            TenantMismatch: the row, or a row it points at, belongs to another tenant.
        """
        binding = active_binding(type(self))
        self.adopt_active_tenant(binding)
        self.refuse_other_tenant(binding)
        super().save(*args, **kwargs)
        self._stored_tenant_id = self.tenant_id

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the row and what cascades from it.

        Django deletes a single instance by primary key without asking a manager, so existence within the tenant is
        checked here first.

        Raises:
            ScopeError: no scope is active.
            TenantMismatch: there is no such row in the active tenant.
        """
        binding = active_binding(type(self))
        self.refuse_other_tenant(binding)
        using = kwargs.get("using") or router.db_for_write(type(self), instance=self)
        if not type(self)._base_manager.using(using).filter(pk=self.pk, tenant_id=self.tenant_id).exists():
            raise TenantMismatch(f"{type(self).__name__} '{self.pk}' does not exist in tenant '{self.tenant_id}'")
        return super().delete(*args, **kwargs)


class AppendOnlyQuerySet(TenantQuerySet):
    """Rows that are written once: ledgers and trails."""

    def _refuse(self, verb: str) -> TenancyError:
        return TenancyError(f"{self.model.__name__} rows are written once: a correction is a new row, not {verb}")

    def _update(self, values: Any) -> int:
        raise self._refuse("an update")

    def update(self, **kwargs: Any) -> int:
        """Refused."""
        raise self._refuse("an update")

    def bulk_update(self, objs: Iterable[Any], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Refused."""
        raise self._refuse("an update")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Refused."""
        raise self._refuse("a deletion")

    def _raw_delete(self, using: str | None) -> int:
        raise self._refuse("a deletion")

    _update.queryset_only = False  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class AppendOnlyManager(TenantManager.from_queryset(AppendOnlyQuerySet)):  # type: ignore[misc]
    """The door to rows that are written once."""


class AppendOnlyTenantModel(TenantModel):
    """A :class:`TenantModel` that is inserted and read, never changed or deleted."""

    objects: ClassVar[AppendOnlyManager] = AppendOnlyManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert.

        Raises:
            TenancyError: the row is stored already.
        """
        if not self._state.adding:
            raise TenancyError(f"{type(self).__name__} '{self.pk}' is written once: a correction is a new row")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused."""
        raise TenancyError(f"{type(self).__name__} '{self.pk}' is written once and never deleted")
