"""Viewers ask for a product by its link number, so one number names one product of a shop; 0 is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumihost.core.problems import Conflict
from lumihost.knowledge.importers.products import Draft
from lumihost.knowledge.importers.report import Remark
from lumihost.knowledge.models import Product


def refuse_taken(product: Product) -> None:
    """Check a product about to be stored; the caller holds the lock of the shop's profile.

    Raises:
        Conflict: another product of the tenant has its number.
    """
    if not product.link_no:
        return
    other = Product.objects.filter(link_no=product.link_no).exclude(pk=product.pk).first()
    if other is not None:
        raise Conflict(
            f"link number {product.link_no} belongs to '{other}': choose another number or change that product first",
            code="duplicate",
            pointer="/link_no",
        )


def split_by_number(drafts: Sequence[Draft], stored: Mapping[str, Product]) -> tuple[list[Draft], list[Remark]]:
    """Drafts that may be stored together, and an error for each one whose number another product keeps.

    What counts is the state after the import: rows may swap numbers or take one that another row gives up. A row left out keeps
    its product's number, which may in turn leave out the row that wanted it. Numbers of ``drafts`` are unique among themselves.

    Args:
        drafts: the valid rows, in the file's order.
        stored: SKU → product, the tenant's whole catalogue.
    """
    movers: dict[int, Draft] = {}
    moving: set[str] = set()
    for draft in drafts:
        product = stored.get(draft.sku)
        number = draft.fields.get("link_no")
        if number is None or (product is not None and product.link_no == number):
            continue
        moving.add(draft.sku)
        if number:
            movers[number] = draft
    keepers = {product.link_no: product for sku, product in stored.items() if product.link_no and sku not in moving}
    refused: dict[str, Remark] = {}
    waiting = [number for number in movers if number in keepers]
    while waiting:
        number = waiting.pop()
        draft = movers.pop(number)
        refused[draft.sku] = _taken(draft, number, keepers[number])
        own = stored.get(draft.sku)
        if own is not None and own.link_no:
            newly_kept = own.link_no not in keepers
            keepers.setdefault(own.link_no, own)
            if newly_kept and own.link_no in movers:
                waiting.append(own.link_no)
    return [draft for draft in drafts if draft.sku not in refused], list(refused.values())


def _taken(draft: Draft, number: int, keeper: Product) -> Remark:
    return Remark(
        "taken_link_no",
        draft.row,
        "link_no",
        str(number),
        hint_zh=f"链接号 {number} 属于“{keeper}”",
        hint_en=f"link number {number} belongs to '{keeper}'",
    )
