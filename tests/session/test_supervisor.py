"""The supervisor with fake children: restarts, refusals, what survives, what ends the session."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from gpu_engine.session import children, state_files
from gpu_engine.session import supervisor as supervisor_module
from gpu_engine.session.control import ControlMessage, Event, Reply, Request
from gpu_engine.session.link import read_frame, socket_path, write_frame
from gpu_engine.session.spec import RunOfShow, Segment, SegmentKind, SessionSpec
from gpu_engine.session.state_files import RunDirectoryTaken
from gpu_engine.session.supervisor import BODY_DIED, NO_PROGRESS, Supervisor
from gpu_engine.session.usage import read_journal

pytestmark = pytest.mark.process

FAKES = {
    "body": "tests.fakes.fake_child_body",
    "mind": "tests.fakes.fake_child_mind",
    "outlet": "tests.fakes.fake_child_outlet",
}
SPEC = SessionSpec(show=RunOfShow(segments=(Segment(id="s", kind=SegmentKind.OPENING),)))
_decoder: msgspec.msgpack.Decoder[ControlMessage] = msgspec.msgpack.Decoder(ControlMessage)


class Client:
    """A node agent's view of the control socket."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self.events: list[Event] = []
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._id = 0

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_unix_connection(socket_path(self._run_dir / "control.sock"))
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            message = _decoder.decode(await read_frame(self._reader))
            if isinstance(message, Event):
                self.events.append(message)
            elif isinstance(message, Reply):
                self._replies.pop(message.id).set_result(message)

    async def call(self, method: str, **params: Any) -> Reply:
        self._id += 1
        self._replies[self._id] = asyncio.get_running_loop().create_future()
        future = self._replies[self._id]
        write_frame(self._writer, msgspec.msgpack.encode(Request(self._id, method, params)))
        return await asyncio.wait_for(future, 20)

    async def close(self) -> None:
        self._task.cancel()
        self._writer.close()

    def processes(self, what: str) -> list[str]:
        return [e.data["name"] for e in self.events if e.kind == "process" and e.data["what"] == what]


async def until(condition: Any, timeout_s: float = 20.0) -> None:
    """Poll until the condition holds (it may be a coroutine function)."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        result = condition()
        if asyncio.iscoroutine(result):
            result = await result
        if result:
            return
        assert asyncio.get_running_loop().time() < deadline, "condition not met in time"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def session(run_dir: Path) -> AsyncIterator[tuple[Supervisor, Client, asyncio.Task[int]]]:
    supervisor = Supervisor(SPEC, run_dir, modules=FAKES)
    task = asyncio.create_task(supervisor.run())
    client = Client(run_dir)
    await until(lambda: (run_dir / "control.sock").exists())
    await client.connect()

    async def ready() -> bool:
        replies = [await client.call("say", text=""), await client.call("whep_offer", text="")]
        return all(not r.error for r in replies)

    await until(ready)
    try:
        yield supervisor, client, task
    finally:
        supervisor.request_stop("test over")
        await asyncio.wait_for(task, 20)
        await client.close()


async def test_a_stop_ends_everything_with_code_zero(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, task):
        reply = await client.call("stop", reason="operator")
        code = await asyncio.wait_for(task, 20)

    assert reply.error == ""
    assert code == 0
    assert [e.data["reason"] for e in client.events if e.kind == "state" and e.data["state"] == "ended"] == ["operator"]
    assert not (tmp_path / "control.sock").exists()


async def test_a_killed_mind_is_restarted_and_its_methods_fail_politely_meanwhile(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        first = (await client.call("say", text="")).result["pid"]
        os.kill(first, signal.SIGKILL)
        await until(lambda: client.processes("died") == ["mind"])
        early = await client.call("say", text="")

        async def answers() -> bool:
            return not (await client.call("say", text="")).error

        await until(answers)
        second = (await client.call("say", text="")).result["pid"]

    assert early.error in {"unavailable", ""}
    assert second != first


async def test_a_mind_that_dies_while_answering_gives_an_error_not_silence(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        reply = await client.call("say", text="die")

    assert reply.error == "unavailable"


async def test_a_hung_mind_is_killed_and_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "PING_EVERY_S", 0.1)
    monkeypatch.setattr(children, "HUNG_AFTER_S", 0.6)
    async with session(tmp_path) as (_, client, _task):
        hung = asyncio.create_task(client.call("say", text="hang"))
        await until(lambda: client.processes("restarted") == ["mind"])
        reply = await hung

    assert reply.error == "unavailable"


async def test_the_session_ends_with_its_body(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, task):
        status = await client.call("status")
        os.kill(status.result["pids"]["body"], signal.SIGKILL)
        code = await asyncio.wait_for(task, 20)

    assert code == BODY_DIED
    assert [e.data["state"] for e in client.events if e.kind == "state"][-1] == "failed"


async def test_the_next_start_goes_on_at_the_cursor_and_numbers_on(tmp_path: Path) -> None:
    async with session(tmp_path) as (first, client, _task):
        await client.call("say", text="cursor")
        await until(lambda: any(e.kind == "cursor" for e in client.events))
        last_seq = client.events[-1].seq
    async with session(tmp_path) as (second, client, _task):
        status = await client.call("status")

    assert (first.incarnation, second.incarnation) == (1, 2)
    assert status.result["cursor"] == {"loop": 1, "segment_index": 2, "line_index": 3, "sentence_index": 4}
    assert client.events[0].seq > last_seq
    effective = SessionSpec.model_validate_json((tmp_path / "spec.effective.json").read_bytes())
    assert effective.cursor.sentence_index == 4


async def test_a_client_that_comes_late_is_told_what_happened(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        late = Client(tmp_path)
        await late.connect()
        await until(lambda: len(late.events) >= 4)
        await late.close()

    assert [e.seq for e in late.events] == sorted(e.seq for e in late.events)
    assert [e.seq for e in late.events][:3] == [e.seq for e in client.events][:3]


async def test_accepted_seconds_reach_the_journal(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        await client.call("whep_offer", text="take")
        await until(lambda: sum(s.seconds for s in read_journal(tmp_path / "usage.jsonl")) == 5)

    assert [(s.seq, s.from_s, s.to_s) for s in read_journal(tmp_path / "usage.jsonl")] == [(1, 1, 6), (2, 6, 8)]


async def test_bad_requests_are_named(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        unknown = await client.call("fly")
        wrong = await client.call("knowledge", knowledge={"products": "none"})

    assert unknown.error == "not_found"
    assert "fly" in unknown.detail
    assert wrong.error == "bad_request"


async def test_a_report_that_cannot_be_used_costs_neither_link_nor_child(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        first = await client.call("whep_offer", text="nonsense")
        second = await client.call("whep_offer", text="take")
        await until(lambda: sum(s.seconds for s in read_journal(tmp_path / "usage.jsonl")) == 5)

    assert (first.error, second.error) == ("", "")
    assert first.result["pid"] == second.result["pid"]


async def test_a_mind_that_is_being_started_when_the_body_dies_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: asyncio.Queue[int] = asyncio.Queue()
    real = asyncio.create_subprocess_exec

    async def slow(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await real(*command, **options)
        started.put_nowait(process.pid)
        await asyncio.sleep(0.5)
        return process

    async with session(tmp_path) as (_, client, task):
        pids = (await client.call("status")).result["pids"]
        monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
        os.kill(pids["mind"], signal.SIGKILL)
        mind = await asyncio.wait_for(started.get(), 20)
        os.kill(pids["body"], signal.SIGKILL)
        code = await asyncio.wait_for(task, 20)

    assert code == BODY_DIED
    assert not psutil.pid_exists(mind)


async def test_a_stop_before_the_body_is_ready_ends_at_once(tmp_path: Path) -> None:
    supervisor = Supervisor(SPEC, tmp_path, modules={**FAKES, "body": "tests.fakes.fake_child_unready"})
    task = asyncio.create_task(supervisor.run())
    client = Client(tmp_path)
    await until(lambda: (tmp_path / "control.sock").exists())
    await client.connect()
    await until(lambda: "body" in client.processes("started"))
    began = asyncio.get_running_loop().time()

    supervisor.request_stop("operator")

    assert await asyncio.wait_for(task, 20) == 0
    assert asyncio.get_running_loop().time() - began < 5.0
    await client.close()


async def test_a_second_supervisor_is_kept_out_of_the_run_directory(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, _task):
        with pytest.raises(RunDirectoryTaken, match="another session runs in"):
            Supervisor(SPEC, tmp_path, modules=FAKES)
        reply = await client.call("status")

    assert reply.result["incarnation"] == 1


async def test_the_outlet_may_finish_when_the_body_dies(tmp_path: Path) -> None:
    async with session(tmp_path) as (_, client, task):
        await client.call("whep_offer", text="count at the end")
        pids = (await client.call("status")).result["pids"]
        os.kill(pids["body"], signal.SIGKILL)
        await asyncio.wait_for(task, 20)

    assert sum(s.seconds for s in read_journal(tmp_path / "usage.jsonl")) == 1


async def test_secrets_are_for_the_owner_alone_and_logs_are_kept_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "LOG_LIMIT_BYTES", 1_000)
    (tmp_path / "mind.log").write_bytes(b"x" * 2_000)
    async with session(tmp_path) as (_, _client, _task):
        await until(lambda: (tmp_path / "mind.log").stat().st_size < 1_000)

    assert (tmp_path / "mind.log.1").stat().st_size >= 2_000
    modes = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if path.suffix in {".json", ".log"}}
    assert set(modes) >= {"spec.effective.json", "body.log", "mind.log", "outlet.log"}
    assert set(modes.values()) == {0}


async def test_clients_that_do_not_read_or_send_garbage_are_cut_off_and_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "MAX_CLIENT_BACKLOG_BYTES", 500_000)
    async with session(tmp_path) as (supervisor, client, _task):
        deaf, deaf_writer = await asyncio.open_unix_connection(socket_path(tmp_path / "control.sock"), limit=1)
        garbage, garbage_writer = await asyncio.open_unix_connection(socket_path(tmp_path / "control.sock"))
        garbage_writer.write(b"\x00\x00\x00\x04\xc1\xc1\xc1\xc1")
        await until(lambda: len(supervisor._clients) == 2)
        for _ in range(20):
            supervisor._event("drop", {"what": "x" * 100_000, "count": 1, "reason": "test"})
            assert (await client.call("status")).error == ""

        assert len(supervisor._clients) == 1
        await asyncio.wait_for(garbage.read(), 5)
        assert garbage.at_eof()
        for writer in (deaf_writer, garbage_writer):
            writer.close()
    assert deaf is not None


async def test_a_virtual_run_whose_mind_cannot_start_fails_instead_of_waiting_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "RESTART_BACKOFF_S", (0.01,))
    told: list[Event] = []
    virtual = SPEC.model_copy(update={"clock": "virtual"})
    supervisor = Supervisor(
        virtual,
        tmp_path,
        lambda m: told.append(m) if isinstance(m, Event) else None,
        {**FAKES, "mind": "tests.fakes.none_such"},
    )

    code = await asyncio.wait_for(supervisor.run(), 40)

    assert code == NO_PROGRESS
    assert told[-1].data["state"] == "failed"
    assert "the mind cannot be kept running (exit code 1)" in told[-1].data["reason"]


async def test_a_show_whose_agent_never_comes_back_ends(tmp_path: Path) -> None:
    supervisor = Supervisor(SPEC, tmp_path, modules=FAKES, orphan_after_s=1.5)
    task = asyncio.create_task(supervisor.run())
    client = Client(tmp_path)
    await until(lambda: (tmp_path / "control.sock").exists())
    await client.connect()
    await asyncio.sleep(2.5)
    assert not task.done()

    await client.close()

    assert await asyncio.wait_for(task, 20) == 0
