"""What a session process does about its parent."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

pytestmark = pytest.mark.process

HANGING_CHILD = """
import os, sys, time
from gpu_engine.session.process import outlive_parent_by
outlive_parent_by(0.2)
sys.stdout.write(f"{os.getpid()}\\n"); sys.stdout.flush()
time.sleep(3600)
"""


def test_a_hung_process_ends_a_while_after_its_parent() -> None:
    # Given a process that hangs, and the parent that started it.
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HANGING_CHILD!r}])"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    # When the parent is killed, Then the process is gone soon.
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the orphan lives on"
        time.sleep(0.05)
    parent.stdout.close()
