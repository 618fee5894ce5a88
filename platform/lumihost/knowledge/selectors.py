"""Reads of a tenant's knowledge."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from lumihost.knowledge.models import Faq, Product
from lumihost.knowledge.services import shop_profile
from tenants.context import scope
from tenants.models import Tenant


def find_products(*, search: str = "", category: str = "") -> QuerySet[Product]:
    """The active tenant's products whose SKU, title or category contains ``search``, in ``category`` if given."""
    rows = Product.objects.all()
    if category:
        rows = rows.filter(category=category)
    for word in search.split()[:8]:
        rows = rows.filter(
            Q(sku__icontains=word)
            | Q(title_zh__icontains=word)
            | Q(title_en__icontains=word)
            | Q(category__icontains=word)
            | Q(aliases__icontains=word)
        )
    return rows


def engine_knowledge(tenant: Tenant) -> dict[str, Any]:
    """Everything a host of ``tenant`` may state, in the shape of ``gpu_engine.session.spec.Knowledge``."""
    with scope(tenant):
        profile = shop_profile()
        return {
            "version": profile.version,
            "shop_name": _text(profile, "name"),
            "shipping": _text(profile, "shipping"),
            "after_sales": _text(profile, "after_sales"),
            "products": [_engine_product(product) for product in Product.objects.all()],
            "faq": [
                {"id": faq.id, "question": _text(faq, "question"), "answer": _text(faq, "answer"), "product_id": faq.product_id}
                for faq in Faq.objects.all()
            ],
        }


def _engine_product(product: Product) -> dict[str, Any]:
    promotion = None
    if product.promo_zh or product.promo_en:
        promotion = {
            "text": _text(product, "promo"),
            "starts_at": _iso(product.promo_starts_at),
            "ends_at": _iso(product.promo_ends_at),
        }
    return {
        "id": product.id,
        "sku": product.sku,
        "link_no": product.link_no,
        "title": _text(product, "title"),
        "aliases": product.aliases,
        "category": product.category,
        "currency": product.currency,
        "price_minor": product.price_minor,
        "list_price_minor": product.list_price_minor,
        "stock": product.stock,
        "attributes": product.attributes,
        "selling_points": product.selling_points,
        "shipping": _text(product, "shipping"),
        "after_sales": _text(product, "after_sales"),
        "promotion": promotion,
        "image": product.image or None,
    }


def _text(row: Any, name: str) -> dict[str, str]:
    return {"zh": getattr(row, f"{name}_zh"), "en": getattr(row, f"{name}_en")}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
