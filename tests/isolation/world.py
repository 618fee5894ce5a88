"""A tenant with a row of every kind; the canary stands in every text that an answer could show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.apps import apps

from lumihost.core.audit import Actor
from lumihost.core.crypto import Place, encrypt
from lumihost.fleet.models import Node
from lumihost.knowledge import services
from lumihost.live.models import Channel, CommentSource, Destination, LiveSession, Recording, SessionEvent, Show
from lumihost.metering.models import UsageEvent
from tenants.base import TenantModel
from tenants.context import scope, scopes_disabled
from tenants.testing.tenants import CANARY, Party

MOMENT = datetime(2026, 12, 1, 12, tzinfo=UTC)


def furnish(party: Party, text: str) -> dict[str, str]:
    """Give the tenant one row of each kind with ``text`` in it; returns collection name → row id."""
    actor = Actor(party.owner.email, party.owner.pk)
    with scope(party.tenant):
        services.update_shop(changes={"name_zh": text, "shipping_zh": text}, actor=actor)
        product = services.create_product(
            fields={"sku": f"{text}-1", "title_zh": text, "price_minor": 100, "aliases": [text], "category": text}, actor=actor
        )
        faq = services.create_faq(fields={"question_zh": text, "answer_zh": text, "product_id": product.id}, actor=actor)
        imported = services.import_products(
            file_name=f"{text}.csv",
            content=f"sku,title_zh,price\n{text}-2,{text},9\n{text}-3,{text},面议\n".encode(),
            actor=actor,
        )
        channel = Channel.objects.create(name=text)
        destination = Destination.objects.create(channel=channel, name=text, url=f"rtmp://live.example.com/{text}")
        destination.stream_key_encrypted = encrypt(
            text, Place(party.tenant.id, "live_destination", "stream_key_encrypted", destination.id)
        )
        destination.save()
        source = CommentSource.objects.create(channel=channel, url=f"wss://chat.example.com/{text}")
        line = {"id": "l1", "text": text, "lang": "zh", "interruptible": True, "variants": []}
        segment = {"id": "s1", "kind": "opening", "title": text, "product_id": product.id, "lines": [line], "gap_s": 0}
        show = Show.objects.create(title=text, segments=[segment])
        node, _ = Node.objects.get_or_create(
            id="nod_world", defaults={"name": "world", "hardware": {"motion_gateway": "ws://127.0.0.1:8770/dmcp"}}
        )
        session = LiveSession.objects.create(
            show=show, channel=channel, state="live", epoch=1, node=node, requested_by=text, started_at=MOMENT, end_reason=text
        )
        SessionEvent.objects.create(session=session, epoch=1, seq=1, kind="comment", at=MOMENT, data={"text": text})
        recording = Recording.objects.create(session=session, epoch=1, part=1, name=f"{text}.mp4", finished=True)
        UsageEvent.objects.create(
            session=session, epoch=1, seq=1, incarnation=1, from_s=0, to_s=60, seconds=60, started_at=MOMENT, height_px=720
        )
    return {
        "products": product.id,
        "faq": faq.id,
        "imports": imported.id,
        "channels": channel.id,
        "destinations": destination.id,
        "sources": source.id,
        "shows": show.id,
        "sessions": session.id,
        "recordings": recording.id,
        "whep": "viewer-" + CANARY,
        # Stock, the same for every tenant (SHARED).
        "avatars": "lin",
        "backdrops": "daylight",
    }


SHARED = frozenset({"avatars", "backdrops"})
"""Collections whose rows belong to nobody: every member of any tenant may read them, and nobody may write them."""


def foreign_fields(ids: dict[str, str]) -> dict[str, str]:
    """Names of body fields that point at rows → the row's id."""
    return {"product_id": ids["products"], "product": ids["products"], "show": ids["shows"], "channel": ids["channels"]}


def tenant_models() -> list[type[TenantModel]]:
    """Every concrete TenantModel."""
    return [model for model in apps.get_models() if issubclass(model, TenantModel)]


def everything_of(party: Party) -> dict[str, list[dict[str, Any]]]:
    """All rows of the tenant, for comparison."""
    with scopes_disabled("the isolation test compares a whole tenant before and after"):
        return {
            model._meta.label: list(model.objects.filter(tenant=party.tenant).order_by("pk").values())
            for model in tenant_models()
        }
