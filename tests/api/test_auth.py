"""Signing in: cookie, CSRF, throttles, absolute age; every refusal is a problem document."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from lumihost.core import clock
from tenants.models import Membership
from tenants.testing.tenants import PASSWORD, TwoTenants

pytestmark = pytest.mark.api

SESSION = "/api/v1/auth/session"
LOGIN = "/api/v1/auth/login"
LOGOUT = "/api/v1/auth/logout"


def post(client: Client, url: str, body: Any, token: str | None = None) -> Any:
    headers = {"X-CSRFToken": token} if token else {}
    return client.post(url, body, content_type="application/json", headers=headers)


def browser() -> tuple[Client, str]:
    """A browser that has loaded the session endpoint and holds the CSRF token."""
    client = Client(enforce_csrf_checks=True)
    return client, client.get(SESSION).json()["csrf_token"]


def test_a_stranger_has_no_user(db: None) -> None:
    answer = Client().get(SESSION)

    assert answer.status_code == 200
    assert (answer.json()["user"], answer.json()["memberships"]) == (None, [])
    assert answer.json()["csrf_token"]


def test_signing_in_and_out(two_tenants: TwoTenants) -> None:
    client, token = browser()

    answer = post(client, LOGIN, {"email": "  OWNER@tenant-b.test", "password": PASSWORD}, token)

    assert answer.status_code == 200, answer.content
    session = answer.json()
    assert session["user"] == {
        "id": two_tenants.b.owner.pk,
        "email": "owner@tenant-b.test",
        "name": "owner",
        "language": "zh-hans",
    }
    (membership,) = session["memberships"]
    place = {"currency": "CNY", "locale": "zh-hans", "timezone": "Asia/Shanghai"}
    assert membership["tenant"] == {"id": two_tenants.b.tenant.pk, "name": "tenant-b", "slug": "tenant-b", **place}
    assert membership["role"] == "owner"
    assert {"products:write", "sessions:start", "channels:write"} <= set(membership["permissions"])
    cookie = answer.cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")

    left = post(client, LOGOUT, {}, session["csrf_token"])
    assert left.json()["user"] is None
    assert client.get(SESSION).json()["user"] is None


def test_the_session_key_changes_at_sign_in(two_tenants: TwoTenants) -> None:
    client, token = browser()
    session = client.session
    session["planted"] = True
    session.save()
    planted = session.session_key

    post(client, LOGIN, {"email": "owner@tenant-b.test", "password": PASSWORD}, token)

    assert client.cookies[settings.SESSION_COOKIE_NAME].value != planted


@pytest.mark.parametrize(
    ("email", "password"),
    [("owner@tenant-b.test", "wrong password"), ("nobody@tenant-b.test", PASSWORD), ("owner@tenant-b.test", PASSWORD.upper())],
)
def test_wrong_credentials_all_look_the_same(two_tenants: TwoTenants, email: str, password: str) -> None:
    client, token = browser()

    answer = post(client, LOGIN, {"email": email, "password": password}, token)

    assert (answer.status_code, answer.json()["code"]) == (401, "login_refused")
    assert answer["Content-Type"] == "application/problem+json"
    assert client.get(SESSION).json()["user"] is None


def test_a_closed_account_cannot_sign_in(two_tenants: TwoTenants) -> None:
    two_tenants.b.owner.is_active = False
    two_tenants.b.owner.save()
    client, token = browser()

    assert post(client, LOGIN, {"email": "owner@tenant-b.test", "password": PASSWORD}, token).status_code == 401


@pytest.mark.parametrize("url", [LOGIN, LOGOUT])
def test_sign_in_and_out_want_the_csrf_token(two_tenants: TwoTenants, url: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(two_tenants.b.owner)

    answer = post(client, url, {"email": "owner@tenant-b.test", "password": PASSWORD})

    assert (answer.status_code, answer.json()["code"]) == (403, "csrf_refused")
    assert client.get(SESSION).json()["user"] is not None


def test_writes_want_the_csrf_token_and_reads_do_not(two_tenants: TwoTenants) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(two_tenants.b.owner)
    url = f"/api/v1/tenants/{two_tenants.b.tenant.pk}/products"

    assert client.get(url).status_code == 200
    assert post(client, url, {"sku": "1", "title": {"zh": "x"}, "price_minor": 1}).json()["code"] == "csrf_refused"
    assert client.get(url).json()["items"] == []
    token = client.get(SESSION).json()["csrf_token"]
    assert post(client, url, {"sku": "1", "title": {"zh": "x"}, "price_minor": 1}, token).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, "/email"), ({"email": "a@b.c"}, "/password"), ({"email": "a@b.c", "password": ["x"]}, "/password"), ([], "")],
)
def test_malformed_credentials_name_the_field(db: None, body: Any, pointer: str) -> None:
    client, token = browser()

    answer = post(client, LOGIN, body, token)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_guessing_is_slowed_by_address(two_tenants: TwoTenants) -> None:
    client, token = browser()
    for n in range(10):
        assert post(client, LOGIN, {"email": f"x{n}@y.z", "password": "guess"}, token).status_code == 401

    answer = post(client, LOGIN, {"email": "owner@tenant-b.test", "password": PASSWORD}, token)

    assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
    assert 1 <= int(answer["Retry-After"]) <= 60


def test_guessing_one_account_from_many_addresses_is_slowed(two_tenants: TwoTenants) -> None:
    client, token = browser()
    statuses = [
        client.post(
            LOGIN,
            {"email": "Owner@tenant-b.test" if n % 2 else "owner@tenant-b.test ", "password": "guess"},
            content_type="application/json",
            headers={"X-CSRFToken": token},
            REMOTE_ADDR=f"10.0.0.{n}",
        ).status_code
        for n in range(21)
    ]

    assert statuses == [401] * 20 + [429]


def test_a_session_ends_after_twelve_hours_however_busy(two_tenants: TwoTenants) -> None:
    start = timezone.now()
    client, token = browser()
    with clock.running(lambda: start):
        post(client, LOGIN, {"email": "owner@tenant-b.test", "password": PASSWORD}, token)
    for hours in (2, 4, 6, 8, 10, 11.9):
        with clock.running(lambda hours=hours: start + timedelta(hours=hours)):  # type: ignore[misc]
            assert client.get(SESSION).json()["user"] is not None

    with clock.running(lambda: start + timedelta(hours=12.1)):
        assert client.get(SESSION).json()["user"] is None


def test_memberships_list_active_tenants_only(two_tenants: TwoTenants) -> None:
    Membership.objects.create(user=two_tenants.b.owner, tenant=two_tenants.a.tenant, role="analyst")
    client = Client()
    client.force_login(two_tenants.b.owner)

    roles = {m["tenant"]["slug"]: m["role"] for m in client.get(SESSION).json()["memberships"]}

    assert roles == {"tenant-b": "owner", "tenant-a": "analyst"}
