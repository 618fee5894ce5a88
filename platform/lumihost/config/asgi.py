"""ASGI entry: HTTP to Django, WebSockets to the consumers of ``lumihost.realtime``."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumihost.config.settings.embedded")
http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from lumihost.realtime.routing import websocket_urlpatterns  # noqa: E402

# The session cookie is resolved for every socket; who may enter is each consumer's own door (tenants.channels checks origin,
# sign-in and membership; the node consumer checks its token).
application = ProtocolTypeRouter({"http": http, "websocket": AuthMiddlewareStack(URLRouter(websocket_urlpatterns))})
