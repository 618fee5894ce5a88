"""Routes of channels, shows, sessions and usage, below ``tenants/<tenant_id>/``."""

from __future__ import annotations

from typing import Any

from django.urls import path

from lumihost.api.v1.channels import ChannelViewSet, DestinationViewSet, SourceViewSet
from lumihost.api.v1.motion import MotionTokenViewSet
from lumihost.api.v1.session_calls import SessionCallViewSet, WhepViewSet
from lumihost.api.v1.sessions import SessionViewSet
from lumihost.api.v1.shows import ShowViewSet
from lumihost.api.v1.usage import UsageViewSet

_MANY: dict[str, Any] = {"get": "list", "post": "create"}
_ONE: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path("channels", ChannelViewSet.as_view(_MANY)),
    path("channels/<str:pk>", ChannelViewSet.as_view(_ONE)),
    path("channels/<str:channel_id>/destinations", DestinationViewSet.as_view(_MANY)),
    path("channels/<str:channel_id>/destinations/<str:pk>", DestinationViewSet.as_view(_ONE)),
    path("channels/<str:channel_id>/sources", SourceViewSet.as_view(_MANY)),
    path("channels/<str:channel_id>/sources/<str:pk>", SourceViewSet.as_view(_ONE)),
    path("shows", ShowViewSet.as_view(_MANY)),
    path("shows/<str:pk>", ShowViewSet.as_view(_ONE)),
    path("sessions", SessionViewSet.as_view(_MANY)),
    path("sessions/<str:pk>", SessionViewSet.as_view({"get": "retrieve"})),
    path("sessions/<str:pk>/stop", SessionViewSet.as_view({"post": "stop"})),
    path("sessions/<str:pk>/events", SessionViewSet.as_view({"get": "events"})),
    path("sessions/<str:pk>/recordings", SessionViewSet.as_view({"get": "recordings"})),
    path("sessions/<str:pk>/recordings/<str:recording_id>/content", SessionViewSet.as_view({"get": "recording_content"})),
    path("sessions/<str:pk>/comments", SessionCallViewSet.as_view({"get": "comments", "post": "comment"})),
    path("sessions/<str:pk>/say", SessionCallViewSet.as_view({"post": "say"})),
    path("sessions/<str:pk>/cut", SessionCallViewSet.as_view({"post": "cut"})),
    path("sessions/<str:pk>/pin", SessionCallViewSet.as_view({"post": "pin"})),
    path("sessions/<str:pk>/pause", SessionCallViewSet.as_view({"post": "pause"})),
    path("sessions/<str:pk>/resume", SessionCallViewSet.as_view({"post": "resume"})),
    path("sessions/<str:pk>/next", SessionCallViewSet.as_view({"post": "next_segment"})),
    path("sessions/<str:pk>/motion-token", MotionTokenViewSet.as_view({"post": "issue"})),
    path("sessions/<str:pk>/whep", WhepViewSet.as_view({"post": "offer"})),
    path("sessions/<str:pk>/whep/<str:viewer_id>", WhepViewSet.as_view({"delete": "leave"})),
    path("usage", UsageViewSet.as_view({"get": "summary"})),
]
