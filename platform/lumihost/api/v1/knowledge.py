"""Products, imports, questions and the shop profile of one tenant."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.fields import Text, TextField, text_of
from lumihost.api.pagination import NewestFirst
from lumihost.api.throttles import Import as ImportThrottle
from lumihost.api.throttles import PerUser
from lumihost.core.audit import actor_of
from lumihost.knowledge import selectors, services
from lumihost.knowledge.importers.columns import ATTRIBUTES
from lumihost.knowledge.importers.products import (
    ALIAS_CHARS,
    ALIASES,
    ATTRIBUTE_CHARS,
    CATEGORY_CHARS,
    POINT_CHARS,
    POINTS,
    SKU_CHARS,
)
from lumihost.knowledge.importers.values import CURRENCIES, MAX_COUNT, MAX_MINOR
from lumihost.knowledge.models import PROSE_CHARS, TITLE_CHARS, Faq, Import, Product, ShopProfile
from tenants.drf import TenantViewSet
from tenants.roles import Permission

ATTRIBUTE_KEY = r"[a-z][a-z0-9_]{0,39}"
MAX_ATTRIBUTES = 60


class PromotionOut(serializers.Serializer[Any]):
    """A promotion and when it is in force; null means open."""

    text = Text()
    starts_at = serializers.DateTimeField(allow_null=True, required=False)
    ends_at = serializers.DateTimeField(allow_null=True, required=False)


@extend_schema_field(PromotionOut)
class PromotionField(serializers.Field[Any, Any, Any, Any]):
    """``{text, starts_at, ends_at}`` or null over the product's four promotion columns."""

    default_error_messages = {**TextField.default_error_messages, "no_promotion": "Expected an object with text, or null."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(source="*", **kwargs)

    def to_representation(self, value: Product) -> dict[str, Any] | None:
        """The promotion, or null when there is no text."""
        if not value.promo_zh and not value.promo_en:
            return None
        return {
            "text": {"zh": value.promo_zh, "en": value.promo_en},
            "starts_at": value.promo_starts_at and value.promo_starts_at.isoformat(),
            "ends_at": value.promo_ends_at and value.promo_ends_at.isoformat(),
        }

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """Null is a value here: no promotion."""
        return (False, data) if data is None else super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The four columns."""
        if data is None:
            return {"promo_zh": "", "promo_en": "", "promo_starts_at": None, "promo_ends_at": None}
        if not isinstance(data, dict) or "text" not in data:
            self.fail("no_promotion")
        texts = {"zh": "", "en": ""} | text_of(self, data["text"], PROSE_CHARS)
        instants = {}
        for name in ("starts_at", "ends_at"):
            raw = data.get(name)
            instants[f"promo_{name}"] = None if raw is None else serializers.DateTimeField().run_validation(raw)
        return {"promo_zh": texts["zh"], "promo_en": texts["en"], **instants}


class AttributesField(serializers.DictField):
    """``{material: {zh, en}, …}``: stable snake_case keys."""

    child = Text()

    def to_internal_value(self, data: Any) -> dict[str, dict[str, str]]:
        """Check keys, count and lengths."""
        values = super().to_internal_value(data)
        if len(values) > MAX_ATTRIBUTES:
            raise ValidationError(f"At most {MAX_ATTRIBUTES} attributes.", code="too_many")
        for key, text in values.items():
            if not re.fullmatch(ATTRIBUTE_KEY, str(key)):
                known = ", ".join(list(ATTRIBUTES)[:5])
                raise ValidationError(
                    f"'{str(key)[:40]}' is no attribute key: use lower-case words such as {known}.", code="key"
                )
            if any(len(part) > ATTRIBUTE_CHARS for part in text.values()):
                raise ValidationError(f"At most {ATTRIBUTE_CHARS} characters for '{key}'.", code="too_long")
        return {key: {"zh": text.get("zh", ""), "en": text.get("en", "")} for key, text in values.items()}


class PointField(Text):
    """A selling point."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Both languages, of bounded length."""
        value = super().to_internal_value(data)
        if any(len(part) > POINT_CHARS for part in value.values()):
            raise ValidationError(f"At most {POINT_CHARS} characters.", code="too_long")
        return {"zh": value.get("zh", ""), "en": value.get("en", "")}


class ProductSerializer(serializers.ModelSerializer[Product]):
    """A product; money in minor units of ``currency``, ``stock`` null when not known."""

    sku = serializers.CharField(max_length=SKU_CHARS)
    link_no = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, required=False)
    title = TextField("title", most=TITLE_CHARS, allow_empty=False)
    aliases = serializers.ListField(child=serializers.CharField(max_length=ALIAS_CHARS), max_length=ALIASES, required=False)
    category = serializers.CharField(max_length=CATEGORY_CHARS, allow_blank=True, required=False)
    currency = serializers.CharField(min_length=3, max_length=3, required=False)
    price_minor = serializers.IntegerField(min_value=0, max_value=MAX_MINOR)
    list_price_minor = serializers.IntegerField(min_value=0, max_value=MAX_MINOR, allow_null=True, required=False)
    stock = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    attributes = AttributesField(required=False)
    selling_points = serializers.ListField(child=PointField(), max_length=POINTS, required=False)
    shipping = TextField("shipping", most=PROSE_CHARS, required=False)
    after_sales = TextField("after_sales", most=PROSE_CHARS, required=False)
    promotion = PromotionField(required=False, allow_null=True)
    image = serializers.CharField(read_only=True)

    class Meta:
        model = Product
        fields = (
            "id", "sku", "link_no", "title", "aliases", "category", "currency", "price_minor", "list_price_minor", "stock",
            "attributes", "selling_points", "shipping", "after_sales", "promotion", "image", "created_at", "updated_at",
        )  # fmt: skip
        read_only_fields = ("id", "created_at", "updated_at")

    def get_validators(self) -> list[Any]:
        """None of the model's: the services check uniqueness within the tenant and the transaction."""
        return []

    def validate_currency(self, value: str) -> str:
        """An ISO 4217 code."""
        if value.upper() not in CURRENCIES:
            raise ValidationError(f"'{value}' is no currency we know: use a code such as CNY.", code="unknown_currency")
        return value.upper()


@extend_schema_view(
    list=extend_schema(
        parameters=[OpenApiParameter("search", str), OpenApiParameter("category", str)],
        tags=["knowledge"],
        operation_id="products_list",
    ),
    retrieve=extend_schema(tags=["knowledge"], operation_id="products_get"),
    create=extend_schema(tags=["knowledge"], operation_id="products_create"),
    partial_update=extend_schema(tags=["knowledge"], operation_id="products_update"),
    destroy=extend_schema(tags=["knowledge"], operation_id="products_delete"),
)
class ProductViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """The catalogue."""

    serializer_class = ProductSerializer
    permissions = {
        "list": Permission.PRODUCTS_VIEW,
        "retrieve": Permission.PRODUCTS_VIEW,
        "create": Permission.PRODUCTS_WRITE,
        "partial_update": Permission.PRODUCTS_WRITE,
        "destroy": Permission.PRODUCTS_WRITE,
    }

    def rows(self) -> Any:
        """Products, narrowed by ``search`` and ``category``."""
        query = self.request.query_params
        return selectors.find_products(search=query.get("search", "")[:200], category=query.get("category", ""))

    def create(self, request: Request, **kwargs: str) -> Response:
        """Add a product."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        product = services.create_product(fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(product).data, status=201)

    def partial_update(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Change the fields given."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        product = services.update_product(pk, changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(product).data)

    def destroy(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Remove a product and the questions about it."""
        services.delete_product(pk, actor=actor_of(request.user))
        return Response(status=204)


class RemarkOut(serializers.Serializer[Any]):
    """One error or warning of an import; ``row`` counts records, the header being 1; null speaks of the whole file."""

    row = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    value = serializers.CharField()
    code = serializers.CharField()
    message = Text()


class ImportSerializer(serializers.ModelSerializer[Import]):
    """What became of an uploaded file."""

    errors = RemarkOut(many=True, read_only=True)  # type: ignore[assignment]
    warnings = RemarkOut(many=True, read_only=True)

    class Meta:
        model = Import
        fields = ("id", "file_name", "state", "created", "updated", "unchanged", "failed", "errors", "warnings", "created_at")
        read_only_fields = fields


class UploadIn(serializers.Serializer[Any]):
    """A product file."""

    file = serializers.FileField(max_length=200, allow_empty_file=True)


@extend_schema_view(
    list=extend_schema(tags=["knowledge"], operation_id="imports_list"),
    retrieve=extend_schema(tags=["knowledge"], operation_id="imports_get"),
)
class ImportViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """Product files and their reports."""

    serializer_class = ImportSerializer
    pagination_class = NewestFirst
    parser_classes = (MultiPartParser,)
    permissions = {
        "list": Permission.PRODUCTS_VIEW,
        "retrieve": Permission.PRODUCTS_VIEW,
        "upload": Permission.PRODUCTS_WRITE,
    }

    def rows(self) -> Any:
        """Imports of the tenant."""
        return Import.objects.all()

    def get_throttles(self) -> list[Any]:
        """Reading a workbook costs seconds of CPU, so uploads have a limit of their own."""
        return [PerUser(), ImportThrottle()] if self.action == "upload" else super().get_throttles()

    @extend_schema(
        tags=["knowledge"],
        operation_id="products_import",
        request={"multipart/form-data": UploadIn},
        responses={201: ImportSerializer},
    )
    def upload(self, request: Request, **kwargs: str) -> Response:
        """Bring the catalogue up to a CSV or XLSX file. The report says what became of every row; a refused file is 201 too."""
        form = UploadIn(data=request.data)
        form.is_valid(raise_exception=True)
        file = form.validated_data["file"]
        content = file.read(settings.KNOWLEDGE_IMPORT_MAX_BYTES + 1)
        done = services.import_products(file_name=file.name, content=content, actor=actor_of(request.user))
        return Response(self.get_serializer(done).data, status=201)


class FaqSerializer(serializers.ModelSerializer[Faq]):
    """An approved question and answer, spoken as written."""

    question = TextField("question", most=TITLE_CHARS)
    answer = TextField("answer", most=PROSE_CHARS)
    product_id = serializers.CharField(allow_null=True, required=False)

    class Meta:
        model = Faq
        fields = ("id", "question", "answer", "product_id", "created_at", "updated_at")
        read_only_fields = ("id", "created_at", "updated_at")


@extend_schema_view(
    list=extend_schema(tags=["knowledge"], operation_id="faq_list"),
    retrieve=extend_schema(tags=["knowledge"], operation_id="faq_get"),
    create=extend_schema(tags=["knowledge"], operation_id="faq_create"),
    partial_update=extend_schema(tags=["knowledge"], operation_id="faq_update"),
    destroy=extend_schema(tags=["knowledge"], operation_id="faq_delete"),
)
class FaqViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """Approved answers."""

    serializer_class = FaqSerializer
    permissions = {
        "list": Permission.PRODUCTS_VIEW,
        "retrieve": Permission.PRODUCTS_VIEW,
        "create": Permission.PRODUCTS_WRITE,
        "partial_update": Permission.PRODUCTS_WRITE,
        "destroy": Permission.PRODUCTS_WRITE,
    }

    def rows(self) -> Any:
        """Questions of the tenant."""
        return Faq.objects.all()

    def create(self, request: Request, **kwargs: str) -> Response:
        """Add an approved answer."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        faq = services.create_faq(fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(faq).data, status=201)

    def partial_update(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Change the fields given."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        faq = services.update_faq(pk, changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(faq).data)

    def destroy(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Withdraw an approved answer."""
        services.delete_faq(pk, actor=actor_of(request.user))
        return Response(status=204)


class ShopSerializer(serializers.ModelSerializer[ShopProfile]):
    """The shop; ``version`` counts every change of its knowledge."""

    name = TextField("name", most=120, required=False)
    shipping = TextField("shipping", most=PROSE_CHARS, required=False)
    after_sales = TextField("after_sales", most=PROSE_CHARS, required=False)

    class Meta:
        model = ShopProfile
        fields = ("name", "shipping", "after_sales", "version", "updated_at")
        read_only_fields = ("version", "updated_at")


class ShopViewSet(TenantViewSet):
    """The shop profile."""

    serializer_class = ShopSerializer
    permissions = {"retrieve": Permission.SHOP_VIEW, "partial_update": Permission.SHOP_WRITE}

    @extend_schema(tags=["knowledge"], operation_id="shop_get")
    def retrieve(self, request: Request, **kwargs: str) -> Response:
        """The profile."""
        return Response(self.get_serializer(services.shop_profile()).data)

    @extend_schema(tags=["knowledge"], operation_id="shop_update")
    def partial_update(self, request: Request, **kwargs: str) -> Response:
        """Change the texts given."""
        form = self.get_serializer(services.shop_profile(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        profile = services.update_shop(changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(profile).data)
