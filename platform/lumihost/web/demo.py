"""The demo shop: loaded through the same services merchants use, and never over what someone changed since."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from lumihost import knowledge
from lumihost.accounts.models import User
from lumihost.avatars.catalogue import stock_avatars
from lumihost.config.secret_files import read_or_create
from lumihost.core.audit import SYSTEM, record
from lumihost.knowledge import services
from lumihost.knowledge.models import Faq, Import, Product
from lumihost.live.models import Channel, Show
from tenants.context import scope
from tenants.models import Membership, Tenant
from tenants.roles import Role

DATA = Path(knowledge.__file__).parent / "demo"
PRODUCT_FILE = "products.xlsx"
EMAIL = "demo@lumihost.example"


class DemoDataError(RuntimeError):
    """The shipped demo data cannot be used; the message names file and place."""


@dataclass(frozen=True, slots=True)
class Demo:
    """What was loaded and how to sign in."""

    tenant_id: str
    show_id: str
    email: str
    password: str
    products: int


def load_demo(password_file: Path) -> Demo:
    """Make or complete the demo tenant.

    Args:
        password_file: holds the owner's password; made on first use, and set again if it was changed since.

    Raises:
        DemoDataError: a row of the shipped catalogue has errors, or the show names an unknown SKU.
    """
    shop = json.loads((DATA / "shop.json").read_text(encoding="utf-8"))
    password = read_or_create(password_file, lambda: secrets.token_urlsafe(12)).strip()
    with transaction.atomic():
        tenant, _ = Tenant.objects.get_or_create(
            slug=shop["slug"],
            defaults={"name": shop["name"]["zh"], "currency": shop["currency"], "timezone": shop["timezone"]},
        )
        owner = User.objects.filter(email=EMAIL).first() or User.objects.create_user(EMAIL, password, name="Demo")
        if not owner.check_password(password):
            owner.set_password(password)
            owner.save(update_fields=["password"])
        Membership.objects.get_or_create(user=owner, tenant=tenant, defaults={"role": Role.OWNER})
    with scope(tenant):
        _load_products()
        ids = dict(Product.objects.values_list("sku", "id"))
        _load_shop(shop)
        _load_faq(shop["faq"], ids)
        # First, so that the show of the shop's own language is the newest, which lists and forms begin with.
        _load_show(shop["show_en"], ids)
        show = _load_show(shop["show"], ids)
        return Demo(tenant.id, show.id, EMAIL, password, len(ids))


def _load_products() -> None:
    content = (DATA / PRODUCT_FILE).read_bytes()
    known = Import.objects.filter(sha256=hashlib.sha256(content).hexdigest(), state=Import.State.APPLIED)
    if known.exists():
        return
    done = services.import_products(file_name=PRODUCT_FILE, content=content, actor=SYSTEM)
    if done.errors:
        raise DemoDataError(f"{DATA / PRODUCT_FILE}: {done.errors[0]}")


def _load_shop(shop: dict[str, Any]) -> None:
    profile = services.shop_profile()
    if profile.name_zh or profile.name_en:
        return
    changes = {f"{field}_{lang}": shop[field][lang] for field in ("name", "shipping", "after_sales") for lang in ("zh", "en")}
    services.update_shop(changes=changes, actor=SYSTEM)


def _load_faq(entries: list[dict[str, Any]], ids: dict[str, str]) -> None:
    if Faq.objects.exists():
        return
    for entry in entries:
        fields = {f"{field}_{lang}": entry[field].get(lang, "") for field in ("question", "answer") for lang in ("zh", "en")}
        services.create_faq(fields={**fields, "product_id": _id(entry["product_id"], ids, entry["id"])}, actor=SYSTEM)


@transaction.atomic
def _load_show(show: dict[str, Any], ids: dict[str, str]) -> Show:
    found: Show | None = Show.objects.filter(title=show["title"]).first()
    if found is not None:
        return found
    if not Channel.objects.exists():
        channel = Channel.objects.create(name="演示直播间", platform="custom", language="zh")
        record(actor=SYSTEM, action="channel.created", target=channel, after={"name": channel.name})
    segments = [{**segment, "product_id": _id(segment["product_id"], ids, segment["id"])} for segment in show["segments"]]
    look = {"language": show.get("language", "zh"), "backdrop": show.get("backdrop", "daylight"), **_presenter(show)}
    made: Show = Show.objects.create(title=show["title"], segments=segments, loop=show["loop"], **look)
    record(actor=SYSTEM, action="show.created", target=made, after={"title": made.title})
    return made


def _presenter(show: dict[str, Any]) -> dict[str, str]:
    """The first presenter of the show's list who is installed here, with a voice that suits; none: the model's own."""
    here = {avatar.id for avatar in stock_avatars()}
    return next((dict(choice) for choice in show.get("presenters", ()) if choice["avatar"] in here), {})


def _id(sku: str | None, ids: dict[str, str], where: str) -> str | None:
    """The product's id for the SKU that stands in the data's ``product_id``."""
    if sku is None:
        return None
    if sku not in ids:
        raise DemoDataError(f"{DATA / 'shop.json'}: '{where}' names SKU '{sku}', which {PRODUCT_FILE} does not hold")
    return ids[sku]
