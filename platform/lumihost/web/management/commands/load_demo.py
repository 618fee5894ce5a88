"""``manage.py load_demo``: the demo shop, its owner, show and channel."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from lumihost.web.demo import load_demo


class Command(BaseCommand):
    """Load the demo shop; running it again adds nothing."""

    help = "Load the demo shop and print how to sign in. Safe to run again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--json`` for programs."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load and print."""
        demo = load_demo(Path(settings.VAR) / "secrets" / "demo_password")
        if options["json"]:
            self.stdout.write(json.dumps(asdict(demo)))
            return
        self.stdout.write(f"Demo shop: {demo.products} products · sign in as {demo.email} with password {demo.password}")
