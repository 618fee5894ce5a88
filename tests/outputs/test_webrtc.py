"""WebRTC viewers of a real outlet process: an aiortc client decodes what it gets."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpu_engine.session.spec import RecordingOutput, WebrtcOutput
from tests.fakes.fake_body import FakeBody
from tests.outputs.harness import Supervisor, eventually, make_spec
from tests.outputs.whep_client import Viewer

pytestmark = pytest.mark.media


def signalling(supervisor: Supervisor):
    async def exchange(viewer_id: str, sdp: str) -> str:
        reply = await supervisor.call("whep_offer", {"viewer_id": viewer_id, "sdp": sdp})
        assert reply.error == "", reply.detail
        return reply.result["sdp"]

    return exchange


async def test_two_viewers_decode_start_quickly_and_leave(tmp_path: Path) -> None:
    # Given a live body with one key frame in ten seconds.
    body = FakeBody(tmp_path, gop_s=10)
    async with Supervisor(tmp_path, make_spec(WebrtcOutput(max_viewers=2))) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: supervisor.states("webrtc") == ["up"], "the outlet is up")
        await eventually(lambda: body.connections == 1 and body.media_s > 2.5, "the first key frame is past")
        # When two viewers join, the second 1.5 s later.
        first, second = Viewer("a"), Viewer("b")
        await first.connect(signalling(supervisor))
        await eventually(lambda: first.first_frame_s, "the first viewer sees a picture")
        at_s = time.monotonic() + 1.5
        await eventually(lambda: time.monotonic() > at_s, "the key frame throttle has passed")
        await second.connect(signalling(supervisor))
        await eventually(lambda: second.first_frame_s, "the second viewer sees a picture")
        # Then both start on a key frame made for them, long before the next regular one, and see H.264 frames of the body.
        assert first.first_frame_s is not None
        assert second.first_frame_s is not None
        assert first.first_frame_s - first.started_s < 4.0
        assert second.first_frame_s - second.started_s < 4.0
        assert body.forced_keys >= 2
        assert "H264/90000" in first.answer
        assert "VP8" not in first.answer
        assert "127.0.0.1" in first.answer
        assert first.sizes == {(320, 180)}
        # And both get all frames and the sound.
        await eventually(lambda: second.reader.seen.frames >= 50 and second.reader.seen.beeps_s, "two seconds of media")
        assert first.reader.seen.frames > second.reader.seen.frames
        # And the third is refused with a reason.
        third = Viewer("c")
        with pytest.raises(AssertionError, match="all 2 viewer places are taken"):
            await third.connect(signalling(supervisor))
        # When one leaves (close of the connection) and one is closed by the session, the places are free again.
        await first.close()
        await eventually(lambda: {"viewer_id": "a", "what": "left"} in supervisor.of_kind("viewer"), "a left")
        assert (await supervisor.call("whep_close", {"viewer_id": "b"})).error == ""
        await eventually(lambda: {"viewer_id": "b", "what": "left"} in supervisor.of_kind("viewer"), "b left")
        await eventually(lambda: supervisor.metrics[-1]["viewers"] == 0, "metrics count none")
        await second.close()
        await third.close()
        body.finish()
        assert await supervisor.exit_code() == 0
    assert supervisor.states("webrtc") == ["up", "finished"]
    joined = [data["viewer_id"] for data in supervisor.of_kind("viewer") if data["what"] == "joined"]
    assert joined == ["a", "b"]
    taken = [data for data in supervisor.of_kind("accepted") if data["outputs"] == ["webrtc"]]
    assert taken


async def test_picture_loss_indication_reaches_the_encoder_once_a_second_at_most(tmp_path: Path) -> None:
    # Given a viewer of a body with long GOPs.
    body = FakeBody(tmp_path, gop_s=10)
    async with Supervisor(tmp_path, make_spec(WebrtcOutput(), RecordingOutput(path=str(tmp_path / "x.mp4")))) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: body.connections, "the outlet connects")
        viewer = Viewer("v")
        await viewer.connect(signalling(supervisor))
        await eventually(lambda: viewer.reader.seen.frames > 5, "it plays")
        # When it reports a lost picture ten times at once.
        requests, forced = len(body.keyframe_requests), body.forced_keys
        for _ in range(10):
            await viewer.ask_keyframe()
        await eventually(lambda: body.forced_keys > forced, "a key frame is made", limit_s=3)
        # Then at most two requests came of it within the next second.
        at_s = time.monotonic() + 1.0
        await eventually(lambda: time.monotonic() > at_s, "a second passes")
        assert 1 <= len(body.keyframe_requests) - requests <= 2
        await viewer.close()
        body.finish()
        assert await supervisor.exit_code() == 0


@pytest.mark.parametrize("sdp", ["", "hello", "v=0\r\nm=video 9 X 1\r\n", "m=audio\r\n" * 100, "x" * 70_000])
async def test_an_absurd_offer_is_refused_and_takes_no_place(tmp_path: Path, sdp: str) -> None:
    # Given an outlet with one viewer place.
    body = FakeBody(tmp_path)
    async with Supervisor(tmp_path, make_spec(WebrtcOutput(max_viewers=1))) as supervisor:
        supervisor.spawn()
        body.start()
        # When an offer is not one, Then it is a bad request,
        reply = await supervisor.call("whep_offer", {"viewer_id": "bad", "sdp": sdp})
        assert reply.error == "bad_request"
        # And the place is still free for a real viewer.
        viewer = Viewer("good")
        await viewer.connect(signalling(supervisor))
        await eventually(lambda: viewer.first_frame_s, "a real viewer gets the place")
        await viewer.close()
        body.finish()
