"""An outlet as its supervisor sees it: a real process (or one in this loop), its events, and the answers it gives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gpu_engine.outputs.hub import AccessUnit, EncodedHub
from gpu_engine.session.child import ChildEvent, ChildMessage, ChildMetrics, Hello
from gpu_engine.session.control import Reply, Request
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame
from gpu_engine.session.spec import Output, SessionSpec

_decoder: msgspec.msgpack.Decoder[ChildMessage] = msgspec.msgpack.Decoder(ChildMessage)
_encoder = msgspec.msgpack.Encoder()
ROOT = Path(__file__).resolve().parents[2]


def make_spec(*outputs: Output, clock: str = "real") -> SessionSpec:
    """A show with one silent segment and these outputs."""
    return SessionSpec.model_validate(
        {
            "clock": clock,
            "show": {"segments": [{"id": "s", "kind": "opening"}]},
            "outputs": [output.model_dump() for output in outputs],
        }
    )


async def eventually(condition: Callable[[], Any], what: str, *, limit_s: float = 20.0) -> Any:
    """Poll until ``condition`` is true and return its value; fail with ``what`` after ``limit_s``."""
    deadline_s = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline_s, f"not within {limit_s} s: {what}"
        await asyncio.sleep(0.01)
    return value


class Supervisor:
    """Serves ``supervisor.sock``, spawns outlets and collects what they say."""

    def __init__(self, run_dir: Path, spec: SessionSpec) -> None:
        self.run_dir = run_dir
        self.spec_path = run_dir / "spec.json"
        self.spec_path.write_text(spec.model_dump_json())
        self.hellos: list[Hello] = []
        self.events: list[ChildEvent] = []
        self.metrics: list[dict[str, Any]] = []
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._next_id = 0
        self.process: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Supervisor:
        self._server = await asyncio.start_unix_server(self._serve, socket_path(self.run_dir / "supervisor.sock"))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._server is not None:
            self._server.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start an outlet process."""
        command = [sys.executable, "-m", "gpu_engine.outputs", "--spec", str(self.spec_path), "--run-dir", str(self.run_dir)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
        return self.process

    def kill_outlet(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    async def exit_code(self, limit_s: float = 15.0) -> int:
        """Wait for the outlet to leave."""
        process = self.process
        assert process is not None
        await eventually(lambda: process.poll() is not None, "the outlet exits", limit_s=limit_s)
        # What it emitted before leaving may still be in the socket.
        await asyncio.sleep(0.05)
        return process.returncode

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Data of all events of a kind, in order."""
        return [event.data for event in self.events if event.kind == kind]

    def states(self, output_id: str) -> list[str]:
        """The states an output went through."""
        return [data["state"] for data in self.of_kind("output") if data["id"] == output_id]

    async def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Ask the outlet."""
        await eventually(lambda: self._writer is not None, "the outlet connects")
        assert self._writer is not None
        self._next_id += 1
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[self._next_id] = future
        write_frame(self._writer, _encoder.encode(Request(self._next_id, method, dict(params))))
        return await asyncio.wait_for(future, 10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        while True:
            try:
                message = _decoder.decode(await read_frame(reader))
            except (LinkError, asyncio.CancelledError):
                break
            if isinstance(message, Hello):
                self.hellos.append(message)
            elif isinstance(message, ChildEvent):
                self.events.append(message)
            elif isinstance(message, ChildMetrics):
                self.metrics.append(message.part)
            else:
                self._replies.pop(message.id).set_result(message)
        if self._writer is writer:
            self._writer = None


class Notes:
    """Reports of an output under test, in this process."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str, str]] = []
        self.taken: dict[str, list[AccessUnit]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.drops: list[tuple[str, int]] = []
        self.keyframe_requests: list[str] = []

    def state(self, output_id: str, kind: str, state: str, detail: str = "") -> None:
        """An output's state."""
        self.states.append((output_id, state, detail))

    def accepted(self, output_id: str, unit: AccessUnit) -> None:
        """A packet taken."""
        self.taken.setdefault(output_id, []).append(unit)

    def event(self, kind: str, /, **data: Any) -> None:
        """Any other event."""
        self.events.append((kind, data))

    def of(self, output_id: str) -> list[str]:
        """States of one output."""
        return [state for name, state, _ in self.states if name == output_id]

    def hub(self, clock: Callable[[], float] = time.monotonic) -> EncodedHub:
        """A hub that reports here."""
        return EncodedHub(
            on_keyframe_request=self.keyframe_requests.append,
            on_drop=lambda sink, count: self.drops.append((sink, count)),
            clock=clock,
        )
