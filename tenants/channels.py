"""The base of every WebSocket consumer that shows a tenant's data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import urlsplit

from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import SESSION_KEY

from tenants.access import membership_of
from tenants.context import scope
from tenants.models import Membership
from tenants.roles import Permission

CLOSE_UNAUTHENTICATED = 4401
CLOSE_FORBIDDEN = 4403
CLOSE_NOT_FOUND = 4404


class TenantConsumer(AsyncJsonWebsocketConsumer):
    """A console socket inside one tenant (URL kwarg ``tenant_id``).

    Only pages of our own origin (or of ``CSRF_TRUSTED_ORIGINS``) may open it: browsers send cookies to any WebSocket.
    It accepts, then closes with 4401/4403/4404 where entry is refused: browsers see a close before accept only as 1006.
    Membership is read again every ``recheck_s`` before a message is handled or delivered, so a revoked member is cut off. Each
    message runs in the tenant's scope. Subclasses override :meth:`opened` and :meth:`receive_json`, never :meth:`dispatch`.
    """

    permission: ClassVar[Permission]
    recheck_s: ClassVar[float] = 60.0
    clock: ClassVar[Callable[[], float]] = time.monotonic

    membership: Membership | None = None
    _checked_at_s: float = 0.0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        broken = sorted({"dispatch", "websocket_connect", "connect"} & cls.__dict__.keys())
        if broken:
            raise TypeError(f"{cls.__name__} overrides {', '.join(broken)}, which keep it inside its tenant: override opened()")

    async def opened(self) -> None:
        """Called once the member is let in, inside the scope: join groups, send the welcome."""

    async def connect(self) -> None:
        """Accept, then let in or close."""
        await self.accept()
        if not self._own_origin():
            await self.close(code=CLOSE_FORBIDDEN)
            return
        if await self._let_in():
            with scope(self._member().tenant):
                await self.opened()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Deliver one message of the socket or of a group, inside the scope."""
        kind = message["type"]
        if kind in ("websocket.connect", "websocket.disconnect"):
            await super().dispatch(message)
            return
        if self.membership is None:
            return
        if kind == "authz.changed" or type(self).clock() - self._checked_at_s >= self.recheck_s:
            if not await self._let_in():
                return
            if kind == "authz.changed":
                return
        with scope(self._member().tenant):
            await super().dispatch(message)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """Leave groups and end the consumer; runs in the scope so that group names can be built."""
        if self.membership is None:
            raise StopConsumer()
        with scope(self._member().tenant):
            await super().websocket_disconnect(message)

    def _own_origin(self) -> bool:
        headers = {name.lower(): value.decode("latin-1") for name, value in self.scope.get("headers", [])}
        origin = headers.get(b"origin", "")
        return bool(origin) and (urlsplit(origin).netloc == headers.get(b"host") or origin in settings.CSRF_TRUSTED_ORIGINS)

    async def _still_signed_in(self, user_id: str) -> bool:
        """Whether the session the socket was opened with is still the user's: signing out, an expired or a revoked session
        ends its sockets too. A scope without a session (another way of signing in) is judged by its user alone."""
        session = self.scope.get("session")
        if session is None:
            return True

        def read() -> bool:
            key = session.session_key
            return (
                bool(key)
                and str(type(session._wrapped if hasattr(session, "_wrapped") else session)(key).get(SESSION_KEY)) == user_id
            )

        return bool(await database_sync_to_async(read)())

    def _member(self) -> Membership:
        assert self.membership is not None
        return self.membership

    async def _let_in(self) -> bool:
        """Read membership again; close and return false when entry is refused."""
        user = self.scope.get("user")
        code = None
        if user is None or not user.is_authenticated or not await self._still_signed_in(str(user.pk)):
            code = CLOSE_UNAUTHENTICATED
        else:
            found = await database_sync_to_async(membership_of)(user.pk, self.scope["url_route"]["kwargs"]["tenant_id"])
            if found is None:
                code = CLOSE_NOT_FOUND
            elif self.permission not in found.permissions:
                code = CLOSE_FORBIDDEN
        if code is not None:
            self.membership = None
            await self.close(code=code)
            return False
        self.membership = found
        self._checked_at_s = type(self).clock()
        return True
