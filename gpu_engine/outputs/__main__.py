"""``python -m gpu_engine.outputs --spec show.json --run-dir DIR``: the outlet process of a session."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import structlog
import uvloop

from gpu_engine.outputs.outlet import FINISH_LIMIT_S, serve
from gpu_engine.session.process import leave_interrupts_to_the_parent, lower_priority, outlive_parent_by, start_logging
from gpu_engine.session.spec import SpecError, load_spec

log = structlog.get_logger(__name__)

_NICE = 3


def main() -> int:
    """Exit code 0 after the stream's end, 1 when it had to leave before, 2 when show file or run directory cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.outputs", description="Run the outputs of one session.")
    parser.add_argument("--spec", type=Path, required=True, help="show file (JSON)")
    parser.add_argument("--run-dir", type=Path, required=True, help="the session's directory, with supervisor.sock")
    options = parser.parse_args()
    start_logging("outlet")
    # Not killed with its parent, as the others are: files are to be finished and stream keys given back.
    outlive_parent_by(FINISH_LIMIT_S + 4.0)
    lower_priority(_NICE)
    leave_interrupts_to_the_parent()
    try:
        spec = load_spec(options.spec)
        return 0 if uvloop.run(serve(spec, options.run_dir)) else 1
    except SpecError as error:
        log.error("outlet cannot start", error=str(error))
        return 2
    except OSError as error:
        log.error("outlet lost its run directory", run_dir=str(options.run_dir), error=str(error))
        return 2


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # A name look-up or a disk that hangs keeps a thread; it must not keep the process.
    os._exit(code)
