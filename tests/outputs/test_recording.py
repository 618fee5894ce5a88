"""The recording that an outlet process leaves: what a decoder finds in it, and after a kill."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from gpu_engine.session.spec import RecordingOutput
from tests.fakes.fake_body import AIGC, FakeBody
from tests.outputs.harness import Supervisor, eventually, make_spec
from tests.outputs.measure import read_media

pytestmark = pytest.mark.media


async def test_recording_decodes_with_sound_beside_the_picture_and_the_ai_label(tmp_path: Path) -> None:
    # Given an unpaced body of 12 s with a flash and a beep each second, on a virtual clock (nothing may be lost).
    path = tmp_path / "show.mp4"
    body = FakeBody(tmp_path, seconds=12, paced=False)
    async with Supervisor(tmp_path, make_spec(RecordingOutput(path=str(path)), clock="virtual")) as supervisor:
        # When the outlet records it to its end.
        supervisor.spawn()
        body.start()
        assert await supervisor.exit_code() == 0
        body.finish()
    # Then every frame is there, each beep sounds with its flash, and the implicit label is in the file.
    seen = read_media(path)
    assert seen.frames == 12 * 25
    assert [round(t, 3) for t in seen.flashes_s] == [float(n) for n in range(1, 12)]
    assert len(seen.offsets_ms()) == 11
    assert max(abs(offset) for offset in seen.offsets_ms()) <= 40
    assert json.loads(seen.metadata["AIGC"]) == json.loads(AIGC)
    # And the supervisor heard of it in order: states, the file, one report for each whole second.
    assert supervisor.states("recording") == ["connecting", "up", "finished"]
    assert [data["finished"] for data in supervisor.of_kind("recording")] == [False, True]
    assert supervisor.of_kind("recording")[1]["bytes"] == path.stat().st_size
    assert supervisor.of_kind("recording")[1]["seconds"] == pytest.approx(12, abs=0.05)
    accepted = supervisor.of_kind("accepted")
    assert [data["second"] for data in accepted] == list(range(1, 13))
    assert all(data == {"incarnation": 1, "second": data["second"], "outputs": ["recording"]} for data in accepted)
    assert supervisor.of_kind("drop") == []


async def test_killed_outlet_leaves_a_playable_part_and_the_next_one_writes_another(tmp_path: Path) -> None:
    # Given an outlet that records a live body and has written some seconds.
    path = tmp_path / "show.mp4"
    body = FakeBody(tmp_path)
    async with Supervisor(tmp_path, make_spec(RecordingOutput(path=str(path)))) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: supervisor.of_kind("accepted"), "a second is accepted")
        # When it is killed and a new one started.
        supervisor.kill_outlet()
        before = list(supervisor.of_kind("accepted"))
        supervisor.spawn()
        await eventually(lambda: len(supervisor.of_kind("accepted")) >= len(before) + 1, "the new outlet accepts")
        body.finish()
        assert await supervisor.exit_code() == 0
    # Then both parts play in sync, and no second was reported twice or by halves.
    for part in (path, tmp_path / "show.part2.mp4"):
        seen = read_media(part)
        assert seen.frames >= 50
        assert seen.offsets_ms()
        assert max(abs(offset) for offset in seen.offsets_ms()) <= 40
        assert json.loads(seen.metadata["AIGC"]) == json.loads(AIGC)
    seconds = [data["second"] for data in supervisor.of_kind("accepted")]
    assert seconds == sorted(set(seconds))
    assert len(supervisor.hellos) == 2


async def test_a_new_body_gets_a_new_part(tmp_path: Path) -> None:
    # Given a recording of a body that dies without a word.
    path = tmp_path / "show.mp4"
    first = FakeBody(tmp_path, paced=False)
    async with Supervisor(tmp_path, make_spec(RecordingOutput(path=str(path)), clock="virtual")) as supervisor:
        supervisor.spawn()
        first.start()
        await eventually(lambda: first.frames >= 75, "the first body has spoken")
        first.finish(say_goodbye=False)
        # When the next incarnation comes, whose media time starts anew.
        second = FakeBody(tmp_path, seconds=4, paced=False, incarnation=2)
        second.start()
        assert await supervisor.exit_code() == 0
        second.finish()
    # Then each has its own file with its own time, and seconds are told apart by incarnation.
    assert read_media(tmp_path / "show.part2.mp4").frames == 100
    assert read_media(path).frames >= 50
    reported = [(data["incarnation"], data["second"]) for data in supervisor.of_kind("accepted")]
    assert reported[-3:] == [(2, 2), (2, 3), (2, 4)]
    assert (1, 1) in reported


@pytest.mark.parametrize("how", ["supervisor gone", "SIGTERM", "SIGINT, then supervisor gone"])
async def test_outlet_finishes_its_file_when_it_must_leave(tmp_path: Path, how: str) -> None:
    # Given a recording under way.
    path = tmp_path / "show.mp4"
    body = FakeBody(tmp_path)
    async with Supervisor(tmp_path, make_spec(RecordingOutput(path=str(path)))) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: supervisor.states("recording")[-1:] == ["up"], "recording is up")
        await eventually(lambda: path.stat().st_size > 2_000, "something is written")
        # When the supervisor closes the link, or the process is told to leave (Ctrl-C alone is the supervisor's business).
        assert supervisor.process is not None
        assert supervisor._writer is not None
        if how == "SIGTERM":
            supervisor.process.send_signal(signal.SIGTERM)
        else:
            if "SIGINT" in how:
                supervisor.process.send_signal(signal.SIGINT)
                assert (await supervisor.call("ping", {})).error == ""
            supervisor._writer.close()
        # Then the outlet leaves by itself, saying that the stream had not ended, and the file is whole.
        assert await supervisor.exit_code() == 1
        body.finish()
    assert read_media(path).frames > 0
    assert path.read_bytes()[-16:].find(b"mfro") >= 0
