"""Supervised children of ``lumihost up``, with small processes in their place."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lumihost.cli.children import Child, ChildPlan, NotReady
from tests.fakes.fake_platform import until

pytestmark = pytest.mark.process


def child_of(folder: Path, script: str, **plan: object) -> Child:
    made = ChildPlan("small", (sys.executable, "-c", script), "green", **plan)  # type: ignore[arg-type]
    return Child(made, env=dict(os.environ), log_folder=folder, quiet=True)


def file_is_there(file: Path) -> Callable[[], object]:
    async def ready() -> bool:
        return file.exists()

    return ready


async def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    child = child_of(tmp_path, "import time; print('hello', flush=True); time.sleep(60)")
    log = tmp_path / "small.log"
    await child.start()
    await until(lambda: log.exists() and "hello" in log.read_text())
    first = child.pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.restarts == 1 and child.pid not in (0, first))
    await until(lambda: log.read_text().count("hello") == 2)
    await child.stop()
    assert child.pid == 0


async def test_a_child_that_keeps_dying_is_named_with_its_last_words(tmp_path: Path) -> None:
    never = file_is_there(tmp_path / "never")
    child = child_of(tmp_path, "raise SystemExit('no such font')", ready=never)
    with pytest.raises(NotReady, match="small keeps ending") as failure:
        await child.start()
    assert "no such font" in str(failure.value)
    await child.stop()


async def test_a_child_is_ready_when_it_says_so(tmp_path: Path) -> None:
    script = f"import time, pathlib; time.sleep(0.3); pathlib.Path({str(tmp_path / 'up')!r}).touch(); time.sleep(60)"
    child = child_of(tmp_path, script, ready=file_is_there(tmp_path / "up"))
    await child.start()
    assert (tmp_path / "up").exists()
    await child.stop()


async def test_a_child_that_ignores_sigterm_is_killed_in_time(tmp_path: Path) -> None:
    script = f"""
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(tmp_path / "up")!r}).touch()
time.sleep(60)
"""
    child = child_of(tmp_path, script, ready=file_is_there(tmp_path / "up"), stop_within_s=0.3)
    await child.start()
    started_s = time.monotonic()
    await child.stop()
    assert child.pid == 0
    assert time.monotonic() - started_s < 5


async def test_an_endless_line_does_not_end_the_log(tmp_path: Path) -> None:
    script = "import time; print('x' * 300_000); print('after', flush=True); time.sleep(60)"
    child = child_of(tmp_path, script)
    await child.start()
    await until(lambda: (tmp_path / "small.log").exists() and "after" in (tmp_path / "small.log").read_text())
    await child.stop()


async def test_a_full_disk_costs_lines_of_the_log_and_not_the_child(tmp_path: Path) -> None:
    (tmp_path / "small.log").symlink_to("/dev/full")
    lines = "print('x' * 1000, flush=True)"
    script = (
        f"import pathlib, time\nfor _ in range(500): {lines}\npathlib.Path({str(tmp_path / 'up')!r}).touch(); time.sleep(60)"
    )
    child = child_of(tmp_path, script, ready=file_is_there(tmp_path / "up"), ready_within_s=20)
    await child.start()
    assert child.lines_lost == 500
    await child.stop()
