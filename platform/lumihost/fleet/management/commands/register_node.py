"""``manage.py register_node``: give a machine its place in the fleet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lumihost.fleet.services import register_node


class Command(BaseCommand):
    """Create a node, or renew its token and capacity."""

    help = "Register a node and keep its token in a file that only its owner may read."

    def add_arguments(self, parser: CommandParser) -> None:
        """Arguments."""
        parser.add_argument("--id", required=True, help="the node's id, e.g. local")
        parser.add_argument("--name", default="", help="what people call it (default: the id)")
        parser.add_argument("--token-file", type=Path, required=True, help="read if it exists, else written")
        parser.add_argument("--capacity", type=int, default=1, help="sessions at a time")

    def handle(self, *args: Any, **options: Any) -> None:
        """Register."""
        file: Path = options["token_file"]
        token = file.read_text().strip() if file.exists() else None
        try:
            node, token = register_node(
                node_id=options["id"], name=options["name"] or options["id"], token=token, capacity_sessions=options["capacity"]
            )
        except ValueError as error:
            raise CommandError(f"{file}: {error}") from error
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(token)
        self.stdout.write(f"node {node.pk} is registered; its token is in {file}")
