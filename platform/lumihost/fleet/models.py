"""Nodes, and the web processes that listen to them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from lumihost.core.ids import MAX_LENGTH, new_id


def new_node_id() -> str:
    """Default of ``Node.id``."""
    return new_id("nod")


class NodeState(models.TextChoices):
    """``draining`` runs what it has and takes nothing new."""

    ONLINE = "online"
    OFFLINE = "offline"
    DRAINING = "draining"


class Node(models.Model):
    """A machine with an agent. ``token_hash`` is the SHA-256 of a 256-bit random token, which needs no slow hash."""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH, default=new_node_id)
    name = models.CharField(max_length=120)
    token_hash = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=16, choices=NodeState.choices, default=NodeState.OFFLINE)
    capacity_sessions = models.PositiveIntegerField(default=1)
    hardware = models.JSONField(default=dict)
    load = models.JSONField(default=dict)
    instance = models.CharField(max_length=64, blank=True, default="", help_text="which agent said hello last")
    last_seen = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name


class Ingest(models.Model):
    """One web process that takes node messages. While none is fresh, an old lease says nothing about its node."""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH)
    started_at = models.DateTimeField()
    beat_at = models.DateTimeField()

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return self.id
