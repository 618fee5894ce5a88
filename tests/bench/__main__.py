"""Run every benchmark of this folder, or those named: ``python -m tests.bench [name …]``. Figures go to var/bench/*.json."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> int:
    """Run them one after the other; a benchmark that breaks is said so and does not stop the rest."""
    here = Path(__file__).parent
    names = sys.argv[1:] or [p.stem.removeprefix("bench_") for p in sorted(here.glob("bench_*.py"))]
    Path("var/bench").mkdir(parents=True, exist_ok=True)
    broken: list[str] = []
    for name in names:
        print(f"\n━━ {name}", flush=True)
        sys.argv = [f"tests.bench.bench_{name}"]
        try:
            runpy.run_module(f"tests.bench.bench_{name}", run_name="__main__")
        except SystemExit as exit_:
            if exit_.code not in (0, None):
                broken.append(name)
        except Exception as error:
            print(f"   not measured here: {type(error).__name__}: {error}")
            broken.append(name)
    if broken:
        print(f"\nnot measured here: {', '.join(broken)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
