"""What every process of a session does first: die with its parent, dump stacks on request, log as JSON, mind its priority."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import sys
import threading
import time

import structlog

_PR_SET_PDEATHSIG = 1
_PARENT_POLL_S = 0.5


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent process ends (Linux). A parent already gone ends us now."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)


def outlive_parent_by(limit_s: float) -> None:
    """For a process that finishes its work when its parent is gone: a thread ends it for certain ``limit_s`` later.

    The thread needs Python's lock now and then, not the event loop: a loop that hangs does not keep an orphan alive.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_S)
        time.sleep(limit_s)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the supervisor answers it by ending the show in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def lower_priority(nice: int) -> None:
    """Yield the processor to the body: raise our niceness by ``nice``."""
    with contextlib.suppress(OSError):
        os.nice(nice)


def single_threaded_math() -> None:
    """Keep numeric libraries from starting their own threads; call before importing them."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def start_logging(process: str) -> None:
    """JSON lines on standard error, one process name on each; SIGUSR1 dumps every thread's stack there."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    structlog.contextvars.bind_contextvars(process=process)
