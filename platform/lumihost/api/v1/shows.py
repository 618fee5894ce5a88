"""Shows: presenter, voices and the run-of-show."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.pagination import NewestFirst
from lumihost.avatars.catalogue import BACKDROPS, VOICES, stock_avatar, stock_avatars
from lumihost.core.audit import actor_of
from lumihost.knowledge.models import Product
from lumihost.live import editing
from lumihost.live.models import Show
from tenants.drf import TenantViewSet
from tenants.roles import Permission

SEGMENT_KINDS = (
    "opening", "hook", "points", "demo", "objection", "price", "cta", "qa", "transition", "announcement", "break",
)  # fmt: skip
"""gpu_engine.session.spec.SegmentKind; tests/live compares the two."""

MAX_SEGMENTS = 200
MAX_LINES = 100
MAX_LINE_CHARS = 1000
_ID = r"^[A-Za-z0-9_.-]{1,64}$"


class LineSerializer(serializers.Serializer[Any]):
    """What the host says. ``{price}``, ``{list_price}``, ``{stock}``, ``{title}``, ``{link_no}`` are filled when spoken."""

    id = serializers.RegexField(_ID)
    text = serializers.CharField(max_length=MAX_LINE_CHARS)
    lang = serializers.ChoiceField(choices=["zh", "en"], default="zh")
    interruptible = serializers.BooleanField(default=True)
    variants = serializers.ListField(child=serializers.CharField(max_length=MAX_LINE_CHARS), max_length=10, default=list)


class SegmentSerializer(serializers.Serializer[Any]):
    """A beat of the show; ``gap_s`` is left for questions after it."""

    id = serializers.RegexField(_ID)
    kind = serializers.ChoiceField(choices=SEGMENT_KINDS)
    title = serializers.CharField(max_length=200, allow_blank=True, default="")
    product_id = serializers.CharField(max_length=32, allow_null=True, default=None)
    lines = LineSerializer(many=True, default=list)
    gap_s = serializers.FloatField(min_value=0, max_value=600, default=0.0)

    def validate_lines(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Bounded, and each id once."""
        if len(value) > MAX_LINES:
            raise ValidationError(f"At most {MAX_LINES} lines in a segment.", code="too_many")
        _once([line["id"] for line in value], "line")
        return value


class ShowSerializer(serializers.ModelSerializer[Show]):
    """A show. Another ``avatar`` brings its own voices, except a voice that is named with it."""

    title = serializers.CharField(max_length=200)
    language = serializers.ChoiceField(choices=["zh", "en"], required=False)
    avatar = serializers.RegexField(r"^[a-z0-9_-]{1,64}$", required=False)
    backdrop = serializers.CharField(max_length=64, required=False)
    voice_zh = serializers.CharField(max_length=64, required=False)
    voice_en = serializers.CharField(max_length=64, required=False)
    speed = serializers.FloatField(min_value=0.5, max_value=2.0, required=False)
    segments = SegmentSerializer(many=True, required=False)

    class Meta:
        model = Show
        fields = (
            "id", "title", "language", "avatar", "backdrop", "voice_zh", "voice_en", "speed", "segments", "loop",
            "created_at", "updated_at",
        )  # fmt: skip
        read_only_fields = ("id", "created_at", "updated_at")

    def validate_avatar(self, value: str) -> str:
        """A pack that is here, or the one the show has already: a pack that was taken away must not block other changes."""
        if self.instance is not None and value == self.instance.avatar:
            return value
        return _known(value, [avatar.id for avatar in stock_avatars()], "avatar")

    def validate_backdrop(self, value: str) -> str:
        """A studio of the engine."""
        return _known(value, [backdrop.id for backdrop in BACKDROPS], "backdrop")

    def validate_voice_zh(self, value: str) -> str:
        """A Chinese voice."""
        return _voice(value, "zh")

    def validate_voice_en(self, value: str) -> str:
        """An English voice."""
        return _voice(value, "en")

    def validate_segments(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Bounded, each id once, products of this tenant only."""
        if len(value) > MAX_SEGMENTS:
            raise ValidationError(f"At most {MAX_SEGMENTS} segments.", code="too_many")
        _once([segment["id"] for segment in value], "segment")
        wanted = {segment["product_id"] for segment in value if segment["product_id"] is not None}
        unknown = wanted - set(Product.objects.filter(pk__in=wanted).values_list("pk", flat=True))
        if unknown:
            raise ValidationError(f"There is no product '{sorted(unknown)[0]}'.", code="does_not_exist")
        return [{**segment, "lines": [dict(line) for line in segment["lines"]]} for segment in value]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """With a presenter the show does not have yet, the voices of that presenter where none are named."""
        chosen = attrs.get("avatar")
        if chosen is None or (self.instance is not None and chosen == self.instance.avatar):
            return attrs
        avatar = stock_avatar(chosen)
        return attrs if avatar is None else {"voice_zh": avatar.voice_zh, "voice_en": avatar.voice_en, **attrs}


def _once(ids: list[str], what: str) -> None:
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ValidationError(f"The {what} id '{twice[0]}' is used twice.", code="duplicate")


def _voice(value: str, language: str) -> str:
    return _known(value, [voice.id for voice in VOICES if voice.language == language], "voice")


def _known(value: str, known: list[str], what: str) -> str:
    if value not in known:
        raise ValidationError(f"There is no {what} '{value[:40]}': use one of {', '.join(known)}.", code="does_not_exist")
    return value


@extend_schema_view(
    list=extend_schema(tags=["shows"], operation_id="shows_list"),
    retrieve=extend_schema(tags=["shows"], operation_id="shows_get"),
    create=extend_schema(tags=["shows"], operation_id="shows_create"),
    partial_update=extend_schema(tags=["shows"], operation_id="shows_update"),
    destroy=extend_schema(tags=["shows"], operation_id="shows_delete"),
)
class ShowViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """Shows of the tenant."""

    serializer_class = ShowSerializer
    pagination_class = NewestFirst
    permissions = {
        "list": Permission.SHOWS_VIEW,
        "retrieve": Permission.SHOWS_VIEW,
        "create": Permission.SHOWS_WRITE,
        "partial_update": Permission.SHOWS_WRITE,
        "destroy": Permission.SHOWS_WRITE,
    }

    def rows(self) -> Any:
        """All of them."""
        return Show.objects.all()

    def create(self, request: Request, **kwargs: str) -> Response:
        """Add a show."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        show = editing.create_show(fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(show).data, status=201)

    def partial_update(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Change the fields given; ``segments`` as a whole."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        show = editing.update_show(pk, changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(show).data)

    def destroy(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Remove a show that was never on the air."""
        editing.delete_show(pk, actor=actor_of(request.user))
        return Response(status=204)
