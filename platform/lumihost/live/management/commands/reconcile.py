"""``manage.py reconcile``: the reconciler's process."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
import time
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections

from lumihost.live.dispatch import CeleryDispatcher
from lumihost.live.notify import Notifier
from lumihost.live.reconcile import INTERVAL_S, Reconciler

FIRST_SWEEP_S = 60.0
SWEEP_EVERY_S = 24 * 3600.0


class Command(BaseCommand):
    """Reconcile until told to stop."""

    help = "Compare wanted with running sessions twice a second and act; one at a time works, others wait."

    def add_arguments(self, parser: CommandParser) -> None:
        """``--once`` for one round."""
        parser.add_argument("--once", action="store_true", help="one round, then exit")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run."""
        logging.getLogger("httpx").setLevel(logging.WARNING)
        leave = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: leave.set())
        holder = f"{socket.gethostname()[:30]}:{os.getpid()}:{secrets.token_hex(3)}"
        reconciler = Reconciler(holder=holder, dispatcher=CeleryDispatcher(), notifier=Notifier())
        self.stderr.write(f"reconciler {holder} runs")
        sweep_at_s = time.monotonic() + FIRST_SWEEP_S
        try:
            while not leave.is_set():
                started_s = time.monotonic()
                try:
                    if reconciler.step() and time.monotonic() >= sweep_at_s:
                        sweep_at_s = time.monotonic() + SWEEP_EVERY_S
                        call_command("sweep", stdout=self.stderr)
                except OperationalError as error:
                    # The database is away or busy: shows go on without us, the next round tries again.
                    self.stderr.write(f"database: {error}")
                    close_old_connections()
                if options["once"]:
                    break
                leave.wait(max(0.05, INTERVAL_S - (time.monotonic() - started_s)))
        finally:
            reconciler.release()
