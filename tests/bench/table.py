"""How benchmarks show and keep their figures."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any


def print_table(title: str, head: list[str], rows: list[list[str]]) -> None:
    """A plain table on standard output."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, ["─" * w for w in widths], *rows]:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def save(name: str, result: dict[str, Any]) -> None:
    """Write var/bench/<name>.json with the machine's name for its processor."""
    folder = Path("var/bench")
    folder.mkdir(parents=True, exist_ok=True)
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    (folder / f"{name}.json").write_text(json.dumps({"processor": processor, **result}, ensure_ascii=False, indent=1))
