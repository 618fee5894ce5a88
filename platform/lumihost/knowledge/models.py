"""The typed rows every spoken fact comes from."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from tenants.base import TenantModel


class ReadableJSON(DjangoJSONEncoder):
    """Chinese stays Chinese in the column, so that a search for an alias finds it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "ensure_ascii": False})


TITLE_CHARS = 300
PROSE_CHARS = 2000


class ShopProfile(TenantModel):
    """The shop itself, one per tenant. ``version`` counts every change of the tenant's knowledge."""

    id_prefix = "shp"

    name_zh = models.CharField(max_length=120, blank=True, default="")
    name_en = models.CharField(max_length=120, blank=True, default="")
    shipping_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    shipping_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    after_sales_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    after_sales_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    version = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant"], name="one_shop_profile_per_tenant")]


class Product(TenantModel):
    """One sellable item. Money is minor units of ``currency``; ``stock`` null means not known, never zero."""

    id_prefix = "prd"

    sku = models.CharField(max_length=64)
    link_no = models.PositiveIntegerField(default=0, help_text="number viewers use ('3号链接'); 0 = none")
    title_zh = models.CharField(max_length=TITLE_CHARS, blank=True, default="")
    title_en = models.CharField(max_length=TITLE_CHARS, blank=True, default="")
    aliases = models.JSONField(default=list, blank=True, encoder=ReadableJSON)
    category = models.CharField(max_length=120, blank=True, default="")
    currency = models.CharField(max_length=3)
    price_minor = models.PositiveBigIntegerField()
    list_price_minor = models.PositiveBigIntegerField(null=True, blank=True)
    stock = models.PositiveIntegerField(null=True, blank=True)
    attributes = models.JSONField(default=dict, blank=True, help_text="{key: {zh, en}}")
    selling_points = models.JSONField(default=list, blank=True, help_text="[{zh, en}]")
    shipping_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    shipping_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    after_sales_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    after_sales_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    promo_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    promo_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    promo_starts_at = models.DateTimeField(null=True, blank=True)
    promo_ends_at = models.DateTimeField(null=True, blank=True)
    image = models.CharField(max_length=300, blank=True, default="", help_text="file of the tenant's media, for the card")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "sku"], name="sku_once_per_tenant"),
            models.CheckConstraint(condition=~models.Q(title_zh="", title_en=""), name="product_has_a_title"),
        ]
        indexes = [
            models.Index(fields=["tenant", "created_at", "id"], name="product_list"),
            models.Index(fields=["tenant", "category"], name="product_category"),
        ]

    def __str__(self) -> str:
        return f"{self.sku} {self.title_zh or self.title_en}"


class Faq(TenantModel):
    """An approved question and answer, spoken as written; about one product or about the shop."""

    id_prefix = "faq"

    question_zh = models.CharField(max_length=TITLE_CHARS, blank=True, default="")
    question_en = models.CharField(max_length=TITLE_CHARS, blank=True, default="")
    answer_zh = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    answer_en = models.CharField(max_length=PROSE_CHARS, blank=True, default="")
    product = models.ForeignKey(Product, null=True, blank=True, on_delete=models.CASCADE, related_name="faq")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=(~models.Q(question_zh="") & ~models.Q(answer_zh=""))
                | (~models.Q(question_en="") & ~models.Q(answer_en="")),
                name="faq_is_whole_in_one_language",
            )
        ]


class Import(TenantModel):
    """One uploaded product file and what became of each row."""

    id_prefix = "imp"

    class State(models.TextChoices):
        """``applied``: valid rows are stored, ``errors`` names the others. ``refused``: the file could not be read at all."""

        APPLIED = "applied"
        REFUSED = "refused"

    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, help_text="of the file, to recognise it when it comes again")
    state = models.CharField(max_length=16, choices=State.choices)
    created = models.PositiveIntegerField(default=0)
    updated = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0, help_text="rows left out because of an error")
    errors = models.JSONField(default=list, help_text="[{row, column, value, code, message: {zh, en}}]")
    warnings = models.JSONField(default=list, help_text="same shape; nothing was lost")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="import_list")]
