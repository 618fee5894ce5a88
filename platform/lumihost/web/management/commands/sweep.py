"""``manage.py sweep``: what a day leaves behind, dropped. Run it daily; running it again does nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.core.management.base import BaseCommand

from lumihost.api.idempotency import forget_old_answers
from lumihost.core import clock, outbox


class Command(BaseCommand):
    """Drop expired sign-ins, kept answers older than a day and messages delivered a week ago."""

    help = "Drop expired sign-ins, idempotent answers older than a day and outbox messages delivered a week ago."

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep and print the counts."""
        sessions, _ = Session.objects.filter(expire_date__lt=clock.now()).delete()
        answers = forget_old_answers()
        messages = outbox.forget_delivered(timedelta(days=7))
        self.stdout.write(f"dropped {sessions} sign-ins, {answers} answers, {messages} messages")
