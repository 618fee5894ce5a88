"""Channels with their destinations and comment sources."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.core.addresses import AddressRefused, check_host
from lumihost.core.audit import actor_of
from lumihost.core.problems import Missing
from lumihost.live import editing
from lumihost.live.models import Channel, CommentSource, Destination
from tenants.drf import TenantViewSet
from tenants.roles import Permission

_READ_WRITE = {
    "list": Permission.CHANNELS_VIEW,
    "retrieve": Permission.CHANNELS_VIEW,
    "create": Permission.CHANNELS_WRITE,
    "partial_update": Permission.CHANNELS_WRITE,
    "destroy": Permission.CHANNELS_WRITE,
}


def checked_url(value: str, schemes: tuple[str, ...]) -> str:
    """``value`` if it is a URL of one of ``schemes`` with a host and without credentials in it.

    Raises:
        ValidationError: it is not.
    """
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValidationError(f"Not a URL: {error}.", code="url") from error
    if parts.scheme not in schemes or not host:
        raise ValidationError(f"Expected {' or '.join(scheme + '://host/…' for scheme in schemes)}.", code="url")
    if parts.username or parts.password:
        raise ValidationError("Leave user name and password out of the address.", code="url_credentials")
    if (port is not None and not 0 < port < 65536) or any(ch.isspace() or ord(ch) < 32 for ch in value):
        raise ValidationError("Not a usable address.", code="url")
    try:
        check_host(value)
    except AddressRefused as refusal:
        raise ValidationError(f"{refusal}.", code="address_refused") from refusal
    return value


class ChannelSerializer(serializers.ModelSerializer[Channel]):
    """Where a show goes."""

    name = serializers.CharField(max_length=120)
    platform = serializers.RegexField(r"^[a-z0-9_-]{1,40}$", required=False)
    language = serializers.ChoiceField(choices=["zh", "en"], required=False)

    class Meta:
        model = Channel
        fields = ("id", "name", "platform", "language", "created_at", "updated_at")
        read_only_fields = ("id", "created_at", "updated_at")


class DestinationSerializer(serializers.ModelSerializer[Destination]):
    """An RTMP address. ``stream_key`` goes in and never comes out; '' removes it."""

    name = serializers.CharField(max_length=120)
    url = serializers.CharField(max_length=500)
    stream_key = serializers.CharField(max_length=500, write_only=True, required=False, allow_blank=True)
    has_stream_key = serializers.SerializerMethodField()

    class Meta:
        model = Destination
        fields = ("id", "name", "kind", "url", "stream_key", "has_stream_key", "enabled", "created_at", "updated_at")
        read_only_fields = ("id", "kind", "created_at", "updated_at")

    def get_has_stream_key(self, destination: Destination) -> bool:
        """Whether a key is stored."""
        return bool(destination.stream_key_encrypted)

    def validate_url(self, value: str) -> str:
        """An rtmp(s) address."""
        return checked_url(value, ("rtmp", "rtmps"))

    def validate_stream_key(self, value: str) -> str:
        """Printable, without blanks: a pasted line break would be refused by every server with no word why."""
        if any(ch.isspace() or not ch.isprintable() for ch in value):
            raise ValidationError("A stream key has no blanks: paste it again.", code="stream_key")
        return value


class SourceSerializer(serializers.ModelSerializer[CommentSource]):
    """A WebSocket that viewer comments come from."""

    url = serializers.CharField(max_length=500)

    class Meta:
        model = CommentSource
        fields = ("id", "kind", "url", "enabled", "created_at", "updated_at")
        read_only_fields = ("id", "kind", "created_at", "updated_at")

    def validate_url(self, value: str) -> str:
        """A ws(s) address."""
        return checked_url(value, ("ws", "wss"))


@extend_schema_view(
    list=extend_schema(tags=["channels"], operation_id="channels_list"),
    retrieve=extend_schema(tags=["channels"], operation_id="channels_get"),
    create=extend_schema(tags=["channels"], operation_id="channels_create"),
    partial_update=extend_schema(tags=["channels"], operation_id="channels_update"),
    destroy=extend_schema(tags=["channels"], operation_id="channels_delete"),
)
class ChannelViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """Channels of the tenant."""

    serializer_class = ChannelSerializer
    permissions = _READ_WRITE

    def rows(self) -> Any:
        """All of them."""
        return Channel.objects.all()

    def create(self, request: Request, **kwargs: str) -> Response:
        """Add a channel."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        channel = editing.create_channel(fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(channel).data, status=201)

    def partial_update(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Change the fields given."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        channel = editing.update_channel(pk, changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(channel).data)

    def destroy(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Remove a channel with its destinations and sources."""
        editing.delete_channel(pk, actor=actor_of(request.user))
        return Response(status=204)


class _PartOfChannel(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantViewSet):
    """Rows of one channel; a channel of another tenant is no channel at all."""

    permissions = _READ_WRITE

    def channel_id(self) -> str:
        """The channel of the URL.

        Raises:
            Missing: there is none.
        """
        channel_id: str = self.kwargs["channel_id"]
        if not Channel.objects.filter(pk=channel_id).exists():
            raise Missing(f"there is no channel '{channel_id}'")
        return channel_id


@extend_schema_view(
    list=extend_schema(tags=["channels"], operation_id="destinations_list"),
    retrieve=extend_schema(tags=["channels"], operation_id="destinations_get"),
    create=extend_schema(tags=["channels"], operation_id="destinations_create"),
    partial_update=extend_schema(tags=["channels"], operation_id="destinations_update"),
    destroy=extend_schema(tags=["channels"], operation_id="destinations_delete"),
)
class DestinationViewSet(_PartOfChannel):
    """Where a channel is pushed to."""

    serializer_class = DestinationSerializer

    def rows(self) -> Any:
        """Destinations of the channel."""
        return Destination.objects.filter(channel_id=self.channel_id())

    def create(self, request: Request, channel_id: str, **kwargs: str) -> Response:
        """Add a destination."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        row = editing.create_destination(channel_id=channel_id, fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(row).data, status=201)

    def partial_update(self, request: Request, channel_id: str, pk: str, **kwargs: str) -> Response:
        """Change the fields given."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        row = editing.update_destination(
            pk, channel_id=channel_id, changes=form.validated_data, actor=actor_of(request.user)
        )  # fmt: skip
        return Response(self.get_serializer(row).data)

    def destroy(self, request: Request, channel_id: str, pk: str, **kwargs: str) -> Response:
        """Remove a destination."""
        editing.delete_destination(pk, channel_id=channel_id, actor=actor_of(request.user))
        return Response(status=204)


@extend_schema_view(
    list=extend_schema(tags=["channels"], operation_id="sources_list"),
    retrieve=extend_schema(tags=["channels"], operation_id="sources_get"),
    create=extend_schema(tags=["channels"], operation_id="sources_create"),
    partial_update=extend_schema(tags=["channels"], operation_id="sources_update"),
    destroy=extend_schema(tags=["channels"], operation_id="sources_delete"),
)
class SourceViewSet(_PartOfChannel):
    """Where a channel's comments come from."""

    serializer_class = SourceSerializer

    def rows(self) -> Any:
        """Sources of the channel."""
        return CommentSource.objects.filter(channel_id=self.channel_id())

    def create(self, request: Request, channel_id: str, **kwargs: str) -> Response:
        """Add a source."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        row = editing.create_source(channel_id=channel_id, fields=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(row).data, status=201)

    def partial_update(self, request: Request, channel_id: str, pk: str, **kwargs: str) -> Response:
        """Change the fields given."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        row = editing.update_source(pk, channel_id=channel_id, changes=form.validated_data, actor=actor_of(request.user))
        return Response(self.get_serializer(row).data)

    def destroy(self, request: Request, channel_id: str, pk: str, **kwargs: str) -> Response:
        """Remove a source."""
        editing.delete_source(pk, channel_id=channel_id, actor=actor_of(request.user))
        return Response(status=204)
