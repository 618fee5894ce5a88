"""Routes of the WebSockets. Each consumer is its own door: a member with an own origin, a node with its token."""

from __future__ import annotations

from typing import Any

from django.urls import path

from lumihost.realtime.console import ConsoleConsumer
from lumihost.realtime.node import NodeConsumer
from workers.contracts.node import PATH

websocket_urlpatterns: list[Any] = [
    path("ws/console/<str:tenant_id>/", ConsoleConsumer.as_asgi()),
    path(PATH.lstrip("/"), NodeConsumer.as_asgi()),
]
