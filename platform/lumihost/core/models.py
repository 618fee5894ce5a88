"""Audit trail and outbox."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from tenants.base import AppendOnlyTenantModel
from tenants.ids import MAX_LENGTH


class AuditEvent(AppendOnlyTenantModel):
    """Who did what to which row, written in the transaction that did it."""

    id_prefix = "aud"

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    actor_label = models.CharField(max_length=200, help_text="e-mail, 'node:…' or 'system', as it was then")
    action = models.CharField(max_length=64, help_text="e.g. product.updated")
    target_type = models.CharField(max_length=64)
    target_id = models.CharField(max_length=64)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["tenant", "-created_at"]), models.Index(fields=["tenant", "target_id"])]


class Outbox(models.Model):
    """A message that leaves after commit. Global: one dispatcher drains it for everybody."""

    id = models.BigAutoField(primary_key=True)
    tenant_id = models.CharField(max_length=MAX_LENGTH, blank=True, default="")
    topic = models.CharField(max_length=64)
    payload = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    available_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["available_at", "id"], condition=models.Q(done_at=None), name="outbox_waiting")]
