"""The base of every REST view that touches a tenant's rows."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any, ClassVar

from django.db.models import Model, QuerySet
from rest_framework.exceptions import MethodNotAllowed, NotAuthenticated, NotFound, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from tenants.access import membership_of
from tenants.context import scope
from tenants.models import Membership, Tenant
from tenants.roles import Permission

log = logging.getLogger(__name__)


class MemberWithPermission(BasePermission):
    """Member of the tenant in the URL (else 404) whose role has the permission of the action (else 403)."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Set ``view.membership`` or raise."""
        if not request.user or not request.user.is_authenticated:
            raise NotAuthenticated()
        membership = membership_of(request.user.pk, view.kwargs["tenant_id"])
        if membership is None:
            log.warning("user %s asked for tenant '%s', of which they are no member", request.user.pk, view.kwargs["tenant_id"])
            raise NotFound()
        if view.action in (None, "metadata"):
            raise MethodNotAllowed(request.method or "")
        needed = view.needed_permission()
        if needed not in membership.permissions:
            raise PermissionDenied(
                f"role '{membership.role}' lacks the permission '{needed}': ask an owner of {membership.tenant.name}"
            )
        view.membership = membership
        return True


class TenantViewSet(GenericViewSet[Any]):
    """A view set inside one tenant: ``/tenants/{tenant_id}/…``.

    A subclass names the permission of each action in ``permissions`` and returns its rows from :meth:`rows`. Membership
    and role are checked, then the scope is entered for the whole action and left in any case. The methods in ``SEALED`` hold
    that together and cannot be overridden; a view that needs one of them otherwise is not a TenantViewSet.
    """

    SEALED: ClassVar[frozenset[str]] = frozenset(
        {
            "get_queryset",
            "get_object",
            "get_permissions",
            "check_permissions",
            "initial",
            "dispatch",
            "permission_classes",
            "queryset",
        }
    )

    permissions: ClassVar[dict[str, Permission]] = {}
    """Action name (``list``, ``create``, ``stop`` …) → permission."""

    permission_classes = (MemberWithPermission,)
    membership: Membership
    _scope: ExitStack

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        broken = sorted(TenantViewSet.SEALED & cls.__dict__.keys())
        if broken:
            raise TypeError(
                f"{cls.__name__} overrides {', '.join(broken)}, which keep it inside its tenant: return rows "
                "from rows() and name permissions in `permissions`"
            )

    @property
    def tenant(self) -> Tenant:
        """The tenant of the URL, once membership is checked."""
        return self.membership.tenant

    def needed_permission(self) -> Permission:
        """The permission of the current action.

        Raises:
            RuntimeError: the view forgot to name it; a forgotten action is closed, not open.
        """
        try:
            return self.permissions[self.action]
        except KeyError:
            raise RuntimeError(
                f"{type(self).__name__}.permissions names no permission for the action '{self.action}'"
            ) from None

    def rows(self) -> QuerySet[Any]:
        """The rows this view is about; runs inside the scope.

        Raises:
            NotImplementedError: the view has no rows of its own and uses a mixin that asks for them.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rows(): return a query set of its TenantModel")

    def get_queryset(self) -> QuerySet[Any]:
        """:meth:`rows`, or none while the schema is being generated."""
        if getattr(self, "swagger_fake_view", False):
            serializer = self.get_serializer_class()
            model: type[Model] = serializer.Meta.model  # type: ignore[attr-defined]
            return model._default_manager.none()
        return self.rows()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, authorise, throttle; then enter the scope."""
        super().initial(request, *args, **kwargs)
        self._scope.enter_context(scope(self.membership.tenant))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Run the action and leave the scope whatever happens: threads are reused and context variables stay in them."""
        with ExitStack() as stack:
            self._scope = stack
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]
