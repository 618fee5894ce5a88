"""Live sessions: starting, stopping, looking back. Talking to a running host is in :mod:`lumihost.api.v1.session_calls`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.idempotency import HEADER, Idempotent
from lumihost.api.pagination import NewestFirst
from lumihost.api.throttles import PerUser
from lumihost.api.throttles import Start as StartThrottle
from lumihost.api.v1.byte_ranges import file_response
from lumihost.core.audit import actor_of
from lumihost.core.problems import Invalid, Missing
from lumihost.live import recordings, selectors, services
from lumihost.live.models import LiveSession, Recording, SessionState
from tenants.drf import TenantViewSet
from tenants.roles import Permission


class NamedSerializer(serializers.Serializer[Any]):
    """A row and what people call it."""

    id = serializers.CharField()
    name = serializers.CharField()


class TitledSerializer(serializers.Serializer[Any]):
    """A row and its title."""

    id = serializers.CharField()
    title = serializers.CharField()


class SessionSerializer(serializers.ModelSerializer[LiveSession]):
    """A session as lumihost.live.selectors.session_json gives it; describes, never computes."""

    state = serializers.ChoiceField(choices=SessionState.choices)
    show = TitledSerializer()
    channel = NamedSerializer(allow_null=True)
    node = serializers.CharField(allow_null=True)
    cursor = serializers.DictField(allow_null=True)
    billable_s = serializers.IntegerField()
    cost_minor = serializers.IntegerField()
    currency = serializers.CharField()

    class Meta:
        model = LiveSession
        fields = (
            "id", "state", "desired", "epoch", "show", "channel", "node", "cursor", "record", "requested_at", "started_at",
            "ended_at", "end_reason", "media_s", "billable_s", "cost_minor", "currency",
        )  # fmt: skip
        read_only_fields = fields


class StartIn(serializers.Serializer[Any]):
    """What to put on the air."""

    show = serializers.CharField(max_length=32)
    channel = serializers.CharField(max_length=32, required=False, allow_null=True)
    record = serializers.BooleanField(default=True)


class StopIn(serializers.Serializer[Any]):
    """Why, for the record."""

    reason = serializers.CharField(max_length=200, required=False, default="stopped by the operator")


class EventOut(serializers.Serializer[Any]):
    """Something that happened; ``seq`` grows within a session."""

    session = serializers.CharField()
    seq = serializers.IntegerField()
    kind = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    at = serializers.IntegerField(help_text="Unix time in milliseconds")


class EventListOut(serializers.Serializer[Any]):
    """A page of events; ``next`` is the number to send as ``after``."""

    items = EventOut(many=True)
    next = serializers.CharField(allow_null=True)


class RecordingSerializer(serializers.ModelSerializer[Recording]):
    """A finished MP4."""

    class Meta:
        model = Recording
        fields = ("id", "name", "epoch", "part", "bytes", "duration_s", "finished", "created_at")
        read_only_fields = fields


class SessionViewSet(Idempotent, TenantViewSet):
    """Sessions of the tenant."""

    serializer_class = SessionSerializer
    pagination_class = NewestFirst
    permissions = {
        "list": Permission.SESSIONS_VIEW,
        "retrieve": Permission.SESSIONS_VIEW,
        "create": Permission.SESSIONS_START,
        "stop": Permission.SESSIONS_STOP,
        "events": Permission.SESSIONS_VIEW,
        "recordings": Permission.SESSIONS_VIEW,
        "recording_content": Permission.SESSIONS_VIEW,
    }

    def rows(self) -> Any:
        """All of them."""
        return selectors.sessions()

    def get_throttles(self) -> list[Any]:
        """A start costs a node's time, so starts have a limit of their own."""
        return [PerUser(), StartThrottle()] if self.action == "create" else super().get_throttles()

    @extend_schema(tags=["sessions"], operation_id="sessions_list")
    def list(self, request: Request, **kwargs: str) -> Response:
        """Sessions, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(selectors.session_list(page or []))

    @extend_schema(tags=["sessions"], operation_id="sessions_get")
    def retrieve(self, request: Request, pk: str, **kwargs: str) -> Response:
        """One session."""
        return Response(selectors.session_json(self.get_object()))

    @extend_schema(
        tags=["sessions"], operation_id="sessions_start", request=StartIn, responses={201: SessionSerializer},
        parameters=[OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description="repeat a start safely")],
    )  # fmt: skip
    def create(self, request: Request, tenant_id: str, **kwargs: str) -> Response:
        """Take a show live."""
        form = StartIn(data=request.data)
        form.is_valid(raise_exception=True)

        def start() -> Response:
            session = services.start_session(
                show_id=form.validated_data["show"], channel_id=form.validated_data.get("channel"),
                record=form.validated_data["record"], actor=actor_of(request.user),
            )  # fmt: skip
            found = selectors.sessions().get(pk=session.pk)
            location = f"/api/v1/tenants/{tenant_id}/sessions/{session.pk}"
            return Response(selectors.session_json(found), status=201, headers={"Location": location})

        return self.once(request, start)

    @extend_schema(tags=["sessions"], operation_id="sessions_stop", request=StopIn, responses=SessionSerializer)
    def stop(self, request: Request, pk: str, **kwargs: str) -> Response:
        """End a session cleanly; what is being said is finished."""
        form = StopIn(data=request.data)
        form.is_valid(raise_exception=True)
        services.stop_session(session_id=pk, reason=form.validated_data["reason"], actor=actor_of(request.user))
        return Response(selectors.session_json(selectors.sessions().get(pk=pk)))

    @extend_schema(
        tags=["sessions"], operation_id="sessions_events", responses=EventListOut,
        parameters=[OpenApiParameter("after", int, description="events with a greater seq, oldest first")],
    )  # fmt: skip
    def events(self, request: Request, pk: str, **kwargs: str) -> Response:
        """What happened. Without ``after``: the newest 500."""
        session = self.get_object()
        try:
            after = int(request.query_params.get("after", "0"))
        except ValueError:
            raise Invalid("after is a whole number: the seq of the last event you have") from None
        events = selectors.events_after(session.pk, min(after, 2**53))
        items = [selectors.event_json(event) for event in events]
        more = after > 0 and len(items) == selectors.MAX_EVENTS
        return Response({"items": items, "next": str(items[-1]["seq"]) if more else None})

    @extend_schema(tags=["sessions"], operation_id="sessions_recordings", responses=RecordingSerializer(many=True))
    def recordings(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Finished recordings, in order."""
        rows = Recording.objects.filter(session=self.get_object())
        return Response({"items": RecordingSerializer(rows, many=True).data, "next": None})

    @extend_schema(
        tags=["sessions"], operation_id="sessions_recording_content",
        responses={(200, "video/mp4"): bytes, (206, "video/mp4"): bytes, 416: OpenApiResponse(description="No such range")},
    )  # fmt: skip
    def recording_content(self, request: Request, pk: str, recording_id: str, **kwargs: str) -> Any:
        """The file, or the part that ``Range`` asks for."""
        recording = Recording.objects.filter(pk=recording_id, session=self.get_object(), finished=True).first()
        if recording is None or not recordings.path_of(recording).is_file():
            raise Missing(f"there is no recording '{recording_id}'")
        return file_response(recordings.path_of(recording), "video/mp4", request.headers.get("Range"), recording.name)
