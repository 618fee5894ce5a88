"""A real gateway process and fake bodies on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpu_engine.dmcp.gateway import listening_socket
from gpu_engine.dmcp.token import Role, SigningKey, jwk_set
from gpu_engine.motion.live import OUT_RING

HASTE = ("--hello-timeout", "2", "--ended-after", "2")


async def eventually(condition: Callable[[], object], what: str, within_s: float = 10.0) -> None:
    """Poll until ``condition`` holds; fails with ``what`` after ``within_s``."""
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {within_s:g} s: {what}"
        await asyncio.sleep(0.01)


@dataclass
class Site:
    """One machine: a gateway, its keys, and the run directories of bodies."""

    folder: Path
    key: SigningKey = field(default_factory=SigningKey.generate)
    gateway: subprocess.Popen[bytes] | None = None
    bodies: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _told: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runs.mkdir()
        self.keys.write_text(json.dumps(jwk_set(self.key)))
        self._socket = listening_socket("127.0.0.1", 0)
        self.port = int(self._socket.getsockname()[1])

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def keys(self) -> Path:
        return self.folder / "motion-keys.json"

    @property
    def log(self) -> str:
        return (self.folder / "dmcp.log").read_text()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/dmcp"

    def start_gateway(self) -> None:
        """Start it on the site's socket and wait until it answers."""
        command = [sys.executable, "-m", "gpu_engine", "dmcp", "--fd", str(self._socket.fileno())]
        with (self.folder / "dmcp.log").open("ab") as log:
            self.gateway = subprocess.Popen(
                [*command, "--keys", str(self.keys), "--runs", str(self.runs), "--follow-parent", *HASTE],
                stderr=log, stdin=subprocess.DEVNULL, pass_fds=[self._socket.fileno()],
            )  # fmt: skip
        deadline_s = time.monotonic() + 20.0
        while True:
            with contextlib.suppress(OSError):
                self.http("/healthz")
                return
            assert self.gateway.poll() is None and time.monotonic() < deadline_s, self.log
            time.sleep(0.02)

    def http(self, path: str) -> str:
        """A page of the gateway."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=2) as answer:
            return str(answer.read().decode())

    def metric(self, name: str) -> int:
        """A counter of ``/metrics``, summed over its labels."""
        lines = self.http("/metrics").splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == f"dmcp_{name}")

    def start_body(self, session: str, epoch: int | None = 1) -> subprocess.Popen[bytes]:
        """A body of this session."""
        run_dir = self.runs / (session if epoch is None else f"{session}.{epoch}")
        said = self.folder / f"{session}.said"
        with said.open("ab") as output:
            body = subprocess.Popen([sys.executable, "-m", "tests.fakes.fake_motion_body", str(run_dir)], stdout=output)
        self.bodies[session] = body
        deadline_s = time.monotonic() + 20.0
        while not (run_dir / OUT_RING).exists():
            assert body.poll() is None and time.monotonic() < deadline_s, "the body does not start"
            time.sleep(0.02)
        return body

    def token(self, session: str, role: Role = "watch", *, life_s: float = 60.0, key: SigningKey | None = None) -> str:
        """A token of this site."""
        return (key or self.key).issue(session=session, tenant="ten_a", role=role, life_s=life_s)[0]

    def changes(self, session: str) -> list[tuple[str, str]]:
        """Hand-overs the body has told of since the last call: (state, reason)."""
        lines = (self.folder / f"{session}.said").read_text().splitlines()
        told = [json.loads(line) for line in lines[self._told.get(session, 0) :]]
        self._told[session] = len(lines)
        return [(change["state"], change["reason"]) for change in told]

    def close(self) -> None:
        """End everything."""
        for process in (self.gateway, *self.bodies.values()):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGKILL)
            if process is not None:
                process.wait()
        self._socket.close()


@contextlib.contextmanager
def site(folder: Path) -> Iterator[Site]:
    """A site with a running gateway."""
    made = Site(folder)
    try:
        made.start_gateway()
        yield made
    finally:
        made.close()
