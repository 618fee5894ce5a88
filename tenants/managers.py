"""The only door to a tenant's rows: a manager and query set that refuse to work outside that tenant's scope.

django-scopes filters reads at the manager. That leaves writes, ``_base_manager``, bulk operations, ``exists()`` on an unscoped
query set and query sets carried from one scope into another; these are closed here, at the lowest methods of Django's query
set through which all of them pass (``_insert``, ``_update``, ``update``, ``_fetch_all`` …).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from django.db import models
from django.db.models.sql import Query

from tenants import context
from tenants.errors import ScopeError, TenancyError, TenantMismatch

if TYPE_CHECKING:
    from tenants.base import TenantModel

EVERY_TENANT = "*"
"""What a query set made under ``scopes_disabled`` is bound to, in place of a tenant id."""


def active_binding(model: type[models.Model]) -> str:
    """The id of the active tenant, or :data:`EVERY_TENANT` inside ``scopes_disabled``.

    Raises:
        ScopeError: neither a scope nor ``scopes_disabled`` is active.
    """
    if context.is_disabled():
        return EVERY_TENANT
    tenant = context.current_tenant_or_none()
    if tenant is None:
        raise ScopeError(
            f"{model.__name__} rows belong to tenants and no tenant is active: "
            "enter tenants.context.scope(tenant) or, for platform-wide work, scopes_disabled(reason)"
        )
    return str(tenant.pk)


def tenant_foreign_keys(model: type[models.Model]) -> list[models.ForeignKey[Any, Any]]:
    """The foreign keys of ``model`` whose target is itself a tenant's row."""
    from tenants.base import TenantModel

    return [
        field
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and issubclass(field.related_model, TenantModel)
    ]


def check_foreign_key(field: models.ForeignKey[Any, Any], value: object, tenant_id: str) -> None:
    """Refuse ``value`` (a primary key or an instance) for ``field`` unless its row belongs to ``tenant_id``.

    The database is asked, not the instance: an instance can be made up.

    Raises:
        TenantMismatch: the target does not exist within the tenant.
    """
    if value is None:
        return
    if hasattr(value, "resolve_expression"):
        raise TenancyError(
            f"{field.model.__name__}.{field.name} cannot be written by an expression: its tenant could not be checked; "
            "write an instance or a primary key"
        )
    key = value.pk if isinstance(value, models.Model) else value
    target: Any = field.related_model
    if not target._base_manager.filter(pk=key, tenant_id=tenant_id).exists():
        raise TenantMismatch(
            f"{field.model.__name__}.{field.name}: {target.__name__} '{key}' does not exist in tenant '{tenant_id}'"
        )


def _check_rows(objs: Iterable[TenantModel], keys: list[models.ForeignKey[Any, Any]], binding: str) -> None:
    """Each row belongs to the active tenant and points at rows of its own; a target shared by many is asked for once."""
    pointed_at = {}
    for obj in objs:
        obj.refuse_other_tenant(binding)
        for field in keys:
            value = getattr(obj, field.attname)
            pointed_at[(field.name, value, obj.tenant_id)] = (field, value)
    for (_, _, tenant_id), (field, value) in pointed_at.items():
        check_foreign_key(field, value, tenant_id)


class TenantQuerySet(models.QuerySet[Any]):
    """A query set bound to the tenant in whose scope it was made; it runs in that scope only."""

    _query: Query
    _binding: str | None = None
    _foreign_keys_checked = False

    def _bind(self, binding: str) -> TenantQuerySet:
        self._binding = binding
        return self

    @property
    def query(self) -> Query:
        """The SQL query; refused outside the scope it was made in, so unions, ``|`` and subqueries cannot take it along."""
        if self._binding is not None:
            self._guard_read()
        return models.QuerySet.query.fget(self)  # type: ignore[attr-defined, no-any-return]

    @query.setter
    def query(self, value: Query) -> None:
        models.QuerySet.query.fset(self, value)  # type: ignore[attr-defined]

    def _clone(self) -> TenantQuerySet:
        clone: TenantQuerySet = super()._clone()  # type: ignore[misc]
        clone._binding = self._binding
        clone._foreign_keys_checked = self._foreign_keys_checked
        return clone

    def _guard(self) -> str:
        """The binding, once it is sure that the active scope is the one this query set was made in."""
        active = active_binding(self.model)
        if self._binding is None:
            raise TenancyError(
                f"this {self.model.__name__} query set was not made by its manager: use {self.model.__name__}.objects"
            )
        if active not in (self._binding, EVERY_TENANT):
            raise ScopeError(
                f"a {self.model.__name__} query set made for '{self._binding}' was run as '{active}': "
                "build it in the scope it runs in"
            )
        return active

    def _guard_read(self) -> None:
        if not self._query.is_empty():
            self._guard()

    # -- reads -------------------------------------------------------------------------------------------------------

    def _fetch_all(self) -> None:
        if self._result_cache is None:
            self._guard_read()
        super()._fetch_all()

    def iterator(self, chunk_size: int | None = None) -> Iterator[Any]:
        self._guard_read()
        return super().iterator(chunk_size)

    def aiterator(self, chunk_size: int = 2000) -> Any:
        self._guard_read()
        return super().aiterator(chunk_size)

    def count(self) -> int:
        self._guard_read()
        return super().count()

    def exists(self) -> bool:
        self._guard_read()
        return super().exists()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._guard_read()
        return super().aggregate(*args, **kwargs)

    def explain(self, *, format: Any = None, **options: Any) -> str:
        self._guard_read()
        return super().explain(format=format, **options)

    def raw(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TenancyError(f"raw SQL knows no tenant: write the {self.model.__name__} query with the ORM")

    def extra(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TenancyError(f"extra() can widen a query past its tenant: write the {self.model.__name__} query with the ORM")

    # -- writes ------------------------------------------------------------------------------------------------------

    def _insert(self, objs: Sequence[TenantModel], fields: Any, **kwargs: Any) -> Any:
        """Every INSERT of the ORM ends here: save, create, bulk_create, related managers, fixtures."""
        binding = self._guard()
        if kwargs.get("on_conflict") is not None and getattr(kwargs["on_conflict"], "name", "") == "UPDATE":
            raise TenancyError(
                f"bulk_create(update_conflicts=True) could overwrite another tenant's {self.model.__name__}: "
                "update the rows you read"
            )
        _check_rows(objs, tenant_foreign_keys(self.model), binding)
        return super()._insert(objs, fields, **kwargs)  # type: ignore[misc]

    _insert.alters_data = True  # type: ignore[attr-defined]
    _insert.queryset_only = False  # type: ignore[attr-defined]

    def _update(self, values: Any) -> int:
        """The UPDATE of ``Model.save``; ``values`` are (field, None, value). One row, already filtered by primary key."""
        binding = self._guard()
        for field, _, value in values:
            self._refuse_foreign(field, value, binding)
        return int(super()._update(values))  # type: ignore[misc]

    _update.alters_data = True  # type: ignore[attr-defined]
    _update.queryset_only = False  # type: ignore[attr-defined]

    def update(self, **kwargs: Any) -> int:
        binding = self._guard()
        for name, value in kwargs.items():
            field = self.model._meta.pk if name == "pk" else self.model._meta.get_field(name)
            if field.name == "tenant":
                raise TenancyError(f"a {self.model.__name__} never changes its tenant: copy it instead")
            self._refuse_foreign(field, value, binding)
        return super().update(**kwargs)

    update.alters_data = True  # type: ignore[attr-defined]

    def _refuse_foreign(self, field: Any, value: object, binding: str) -> None:
        if field.name == "tenant":
            # Saving a row writes its tenant back; that is no change as long as it is the tenant the row was stored for.
            key = value.pk if isinstance(value, models.Model) else value
            moves = key != binding if binding != EVERY_TENANT else self.order_by().exclude(tenant_id=key).exists()
            if moves:
                raise TenantMismatch(f"a {self.model.__name__} of '{binding}' cannot be given to tenant '{key}'")
            return
        if self._foreign_keys_checked or value is None or field not in tenant_foreign_keys(self.model):
            return
        if binding != EVERY_TENANT:
            check_foreign_key(field, value, binding)
            return
        for tenant_id in self.order_by().values_list("tenant_id", flat=True).distinct():
            check_foreign_key(field, value, tenant_id)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._guard()
        return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def _raw_delete(self, using: str | None) -> int:
        self._guard()
        return super()._raw_delete(using)

    _raw_delete.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        binding = self._guard()
        objs = list(objs)
        for obj in objs:
            obj.adopt_active_tenant(binding)
        return super().bulk_create(objs, *args, **kwargs)

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(self, objs: Iterable[Any], fields: Iterable[str], batch_size: int | None = None) -> int:
        binding = self._guard()
        objs, names = list(objs), set(fields)
        if "tenant" in names or "tenant_id" in names:
            raise TenancyError(f"a {self.model.__name__} never changes its tenant: copy it instead")
        keys = [field for field in tenant_foreign_keys(self.model) if {field.name, field.attname} & names]
        _check_rows(objs, keys, binding)
        checked = self._chain()  # type: ignore[attr-defined]
        checked._foreign_keys_checked = True
        return int(models.QuerySet.bulk_update(checked, objs, fields, batch_size=batch_size))

    bulk_update.alters_data = True  # type: ignore[attr-defined]


class TenantManager(models.Manager.from_queryset(TenantQuerySet)):  # type: ignore[misc]
    """Gives query sets filtered to the active tenant, and none at all outside a scope."""

    def get_queryset(self) -> TenantQuerySet:
        """Rows of the active tenant.

        Raises:
            ScopeError: no scope is active.
        """
        binding = active_binding(self.model)
        rows: TenantQuerySet = super().get_queryset()._bind(binding)
        return rows if binding == EVERY_TENANT else rows.filter(tenant_id=binding)

    def none(self) -> TenantQuerySet:
        """No rows; allowed outside a scope, because nothing can leak (serializers and schemas need it at import)."""
        rows: TenantQuerySet = super().get_queryset()
        rows.query.set_empty()
        return rows._bind(EVERY_TENANT)


def refuse_unsafe_kinds(model: type[models.Model]) -> Collection[str]:
    """Reasons why ``model``'s shape would leave a way round its tenant; empty when there is none."""
    meta, reasons = model._meta, []
    reasons += [f"manager '{m.name}' is not a TenantManager" for m in meta.managers if not isinstance(m, TenantManager)]
    if not isinstance(meta.base_manager, TenantManager):
        reasons.append("Meta.base_manager_name does not name a TenantManager")
    if any(not parent._meta.abstract for parent in model.__bases__ if hasattr(parent, "_meta")):
        reasons.append("it inherits from a concrete model (the parent's rows would be reachable alone)")
    reasons += [
        f"'{f.name}' makes its own join table: give it through=<a TenantModel>"
        for f in meta.local_many_to_many
        if f.remote_field.through is None or f.remote_field.through._meta.auto_created
    ]
    for field in meta.concrete_fields:
        if not isinstance(field, models.ForeignKey) or field.remote_field.hidden:
            continue
        target: Any = field.related_model
        if not _is_tenant_model(target):
            reasons.append(f"'{field.name}' opens a way from {target.__name__} to rows of all tenants: set related_name='+'")
    return reasons


def _is_tenant_model(model: Any) -> bool:
    from tenants.base import TenantModel

    return isinstance(model, type) and issubclass(model, TenantModel)
