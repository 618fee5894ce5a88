#!/usr/bin/env python
"""Django's command line, from a bare checkout or an installed wheel."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# After the script's own folder: `platform/` holds the package `lumihost`; it has no __init__.py, so stdlib `platform` wins.
sys.path.insert(1, str(Path(__file__).resolve().parent / "platform"))


def main() -> None:
    """Run the command of ``sys.argv``."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumihost.config.settings.embedded")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
