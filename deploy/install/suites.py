"""Named suites of checks: ``lint`` (format, imports, types), ``frontend``, ``unit``, ``media``, ``platform``, ``e2e``, ``all``.

Everything that can fail is run even after a failure, so that one run shows all that is wrong. The last line printed is
pytest's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

CHECKS: dict[str, list[list[str]]] = {
    "lint": [
        [str(BIN / "ruff"), "check", "."],
        [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
        [str(BIN / "lint-imports"), "--no-cache"],
        [str(BIN / "mypy")],
    ],
    "frontend": [["npm", "--prefix", "frontend", "run", "check"]],
}
MARKERS: dict[str, str] = {
    "unit": "unit or model",
    "media": "media or rtmp or process",
    "platform": "services or api or isolation or realtime",
    "e2e": "e2e",
}


def main() -> int:
    """Run the suites named on the command line (default: all)."""
    names = sys.argv[1:] or ["all"]
    if names == ["all"]:
        names = [*CHECKS, "tests"]
    failed: list[str] = []
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    for name in names:
        if name in CHECKS:
            for command in CHECKS[name]:
                if not run(command, environment):
                    failed.append(" ".join(command[-3:]))
    markers = [MARKERS[name] for name in names if name in MARKERS]
    if "tests" in names or markers:
        select = [] if "tests" in names else ["-m", " or ".join(markers)]
        if failed:
            sys.stdout.write(f"\nfailed before the tests: {'; '.join(failed)}\n")
        if not run([str(BIN / "python"), "-m", "pytest", "-q", "--durations=15", *select], environment):
            failed.append("pytest")
    return 1 if failed else 0


def run(command: list[str], environment: dict[str, str]) -> bool:
    """Run one command in the project; True when it succeeded."""
    sys.stdout.write(f"\n── {' '.join(command).replace(str(BIN) + '/', '')}\n")
    sys.stdout.flush()
    started = time.monotonic()
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if result.returncode != 0:
        sys.stdout.write(f"   failed (exit {result.returncode}) after {time.monotonic() - started:.0f} s\n")
    return result.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
