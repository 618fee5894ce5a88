"""Every WebSocket route as a stranger, as the other tenant, from another origin, and after leaving the tenant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from lumihost.config.asgi import application
from lumihost.realtime import broadcast
from lumihost.realtime.console import ConsoleConsumer
from lumihost.realtime.routing import websocket_urlpatterns
from tenants.context import scope
from tenants.models import Membership
from tenants.testing.tenants import CANARY, Party, make_two_tenants
from tests.isolation.world import furnish

pytestmark = [pytest.mark.isolation, pytest.mark.django_db(transaction=True)]

ROUTES = [str(route.pattern) for route in websocket_urlpatterns]
CONSOLE_ROUTES = [route for route in ROUTES if "tenant_id" in route]
MACHINE_ROUTES = {"ws/node/": "a node proves itself by its token"}
"""Routes without a tenant, and what guards them."""

QUIET_S = 0.3


@dataclass(frozen=True)
class Stage:
    a: Party
    b: Party
    session_a: str


@pytest.fixture
def stage(transactional_db: None) -> Iterator[Stage]:
    tenants = make_two_tenants()
    return Stage(tenants.a, tenants.b, furnish(tenants.a, CANARY)["sessions"])


def socket(path: str, user: Any = None, origin: str = "http://testserver", **headers: str) -> WebsocketCommunicator:
    sent = [(b"host", b"testserver"), (b"origin", origin.encode())]
    sent += [(name.encode(), value.encode()) for name, value in headers.items()]
    if user is not None:
        client = Client()
        client.force_login(user)
        sent.append(
            (b"cookie", f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode())
        )
    return WebsocketCommunicator(application, path, headers=sent)


async def refusal(communicator: WebsocketCommunicator) -> int:
    """The close code of a socket that is not let in, refused before or after it was accepted."""
    accepted, code = await communicator.connect()
    if not accepted:
        return int(code or 1000)
    output = await communicator.receive_output()
    assert output["type"] == "websocket.close", output
    return int(output["code"])


def path_of(route: str, tenant_id: str) -> str:
    return "/" + route.replace("<str:tenant_id>", tenant_id)


def test_every_route_is_known() -> None:
    assert CONSOLE_ROUTES
    assert {route for route in ROUTES if route not in CONSOLE_ROUTES} == MACHINE_ROUTES.keys()


@pytest.mark.parametrize("route", CONSOLE_ROUTES)
async def test_strangers_and_members_of_other_tenants_stay_outside(stage: Stage, route: str) -> None:
    path = path_of(route, stage.a.tenant.id)

    assert await refusal(await sync_to_async(socket)(path)) == 4401
    assert await refusal(await sync_to_async(socket)(path, stage.b.owner)) == 4404
    assert await refusal(await sync_to_async(socket)(path_of(route, "ten_none"), stage.b.owner)) == 4404


@pytest.mark.parametrize("route", CONSOLE_ROUTES)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
async def test_pages_of_other_origins_stay_outside(stage: Stage, route: str, origin: str) -> None:
    communicator = await sync_to_async(socket)(path_of(route, stage.a.tenant.id), stage.a.owner, origin=origin)

    assert await refusal(communicator) in (1000, 4403)


@pytest.mark.parametrize("route", MACHINE_ROUTES)
@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", "Basic eDp5"])
async def test_machine_sockets_want_their_token(stage: Stage, route: str, token: str) -> None:
    communicator = await sync_to_async(socket)("/" + route, stage.a.owner, authorization=token)

    assert await refusal(communicator) in range(4400, 4500)


async def test_events_of_a_session_reach_its_tenant_only(stage: Stage) -> None:
    async def watch(party: Party) -> WebsocketCommunicator:
        communicator = await sync_to_async(socket)(path_of("ws/console/<str:tenant_id>/", party.tenant.id), party.owner)
        assert (await communicator.connect())[0]
        await communicator.send_json_to({"type": "hello", "session": stage.session_a, "after_seq": 0})
        return communicator

    theirs, own = await watch(stage.b), await watch(stage.a)
    heard: list[Any] = []
    while not any(message["type"] == "session" for message in heard):
        heard.append(await own.receive_json_from())
    await broadcast.send_event(
        stage.a.tenant, stage.session_a, {"type": "event", "session": stage.session_a, "text": CANARY + "2"}
    )
    await broadcast.send_session(stage.a.tenant, stage.session_a)
    while CANARY + "2" not in repr(heard):
        heard.append(await own.receive_json_from())

    overheard: list[Any] = []
    while not await theirs.receive_nothing(timeout=QUIET_S):
        overheard.append(await theirs.receive_json_from())
    assert [message["type"] for message in overheard] == ["welcome", "error"]
    assert overheard[1]["code"] == "not_found"
    assert CANARY not in repr(overheard)
    await own.disconnect()
    await theirs.disconnect()


async def test_a_member_who_leaves_is_cut_off(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsoleConsumer, "recheck_s", 0.0)
    communicator = await sync_to_async(socket)(path_of("ws/console/<str:tenant_id>/", stage.a.tenant.id), stage.a.owner)
    assert (await communicator.connect())[0]
    assert (await communicator.receive_json_from())["type"] == "welcome"

    await sync_to_async(Membership.objects.filter(user=stage.a.owner).delete)()
    await broadcast.send_session(stage.a.tenant, stage.session_a)

    output = await communicator.receive_output()
    assert (output["type"], output.get("code")) == ("websocket.close", 4404)


async def test_scope_does_not_outlive_a_socket_message(stage: Stage) -> None:
    from tenants.context import current_tenant_or_none

    communicator = await sync_to_async(socket)(path_of("ws/console/<str:tenant_id>/", stage.a.tenant.id), stage.a.owner)
    assert (await communicator.connect())[0]
    await communicator.disconnect()

    assert current_tenant_or_none() is None
    with scope(stage.b.tenant):
        assert current_tenant_or_none() == stage.b.tenant
