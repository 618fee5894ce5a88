"""RTMP against a real nginx-rtmp: what a player decodes, and what happens when the server goes, or the key is refused."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import av
import pytest

from gpu_engine.session.spec import RecordingOutput, RtmpOutput
from tests.fakes.fake_body import FakeBody
from tests.outputs.harness import Supervisor, eventually, make_spec
from tests.outputs.measure import Seen, SignalReader, read_media
from tests.outputs.nginx_rtmp import NginxRtmp

pytestmark = pytest.mark.rtmp


def play(url: str, *, flashes: int) -> Seen:
    """Decode a live stream until it has flashed and beeped so often (or 20 s of media are over)."""
    reader = SignalReader()
    with av.open(url, timeout=20) as container:
        for packet in container.demux():
            for frame in packet.decode():
                if isinstance(frame, av.VideoFrame) and frame.time is not None:
                    reader.picture(frame, float(frame.time))
                elif isinstance(frame, av.AudioFrame) and frame.time is not None:
                    reader.sound(frame, float(frame.time))
            if len(reader.seen.offsets_ms()) >= flashes or reader.seen.frames > 500:
                return reader.seen
    return reader.seen


@pytest.fixture
async def nginx(tmp_path: Path):
    server = NginxRtmp(tmp_path)
    await server.start()
    yield server
    server.stop()


async def test_a_player_of_a_real_server_sees_picture_and_sound_in_sync(tmp_path: Path, nginx: NginxRtmp) -> None:
    # Given a live body and an outlet that pushes to nginx.
    body = FakeBody(tmp_path)
    spec = make_spec(RtmpOutput(id="main", url=nginx.url("secret-key-1")))
    async with Supervisor(tmp_path, spec) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: "up" in supervisor.states("main"), "the push is up")
        # When a player plays it back.
        seen = await asyncio.to_thread(play, nginx.url("secret-key-1"), flashes=3)
        body.finish()
        assert await supervisor.exit_code() == 0
    # Then each beep sounds with its flash.
    assert seen.frames >= 50
    assert len(seen.offsets_ms()) >= 3
    assert max(abs(offset) for offset in seen.offsets_ms()) <= 40
    # And seconds count as accepted, the end is polite, and no word holds the key.
    assert supervisor.states("main") == ["connecting", "up", "finished"]
    assert {"main"} == {name for data in supervisor.of_kind("accepted") for name in data["outputs"]}
    assert "secret-key-1" not in str(supervisor.events)


async def test_a_server_that_dies_and_returns_gets_the_stream_again_while_the_recording_loses_nothing(
    tmp_path: Path, nginx: NginxRtmp
) -> None:
    # Given a push and a recording of the same body.
    path = tmp_path / "x.mp4"
    body = FakeBody(tmp_path, gop_s=10)
    spec = make_spec(RtmpOutput(id="main", url=nginx.url("k")), RecordingOutput(path=str(path)))
    async with Supervisor(tmp_path, spec) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: "up" in supervisor.states("main"), "the push is up")
        # When the server is killed and comes back.
        nginx.stop()
        await eventually(lambda: supervisor.states("main")[-1] == "retrying", "the loss is noticed")
        await nginx.start()
        await eventually(lambda: supervisor.states("main")[-1] == "up", "the push is up again")
        # Then a player that comes now sees a picture: the new connection starts with a key frame.
        seen = await asyncio.to_thread(play, nginx.url("k"), flashes=1)
        body.finish()
        assert await supervisor.exit_code() == 0
    assert seen.frames > 0
    assert supervisor.states("main") == ["connecting", "up", "retrying", "up", "finished"]
    recorded = read_media(path)
    gaps = [b - a for a, b in zip(recorded.frame_times_s, recorded.frame_times_s[1:], strict=False)]
    assert max(gaps) == pytest.approx(0.04, abs=0.001)
    assert supervisor.of_kind("drop") == []


async def test_a_refused_key_is_told_in_plain_words_without_the_key(tmp_path: Path, nginx: NginxRtmp) -> None:
    # Given a server whose hook refuses every key.
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    hook = await asyncio.start_server(refuse, "127.0.0.1", nginx.hook_port)
    body = FakeBody(tmp_path)
    spec = make_spec(RtmpOutput(id="main", url=nginx.url("topsecret?sign=abcdef", "guarded")))
    async with hook, Supervisor(tmp_path, spec) as supervisor:
        supervisor.spawn()
        body.start()
        # When the outlet publishes with it, Then the output is down and says what to do.
        told = await eventually(
            lambda: [d for d in supervisor.of_kind("output") if d["state"] == "down"], "the refusal is told"
        )
        body.finish()
        assert await supervisor.exit_code() == 0
    assert asked
    assert f"rtmp://127.0.0.1:{nginx.port}/guarded" in told[0]["detail"]
    assert "key" in told[0]["detail"]
    assert "topsecret" not in str(supervisor.events)
    assert "abcdef" not in str(supervisor.events)


async def test_a_key_in_use_is_busy_and_is_taken_once_it_is_free(tmp_path: Path, nginx: NginxRtmp) -> None:
    # Given a key that another publisher holds.
    folders = (tmp_path / "a", tmp_path / "b")
    for folder in folders:
        folder.mkdir()
    bodies = [FakeBody(folder) for folder in folders]
    spec = make_spec(RtmpOutput(id="main", url=nginx.url("same-key")))
    async with Supervisor(folders[0], spec) as holder, Supervisor(folders[1], spec) as comer:
        holder.spawn()
        bodies[0].start()
        await eventually(lambda: "up" in holder.states("main"), "the first holds the key")
        # When a second comes.
        comer.spawn()
        bodies[1].start()
        busy = await eventually(
            lambda: [d for d in comer.of_kind("output") if d["state"] == "busy"], "the second is told that it is in use"
        )
        # Then it waits, and publishes as soon as the first has ended.
        bodies[0].finish()
        assert await holder.exit_code() == 0
        await eventually(lambda: comer.states("main")[-1] == "up", "the second gets the key", limit_s=20)
        bodies[1].finish()
        assert await comer.exit_code() == 0
    assert "in use" in busy[0]["detail"]
    assert "same-key" not in busy[0]["detail"]
    assert threading.active_count() < 10
