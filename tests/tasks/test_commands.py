"""Celery commands: handed over to the agent's socket, and nothing else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from workers.app import make_app
from workers.commands import AgentUnreachable, hand_over
from workers.contracts import broker, commands

pytestmark = pytest.mark.unit


async def test_a_command_is_one_line_each_way(tmp_path: Path) -> None:
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readline())
        writer.write(msgspec.json.encode(commands.CommandReply(True, "fine")) + b"\n")
        writer.close()

    server = await asyncio.start_unix_server(serve, str(tmp_path / "a.sock"))
    reply = await asyncio.to_thread(hand_over, commands.StartSession("ses_a", 3), tmp_path / "a.sock")
    server.close()
    assert reply == commands.CommandReply(True, "fine")
    assert msgspec.json.decode(got[0], type=commands.Command) == commands.StartSession("ses_a", 3)


async def test_without_an_agent_the_error_names_the_socket(tmp_path: Path) -> None:
    with pytest.raises(AgentUnreachable, match=r"nobody\.sock"):
        await asyncio.to_thread(hand_over, commands.StopSession("ses_a", 3, "x"), tmp_path / "nobody.sock")


async def test_an_agent_that_does_not_answer_holds_a_task_for_the_timeout_only(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = await asyncio.start_unix_server(serve, str(tmp_path / "a.sock"))
    started_s = time.monotonic()
    with pytest.raises(AgentUnreachable):
        await asyncio.to_thread(hand_over, commands.StartSession("ses_a", 1), tmp_path / "a.sock", 0.3)
    assert time.monotonic() - started_s < 2
    server.close()


def test_the_files_broker_polls_fast_and_commands_are_acknowledged_early(tmp_path: Path) -> None:
    app = make_app("filesystem://", tmp_path)
    assert app.conf.broker_transport_options["polling_interval"] == 0.05
    assert app.conf.task_acks_late is False
    assert (tmp_path / "control").is_dir()
    assert broker.transport_options("redis://x", tmp_path) == {}


def test_platform_and_node_use_the_same_folders(settings: object) -> None:
    from lumihost.config.settings import embedded

    ours = broker.transport_options("filesystem://", Path(embedded.VAR) / "broker")
    theirs = embedded.CELERY_BROKER_TRANSPORT_OPTIONS
    assert {key: ours[key] for key in theirs} == theirs


def test_the_tasks_are_registered_under_the_names_the_platform_sends() -> None:
    from workers import commands as tasks

    assert tasks.start_session.name == commands.START_TASK
    assert tasks.stop_session.name == commands.STOP_TASK
