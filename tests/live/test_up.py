"""``lumihost up`` as a person meets it: it starts, says what is wrong, and is gone soon after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from lumihost.cli.main import main
from lumihost.cli.ports import why_not_free

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]


def environment(var: Path) -> dict[str, str]:
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("LUMIHOST_", "DJANGO_"))},
        "LUMIHOST_VAR": str(var), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}", "LUMIHOST_FAKE_SECOND_S": "0.2",
        "LUMIHOST_ENGINE_COMMAND": f"{sys.executable} -m tests.fakes.fake_engine",
    }  # fmt: skip


def lumihost(var: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lumihost.cli.main", *arguments], env=environment(var), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def of(var: Path) -> list[str]:
    """Processes that belong to this installation."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("LUMIHOST_VAR") == str(var) and process.pid != os.getpid():
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_demo_goes_live_says_where_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    demo = lumihost(tmp_path, "demo", "--port", port)
    lines: list[str] = []
    assert demo.stdout is not None
    try:
        for line in demo.stdout:
            lines.append(line.rstrip())
            if line.startswith("  Ctrl-C"):
                break
        invitation = "\n".join(lines)
        assert f"http://127.0.0.1:{port}/live/ses_" in invitation, invitation
        assert "demo@lumihost.example" in invitation

        again = lumihost(tmp_path, "up", "--port", port)
        said, _ = again.communicate(timeout=60)
        assert again.returncode == 1
        assert "Lumihost runs already" in said

        status = lumihost(tmp_path, "status", "--json")
        said, _ = status.communicate(timeout=60)
        report = json.loads(said.strip().splitlines()[-1])
        assert [node["state"] for node in report["nodes"]] == ["online"]
        assert [session["state"] for session in report["sessions"]] == ["live"]

        started_s = time.monotonic()
        demo.send_signal(signal.SIGINT)
        said, _ = demo.communicate(timeout=30)
        took_s = time.monotonic() - started_s
    finally:
        demo.kill()
    assert demo.returncode == 0
    assert took_s <= 15, f"took {took_s:.1f} s"
    assert "stopped" in said
    assert of(tmp_path) == []
    assert (tmp_path / "log" / "agent.log").stat().st_size > 0

    status = lumihost(tmp_path, "status", "--json")
    report = json.loads(status.communicate(timeout=60)[0].strip().splitlines()[-1])
    assert report["sessions"] == []
    with sqlite3.connect(f"file:{tmp_path / 'db.sqlite3'}?mode=ro", uri=True) as database:
        rows = database.execute("select state, desired, end_reason from live_livesession").fetchall()
    assert rows == [("ended", "stopped", "Lumihost was stopped")]
    assert stat.S_IMODE((tmp_path / "db.sqlite3").stat().st_mode) == 0o600
    assert list((tmp_path / "media").rglob("*.mp4")), "the recording has gone up"


def test_a_killed_up_leaves_nothing_that_keeps_the_next_one_from_starting(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    killed = lumihost(tmp_path, "demo", "--port", port)
    assert killed.stdout is not None
    try:
        for line in killed.stdout:
            if line.startswith("  Ctrl-C"):
                break
        killed.kill()
        killed.wait()
        started_s = time.monotonic()
        again = lumihost(tmp_path, "demo", "--exit-when-live", "--port", port)
        said, _ = again.communicate(timeout=120)
    finally:
        killed.kill()
    assert again.returncode == 0, said
    assert "waiting for what an earlier `lumihost up`" in said
    assert "the show makes pictures" in said
    assert time.monotonic() - started_s < 90
    assert of(tmp_path) == []
    with sqlite3.connect(f"file:{tmp_path / 'db.sqlite3'}?mode=ro", uri=True) as database:
        states = {state for (state,) in database.execute("select state from live_livesession")}
    assert states == {"ended"}


def test_a_taken_port_is_named_with_its_holder_and_the_way_out() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        said = why_not_free("127.0.0.1", port)
    assert said is not None
    assert f"port {port} is taken" in said
    assert f"--port {port + 1}" in said
    assert str(os.getpid()) in said


def test_an_address_this_machine_has_not_is_said_so() -> None:
    said = why_not_free("203.0.113.7", 8000)
    assert said is not None
    assert "has no address 203.0.113.7" in said


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["up", f"--port={port}"])
    assert refusal.value.code == 2
    assert "port" in capsys.readouterr().err
