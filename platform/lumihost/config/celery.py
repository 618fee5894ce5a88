"""The platform's Celery app: short jobs on the queue ``control``. Nodes have an app of their own in ``workers``."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumihost.config.settings.embedded")

app = Celery("lumihost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

GLOBAL_TASKS: dict[str, str] = {}
"""Task name → reason why it is no TenantTask; everything else of ours must be one (tests/isolation checks the registry)."""
