"""A real agent with real engine processes (fake shows) against a fake platform."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from gpu_engine.session.usage import read_journal
from tests.fakes.fake_platform import FakePlatform, until
from workers.contracts import commands
from workers.contracts import node as wire
from workers.node import journal as journal_of_runs
from workers.node.agent import AgentOptions, NodeAgent
from workers.node.supervisor import SupervisionOptions

pytestmark = pytest.mark.process

SHOW = {"show": {"segments": [{"id": "s1", "kind": "opening", "lines": [{"id": "l1", "text": "你好"}]}]}}
RECORDED = {**SHOW, "outputs": [{"kind": "recording", "id": "recording", "path": "recording.mp4"}]}
OPTIONS = SupervisionOptions(
    engine_command=(sys.executable, "-m", "tests.fakes.fake_engine"), stop_grace_s=5, fence_grace_s=0.5, ping_interval_s=0.2,
    ping_timeout_s=1.0, restart_delays_s=(0.0, 0.1), min_free_disk_bytes=1,
)  # fmt: skip


def options(root: Path, platform: FakePlatform, **changes: object) -> AgentOptions:
    fields: dict[str, object] = {
        "capacity_sessions": 2,
        "run_celery": False,
        "supervision": OPTIONS,
        "stop_sessions_on_exit": True,
    }
    return AgentOptions(url=f"http://127.0.0.1:{platform.port}", node_id="n1", token="t", root=root, **{**fields, **changes})  # type: ignore[arg-type]


@asynccontextmanager
async def agent_of(root: Path, platform: FakePlatform, **changes: object) -> AsyncIterator[NodeAgent]:
    agent = NodeAgent(options(root, platform, **changes))
    agent._client.spec = platform.spec  # type: ignore[method-assign]
    task = asyncio.create_task(agent.run())
    try:
        await until(lambda: agent.uplink.connected or task.done(), what="the agent connects")
        yield agent
    finally:
        agent.leave()
        await asyncio.wait_for(task, 20)


@pytest.fixture
async def platform() -> AsyncIterator[FakePlatform]:
    async with FakePlatform().running() as made:
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "node"


def assign(
    platform: FakePlatform, agent: NodeAgent, session: str, epoch: int = 1, spec: dict | None = None
) -> commands.CommandReply:  # type: ignore[type-arg]
    platform.epochs[session] = epoch
    platform.specs[session] = spec or SHOW
    return agent.command(commands.StartSession(session, epoch))


def engine_pid(agent: NodeAgent, session: str, epoch: int = 1) -> int:
    return agent._sessions[session, epoch].record.pid


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def live(platform: FakePlatform, session: str, epoch: int = 1) -> None:
    await until(lambda: "live" in platform.seen(session, epoch), what=f"{session} is live")


async def test_a_show_starts_reports_and_ends(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assert assign(platform, agent, "ses_a").accepted
        await live(platform, "ses_a")
        await until(lambda: platform.metrics and platform.seconds("ses_a", 1) >= 2)
        await platform.send(wire.Stop("ses_a", 1, "enough"))
        await until(lambda: platform.seen("ses_a", 1)[-1:] == ["ended"])
        assert platform.seen("ses_a", 1) == ["starting", "live", "stopping", "ended"]
        journal = read_journal(root / "sessions/ses_a.1/usage.jsonl")
        await until(lambda: platform.seconds("ses_a", 1) == sum(s.seconds for s in journal))
        await until(lambda: ("ses_a", 1) not in agent._sessions, what="the run is settled")
        assert not (root / "sessions/ses_a.1/spec.json").exists()


async def test_calls_reach_the_engine_and_errors_come_back(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        calls = {
            "1": ("ses_a", 1, "comment", {"id": "c1", "text": "多少钱", "user": "v"}),
            "2": ("ses_a", 1, "say", {"text": "forbidden"}),
            "3": ("ses_a", 9, "cut", {"reason": "x"}),
            "4": ("ses_none", 1, "cut", {"reason": "x"}),
        }
        for number, (session, epoch, method, params) in calls.items():
            await platform.send(wire.Call(number, session, epoch, method, params, 2000))
        await until(lambda: len(platform.replies) == 4)
        assert platform.replies["1"] == wire.CallReply("1", True, {"accepted": True, "reason": ""})
        assert (platform.replies["2"].ok, platform.replies["2"].error) == (False, "refused")
        assert {platform.replies[n].error for n in ("3", "4")} == {"unknown_session"}
        await until(lambda: any(e.kind == "comment" for e in platform.events["ses_a", 1].values()))


async def test_a_killed_engine_starts_again_in_its_epoch_from_the_cursor(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        await until(lambda: platform.seconds("ses_a", 1) >= 4)
        before = agent._sessions["ses_a", 1].record.cursor
        assert before is not None
        os.kill(engine_pid(agent, "ses_a"), signal.SIGKILL)
        await until(lambda: platform.seen("ses_a", 1) == ["starting", "live", "interrupted", "starting", "live"])
        await until(lambda: {s.incarnation for s in platform.usage["ses_a", 1].values()} == {1, 2})
        spec = json.loads((root / "sessions/ses_a.1/spec.json").read_text())
        assert spec["cursor"]["line_index"] >= before["line_index"]
        numbers = sorted(platform.events["ses_a", 1])
        assert numbers[-1] > 2_000_000_000
        platform.seconds("ses_a", 1)


async def test_three_deaths_in_a_minute_fail_the_session(root: Path, platform: FakePlatform) -> None:
    root.mkdir()
    (root / "fake.json").write_text(json.dumps({"die_after_s": 0.1, "exit_code": 70}))
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await until(lambda: platform.seen("ses_a", 1)[-1:] == ["failed"])
        record = agent._sessions["ses_a", 1].record
        assert record.starts == 3
        assert "3 deaths within 60 s" in record.reason
        assert "exit code 70" in record.reason


async def test_a_show_file_the_engine_cannot_use_fails_at_once(root: Path, platform: FakePlatform) -> None:
    root.mkdir()
    (root / "fake.json").write_text(json.dumps({"die_after_s": 0.1, "exit_code": 2}))
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await until(lambda: platform.seen("ses_a", 1)[-1:] == ["failed"])
        assert agent._sessions["ses_a", 1].record.starts == 1


async def test_an_engine_that_hangs_is_ended_and_started_again(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        os.kill(engine_pid(agent, "ses_a"), signal.SIGSTOP)
        await until(lambda: "interrupted" in platform.seen("ses_a", 1))
        await until(lambda: platform.seen("ses_a", 1)[-1] == "live")
        assert agent._sessions["ses_a", 1].record.starts == 2


async def test_a_refused_lease_stops_the_engine(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
        platform.epochs["ses_a"] = 2
        await until(lambda: not alive(pid), 5, what="the fenced engine is gone")
        await until(lambda: ("ses_a", 1) not in agent._sessions)
        assert "ended" not in platform.seen("ses_a", 1)


async def test_a_higher_epoch_replaces_a_lower_one_and_never_the_other_way(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        old = engine_pid(agent, "ses_a")
        assert assign(platform, agent, "ses_a", 2).accepted
        assert agent.command(commands.StartSession("ses_a", 2)) == commands.CommandReply(True, "already here")
        await until(lambda: engine_pid(agent, "ses_a", 2) > 0)
        assert not alive(old), "the old engine is gone before the new one starts"
        await live(platform, "ses_a", 2)
        assert agent.command(commands.StartSession("ses_a", 1)).accepted is False


async def test_no_slot_no_start_and_the_platform_is_told(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform, capacity_sessions=1) as agent:
        assign(platform, agent, "ses_a")
        reply = assign(platform, agent, "ses_b")
        assert (reply.accepted, reply.detail) == (False, "no free slot: 1 of 1 in use")
        await until(lambda: platform.seen("ses_b", 1) == ["refused"])


async def test_an_expired_lease_keeps_what_runs_and_starts_nothing(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        first = engine_pid(agent, "ses_a")
        async with platform.outage():
            await until(lambda: not agent.uplink.connected)
            agent._sessions["ses_a", 1].lease._valid_until_s = 0.0
            await asyncio.sleep(0.3)
            assert alive(first)
            os.kill(first, signal.SIGKILL)
            await until(lambda: agent._sessions["ses_a", 1].record.state == "interrupted")
            await asyncio.sleep(0.5)
            assert agent._sessions["ses_a", 1].record.starts == 1
        await until(lambda: agent._sessions["ses_a", 1].record.starts == 2, what="it starts again once the lease is back")
        await until(lambda: platform.seen("ses_a", 1)[-1] == "live")


async def test_usage_of_an_outage_arrives_afterwards_once(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        platform.acknowledge = False
        await until(lambda: platform.seconds("ses_a", 1) >= 2)
        async with platform.outage():
            before = len(read_journal(root / "sessions/ses_a.1/usage.jsonl"))
            await until(lambda: len(read_journal(root / "sessions/ses_a.1/usage.jsonl")) >= before + 3)
        platform.acknowledge = True
        await until(lambda: agent.uplink.connections >= 2)
        await until(lambda: agent._sessions["ses_a", 1].record.usage_acked >= before + 3)
        assert platform.repeated_usage >= 1
        journal = read_journal(root / "sessions/ses_a.1/usage.jsonl")
        acked = agent._sessions["ses_a", 1].record.usage_acked
        assert platform.seconds("ses_a", 1) >= sum(s.seconds for s in journal if s.seq <= acked)


async def test_a_recording_goes_up_when_it_is_finished(root: Path, platform: FakePlatform) -> None:
    uploads: list[tuple[str, int, str, bytes]] = []
    async with agent_of(root, platform) as agent:

        async def upload(session: str, epoch: int, path: Path, *, duration_s: float) -> None:
            uploads.append((session, epoch, path.name, path.read_bytes()))

        agent._client.upload_recording = upload  # type: ignore[method-assign]
        assign(platform, agent, "ses_a", spec=RECORDED)
        await until(lambda: platform.seconds("ses_a", 1) >= 2)
        await platform.send(wire.Stop("ses_a", 1, "enough"))
        await until(lambda: ("ses_a", 1) not in agent._sessions, what="the run is settled")
    assert [(session, epoch, name) for session, epoch, name, _ in uploads] == [("ses_a", 1, "ses_a.1.1.mp4")]
    assert uploads[0][3].startswith(b"media")
    assert list((root / "sessions/ses_a.1/recordings").iterdir()) == []


async def test_leaving_without_stop_sessions_lets_engines_go_on_for_the_next_agent(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform, stop_sessions_on_exit=False) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
    assert alive(pid)
    async with agent_of(root, platform) as agent:
        held = platform.hellos[-1].sessions
        assert [(h.session, h.epoch, h.pid) for h in held] == [("ses_a", 1, pid)]
        seconds = platform.seconds("ses_a", 1)
        await until(lambda: platform.seconds("ses_a", 1) > seconds)
        assert engine_pid(agent, "ses_a") == pid
    await until(lambda: not alive(pid), what="an agent with stop_sessions ends it")
    assert platform.seen("ses_a", 1)[-1] == "ended"


async def test_an_engine_that_died_unwatched_is_started_again(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform, stop_sessions_on_exit=False) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
    os.kill(pid, signal.SIGKILL)
    async with agent_of(root, platform) as agent:
        await until(lambda: agent._sessions["ses_a", 1].record.starts == 2)
        await until(lambda: platform.seen("ses_a", 1)[-1] == "live")


async def test_two_agents_one_session_only_the_current_epoch_lives(tmp_path: Path, platform: FakePlatform) -> None:
    async with agent_of(tmp_path / "one", platform) as one, agent_of(tmp_path / "two", platform) as two:
        assign(platform, one, "ses_a", 1)
        await live(platform, "ses_a", 1)
        first = engine_pid(one, "ses_a", 1)
        assign(platform, two, "ses_a", 2)
        await live(platform, "ses_a", 2)
        await until(lambda: not alive(first), 5, what="the old epoch's engine is fenced")
        await until(lambda: ("ses_a", 1) not in one._sessions)
        assert one.command(commands.StartSession("ses_a", 1)).accepted
        await until(lambda: ("ses_a", 1) not in one._sessions, what="a late command for the old epoch starts nothing")
        assert alive(engine_pid(two, "ses_a", 2))


async def test_a_second_agent_on_the_same_folder_is_refused(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform):
        with pytest.raises(RuntimeError, match="another node agent listens"):
            await NodeAgent(options(root, platform)).run()


async def test_an_engine_gets_none_of_the_agents_credentials(
    root: Path, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUMIHOST_NODE_TOKEN", "secret")
    monkeypatch.setenv("DJANGO_SECRET_KEY", "secret")
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        environment = psutil.Process(engine_pid(agent, "ses_a")).environ()
        assert not {"LUMIHOST_NODE_TOKEN", "DJANGO_SECRET_KEY"} & environment.keys()
        assert environment["WEBSOCKETS_MAX_REDIRECTS"] == "1"


async def test_leaving_with_stop_sessions_leaves_no_engine_however_stubborn(root: Path, platform: FakePlatform) -> None:
    root.mkdir(parents=True)
    (root / "fake.json").write_text(json.dumps({"ignore_stop": True, "ignore_term": True}))
    async with agent_of(root, platform, exit_grace_s=1.5) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
    assert not alive(pid)
    assert platform.seen("ses_a", 1)[-1] == "ended"


async def test_a_ruined_journal_loses_neither_the_engine_nor_its_usage(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform, stop_sessions_on_exit=False) as agent:
        assign(platform, agent, "ses_a", spec=RECORDED)
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
    (root / "sessions/ses_a.1/agent.json").write_bytes(b"")
    async with agent_of(root, platform) as agent:
        assert [(h.session, h.epoch, h.pid) for h in platform.hellos[-1].sessions] == [("ses_a", 1, pid)]
        seconds = platform.seconds("ses_a", 1)
        await until(lambda: platform.seconds("ses_a", 1) > seconds)
        await until(lambda: agent._sessions["ses_a", 1].record.state == "live")
        assert engine_pid(agent, "ses_a") == pid
        assert agent._sessions["ses_a", 1].record.starts == 1
    assert not alive(pid)


async def test_a_disk_that_takes_no_record_stops_no_show(
    root: Path, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        connections = agent.uplink.connections
        with monkeypatch.context() as patch:
            patch.setattr(journal_of_runs, "write_private", full)
            seconds = platform.seconds("ses_a", 1)
            await until(lambda: platform.seconds("ses_a", 1) >= seconds + 6)
            assert agent.uplink.connections == connections
        assert "interrupted" not in platform.seen("ses_a", 1)


async def test_a_large_catalogue_is_fetched_for_the_engine(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a", spec={**SHOW, "knowledge": {"version": 7}})
        await live(platform, "ses_a")
        await platform.send(wire.Call("1", "ses_a", 1, "knowledge", {"fetch": True}, 2000))
        await until(lambda: "1" in platform.replies)
        assert platform.replies["1"] == wire.CallReply("1", True, {"version": 7})


async def test_a_state_that_is_asked_for_is_told_again(root: Path, platform: FakePlatform) -> None:
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        told = len(platform.states)
        await platform.send(wire.Lease("ses_a", 1, ok=True, tell_state=True))
        await until(lambda: len(platform.states) > told)
        assert platform.states[-1] == ("ses_a", 1, "live")


async def test_an_agent_keeps_its_name_and_another_folder_has_another(tmp_path: Path, platform: FakePlatform) -> None:
    for folder in ("one", "one", "two"):
        async with agent_of(tmp_path / folder, platform):
            pass
    first, again, other = (hello.instance for hello in platform.hellos[:3])
    assert first == again != other
    assert len(first) == 32


async def test_a_fence_cuts_a_slow_stop_short(root: Path, platform: FakePlatform) -> None:
    root.mkdir(parents=True)
    (root / "fake.json").write_text(json.dumps({"ignore_stop": True}))
    async with agent_of(root, platform) as agent:
        assign(platform, agent, "ses_a")
        await live(platform, "ses_a")
        pid = engine_pid(agent, "ses_a")
        await platform.send(wire.Stop("ses_a", 1, "enough"))
        await until(lambda: "stopping" in platform.seen("ses_a", 1))
        await platform.send(wire.Lease("ses_a", 1, ok=False))
        await until(lambda: not alive(pid), 2.5, what="the fenced engine ends long before its five seconds")
