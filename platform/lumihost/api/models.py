"""Answers kept for requests that may be repeated."""

from __future__ import annotations

from django.db import models

from tenants.base import TenantModel


class IdempotentRequest(TenantModel):
    """The answer to one POST with an ``Idempotency-Key``, kept 24 h; written in the transaction of its effect."""

    id_prefix = "idm"

    credential = models.CharField(max_length=64, help_text="the user or key that asked")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of method, path and body")
    status = models.PositiveSmallIntegerField(default=0, help_text="0 while the first request runs")
    body = models.JSONField(null=True)
    location = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "credential", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_age")]
