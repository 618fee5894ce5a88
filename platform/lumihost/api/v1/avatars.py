"""Stock avatars, voices and backdrops: lists, and the files the console draws them from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.fields import TextField
from lumihost.api.v1.byte_ranges import file_response
from lumihost.avatars.catalogue import BACKDROPS, SHAPES, VOICES, StockAvatar, stock_avatar, stock_avatars, stock_backdrop
from lumihost.core.problems import Invalid, Missing
from tenants.drf import TenantViewSet
from tenants.roles import Permission

_UNCHANGED = OpenApiResponse(description="Not modified: `If-None-Match` names the present file")


class LicenceOut(serializers.Serializer[Any]):
    """Under what a presenter may be used."""

    spdx = serializers.CharField(default="")
    origin = serializers.CharField(default="")
    attribution = serializers.CharField(default="")


class ConsentOut(serializers.Serializer[Any]):
    """Whose likeness it is: ``synthetic`` shows no real person, ``person`` names who agreed and when."""

    subject = serializers.CharField(default="")
    statement = serializers.CharField(default="")
    granted_by = serializers.CharField(default="")
    granted_on = serializers.CharField(default="")


class AvatarOut(serializers.Serializer[Any]):
    """An avatar a show may name. ``version`` changes with the file; the voices are those it speaks with by itself."""

    id = serializers.CharField()
    name = TextField("name", most=120)
    presents = serializers.CharField()
    licence = LicenceOut()
    consent = ConsentOut()
    framings = serializers.ListField(child=serializers.CharField())
    bytes = serializers.IntegerField()
    version = serializers.CharField()
    voice_zh = serializers.CharField()
    voice_en = serializers.CharField()
    has_portrait = serializers.SerializerMethodField()

    def get_has_portrait(self, avatar: StockAvatar) -> bool:
        """Whether there is a picture of it."""
        return avatar.portrait is not None


class VoiceOut(serializers.Serializer[Any]):
    """A voice a show may name."""

    id = serializers.CharField()
    language = serializers.ChoiceField(choices=["zh", "en"])
    gender = serializers.ChoiceField(choices=["female", "male"])
    name = TextField("name", most=120)


class BackdropOut(serializers.Serializer[Any]):
    """A studio a show may be set in."""

    id = serializers.CharField()
    name = TextField("name", most=120)


def listing(name: str, item: serializers.Serializer[Any]) -> Any:
    """The schema of a list that is short enough to have no further page."""
    return inline_serializer(name, {"items": item, "next": serializers.CharField(allow_null=True)})


class AvatarViewSet(TenantViewSet):
    """Stock avatars."""

    permissions: ClassVar[dict[str, Permission]] = dict.fromkeys(("list", "pack", "portrait"), Permission.AVATARS_VIEW)
    pagination_class = None
    serializer_class = AvatarOut

    @extend_schema(tags=["avatars"], operation_id="avatars_list", responses=listing("AvatarList", AvatarOut(many=True)))
    def list(self, request: Request, **kwargs: str) -> Response:
        """Avatars every tenant may use."""
        return Response({"items": AvatarOut(stock_avatars(), many=True).data, "next": None})

    @extend_schema(
        tags=["avatars"], operation_id="avatars_pack", parameters=[OpenApiParameter("id", str, "path")],
        responses={(200, "model/gltf-binary"): bytes, (206, "model/gltf-binary"): bytes, 304: _UNCHANGED},
    )  # fmt: skip
    def pack(self, request: Request, pk: str, **kwargs: str) -> HttpResponseBase:
        """The avatar as one glTF binary (docs/avatar-pack.md), or the part that ``Range`` asks for."""
        avatar = _avatar(pk)
        return _file(request, avatar.pack, "model/gltf-binary", f"{avatar.id}.glb")

    @extend_schema(
        tags=["avatars"], operation_id="avatars_portrait", parameters=[OpenApiParameter("id", str, "path")],
        responses={(200, "image/jpeg"): bytes, 304: _UNCHANGED},
    )  # fmt: skip
    def portrait(self, request: Request, pk: str, **kwargs: str) -> HttpResponseBase:
        """A picture of the avatar, head and shoulders."""
        avatar = _avatar(pk)
        if avatar.portrait is None:
            raise Missing(f"there is no portrait of '{avatar.id}'")
        return _file(request, avatar.portrait, "image/jpeg", f"{avatar.id}.jpg")


class VoiceViewSet(TenantViewSet):
    """Stock voices."""

    permissions: ClassVar[dict[str, Permission]] = {"list": Permission.AVATARS_VIEW}
    pagination_class = None

    @extend_schema(tags=["avatars"], operation_id="voices_list", responses=listing("VoiceList", VoiceOut(many=True)))
    def list(self, request: Request, **kwargs: str) -> Response:
        """Voices every tenant may use."""
        return Response({"items": VoiceOut(VOICES, many=True).data, "next": None})


class BackdropViewSet(TenantViewSet):
    """Stock backdrops."""

    permissions: ClassVar[dict[str, Permission]] = dict.fromkeys(("list", "picture"), Permission.AVATARS_VIEW)
    pagination_class = None
    serializer_class = BackdropOut

    @extend_schema(tags=["avatars"], operation_id="backdrops_list", responses=listing("BackdropList", BackdropOut(many=True)))
    def list(self, request: Request, **kwargs: str) -> Response:
        """Backdrops every tenant may use."""
        return Response({"items": BackdropOut(BACKDROPS, many=True).data, "next": None})

    @extend_schema(
        tags=["avatars"], operation_id="backdrops_picture",
        parameters=[
            OpenApiParameter("id", str, "path"),
            OpenApiParameter("shape", str, "query", enum=SHAPES, description="`wide` (16:9, the default) or `tall` (9:16)"),
        ],
        responses={(200, "image/jpeg"): bytes, 304: _UNCHANGED},
    )  # fmt: skip
    def picture(self, request: Request, pk: str, **kwargs: str) -> HttpResponseBase:
        """The studio as a picture."""
        backdrop, shape = stock_backdrop(pk), request.query_params.get("shape", "wide")
        if shape not in SHAPES:
            raise Invalid(f"shape is one of {', '.join(SHAPES)}")
        file = backdrop.picture(shape) if backdrop else None
        if file is None:
            raise Missing(f"there is no picture of a backdrop '{pk}'")
        return _file(request, file, "image/jpeg", file.name)


def _avatar(avatar_id: str) -> StockAvatar:
    avatar = stock_avatar(avatar_id)
    if avatar is None:
        raise Missing(f"there is no avatar '{avatar_id}'")
    return avatar


def _file(request: Request, path: Path, content_type: str, name: str) -> HttpResponseBase:
    """The file, asked for again each time but sent only when it has changed (RFC 9110 §13.1.2)."""
    state = path.stat()
    tag = f'"{state.st_size:x}-{state.st_mtime_ns:x}"'
    known = {part.strip().removeprefix("W/") for part in request.headers.get("If-None-Match", "").split(",")}
    response: HttpResponseBase
    if tag in known or "*" in known:
        response = HttpResponse(status=304)
    else:
        # The rest of a file that has changed since would not fit the part the client has (RFC 9110 §13.1.5).
        current = request.headers.get("If-Range", tag) == tag
        response = file_response(path, content_type, request.headers.get("Range") if current else None, name)
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "private, no-cache, no-transform"
    return response
