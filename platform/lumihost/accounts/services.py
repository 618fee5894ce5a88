"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest

from lumihost.accounts.middleware import SEEN_AT, STARTED_AT
from lumihost.accounts.models import User
from lumihost.core import clock
from lumihost.core.problems import DomainError


class LoginRefused(DomainError):
    """401: address or password is wrong, or the account is closed; which of them is not said."""

    status = 401
    code = "login_refused"


def sign_in(request: HttpRequest, *, email: str, password: str) -> User:
    """Start a session; the session key changes, so one planted before sign-in is worthless.

    Raises:
        LoginRefused: the pair does not open an account.
    """
    user = authenticate(request, username=email, password=password)
    if not isinstance(user, User):
        raise LoginRefused("E-mail or password is wrong.")
    login(request, user)
    now_s = clock.now().timestamp()
    request.session[STARTED_AT] = now_s
    request.session[SEEN_AT] = now_s
    return user


def sign_out(request: HttpRequest) -> None:
    """End the session, on the server too."""
    logout(request)
