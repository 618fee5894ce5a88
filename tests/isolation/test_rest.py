"""Every operation of the API as a stranger, as the other tenant, and as each role. New endpoints are walked by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from pytest_django import DjangoDbBlocker

from tenants.drf import TenantViewSet
from tenants.models import Membership, Tenant
from tenants.roles import Role, permissions_of
from tenants.testing.tenants import CANARY, Party, make_two_tenants
from tenants.testing.walker import Operation, operations, request_arguments, schema, schema_path, url_patterns
from tests.isolation.world import SHARED, everything_of, foreign_fields, furnish, tenant_models

pytestmark = pytest.mark.isolation

DOCUMENT = schema()
OPERATIONS = operations(DOCUMENT)
IN_TENANT = [operation for operation in OPERATIONS if operation.in_tenant]
OPEN = {
    "GET /api/v1/auth/session": "says 'nobody' to a stranger",
    "POST /api/v1/auth/login": "how a stranger becomes somebody",
    "POST /api/v1/auth/logout": "harmless to a stranger",
}
"""Operations a stranger may call, and why."""

PUBLIC_URLS = {
    "api/v1/schema": "describes the API; the same for everybody",
    "healthz": "says only whether the process can answer",
    r"^(?!(?:api|static|media|nodes|internal|ws)(?:/|$))(?:[\w-]+(?:/[\w-]+)*/?)?$": "the console's page holds no data",
}
"""URLs outside the schema that anyone may open, and why."""

MACHINE_PREFIXES = ("nodes/", "internal/")
"""URLs outside the schema that want a node's token or the installation's secret."""


@dataclass(frozen=True)
class World:
    a: Party
    b: Party
    ids_a: dict[str, str]
    ids_b: dict[str, str]
    state_a: dict[str, Any]
    """All rows of A as they were made."""


@pytest.fixture(scope="module")
def _furnished(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Made once for the module, in a transaction that is rolled back at its end; each test has a savepoint of its own."""
    with django_db_blocker.unblock(), transaction.atomic():
        tenants = make_two_tenants()
        ids_a, ids_b = furnish(tenants.a, CANARY), furnish(tenants.b, "plain")
        yield World(tenants.a, tenants.b, ids_a, ids_b, everything_of(tenants.a))
        transaction.set_rollback(True)


@pytest.fixture
def world(_furnished: World, db: None) -> World:
    return _furnished


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def call(client: Client, operation: Operation, url: str, ids: dict[str, str]) -> tuple[HttpResponse, list[str]]:
    arguments, foreign = request_arguments(operation, foreign_fields(ids))
    if operation.method in ("put", "patch") and "content_type" not in arguments:
        arguments["content_type"] = "application/json"
    return getattr(client, operation.method)(url, **arguments), foreign


def signed_in(user: Any) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


async def _streamed(response: HttpResponse) -> bytes:
    return b"".join([chunk async for chunk in response.streaming_content])  # type: ignore[attr-defined]


def body_of(response: HttpResponse) -> str:
    content = async_to_sync(_streamed)(response) if response.streaming else response.content  # type: ignore[attr-defined]
    return content.decode("utf-8", "replace") + repr(dict(response.headers))


def test_the_walk_covers_the_whole_schema() -> None:
    listed = sum(method in item for item in DOCUMENT["paths"].values() for method in ("get", "post", "put", "patch", "delete"))

    assert len(OPERATIONS) == listed >= 40
    assert {operation.name for operation in OPERATIONS if not operation.in_tenant} == OPEN.keys()


def test_every_tenant_model_has_a_row_to_steal(world: World) -> None:
    holding = {label for label, rows in everything_of(world.a).items() if rows}

    # Rows that come into being by the platform's own doing and are reached by no endpoint.
    unreachable = {"api.IdempotentRequest", "metering.UsageBucket", "live.SessionAssignment"}
    assert {model._meta.label for model in tenant_models()} - holding <= unreachable


@pytest.mark.parametrize("operation", IN_TENANT, ids=lambda o: o.name)
def test_strangers_are_asked_to_sign_in(world: World, operation: Operation) -> None:

    response, _ = call(Client(), operation, operation.url(world.a.tenant.id, world.ids_a), world.ids_a)

    assert response.status_code == 401, body_of(response)
    assert response["Content-Type"].startswith("application/problem+json")
    assert CANARY not in body_of(response)
    assert everything_of(world.a) == world.state_a


@pytest.mark.parametrize("operation", IN_TENANT, ids=lambda o: o.name)
def test_the_other_tenants_owner_finds_nothing_there(world: World, operation: Operation) -> None:
    """B's owner names tenant A in the path."""

    response, _ = call(signed_in(world.b.owner), operation, operation.url(world.a.tenant.id, world.ids_a), world.ids_a)

    assert response.status_code == 404, body_of(response)
    assert CANARY.encode() not in body_of(response).encode()
    assert everything_of(world.a) == world.state_a


@pytest.mark.parametrize("operation", IN_TENANT, ids=lambda o: o.name)
def test_the_other_tenants_rows_do_not_exist_at_home(world: World, operation: Operation) -> None:
    """B's owner names their own tenant, and A's rows in path and body."""
    leaks = {key: value for key, value in world.ids_a.items() if key != "whep" and key not in SHARED}

    with rolled_back():
        response, foreign = call(
            signed_in(world.b.owner), operation, operation.url(world.b.tenant.id, world.ids_a), world.ids_a
        )
        after = everything_of(world.a)
        mixed = [(label, row["id"]) for label, rows in everything_of(world.b).items() for row in rows if _points(row, leaks)]

    text = body_of(response)
    if foreign:
        assert response.status_code in (400, 404, 422), text
    elif operation.row_parameters and all(collection in SHARED for _, collection in operation.row_parameters):
        assert (operation.method, response.status_code) == ("get", 200)
    elif operation.row_parameters:
        assert response.status_code == 404, text
    else:
        assert response.status_code < 500, text
    # A problem may repeat the id that was asked for, never what stands behind it.
    assert CANARY not in text.replace(world.ids_a["whep"], "")
    assert after == world.state_a
    assert mixed == []


def _points(row: dict[str, Any], leaks: dict[str, str]) -> bool:
    text = repr(row)
    return any(row_id in text for row_id in leaks.values())


@pytest.mark.parametrize("operation", IN_TENANT, ids=lambda o: o.name)
def test_rows_of_the_world_are_found_by_their_owner(world: World, operation: Operation) -> None:
    """The control: the same request by A's owner is not a 404, so the 404 of the attack was tenancy's."""
    with rolled_back():
        response, _ = call(signed_in(world.a.owner), operation, operation.url(world.a.tenant.id, world.ids_a), world.ids_a)

    assert response.status_code not in (401, 403), body_of(response)
    if response.status_code == 404:
        assert operation.name.endswith(("/content", "/whep/{viewer_id}")), body_of(response)


@pytest.mark.parametrize("operation", IN_TENANT, ids=lambda o: o.name)
def test_roles_open_exactly_what_the_table_says(world: World, operation: Operation) -> None:
    url = operation.url(world.a.tenant.id, world.ids_a)
    view = resolve(url).func
    needed = view.cls.permissions[view.actions[operation.method]]
    for role in Role:
        with rolled_back():
            response, _ = call(signed_in(world.a.members[role]), operation, url, world.ids_a)
            if needed in permissions_of(role):
                assert response.status_code not in (401, 403), f"{role}: {body_of(response)}"
            else:
                assert response.status_code == 403, f"{role}: {body_of(response)}"
                assert everything_of(world.a) == world.state_a


def test_leaving_a_tenant_closes_it_at_once(world: World) -> None:
    client = signed_in(world.a.owner)
    url = f"/api/v1/tenants/{world.a.tenant.id}/products"
    assert client.get(url).status_code == 200

    Membership.objects.filter(user=world.a.owner).delete()

    assert client.get(url).status_code == 404


def test_a_suspended_tenant_is_closed(world: World) -> None:
    client = signed_in(world.a.owner)
    Tenant.objects.filter(pk=world.a.tenant.pk).update(is_active=False)

    assert client.get(f"/api/v1/tenants/{world.a.tenant.id}/products").status_code == 404
    assert client.get("/api/v1/auth/session").json()["memberships"] == []


def test_every_view_inside_a_tenant_is_a_tenant_view() -> None:
    inside = [(route, callback) for route, callback in url_patterns() if "tenant_id" in route]

    assert len(inside) > 15
    for route, callback in inside:
        cls = getattr(callback, "cls", None)
        assert cls is not None, route
        assert issubclass(cls, TenantViewSet), route
        missing = set(callback.actions.values()) - cls.permissions.keys()
        assert not missing, f"{cls.__name__}.permissions lacks {missing}"


def test_every_url_is_described_public_or_a_machines() -> None:
    paths = set(DOCUMENT["paths"])
    outside = [route for route, _ in url_patterns() if schema_path(route) not in paths]

    unknown = [route for route in outside if route not in PUBLIC_URLS and not route.startswith(MACHINE_PREFIXES)]
    assert unknown == []
    assert PUBLIC_URLS.keys() <= set(outside)


@pytest.mark.parametrize("route", [r for r, _ in url_patterns() if r.startswith(MACHINE_PREFIXES)])
@pytest.mark.parametrize("method", ["get", "post", "put"])
def test_machines_urls_want_their_credential(world: World, route: str, method: str) -> None:
    url = schema_path(route).replace("{session_id}", world.ids_a["sessions"]).replace("{name}", "x.mp4")
    arguments: dict[str, Any] = {} if method == "get" else {"data": b"{}", "content_type": "application/json"}
    for client in (Client(), signed_in(world.b.owner), signed_in(world.a.owner), Client(HTTP_AUTHORIZATION="Bearer wrong")):
        response = getattr(client, method)(url + "?epoch=1", **arguments)

        assert response.status_code in (401, 403, 405), f"{method} {url}: {response.status_code} {body_of(response)[:300]}"
        assert CANARY not in body_of(response)
    assert everything_of(world.a) == world.state_a
