"""The usage ledger and its hourly fold."""

from __future__ import annotations

from django.db import models

from lumihost.live.models import LiveSession
from tenants.base import AppendOnlyTenantModel, TenantModel


class UsageEvent(AppendOnlyTenantModel):
    """A segment as the node reported it: media seconds produced by the body and accepted by an output.

    Raw and complete: what is charged for it is decided by :mod:`lumihost.metering.fold`, which may see an overlap later.
    """

    id_prefix = "use"

    session = models.ForeignKey(LiveSession, on_delete=models.PROTECT, related_name="usage")
    epoch = models.PositiveIntegerField()
    seq = models.PositiveBigIntegerField()
    incarnation = models.PositiveIntegerField()
    from_s = models.PositiveIntegerField()
    to_s = models.PositiveIntegerField()
    seconds = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    height_px = models.PositiveIntegerField()
    accepted_by = models.JSONField(default=list)

    class Meta:
        base_manager_name = "objects"
        ordering = ["epoch", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["session", "epoch", "seq"], name="usage_once"),
            models.CheckConstraint(condition=models.Q(to_s__gt=models.F("from_s")), name="usage_is_forward"),
        ]
        indexes = [models.Index(fields=["session", "started_at"])]

    def __str__(self) -> str:
        return f"{self.session_id} {self.epoch}/{self.seq}: {self.seconds} s"


class UsageBucket(TenantModel):
    """Billable seconds of a session at one rendition within one hour (UTC); recomputed from events, never incremented."""

    id_prefix = "usb"

    session = models.ForeignKey(LiveSession, on_delete=models.PROTECT, related_name="usage_buckets")
    hour = models.DateTimeField()
    height_px = models.PositiveIntegerField()
    billable_s = models.PositiveIntegerField()
    cost_micros = models.PositiveBigIntegerField()
    currency = models.CharField(max_length=3)

    class Meta:
        base_manager_name = "objects"
        ordering = ["hour"]
        constraints = [models.UniqueConstraint(fields=["session", "hour", "height_px"], name="usage_bucket_once")]
        indexes = [models.Index(fields=["tenant", "hour"])]

    def __str__(self) -> str:
        return f"{self.session_id} {self.hour:%F %Hh}: {self.billable_s} s"
