"""Channels (where a show goes), shows (what is said) and live sessions (a show on the air)."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from lumihost.fleet.models import Node
from tenants.base import TenantModel


class Language(models.TextChoices):
    """Languages a show is held in."""

    ZH = "zh"
    EN = "en"


class Channel(TenantModel):
    """A room of the merchant on one platform: its destinations and comment sources."""

    id_prefix = "chn"

    name = models.CharField(max_length=120)
    platform = models.CharField(max_length=40, default="custom", help_text="e.g. douyin, taobao, tiktok, youtube, custom")
    language = models.CharField(max_length=2, choices=Language.choices, default=Language.ZH)

    class Meta:
        base_manager_name = "objects"
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name


class Destination(TenantModel):
    """An RTMP(S) address the show is pushed to. The stream key is stored encrypted and leaves only inside a lease."""

    id_prefix = "dst"

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="destinations")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=16, choices=[("rtmp", "rtmp")], default="rtmp")
    url = models.CharField(max_length=500, help_text="server and application, without the stream key")
    stream_key_encrypted = models.TextField(blank=True, default="")
    enabled = models.BooleanField(default=True)

    class Meta:
        base_manager_name = "objects"
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name


class CommentSource(TenantModel):
    """A WebSocket the engine reads viewer comments from."""

    id_prefix = "src"

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="sources")
    kind = models.CharField(max_length=16, choices=[("websocket", "websocket")], default="websocket")
    url = models.CharField(max_length=500)
    enabled = models.BooleanField(default=True)

    class Meta:
        base_manager_name = "objects"
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.url


class Show(TenantModel):
    """What is said: presenter, voices and the run-of-show (``segments`` as in gpu_engine.session.spec.Segment)."""

    id_prefix = "shw"

    title = models.CharField(max_length=200)
    language = models.CharField(max_length=2, choices=Language.choices, default=Language.ZH)
    avatar = models.CharField(max_length=64, default="lin")
    backdrop = models.CharField(max_length=64, default="daylight")
    voice_zh = models.CharField(max_length=64, default="zf_xiaoxiao")
    voice_en = models.CharField(max_length=64, default="af_heart")
    speed = models.FloatField(default=1.0)
    segments = models.JSONField(default=list)
    loop = models.BooleanField(default=True)

    class Meta:
        base_manager_name = "objects"
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.title


class SessionState(models.TextChoices):
    """States of a live session; which follow which is in :mod:`lumihost.live.state`."""

    REQUESTED = "requested"
    ASSIGNED = "assigned"
    STARTING = "starting"
    LIVE = "live"
    INTERRUPTED = "interrupted"
    STOPPING = "stopping"
    ENDED = "ended"
    FAILED = "failed"


class Desired(models.TextChoices):
    """What the merchant wants of a session."""

    RUNNING = "running"
    STOPPED = "stopped"


class LiveSession(TenantModel):
    """A show on the air. ``epoch`` counts assignments to a node: whoever writes with an older one is refused."""

    id_prefix = "ses"

    show = models.ForeignKey(Show, on_delete=models.PROTECT, related_name="sessions")
    channel = models.ForeignKey(Channel, null=True, on_delete=models.SET_NULL, related_name="sessions")
    state = models.CharField(max_length=16, choices=SessionState.choices, default=SessionState.REQUESTED)
    state_at = models.DateTimeField(default=timezone.now, help_text="since when it is in this state")
    desired = models.CharField(max_length=8, choices=Desired.choices, default=Desired.RUNNING)
    epoch = models.PositiveIntegerField(default=0)
    node = models.ForeignKey(Node, null=True, on_delete=models.SET_NULL, related_name="+")
    lease_until = models.DateTimeField(null=True)
    dispatched_at = models.DateTimeField(null=True, help_text="when the last command for it was sent")
    cursor = models.JSONField(null=True)
    record = models.BooleanField(default=True)
    requested_by = models.CharField(max_length=200)
    requested_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=500, blank=True, default="")
    media_s = models.FloatField(default=0.0, help_text="seconds of media made, over all epochs")
    media_before_s = models.FloatField(default=0.0, help_text="of that, in epochs before the current one")

    class Meta:
        base_manager_name = "objects"
        ordering = ["-requested_at", "-id"]
        indexes = [
            models.Index(fields=["tenant", "-requested_at"]),
            models.Index(
                fields=["state"],
                name="live_session_open",
                condition=~models.Q(state__in=[SessionState.ENDED, SessionState.FAILED]),
            ),
        ]

    def __str__(self) -> str:
        return self.id


class SessionAssignment(TenantModel):
    """One epoch of a session: which node had it, and from when on it was fenced off by the next epoch."""

    id_prefix = "asg"

    session = models.ForeignKey(LiveSession, on_delete=models.CASCADE, related_name="assignments")
    epoch = models.PositiveIntegerField()
    node = models.ForeignKey(Node, null=True, on_delete=models.SET_NULL, related_name="+")
    assigned_at = models.DateTimeField()
    fenced_at = models.DateTimeField(null=True, help_text="seconds produced later are not charged")

    class Meta:
        base_manager_name = "objects"
        ordering = ["epoch"]
        constraints = [models.UniqueConstraint(fields=["session", "epoch"], name="assignment_once_per_epoch")]

    def __str__(self) -> str:
        return f"{self.session_id} epoch {self.epoch}"


class SessionEvent(TenantModel):
    """What an engine said happened (kinds: gpu_engine.session.control.Event). Numbers grow within (session, epoch)."""

    id_prefix = "sev"

    session = models.ForeignKey(LiveSession, on_delete=models.CASCADE, related_name="events")
    epoch = models.PositiveIntegerField()
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=32)
    at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        base_manager_name = "objects"
        ordering = ["epoch", "seq"]
        constraints = [models.UniqueConstraint(fields=["session", "epoch", "seq"], name="event_once")]
        indexes = [models.Index(fields=["session", "kind", "-at"])]

    def __str__(self) -> str:
        return f"{self.session_id} {self.epoch}/{self.seq} {self.kind}"


class Recording(TenantModel):
    """A finished MP4 of one engine run, stored under the tenant's own folder."""

    id_prefix = "rec"

    session = models.ForeignKey(LiveSession, on_delete=models.CASCADE, related_name="recordings")
    epoch = models.PositiveIntegerField()
    part = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    bytes = models.PositiveBigIntegerField(default=0)
    duration_s = models.FloatField(default=0.0)
    file = models.CharField(max_length=300, blank=True, default="", help_text="key below MEDIA_ROOT: t/<tenant>/…")
    finished = models.BooleanField(default=False)

    class Meta:
        base_manager_name = "objects"
        ordering = ["epoch", "part", "name"]
        constraints = [models.UniqueConstraint(fields=["session", "epoch", "name"], name="recording_once")]

    def __str__(self) -> str:
        return self.name


class ReconcilerLease(models.Model):
    """The one row that decides which reconciler works: exactly one at a time, another within seconds when it dies."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_reconciler_lease")]

    def __str__(self) -> str:
        return self.holder
