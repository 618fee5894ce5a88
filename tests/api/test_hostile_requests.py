"""Requests no honest client sends: each is the caller's fault (4xx), never ours (5xx), and changes nothing."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.test import Client

from lumihost.live import editing
from tenants.context import scope
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR

pytestmark = pytest.mark.api


def signed_in(tenants: TwoTenants) -> tuple[Client, str]:
    client = Client(raise_request_exception=False)
    client.force_login(tenants.a.owner)
    return client, f"/api/v1/tenants/{tenants.a.tenant.pk}"


@pytest.mark.parametrize("collection", ["products", "sessions", "shows", "channels"])
@pytest.mark.parametrize("cursor", ["p=abc", "p=%00", "r=1&p=9999-99-99", "o=-5", "p="])
def test_a_cursor_we_did_not_make_is_not_found(two_tenants: TwoTenants, collection: str, cursor: str) -> None:
    client, base = signed_in(two_tenants)
    answer = client.get(f"{base}/{collection}", {"cursor": base64.b64encode(cursor.encode()).decode()})
    assert answer.status_code in (200, 404)
    assert answer.status_code == 404 or cursor == "p="


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-13-01T00:00:00Z", "x"])
def test_an_instant_outside_of_time_is_invalid(two_tenants: TwoTenants, name: str, instant: str) -> None:
    client, base = signed_in(two_tenants)
    answer = client.get(f"{base}/usage", {name: instant})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize("body", ['{"sku":' + "[" * 100_000, '{"sku": "s", "title": {"zh": "\\ud800"}, "price_minor": 1}'])
def test_a_body_nobody_can_read_is_malformed(two_tenants: TwoTenants, body: str) -> None:
    client, base = signed_in(two_tenants)
    answer = client.post(f"{base}/products", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert client.get(f"{base}/products").json()["items"] == []


def test_a_channel_takes_so_many_destinations_and_no_more(two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MAX_PER_CHANNEL", 2)
    client, base = signed_in(two_tenants)
    with scope(two_tenants.a.tenant):
        channel = editing.create_channel(fields={"name": "c"}, actor=ACTOR)

    def add(number: int) -> Any:
        body = {"name": f"d{number}", "url": "rtmp://push.example.com/live"}
        return client.post(f"{base}/channels/{channel.pk}/destinations", body, content_type="application/json")

    assert [add(number).status_code for number in range(3)] == [201, 201, 409]
    assert len(client.get(f"{base}/channels/{channel.pk}/destinations").json()["items"]) == 2
