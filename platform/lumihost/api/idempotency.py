"""``Idempotency-Key``: a POST repeated with the same key has one effect and one answer.

The kept answer is written in the transaction of the effect, so a crash leaves both or neither.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.models import IdempotentRequest
from lumihost.core import clock
from lumihost.core.problems import Conflict, DomainError, Invalid
from tenants.context import scopes_disabled

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotent-Replayed"
KEPT = timedelta(hours=24)
KEY = re.compile(r"[\x21-\x7e]{1,255}")
NOT_KEPT = frozenset({409, 429})


class IdempotencyMismatch(DomainError):
    """422: the key stands for another request."""

    status = 422
    code = "idempotency_mismatch"


class _NotKept(Exception):
    """Undo the kept row and whatever the action wrote, and answer what it answered."""

    def __init__(self, response: Response) -> None:
        self.response = response


class Idempotent:
    """Mixin for a ``TenantViewSet``: wrap the effect of a POST in :meth:`once`."""

    def once(self, request: Request, effect: Callable[[], Response]) -> Response:
        """Run ``effect`` in a transaction, or replay the answer it gave before.

        Without the header the effect simply runs. Answers of 409, 429 and 5xx undo the transaction and are not kept, and
        neither is an effect that raises, so a retry can work.

        Raises:
            Invalid: the key is not 1–255 printable ASCII characters.
            IdempotencyMismatch: the key was used for another body or path.
            Conflict: the first request with this key is still running.
        """
        key = request.headers.get(HEADER)
        if key is None:
            with transaction.atomic():
                return effect()
        if not KEY.fullmatch(key):
            raise Invalid(f"{HEADER} must be 1 to 255 printable ASCII characters without blanks", code="bad_request")
        try:
            with transaction.atomic():
                return self._first_or_again(request, key, effect)
        except _NotKept as refused:
            return refused.response

    def _first_or_again(self, request: Request, key: str, effect: Callable[[], Response]) -> Response:
        credential = str(request.user.pk)
        fingerprint = fingerprint_of(request)
        IdempotentRequest.objects.filter(credential=credential, key=key, created_at__lt=clock.now() - KEPT).delete()
        try:
            with transaction.atomic():
                mine = IdempotentRequest.objects.create(
                    credential=credential, key=key, fingerprint=fingerprint, created_at=clock.now()
                )
        except IntegrityError:
            return _again(IdempotentRequest.objects.select_for_update().get(credential=credential, key=key), fingerprint)
        response = effect()
        if response.status_code in NOT_KEPT or response.status_code >= 500:
            raise _NotKept(response)
        mine.status = response.status_code
        mine.body = json.loads(JSONRenderer().render(response.data)) if response.data is not None else None
        mine.location = response.headers.get("Location", "")
        mine.save()
        return response


def fingerprint_of(request: Request) -> str:
    """SHA-256 over method, path and the parsed body in canonical JSON."""
    body = json.dumps(request.data, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256("\n".join([request.method or "", request.get_full_path(), body]).encode()).hexdigest()


def _again(kept: IdempotentRequest, fingerprint: str) -> Response:
    if kept.fingerprint != fingerprint:
        raise IdempotencyMismatch(f"this {HEADER} was used for a different request: use a new key for a new request")
    if kept.status == 0:
        raise Conflict(
            "the first request with this key is still running: try again in a second", code="idempotency_in_progress"
        )
    headers: dict[str, Any] = {REPLAYED_HEADER: "true"}
    if kept.location:
        headers["Location"] = kept.location
    return Response(kept.body, status=kept.status, headers=headers)


def forget_old_answers() -> int:
    """Delete answers kept longer than 24 hours, of all tenants; returns how many."""
    with scopes_disabled("the nightly sweep drops every tenant's expired answers"):
        return int(IdempotentRequest.objects.filter(created_at__lt=clock.now() - KEPT).delete()[0])
