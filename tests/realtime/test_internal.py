"""The loopback endpoint: only the platform's own processes, only known messages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import AsyncClient, RequestFactory, override_settings

from lumihost.realtime.flusher import flusher
from lumihost.realtime.internal import _trusted
from tenants.testing.tenants import TwoTenants

pytestmark = [pytest.mark.realtime, pytest.mark.django_db(transaction=True)]

URL = "/internal/v1/notify"


async def post(body: Any, *, secret: str = "right", **headers: str) -> int:
    with override_settings(INTERNAL_SECRET="right"):
        response = await AsyncClient().post(
            URL, body, content_type="application/json", headers={"Authorization": f"Bearer {secret}", **headers}
        )  # fmt: skip
    await flusher.stop()
    return int(response.status_code)


async def test_the_secret_opens_and_nothing_else_does(tenants: TwoTenants) -> None:
    assert await post({"kind": "beat"}) == 200
    assert await post({"kind": "beat"}, secret="wrong") == 403
    assert await post({"kind": "beat"}, secret="") == 403


async def test_a_forwarded_request_is_from_outside(tenants: TwoTenants) -> None:
    assert await post({"kind": "beat"}, **{"X-Forwarded-For": "203.0.113.9"}) == 403


@pytest.mark.parametrize("body", [[], {}, {"kind": "nobody"}, {"kind": "stop"}, "text", {"kind": "session", "tenant": "a"}])
async def test_what_is_no_message_is_refused(tenants: TwoTenants, body: Any) -> None:
    assert await post(body) in (400, 404)


async def test_knowledge_of_a_tenant_without_hosts_tells_nobody(tenants: TwoTenants) -> None:
    assert await post({"kind": "knowledge", "tenant": tenants.a.tenant.pk}) == 200
    assert await post({"kind": "knowledge", "tenant": "ten_none"}) == 404


@pytest.mark.parametrize(("peer", "trusted"), [("127.0.0.1", True), ("192.0.2.5", True), ("192.0.2.6", False)])
def test_our_own_processes_may_come_from_the_address_we_listen_on(peer: str, trusted: bool) -> None:
    request = RequestFactory().post(URL, REMOTE_ADDR=peer, SERVER_NAME="192.0.2.5", headers={"Authorization": "Bearer right"})
    with override_settings(INTERNAL_SECRET="right"):
        assert _trusted(request) is trusted
