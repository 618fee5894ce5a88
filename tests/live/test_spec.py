"""What the platform hands to an engine is what the engine reads; and only the node that holds the session gets it."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from django.test import Client, override_settings

from gpu_engine.session.spec import SessionSpec
from lumihost.core.audit import AuditEvent
from lumihost.knowledge.models import Product
from lumihost.live import editing, services, spec
from lumihost.live.models import LiveSession, Recording
from lumihost.metering.models import UsageEvent
from tenants.context import scope
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR, SEGMENTS, assigned, make_node, token_of

pytestmark = [pytest.mark.services, pytest.mark.django_db]


def nodes(method: str, path: str, node_id: str = "n1", body: Any = None, **options: Any) -> Any:
    call = getattr(Client(), method)
    return call(f"/nodes/v1/{path}", body, headers={"Authorization": f"Bearer {token_of(node_id)}"}, **options)


def test_the_engine_accepts_the_spec_as_it_is(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        product = Product.objects.create(sku="A-1", title_zh="面膜", currency="CNY", price_minor=1990)
        segments = [{**SEGMENTS[0], "product_id": product.pk}]
        show = editing.create_show(fields={"title": "t", "segments": segments, "language": "en", "speed": 1.1}, actor=ACTOR)
        session = services.start_session(show_id=show.pk, actor=ACTOR)
        session = services.assign(session_id=session.pk, node=node, actor=ACTOR)
        LiveSession.objects.update(cursor={"loop": 1, "segment_index": 0, "line_index": 0, "sentence_index": 2, "title": "x"})
        session.refresh_from_db()
        built = spec.build(session)
    read = SessionSpec.model_validate_json(json.dumps(built))
    assert (read.session_id, read.epoch, read.lang, read.voice.speed) == (session.pk, 1, "en", 1.1)
    assert read.knowledge.product(product.pk).price_minor == 1990  # type: ignore[union-attr]
    assert (read.cursor.loop, read.cursor.sentence_index) == (1, 2)
    assert [output.kind for output in read.outputs] == ["webrtc", "recording"]


def test_a_deleted_product_does_not_keep_a_show_off_the_air(two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        show = editing.create_show(fields={"title": "t", "segments": [{**SEGMENTS[0], "product_id": "prd_gone"}]}, actor=ACTOR)
        built = spec.build(services.start_session(show_id=show.pk, record=False, actor=ACTOR))
    assert SessionSpec.model_validate(built).show.segments[0].product_id is None
    assert [output["kind"] for output in built["outputs"]] == ["webrtc"]


def test_only_the_node_that_holds_the_epoch_gets_the_spec(two_tenants: TwoTenants) -> None:
    node, _ = make_node("n1"), make_node("n2")
    with scope(two_tenants.a.tenant):
        session = assigned(node)
    path = f"sessions/{session.pk}/spec"
    assert nodes("get", f"{path}?epoch=1").status_code == 200
    assert nodes("get", f"{path}?epoch=1", "n2").status_code == 404
    assert nodes("get", f"{path}?epoch=2").status_code == 404
    assert nodes("get", path).status_code == 400
    assert Client().get(f"/nodes/v1/{path}?epoch=1").status_code == 401
    with scope(two_tenants.a.tenant):
        services.stop_session(session_id=session.pk, reason="enough", actor=ACTOR)
    assert nodes("get", f"{path}?epoch=1").status_code == 410


def test_a_recording_comes_in_once_however_often_it_is_sent(two_tenants: TwoTenants) -> None:
    node, _ = make_node("n1"), make_node("n2")
    with scope(two_tenants.a.tenant):
        session = assigned(node)
    path = f"sessions/{session.pk}/recordings/{session.pk}.1.1.mp4?epoch=1&duration_s=1.5"
    for _ in range(2):
        answer = nodes("put", path, body=b"x" * 1000, content_type="video/mp4")
        assert (answer.status_code, answer.json()["bytes"]) == (201, 1000)
    assert nodes("put", path, "n2", body=b"y", content_type="video/mp4").status_code == 404
    with scope(two_tenants.a.tenant):
        assert list(Recording.objects.values_list("bytes", "duration_s")) == [(1000, 1.5)]
        assert AuditEvent.objects.filter(action="recording.stored").count() == 2


def test_usage_over_http_is_the_same_ledger(two_tenants: TwoTenants) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
    segment = {"seq": 1, "incarnation": 1, "from_s": 0, "to_s": 5, "started_at_ms": 1_796_000_000_000, "height_px": 720}
    body = {"type": "usage", "session": session.pk, "epoch": 1, "segments": [segment]}
    for _ in range(2):
        answer = nodes("post", "usage", body=json.dumps(body), content_type="application/json")
        assert (answer.status_code, answer.json()) == (200, {"seq": 1})
    assert nodes("post", "usage", body="{}", content_type="application/json").status_code == 400
    with scope(two_tenants.a.tenant):
        assert UsageEvent.objects.count() == 1


def test_a_name_that_points_into_our_network_is_left_out_of_the_spec(
    two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"good.example.com": "8.8.8.8", "bad.example.com": "10.0.0.1"}
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: [(0, 0, 0, "", (answers[host], 0))])
    node = make_node()
    with scope(two_tenants.a.tenant), override_settings(PRIVATE_ADDRESSES_ALLOWED=False):
        channel = editing.create_channel(fields={"name": "c"}, actor=ACTOR)
        for host in answers:
            fields = {"name": host, "url": f"rtmp://{host}/live"}
            editing.create_destination(channel_id=channel.pk, fields=fields, actor=ACTOR)
            editing.create_source(channel_id=channel.pk, fields={"url": f"wss://{host}/feed"}, actor=ACTOR)
        show = editing.create_show(fields={"title": "t", "segments": SEGMENTS}, actor=ACTOR)
        session = services.start_session(show_id=show.pk, channel_id=channel.pk, actor=ACTOR)
        session = services.assign(session_id=session.pk, node=node, actor=ACTOR)
        built = spec.build(session)
    assert [o["url"] for o in built["outputs"] if o["kind"] == "rtmp"] == ["rtmp://good.example.com/live"]
    assert [f["url"] for f in built["feeds"]] == ["wss://good.example.com/feed"]


@pytest.mark.parametrize("query", ["duration_s=nan", "duration_s=inf", "duration_s=-1", "duration_s=x"])
def test_a_recording_of_impossible_length_is_refused(two_tenants: TwoTenants, query: str) -> None:
    node = make_node()
    with scope(two_tenants.a.tenant):
        session = assigned(node)
    path = f"sessions/{session.pk}/recordings/a.mp4?epoch=1&{query}"
    assert nodes("put", path, body=b"x", content_type="video/mp4").status_code == 400
    with scope(two_tenants.a.tenant):
        assert Recording.objects.count() == 0
