"""What is offered to viewers and what is taken from their offers."""

from __future__ import annotations

import asyncio

import pytest

from gpu_engine.outputs.webrtc import MAX_CANDIDATES, WebrtcFanout, reachable_candidates
from gpu_engine.session.child import RequestRefused
from gpu_engine.session.spec import WebrtcOutput
from tests.outputs.feed import Feed
from tests.outputs.harness import Notes, eventually
from tests.outputs.whep_client import Viewer

pytestmark = pytest.mark.media


def fanout(**options: object) -> WebrtcFanout:
    """On loopback only."""
    notes = Notes()
    return WebrtcFanout(WebrtcOutput(**options), notes.hub(), notes, own_addresses=False)  # type: ignore[arg-type]


async def answer_to(viewer: Viewer, output: WebrtcFanout, **options: bool) -> str:
    """Exchange offer and answer, then leave."""
    await viewer.connect(output.offer, **options)
    await viewer.close()
    await output.close_viewer(viewer.id)
    return viewer.answer


async def test_the_answer_is_complete_and_names_loopback_h264_opus_and_rtx() -> None:
    # Given an offer of video and sound, When it is answered,
    answer = await answer_to(Viewer("v"), fanout())
    # Then the answer holds its candidates (no trickle), one transport, the codecs of the one encode, and retransmission.
    assert "a=candidate" in answer
    assert "127.0.0.1" in answer
    assert "a=end-of-candidates" in answer
    assert "a=group:BUNDLE 0 1" in answer
    assert "a=sendonly" in answer
    assert "opus/48000/2" in answer
    assert "rtx/90000" in answer
    assert "VP8" not in answer
    assert "192." not in answer


async def test_an_offer_of_video_alone_is_enough_and_one_without_h264_is_not() -> None:
    # Given an offer without sound, Then it is answered.
    assert "m=audio" not in await answer_to(Viewer("v"), fanout(), audio=False)
    # Given an offer without H.264, Then it is refused and takes no place.
    output = fanout(max_viewers=1)

    async def without_h264(viewer_id: str, sdp: str) -> str:
        return await output.offer(viewer_id, sdp.replace("H264/90000", "H265/90000"))

    viewer = Viewer("w")
    with pytest.raises(RequestRefused, match=r"H\.264"):
        await viewer.connect(without_h264)
    assert output.viewers == []
    await viewer.close()


async def test_the_same_viewer_again_takes_its_own_place() -> None:
    # Given one place and a viewer in it, When the page is loaded anew, Then it is answered.
    output = fanout(max_viewers=1)
    first, second = Viewer("v"), Viewer("v")
    await first.connect(output.offer)
    await second.connect(output.offer)
    assert [viewer.id for viewer in output.viewers] == ["v"]
    await first.close()
    await second.close()
    await output.close_viewer("v")
    await output.close_viewer("nobody")


async def test_a_viewer_that_never_connects_loses_its_place() -> None:
    # Given a place taken by an offer that nobody follows up.
    now_s = [1000.0]
    notes = Notes()
    output = WebrtcFanout(WebrtcOutput(max_viewers=1), notes.hub(), notes, clock=lambda: now_s[0], own_addresses=False)
    ghost = Viewer("ghost")

    async def never(viewer_id: str, sdp: str) -> str:
        await output.offer(viewer_id, sdp)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ghost.connect(never)
    # When 10 s pass, it is still held; when 16 s have passed, the next viewer gets it.
    now_s[0] += 10
    with pytest.raises(RequestRefused, match="places are taken"):
        await output.offer("next", "v=0")
    now_s[0] += 6
    assert await answer_to(Viewer("next"), output)
    assert notes.events == []
    await ghost.close()


async def test_a_given_address_that_is_not_ours_is_offered_on_the_same_port() -> None:
    # Given a node behind one-to-one NAT, and an answer with its private candidate.
    output = fanout(host_addresses=("203.0.113.7", "127.0.0.1"))
    sdp = "m=video 4000 X 1\r\na=candidate:ab 1 udp 2130706431 10.0.0.5 4000 typ host\r\n"
    # Then the public address is added beside it, once, with a lower priority.
    lines = output.with_given_addresses(sdp + "a=candidate:cd 1 udp 2130706431 127.0.0.1 4001 typ host\r\n").splitlines()
    assert [line for line in lines if "203.0.113.7" in line] == ["a=candidate:ab0 1 udp 2130706430 203.0.113.7 4000 typ host"]
    assert len(lines) == 4


def test_candidates_that_cannot_be_used_are_left_out() -> None:
    # Given a browser's offer with a hidden name, a TCP candidate, usable ones, and far too many.
    usable = [f"a=candidate:{n} 1 udp 1 192.0.2.{n} 5000 typ host" for n in range(60)]
    sdp = "\r\n".join(
        [
            "v=0",
            "a=candidate:1 1 udp 1 0f3c-aa.local 5000 typ host",
            "a=candidate:2 1 tcp 1 192.0.2.9 9 typ host tcptype active",
            *usable,
            "a=end-of-candidates",
        ]
    )
    # Then a bounded number of usable ones stays, and no mark that says there are no others.
    assert reachable_candidates(sdp).splitlines() == ["v=0", *usable[:MAX_CANDIDATES]]


async def test_lost_packets_are_sent_again_so_that_no_picture_waits_for_a_key_frame() -> None:
    # Given a viewer whose network loses every 25th video packet, and a stream without key frames for ten seconds.
    feed = Feed(Notes(), gop_s=10, noise=True, bitrate_kbps=1500)
    output = WebrtcFanout(WebrtcOutput(), feed.hub, feed.notes, own_addresses=False)
    async with feed.flowing(output):
        viewer = Viewer("v")
        await viewer.connect(output.offer)
        dtls = viewer.pc.getTransceivers()[0].receiver.transport
        receive, counted, lost = dtls._handle_rtp_data, [0], [0]
        video = int(viewer.answer[viewer.answer.index("m=video") :].split()[3])

        async def lossy(data: bytes, arrival_time_ms: int) -> None:
            if data[1] & 0x7F == video:
                counted[0] += 1
                if counted[0] % 25 == 0:
                    lost[0] += 1
                    return
            await receive(data, arrival_time_ms=arrival_time_ms)

        dtls._handle_rtp_data = lossy
        # When three seconds of pictures have been decoded.
        await eventually(lambda: viewer.reader.seen.frames >= 75, "three seconds are decoded")
        # Then packets were lost and asked for, all that was asked for was sent again, and no other key frame was needed.
        sender = output.viewers[0].video
        assert lost[0] >= 5
        assert sender.counters.retransmitted >= lost[0] // 2
        assert sender.counters.nack_missed == 0
        assert sender.counters.keyframe_requests <= 1
        await viewer.close()
