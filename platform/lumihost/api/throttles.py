"""Rate limits. Counts live in the cache; keys name the user, so one tenant's haste never slows another's."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle, UserRateThrottle


class PerUser(UserRateThrottle):
    """All requests of one signed-in user."""

    scope = "user"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """Strangers are not counted here: what they may call has a throttle of its own."""
        if not request.user or not request.user.is_authenticated:
            return None
        return super().get_cache_key(request, view)


class LoginPerAddress(SimpleRateThrottle):
    """Sign-in attempts from one address."""

    scope = "login"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """By peer address."""
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class LoginPerAccount(SimpleRateThrottle):
    """Sign-in attempts on one account, from wherever they come."""

    scope = "login_account"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """By the address typed, whether or not it exists."""
        data = request.data if isinstance(request.data, dict) else {}
        email = str(data.get("email", "")).strip().lower()[:254]
        return self.cache_format % {"scope": self.scope, "ident": email.encode().hex()} if email else None


class Import(UserRateThrottle):
    """Uploads of product files."""

    scope = "import"


class MotionToken(UserRateThrottle):
    """Motion tokens issued."""

    scope = "motion_token"


class Start(UserRateThrottle):
    """Starts of live sessions."""

    scope = "start"
