"""What was used and what it costs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.core.problems import Invalid
from lumihost.metering import usage
from tenants.drf import TenantViewSet
from tenants.roles import Permission


class SessionUsageOut(serializers.Serializer[Any]):
    """One session's share."""

    id = serializers.CharField()
    title = serializers.CharField()
    requested_at = serializers.DateTimeField()
    billable_seconds = serializers.IntegerField()
    cost_minor = serializers.IntegerField()


class UsageOut(serializers.Serializer[Any]):
    """Usage of the tenant; money in minor units of ``currency``."""

    billable_seconds = serializers.IntegerField()
    cost_minor = serializers.IntegerField()
    currency = serializers.CharField()
    sessions = SessionUsageOut(many=True)


class UsageViewSet(TenantViewSet):
    """The ledger, summed."""

    permissions = {"summary": Permission.USAGE_VIEW}
    serializer_class = UsageOut

    @extend_schema(
        tags=["usage"], operation_id="usage_summary", responses=UsageOut,
        parameters=[OpenApiParameter("since", datetime), OpenApiParameter("until", datetime)],
    )  # fmt: skip
    def summary(self, request: Request, **kwargs: str) -> Response:
        """Billable seconds and cost, whole hours from ``since`` (included) to ``until`` (excluded); all without them."""
        since, until = (_instant(request, name) for name in ("since", "until"))
        return Response(UsageOut(usage.summary(since=since, until=until)).data)


def _instant(request: Request, name: str) -> datetime | None:
    text = request.query_params.get(name)
    if not text:
        return None
    try:
        value = parse_datetime(text)
        if value is not None and value.tzinfo is not None:
            value = value.astimezone(UTC)
    except (ValueError, OverflowError):
        value = None
    if value is None or value.tzinfo is None:
        raise Invalid(f"{name} is an instant with a zone, e.g. 2026-12-01T00:00:00Z", pointer=f"/{name}")
    return value
