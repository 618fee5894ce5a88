"""The embedded installation for real: daphne, reconciler, Celery, agent and (fake) engines as processes, killed one by one.

Each kill must leave the show on the air, or resume it, and the ledger equal to what the engines wrote in their journals.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpu_engine.session.usage import read_journal

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

SEED = """
from django.conf import settings
from lumihost.core.audit import SYSTEM
from lumihost.fleet.services import register_node
from lumihost.live import editing
from tenants.context import scope
from tenants.models import Tenant
register_node(node_id="local", name="local", token=settings.NODE_TOKEN, capacity_sessions=1)
tenant = Tenant.objects.create(name="shop", slug="shop")
with scope(tenant):
    lines = [{"id": "l1", "text": "hello"}]
    editing.create_show(fields={"title": "demo", "segments": [{"id": "s1", "kind": "opening", "lines": lines}]}, actor=SYSTEM)
"""
START = """
from lumihost.core.audit import SYSTEM
from lumihost.live import services
from lumihost.live.models import Show
from tenants.context import scope
from tenants.models import Tenant
with scope(Tenant.objects.get()):
    print(services.start_session(show_id=Show.objects.get().pk, actor=SYSTEM).pk)
"""
STOP = """
from lumihost.core.audit import SYSTEM
from lumihost.live import services
from tenants.context import scope
from tenants.models import Tenant
with scope(Tenant.objects.get()):
    services.stop_session(session_id="{session}", reason="enough", actor=SYSTEM)
"""


REPRICE = """
from lumihost.core.audit import SYSTEM
from lumihost.knowledge import services
from tenants.context import scope
from tenants.models import Tenant
with scope(Tenant.objects.get()):
    services.create_product(fields={"sku": "A-1", "title_zh": "面膜", "price_minor": 1990, "currency": "CNY"}, actor=SYSTEM)
    print(services.shop_profile().version)
"""


class Installation:
    """One installation in a folder of its own, on a port of its own."""

    def __init__(self, var: Path) -> None:
        self.var = var
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        root = Path(__file__).resolve().parents[2]
        self.env = {
            **os.environ, "LUMIHOST_VAR": str(var), "DJANGO_SETTINGS_MODULE": "lumihost.config.settings.embedded",
            "PYTHONPATH": f"{root}{os.pathsep}{root / 'platform'}", "LUMIHOST_INTERNAL_URL": f"http://127.0.0.1:{self.port}",
            "LUMIHOST_ENGINE_COMMAND": f"{sys.executable} -m tests.fakes.fake_engine", "LUMIHOST_FAKE_SECOND_S": "0.2",
        }  # fmt: skip
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def django(self, *arguments: str, script: str | None = None) -> str:
        result = subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            env=self.env, input=script, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        return result.stdout

    def shell(self, script: str) -> str:
        return self.django("shell", "-v0", "-c", script).strip()

    def run(self, name: str) -> None:
        arguments = {
            "web": ["lumihost.web.daphne_server", "-b", "127.0.0.1", "-p", str(self.port), "lumihost.config.asgi:application"],
            "reconciler": ["django", "reconcile"],
            "agent": ["workers.node", "--url", f"http://127.0.0.1:{self.port}", "--node-id", "local",
                      "--token-file", str(self.var / "secrets/node_token"), "--root", str(self.var / "node")],
        }[name]  # fmt: skip
        with (self.var / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", *arguments]
            self.processes[name] = subprocess.Popen(command, env=self.env, stdout=log, stderr=log, start_new_session=True)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(20)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(f"file:{self.var / 'db.sqlite3'}?mode=ro", uri=True, timeout=10) as connection:
            return connection.execute(query).fetchall()

    def session(self, session: str) -> tuple[str, int]:
        ((state, epoch),) = self.rows(f"select state, epoch from live_livesession where id = '{session}'")
        return state, epoch

    def billed(self) -> int:
        return int(self.rows("select coalesce(sum(billable_s), 0) from metering_usagebucket")[0][0])

    def record(self, session: str) -> dict[str, Any]:
        import json

        return dict(json.loads((self.var / f"node/sessions/{session}.1/agent.json").read_text()))

    def written(self) -> int:
        return sum(s.seconds for path in self.var.glob("node/sessions/*/usage.jsonl") for s in read_journal(path))

    def until(self, condition: Callable[[], object], what: str, timeout_s: float = 40.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {p.name}\n{p.read_text()[-2500:]}" for p in self.var.glob("*.log"))
                raise AssertionError(f"not within {timeout_s} s: {what}\n{logs}")
            time.sleep(0.1)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("lumi"))
    made.django("migrate", "--no-input", "-v0")
    made.shell(SEED)
    try:
        for name in ("web", "reconciler", "agent"):
            made.run(name)
        made.until(lambda: made.rows("select 1 from fleet_node where state = 'online'"), "the node is online")
        yield made
    finally:
        for process in made.processes.values():
            process.kill()
        for process in psutil.process_iter():
            try:
                if str(made.var) in " ".join(process.cmdline()):
                    process.kill()
            except psutil.Error:
                continue


@pytest.fixture
def live(installation: Installation) -> Iterator[str]:
    """A session on the air; afterwards it is stopped, and the ledger must equal the journals."""
    before_billed, before_written = installation.billed(), installation.written()
    assert before_billed == before_written
    session = installation.shell(START)
    installation.until(lambda: installation.session(session)[0] == "live", "the session is live")
    yield session
    if installation.session(session)[0] != "ended":
        installation.shell(STOP.format(session=session))
    installation.until(lambda: installation.session(session)[0] == "ended", "the session has ended")
    installation.until(
        lambda: installation.billed() == installation.written() > before_written, "the ledger equals the journals"
    )


def test_a_price_change_reaches_the_running_host_within_five_seconds(installation: Installation, live: str) -> None:
    version = int(installation.shell(REPRICE))
    changed_s = time.monotonic()

    def told() -> set[int]:
        query = "select json_extract(data, '$.version') from live_sessionevent where kind = 'process' and session_id ="
        return {v for (v,) in installation.rows(f"{query} '{live}' and json_extract(data, '$.what') = 'knowledge'")}

    installation.until(lambda: version in told(), "the engine has the new facts", timeout_s=5)
    assert time.monotonic() - changed_s <= 5


def test_kill_the_agent_and_its_engine_goes_on_and_is_taken_back(installation: Installation, live: str) -> None:
    pid = installation.record(live)["pid"]
    installation.kill("agent")
    written = installation.written()
    installation.until(lambda: installation.written() > written, "the engine goes on without its agent")
    installation.run("agent")
    billed = installation.billed()
    installation.until(lambda: installation.billed() > billed + 2, "usage flows again")
    assert installation.record(live)["pid"] == pid
    assert installation.session(live) == ("live", 1)


def test_kill_the_engine_and_it_resumes_in_its_epoch(installation: Installation, live: str) -> None:
    record = installation.record(live)
    os.kill(record["pid"], signal.SIGKILL)
    installation.until(lambda: installation.record(live)["starts"] == record["starts"] + 1, "it is started again")

    def cursors(where: str = "") -> list[int]:
        query = "select json_extract(data, '$.line_index') from live_sessionevent where kind = 'cursor' and session_id ="
        return [int(line) for (line,) in installation.rows(f"{query} '{live}' {where} order by seq")]

    installation.until(lambda: len(cursors("and seq > 2000000000")) > 3, "the second engine speaks")
    assert installation.session(live) == ("live", 1)
    assert cursors() == list(range(1, len(cursors()) + 1)), "every line once, in order, across the kill"


def test_kill_the_web_process_and_nothing_is_lost(installation: Installation, live: str) -> None:
    pid = installation.record(live)["pid"]
    installation.kill("web")
    written = installation.written()
    installation.until(lambda: installation.written() > written + 10, "the show goes on")
    installation.run("web")
    installation.until(lambda: installation.billed() > written + 10, "usage of the outage has arrived")
    installation.until(lambda: installation.session(live) == ("live", 1), "it is live, in the same epoch")
    assert installation.record(live)["pid"] == pid


def test_kill_the_reconciler_and_a_new_one_takes_over(installation: Installation, live: str) -> None:
    installation.kill("reconciler")
    installation.run("reconciler")
    installation.shell(STOP.format(session=live).replace("enough", "first"))
    installation.until(lambda: installation.session(live)[0] == "ended", "the stop is carried out")
    with pytest.raises(AssertionError, match=r"is ended since"):
        installation.shell(STOP.format(session=live))


def test_a_polite_end_of_the_agent_leaves_the_show_on_the_air(installation: Installation, live: str) -> None:
    pid = installation.record(live)["pid"]
    installation.kill("agent", signal.SIGTERM)
    assert psutil.pid_exists(pid)
    installation.run("agent")
    billed = installation.billed()
    installation.until(lambda: installation.billed() > billed + 2, "usage flows again")
    assert installation.record(live)["pid"] == pid
