"""The recorder when the disk is full, slow or taken, without harm to others."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from pathlib import Path

import pytest

from gpu_engine.outputs import mp4, recorder
from gpu_engine.outputs.hub import AccessUnit, EncodedHub
from gpu_engine.outputs.recorder import Recorder
from gpu_engine.session.packets import Media
from gpu_engine.session.spec import RecordingOutput
from tests.fakes.fake_body import AIGC, Encoders
from tests.outputs.harness import Notes, eventually
from tests.outputs.measure import read_media

pytestmark = pytest.mark.media


async def play(hub: EncodedHub, encoders: Encoders, seconds: float, *, lossless: bool = True) -> None:
    """Publish so much media at once."""
    for _ in range(round(seconds * 25)):
        for packet in encoders.tick(force_key=False, wall_ns=0):
            hub.publish(AccessUnit(encoders.info, packet))
        if lossless:
            await hub.wait_for_room()


async def test_a_disk_that_fills_up_ends_the_part_which_plays_and_a_later_part_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a recording whose disk refuses writes after 120 kB.
    notes = Notes()
    hub = notes.hub()
    path = tmp_path / "show.mp4"
    room = [120_000]
    write = os.write

    def limited(descriptor: int, data: memoryview) -> int:
        if room[0] < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= len(data)
        return write(descriptor, data)

    monkeypatch.setattr(mp4.os, "write", limited)
    monkeypatch.setattr(recorder, "RETRY_S", 0.05)
    output = Recorder(RecordingOutput(path=str(path)), hub, notes)
    other = hub.subscribe("other", (Media.H264,), limit_ms=60_000)
    task = asyncio.create_task(output.run())
    encoders = Encoders(noise=True, bitrate_kbps=400)
    # When media flows.
    hub.body_connected(encoders.info)
    await play(hub, encoders, 6)
    await eventually(lambda: "down" in notes.of("recording"), "the failure is told")
    # Then the output is down with the reason, the other sink has lost nothing,
    detail = next(detail for _, state, detail in notes.states if state == "down")
    assert "No space left on device" in detail
    assert str(path) in detail
    assert other.dropped == 0
    # And when there is room again, another part follows by itself.
    room[0] = 10**9
    part = tmp_path / "show.part2.mp4"
    for _ in range(200):
        await play(hub, encoders, 0.2)
        if notes.of("recording")[-1] == "up":
            break
        await asyncio.sleep(0.02)
    await play(hub, encoders, 2)
    hub.end()
    await asyncio.wait_for(task, 10)
    assert notes.of("recording")[-1] == "finished"
    assert read_media(path).frames > 0
    assert json.loads(read_media(part).metadata["AIGC"]) == json.loads(AIGC)
    assert read_media(part).frames >= 50


async def test_too_little_free_space_is_noticed_before_the_disk_is_full(tmp_path: Path) -> None:
    # Given a recorder that wants more room than any disk has.
    notes = Notes()
    hub = notes.hub()
    output = Recorder(RecordingOutput(path=str(tmp_path / "x" / "show.mp4")), hub, notes, min_free_bytes=2**60)
    task = asyncio.create_task(output.run())
    # When media flows, Then it is told and nothing is written.
    await play(hub, Encoders(), 1)
    await eventually(lambda: notes.of("recording") == ["connecting", "down"], "it is told")
    assert "MiB free" in notes.states[-1][2]
    assert list((tmp_path / "x").iterdir()) == []
    task.cancel()


async def test_a_disk_that_hangs_costs_only_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a recorder whose disk does not return from a write.
    notes = Notes()
    hub = notes.hub()
    stuck = asyncio.Event()
    loop = asyncio.get_running_loop()
    release = threading.Event()

    def hang(descriptor: int, data: memoryview) -> int:
        loop.call_soon_threadsafe(stuck.set)
        release.wait(20)
        return len(data)

    monkeypatch.setattr(mp4.os, "write", hang)
    task = asyncio.create_task(Recorder(RecordingOutput(path=str(tmp_path / "show.mp4")), hub, notes).run())
    other = hub.subscribe("other", (Media.H264,), limit_ms=60_000)
    encoders = Encoders()
    await play(hub, encoders, 0.2, lossless=False)
    await asyncio.wait_for(stuck.wait(), 5)
    # When 12 s more of media come.
    await play(hub, encoders, 12, lossless=False)
    # Then the recording drops what it cannot hold, counted, and the other sink has everything.
    assert [sink for sink, _ in notes.drops] == ["recording"]
    assert other.dropped == 0
    assert len(await other.get_batch()) == 305
    release.set()
    hub.end()
    await asyncio.wait_for(task, 10)


async def test_an_existing_file_is_never_touched(tmp_path: Path) -> None:
    # Given a file where the recording should go.
    path = tmp_path / "show.mp4"
    path.write_bytes(b"precious")
    notes = Notes()
    hub = notes.hub()
    task = asyncio.create_task(Recorder(RecordingOutput(path=str(path)), hub, notes).run())
    # When a show is recorded there, Then it goes beside it.
    await play(hub, Encoders(), 1)
    hub.end()
    await asyncio.wait_for(task, 10)
    assert path.read_bytes() == b"precious"
    assert read_media(tmp_path / "show.part2.mp4").frames == 25
    assert notes.events[0][1]["path"] == str(tmp_path / "show.part2.mp4")


async def test_the_name_of_a_finished_part_that_was_moved_away_is_not_used_again(tmp_path: Path) -> None:
    # Given a recording whose first part is finished and taken away while the show goes on.
    notes = Notes()
    hub = notes.hub()
    path = tmp_path / "show.mp4"
    output = Recorder(RecordingOutput(path=str(path)), hub, notes)
    task = asyncio.create_task(output.run())
    first = Encoders(bitrate_kbps=400)
    hub.body_connected(first.info)
    await play(hub, first, 2)
    await eventually(lambda: notes.of("recording")[-1:] == ["up"], "recording")
    second = Encoders(bitrate_kbps=400, incarnation=first.info.incarnation + 1)
    hub.body_connected(second.info)
    await play(hub, second, 1)
    await eventually(lambda: any(data["finished"] for kind, data in notes.events if kind == "recording"), "first part")
    path.rename(tmp_path / "uploaded.mp4")
    # When another part begins.
    third = Encoders(bitrate_kbps=400, incarnation=second.info.incarnation + 1)
    hub.body_connected(third.info)
    await play(hub, third, 1)
    hub.end()
    await asyncio.wait_for(task, 10)
    # Then it has a name of its own: who knows files by name would take it for the first.
    assert sorted(p.name for p in tmp_path.glob("show*.mp4")) == ["show.part2.mp4", "show.part3.mp4"]
