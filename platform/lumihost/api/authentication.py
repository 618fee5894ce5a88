"""How the console proves who it is. Kept apart from views: DRF imports it while it imports itself."""

from __future__ import annotations

from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request


class ConsoleSession(SessionAuthentication):
    """The session cookie, with CSRF check on every unsafe method; answers 401, not 403, to strangers."""

    def authenticate_header(self, request: Request) -> str:
        """A challenge no browser pops a dialog for."""
        return 'Session realm="lumihost"'
