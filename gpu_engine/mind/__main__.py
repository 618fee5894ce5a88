"""The mind process: ``python -m gpu_engine.mind --spec S --run-dir D``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from gpu_engine.session.process import (
    die_with_parent,
    leave_interrupts_to_the_parent,
    lower_priority,
    single_threaded_math,
    start_logging,
)

NICE = 2
"""Below the picture, but above what would silence the host: a voice that starves is as bad as a frame that is late."""


def main() -> int:
    """Run until the supervisor is gone."""
    die_with_parent()
    leave_interrupts_to_the_parent()
    single_threaded_math()
    start_logging("mind")
    lower_priority(NICE)
    parser = argparse.ArgumentParser(prog="gpu_engine.mind")
    parser.add_argument("--spec", type=Path, required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    options = parser.parse_args()

    from gpu_engine.mind.process import run_mind

    asyncio.run(run_mind(options.spec, options.run_dir))
    return 0


if __name__ == "__main__":
    sys.exit(main())
