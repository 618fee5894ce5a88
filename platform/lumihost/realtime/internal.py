"""``POST /internal/v1/notify``: how the reconciler and the Celery worker reach sockets. Loopback and a secret, never public."""

from __future__ import annotations

import hmac
import json
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from lumihost.core.problems import CONTENT_TYPE, Problem
from lumihost.realtime import broadcast
from lumihost.realtime.flusher import flusher
from tenants.models import Tenant

_LOOPBACK = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1", ""})
_MAX_BODY_BYTES = 65_536


@csrf_exempt
@require_POST
async def notify(request: HttpRequest) -> JsonResponse:
    """One message: {kind: beat | session | stop | knowledge, …}."""
    if not _trusted(request):
        return _problem(Problem(403, "permission_denied", "for the platform's own processes"))
    try:
        body = json.loads(request.read(_MAX_BODY_BYTES))
        return JsonResponse(await _act(body.pop("kind"), body))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _problem(Problem(400, "malformed", f"{type(error).__name__}: {error}"))
    except Tenant.DoesNotExist:
        return _problem(Problem(404, "not_found", "no such tenant"))


async def _act(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    flusher.ensure_running()
    match kind:
        case "beat":
            return {"ok": True}
        case "session":
            await broadcast.send_session(await _tenant(body["tenant"]), body["session"])
        case "stop":
            await broadcast.send_stop(body["node"], body["session"], body["epoch"], body["reason"])
        case "knowledge":
            return await broadcast.send_knowledge(await _tenant(body["tenant"]))
        case _:
            raise ValueError(f"no kind '{kind}'")
    return {"ok": True}


def _trusted(request: HttpRequest) -> bool:
    """A proxy that forwards outside requests adds X-Forwarded-For; our own processes do not."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    peer = request.META.get("REMOTE_ADDR", "")
    # With `--host <address>` our own processes come from that address: the one the connection arrived at.
    here = peer in _LOOPBACK or peer == request.META.get("SERVER_NAME")
    outside = not here or "X-Forwarded-For" in request.headers
    return not outside and hmac.compare_digest(given.encode(), settings.INTERNAL_SECRET.encode())


async def _tenant(tenant_id: str) -> Tenant:
    tenant: Tenant = await database_sync_to_async(Tenant.objects.get)(pk=tenant_id)
    return tenant


def _problem(problem: Problem) -> JsonResponse:
    return JsonResponse(problem.as_dict(""), status=problem.status, content_type=CONTENT_TYPE)
