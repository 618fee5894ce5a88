"""Reading the ledger: what was used, what it costs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Sum

from lumihost.metering.models import UsageBucket
from lumihost.metering.tariffs import cost_minor
from tenants.context import current_tenant


@dataclass(frozen=True)
class Charge:
    """Billable seconds and their cost in minor units of ``currency``."""

    billable_s: int
    cost_minor: int
    currency: str


def charges(session_ids: Collection[str]) -> dict[str, Charge]:
    """The charge of each of these sessions so far; one without usage costs nothing."""
    currency = current_tenant().currency
    sums = UsageBucket.objects.filter(session_id__in=session_ids).order_by()
    found = {
        row["session_id"]: Charge(row["seconds"], cost_minor(row["micros"], currency), currency)
        for row in sums.values("session_id").annotate(seconds=Sum("billable_s"), micros=Sum("cost_micros"))
    }
    return {session_id: found.get(session_id, Charge(0, 0, currency)) for session_id in session_ids}


def charge_of(session_id: str) -> Charge:
    """The charge of one session so far."""
    return charges([session_id])[session_id]


def summary(*, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
    """Usage of the active tenant in the hours from ``since`` (included) to ``until`` (excluded).

    The total is rounded once; the sessions' rounded costs may therefore differ from it by a minor unit each.
    """
    currency = current_tenant().currency
    buckets = UsageBucket.objects.order_by()
    if since is not None:
        buckets = buckets.filter(hour__gte=since)
    if until is not None:
        buckets = buckets.filter(hour__lt=until)
    totals = buckets.aggregate(seconds=Sum("billable_s"), micros=Sum("cost_micros"))
    by_session = (
        buckets.values("session_id", "session__show__title", "session__requested_at")
        .annotate(seconds=Sum("billable_s"), micros=Sum("cost_micros"))
        .order_by("-session__requested_at")
    )
    return {
        "billable_seconds": totals["seconds"] or 0,
        "cost_minor": cost_minor(totals["micros"] or 0, currency),
        "currency": currency,
        "sessions": [
            {
                "id": row["session_id"],
                "title": row["session__show__title"],
                "requested_at": row["session__requested_at"],
                "billable_seconds": row["seconds"],
                "cost_minor": cost_minor(row["micros"], currency),
            }
            for row in by_session[:500]
        ],
    }
