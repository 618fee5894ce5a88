"""Every change of a tenant's knowledge: one transaction with its audit event, the next version and the outbox message.

A running host cites the version it read; ``knowledge.changed`` tells it to read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from lumihost.core import outbox
from lumihost.core.audit import Actor, record
from lumihost.core.problems import Conflict, Invalid, Missing, register
from lumihost.knowledge.importers.products import Draft, parse_products
from lumihost.knowledge.importers.report import FileRefused, Remark
from lumihost.knowledge.link_numbers import refuse_taken, split_by_number
from lumihost.knowledge.models import Faq, Import, Product, ShopProfile
from tenants.context import current_tenant

CHANGED = "knowledge.changed"
FULL = register("too_many_rows_kept", "数量已达上限", "No more of these")
MAX_PRODUCTS = 10_000
MAX_FAQ = 2_000
"""A running host holds all of it in memory, and each change is sent to it whole."""

PRODUCT_FIELDS = frozenset(
    [
        "sku",
        "link_no",
        "title_zh",
        "title_en",
        "aliases",
        "category",
        "currency",
        "price_minor",
        "list_price_minor",
        "stock",
        "attributes",
        "selling_points",
        "shipping_zh",
        "shipping_en",
        "after_sales_zh",
        "after_sales_en",
        "promo_zh",
        "promo_en",
        "promo_starts_at",
        "promo_ends_at",
    ]
)
FAQ_FIELDS = frozenset({"question_zh", "question_en", "answer_zh", "answer_en", "product_id"})
SHOP_FIELDS = frozenset({"name_zh", "name_en", "shipping_zh", "shipping_en", "after_sales_zh", "after_sales_en"})


def shop_profile(*, lock: bool = False) -> ShopProfile:
    """The active tenant's profile, made empty on first use."""
    rows = ShopProfile.objects.select_for_update() if lock else ShopProfile.objects.all()
    profile: ShopProfile | None = rows.first()
    return profile or ShopProfile.objects.get_or_create(tenant=current_tenant())[0]


def _announce(profile: ShopProfile) -> int:
    """Count up the knowledge version and queue the message; the caller holds the transaction and the profile's lock."""
    profile.version += 1
    profile.save(update_fields=["version", "updated_at"])
    outbox.emit(CHANGED, {"tenant": profile.tenant_id, "version": profile.version})
    return profile.version


def _state(row: models.Model, fields: frozenset[str]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in sorted(fields)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _check_names(changes: Mapping[str, Any], allowed: frozenset[str], kind: str) -> None:
    unknown = sorted(changes.keys() - allowed)
    if unknown:
        raise Invalid(f"{kind} has no field {', '.join(unknown)}")


def _store(row: models.Model) -> None:
    """Validate and save.

    Raises:
        Invalid: a field or a constraint does not hold.
    """
    try:
        row.full_clean()
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        whole_row = name == "__all__"
        raise Invalid(
            messages[0] if whole_row else f"{name}: {messages[0]}", pointer=None if whole_row else f"/{name}"
        ) from error
    row.save()


# -- products --------------------------------------------------------------------------------------------------------------


def create_product(*, fields: Mapping[str, Any], actor: Actor) -> Product:
    """Add a product; its currency defaults to the tenant's.

    Raises:
        Invalid: a field does not hold.
        Conflict: another product has the SKU or the link number.
    """
    _check_names(fields, PRODUCT_FIELDS, "a product")
    with transaction.atomic():
        profile = shop_profile(lock=True)
        product = Product(**{"currency": current_tenant().currency, **fields})
        _refuse_more(Product.objects.count() + 1, MAX_PRODUCTS, "products")
        _refuse_taken_sku(product)
        refuse_taken(product)
        _refuse_backward_promotion(product)
        _store(product)
        record(actor=actor, action="product.created", target=product, after=_state(product, PRODUCT_FIELDS))
        _announce(profile)
    return product


def update_product(product_id: str, *, changes: Mapping[str, Any], actor: Actor) -> Product:
    """Change the given fields; a change that changes nothing leaves version and trail alone.

    Raises:
        Missing: no such product in this tenant.
        Invalid, Conflict: as for :func:`create_product`.
    """
    _check_names(changes, PRODUCT_FIELDS, "a product")
    with transaction.atomic():
        profile = shop_profile(lock=True)
        product = _locked(Product, product_id, "product")
        before = _state(product, PRODUCT_FIELDS)
        for name, value in changes.items():
            setattr(product, name, value)
        if "sku" in changes:
            _refuse_taken_sku(product)
        if product.link_no != before["link_no"]:
            refuse_taken(product)
        _refuse_backward_promotion(product)
        after = _state(product, PRODUCT_FIELDS)
        if after != before:
            _store(product)
            _record_change(actor, "product.updated", product, before, after)
            _announce(profile)
    return product


def delete_product(product_id: str, *, actor: Actor) -> None:
    """Remove a product and the questions about it.

    Raises:
        Missing: no such product in this tenant.
    """
    with transaction.atomic():
        profile = shop_profile(lock=True)
        product = _locked(Product, product_id, "product")
        record(actor=actor, action="product.deleted", target=product, before=_state(product, PRODUCT_FIELDS))
        product.delete()
        _announce(profile)


def _refuse_more(count: int, most: int, what: str) -> None:
    if count > most:
        raise Conflict(f"a shop has at most {most} {what}: remove some first", code=FULL)


def _refuse_taken_sku(product: Product) -> None:
    if Product.objects.filter(sku=product.sku).exclude(pk=product.pk).exists():
        raise Conflict(
            f"SKU '{product.sku}' exists already: change that product or choose another SKU", code="duplicate", pointer="/sku"
        )


def _refuse_backward_promotion(product: Product) -> None:
    if product.promo_starts_at and product.promo_ends_at and product.promo_ends_at < product.promo_starts_at:
        raise Invalid("the promotion ends before it starts", pointer="/promotion/ends_at")


def _locked(model: type[Any], pk: str, noun: str) -> Any:
    row = model.objects.select_for_update().filter(pk=pk).first()
    if row is None:
        raise Missing(f"no {noun} '{pk}'")
    return row


def _record_change(actor: Actor, action: str, row: models.Model, before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = [name for name in after if after[name] != before[name]]
    record(
        actor=actor,
        action=action,
        target=row,
        before={name: before[name] for name in changed},
        after={name: after[name] for name in changed},
    )


# -- questions -------------------------------------------------------------------------------------------------------------


def create_faq(*, fields: Mapping[str, Any], actor: Actor) -> Faq:
    """Add an approved answer; it needs question and answer in at least one language.

    Raises:
        Invalid: it is not whole, or its product does not exist here.
    """
    _check_names(fields, FAQ_FIELDS, "a question")
    with transaction.atomic():
        profile = shop_profile(lock=True)
        _refuse_more(Faq.objects.count() + 1, MAX_FAQ, "questions")
        faq = Faq(**fields)
        _check_faq(faq)
        _store(faq)
        record(actor=actor, action="faq.created", target=faq, after=_state(faq, FAQ_FIELDS))
        _announce(profile)
    return faq


def update_faq(faq_id: str, *, changes: Mapping[str, Any], actor: Actor) -> Faq:
    """Change an approved answer.

    Raises:
        Missing: no such question in this tenant.
        Invalid: as for :func:`create_faq`.
    """
    _check_names(changes, FAQ_FIELDS, "a question")
    with transaction.atomic():
        profile = shop_profile(lock=True)
        faq: Faq = _locked(Faq, faq_id, "question")
        before = _state(faq, FAQ_FIELDS)
        for name, value in changes.items():
            setattr(faq, name, value)
        _check_faq(faq)
        after = _state(faq, FAQ_FIELDS)
        if after != before:
            _store(faq)
            _record_change(actor, "faq.updated", faq, before, after)
            _announce(profile)
    return faq


def delete_faq(faq_id: str, *, actor: Actor) -> None:
    """Withdraw an approved answer.

    Raises:
        Missing: no such question in this tenant.
    """
    with transaction.atomic():
        profile = shop_profile(lock=True)
        faq = _locked(Faq, faq_id, "question")
        record(actor=actor, action="faq.deleted", target=faq, before=_state(faq, FAQ_FIELDS))
        faq.delete()
        _announce(profile)


def _check_faq(faq: Faq) -> None:
    if not (faq.question_zh and faq.answer_zh) and not (faq.question_en and faq.answer_en):
        raise Invalid("a question needs its text and its answer in Chinese or in English", pointer="/question")
    if faq.product_id and not Product.objects.filter(pk=faq.product_id).exists():
        raise Invalid(f"no product '{faq.product_id}'", pointer="/product_id", code="not_found")


# -- shop ------------------------------------------------------------------------------------------------------------------


def update_shop(*, changes: Mapping[str, Any], actor: Actor) -> ShopProfile:
    """Change the shop's name, shipping or after-sales text."""
    _check_names(changes, SHOP_FIELDS, "the shop")
    with transaction.atomic():
        profile = shop_profile(lock=True)
        before = _state(profile, SHOP_FIELDS)
        for name, value in changes.items():
            setattr(profile, name, value)
        after = _state(profile, SHOP_FIELDS)
        if after != before:
            _store(profile)
            _record_change(actor, "shop.updated", profile, before, after)
            _announce(profile)
    return profile


# -- import ----------------------------------------------------------------------------------------------------------------


def import_products(*, file_name: str, content: bytes, actor: Actor) -> Import:
    """Bring the catalogue up to what a file says, matching by SKU.

    Valid rows are created, updated or found unchanged, all in one transaction; rows with errors are left out and reported;
    products the file does not mention stay. A file that cannot be read is kept as a refused import.
    """
    tenant = current_tenant()
    sha256 = hashlib.sha256(content).hexdigest()
    name = PurePath(file_name.replace("\\", "/")).name[:200] or "products"
    try:
        parsed = parse_products(
            name,
            content,
            currency=tenant.currency,
            timezone=tenant.timezone,
            max_bytes=settings.KNOWLEDGE_IMPORT_MAX_BYTES,
            max_rows=settings.KNOWLEDGE_IMPORT_MAX_ROWS,
        )
    except FileRefused as refusal:
        with transaction.atomic():
            refused = Import.objects.create(
                file_name=name,
                sha256=sha256,
                state=Import.State.REFUSED,
                errors=[refusal.remark.as_dict()],
                requested_by_id=actor.user_id,
            )
            record(actor=actor, action="import.refused", target=refused, after={"file": name, "code": refusal.remark.code})
        return refused
    with transaction.atomic():
        profile = shop_profile(lock=True)
        created, updated, unchanged, refused_rows = _apply(parsed.drafts)
        errors = sorted([*parsed.errors, *refused_rows], key=lambda remark: remark.row or 0)
        done = Import.objects.create(
            file_name=name,
            sha256=sha256,
            state=Import.State.APPLIED,
            created=len(created),
            updated=len(updated),
            unchanged=unchanged,
            failed=len({remark.row for remark in errors}),
            errors=[remark.as_dict() for remark in errors],
            warnings=[remark.as_dict() for remark in parsed.warnings],
            requested_by_id=actor.user_id,
        )
        record(
            actor=actor,
            action="import.applied",
            target=done,
            after={"file": name, "created": sorted(created), "updated": updated, "unchanged": unchanged, "failed": done.failed},
        )
        if created or updated:
            _announce(profile)
    return done


def _apply(drafts: list[Draft]) -> tuple[list[str], dict[str, dict[str, list[Any]]], int, list[Remark]]:
    """Write the drafts; returns SKUs created, SKU → field → [before, after] updated, how many were unchanged, and an error
    for each one left out because another product has its link number."""
    stored = {product.sku: product for product in Product.objects.select_for_update()}
    drafts, refused = split_by_number(drafts, stored)
    new: list[Product] = []
    changed: list[Product] = []
    differences: dict[str, dict[str, list[Any]]] = {}
    # bulk_update skips auto_now; and the list is ordered by (created_at, id), which should be the file's order.
    started = timezone.now()
    for position, draft in enumerate(drafts):
        product = stored.get(draft.sku)
        if product is None:
            created_at = started + timedelta(microseconds=position)
            new.append(Product(sku=draft.sku, created_at=created_at, **draft.fields))
            continue
        difference = {
            name: [_plain(getattr(product, name)), _plain(value)]
            for name, value in draft.fields.items()
            if getattr(product, name) != value
        }
        if difference:
            for name in difference:
                setattr(product, name, draft.fields[name])
            product.updated_at = started
            changed.append(product)
            differences[draft.sku] = difference
    _refuse_more(len(stored) + len(new), MAX_PRODUCTS, "products")
    Product.objects.bulk_create(new, batch_size=200)
    if changed:
        names = sorted({name for difference in differences.values() for name in difference})
        Product.objects.bulk_update(changed, [*names, "updated_at"], batch_size=100)
    return [product.sku for product in new], differences, len(drafts) - len(new) - len(changed), refused


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
