"""What tenancy raises when code would leave its tenant."""

from __future__ import annotations

from django_scopes.exceptions import ScopeError

__all__ = ["ScopeError", "TenancyError", "TenantMismatch"]


class TenancyError(Exception):
    """Code asked tenancy for something it never grants (raw SQL, moving a row, an unprotected base class)."""


class TenantMismatch(TenancyError):
    """A row, or a row it points at, belongs to another tenant than the active scope."""
