"""Routes of the WebSockets. A console is a browser, so its origin must be ours; a node proves itself by its token."""

from __future__ import annotations

from typing import Any

from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import path

from lumihost.realtime.console import ConsoleConsumer
from lumihost.realtime.node import NodeConsumer
from workers.contracts.node import PATH

websocket_urlpatterns: list[Any] = [
    path("ws/console/<str:tenant_id>/", AllowedHostsOriginValidator(ConsoleConsumer.as_asgi())),
    path(PATH.lstrip("/"), NodeConsumer.as_asgi()),
]
