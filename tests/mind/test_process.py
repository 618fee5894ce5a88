"""The mind as a process: connects, serves requests, follows the body, leaves with its supervisor."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from gpu_engine.session.child import ChildEvent, ChildMessage, ChildMetrics, Hello
from gpu_engine.session.control import Reply, Request
from gpu_engine.session.link import LinkError, read_frame, write_frame
from gpu_engine.session.spec import ScheduledComment
from tests.fakes.fake_timeline import FakeBody, until
from tests.mind.shop import plain_show, spec_of

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]


class FakeSupervisor:
    """Accepts one child and keeps what it says."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.events: list[ChildEvent] = []
        self.metrics: list[ChildMetrics] = []
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self.writer: asyncio.StreamWriter | None = None
        self._decoder: msgspec.msgpack.Decoder[ChildMessage] = msgspec.msgpack.Decoder(ChildMessage)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        while True:
            try:
                message = self._decoder.decode(await read_frame(reader))
            except LinkError:
                return
            match message:
                case Hello():
                    self.hello = message
                case ChildEvent():
                    self.events.append(message)
                case ChildMetrics():
                    self.metrics.append(message)
                case Reply():
                    self._replies[message.id].set_result(message)

    async def ask(self, number: int, method: str, **params: Any) -> Reply:
        assert self.writer is not None
        self._replies[number] = asyncio.get_running_loop().create_future()
        write_frame(self.writer, msgspec.msgpack.encode(Request(number, method, params)))
        return await asyncio.wait_for(self._replies[number], 20)


async def test_process_runs_a_virtual_show_and_ends_with_its_supervisor(tmp_path: Path) -> None:
    spec = spec_of(plain_show(8), clock="virtual", comments=(ScheduledComment(at_s=12, text="1号链接多少钱"),))
    (tmp_path / "show.json").write_text(spec.model_dump_json(), encoding="utf-8")
    supervisor = FakeSupervisor()
    server = await asyncio.start_unix_server(supervisor.serve, str(tmp_path / "supervisor.sock"))
    async with FakeBody(tmp_path) as body:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gpu_engine.mind", "--spec", str(tmp_path / "show.json"), "--run-dir", str(tmp_path), cwd=ROOT
        )
        try:
            await until(lambda: supervisor.hello is not None, deadline_s=60, what="the mind says hello")
            assert supervisor.hello == Hello("mind", process.pid)
            assert (await supervisor.ask(1, "ping")).error == ""
            await until(lambda: body.connections == 1, deadline_s=60, what="the mind finds the body")
            await body.run_to(40_000)
            assert any("129元" in text for text in body.spoken_texts("answer"))
            assert psutil.Process(process.pid).nice() == os.nice(0) + 2
            refused = await supervisor.ask(2, "pin", product_id="nothing")
            assert (refused.error, refused.detail) == (
                "not_found",
                "there is no product 'nothing' in this show's knowledge base",
            )
            assert {e.kind for e in supervisor.events} >= {"comment", "turn", "cursor"}
            await until(lambda: bool(supervisor.metrics), what="metrics")
            assert set(supervisor.metrics[-1].part) == {"inbox", "first_word_ms", "first_word_p50_ms", "first_word_p99_ms"}
            assert supervisor.writer is not None
            supervisor.writer.close()
            assert await asyncio.wait_for(process.wait(), 20) == 0
        finally:
            if process.returncode is None:
                process.kill()
            server.close()
