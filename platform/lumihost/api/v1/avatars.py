"""Stock avatars and voices."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.fields import TextField
from lumihost.avatars.catalogue import VOICES, stock_avatars
from tenants.drf import TenantViewSet
from tenants.roles import Permission


class AvatarOut(serializers.Serializer[Any]):
    """An avatar a show may name."""

    id = serializers.CharField()
    name = TextField("name", most=120)


class VoiceOut(serializers.Serializer[Any]):
    """A voice a show may name."""

    id = serializers.CharField()
    language = serializers.ChoiceField(choices=["zh", "en"])
    gender = serializers.ChoiceField(choices=["female", "male"])
    name = TextField("name", most=120)


def listing(name: str, item: serializers.Serializer[Any]) -> Any:
    """The schema of a list that is short enough to have no further page."""
    return inline_serializer(name, {"items": item, "next": serializers.CharField(allow_null=True)})


class AvatarViewSet(TenantViewSet):
    """Stock avatars."""

    permissions = {"list": Permission.AVATARS_VIEW}
    pagination_class = None

    @extend_schema(tags=["avatars"], operation_id="avatars_list", responses=listing("AvatarList", AvatarOut(many=True)))
    def list(self, request: Request, **kwargs: str) -> Response:
        """Avatars every tenant may use."""
        return Response({"items": AvatarOut(stock_avatars(), many=True).data, "next": None})


class VoiceViewSet(TenantViewSet):
    """Stock voices."""

    permissions = {"list": Permission.AVATARS_VIEW}
    pagination_class = None

    @extend_schema(tags=["avatars"], operation_id="voices_list", responses=listing("VoiceList", VoiceOut(many=True)))
    def list(self, request: Request, **kwargs: str) -> Response:
        """Voices every tenant may use."""
        return Response({"items": VoiceOut(VOICES, many=True).data, "next": None})
