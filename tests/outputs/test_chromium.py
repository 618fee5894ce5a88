"""A real browser as viewer: Chromium decodes the stream of a real outlet process and keeps lips and sound together."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.session.spec import WebrtcOutput
from tests.fakes.fake_body import FakeBody
from tests.outputs.harness import Supervisor, eventually, make_spec

pytestmark = pytest.mark.media

_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
    "--allow-loopback-in-peer-connection",
]  # fmt: skip
_OFFER = """async () => {
  const pc = window.pc = new RTCPeerConnection();
  pc.addTransceiver('video', {direction: 'recvonly'});
  pc.addTransceiver('audio', {direction: 'recvonly'});
  // As our player does: without it Chromium lets sound lag by some 60 ms until it has settled, ten seconds later.
  pc.getReceivers().forEach(receiver => receiver.jitterBufferTarget = 100);
  const video = document.createElement('video');
  video.autoplay = true; document.body.append(video); window.frames_seen = 0;
  const stream = new MediaStream();
  pc.ontrack = e => { stream.addTrack(e.track); video.srcObject = stream; };
  const count = () => {
    window.frames_seen++;
    window.first_frame_ms ??= performance.now() - window.offered_ms;
    video.requestVideoFrameCallback(count);
  };
  video.requestVideoFrameCallback(count);
  await pc.setLocalDescription(await pc.createOffer());
  await new Promise(r => pc.iceGatheringState === 'complete' ? r() : pc.onicegatheringstatechange = () =>
    pc.iceGatheringState === 'complete' && r());
  window.offered_ms = performance.now();
  return pc.localDescription.sdp;
}"""
_STATS = """async () => {
  const all = [...(await window.pc.getStats()).values()];
  const of = kind => all.find(s => s.type === 'inbound-rtp' && s.kind === kind) || {};
  const codec = all.find(s => s.id === of('video').codecId) || {};
  return {frames: window.frames_seen, first_frame_ms: window.first_frame_ms, codec: codec.mimeType,
    decoded: of('video').framesDecoded || 0, dropped: of('video').framesDropped, lost: of('video').packetsLost,
    freezes: of('video').freezeCount, energy: of('audio').totalAudioEnergy || 0,
    video_at: of('video').estimatedPlayoutTimestamp, audio_at: of('audio').estimatedPlayoutTimestamp};
}"""


@pytest.fixture
async def page():
    playwright = pytest.importorskip("playwright.async_api", reason="needs playwright")
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=binary, args=_FLAGS)
        yield await browser.new_page()
        await browser.close()


async def test_chromium_plays_h264_and_opus_in_sync_and_a_closed_page_frees_its_place(tmp_path: Path, page: Any) -> None:
    # Given a live body with long GOPs and an outlet with one place.
    body = FakeBody(tmp_path, gop_s=10)
    async with Supervisor(tmp_path, make_spec(WebrtcOutput(max_viewers=1))) as supervisor:
        supervisor.spawn()
        body.start()
        await eventually(lambda: body.connections and body.media_s > 2.2, "the outlet receives")
        # When the browser offers (its own addresses hidden behind mDNS names) and takes the answer.
        reply = await supervisor.call("whep_offer", {"viewer_id": "tab", "sdp": await page.evaluate(_OFFER)})
        assert reply.error == "", reply.detail
        answer = "".join(
            line for line in reply.result["sdp"].splitlines(True) if "a=candidate" not in line or " 127.0.0.1 " in line
        )
        await page.evaluate("sdp => window.pc.setRemoteDescription({type: 'answer', sdp})", answer)
        deadline_s = time.monotonic() + 15
        stats: dict[str, Any] = {"decoded": 0}
        offsets_ms: list[float] = []
        while time.monotonic() < deadline_s and not (stats["decoded"] >= 100 and len(offsets_ms) >= 40):
            await asyncio.sleep(0.05)
            stats = await page.evaluate(_STATS)
            if stats["audio_at"] and stats["video_at"]:
                offsets_ms.append(stats["audio_at"] - stats["video_at"])
        print(stats, offsets_ms)
        # Then it decodes H.264 without loss, hears the beep, starts soon, and plays both tracks in step.
        assert stats["codec"] == "video/H264"
        assert stats["decoded"] >= 100
        assert stats["frames"] > 0
        assert stats["lost"] == 0
        assert stats["energy"] > 0
        assert stats["first_frame_ms"] < 4_000
        assert abs(statistics.median(offsets_ms)) <= 40
        # When the tab is gone, Then its place is free.
        await page.close()
        await eventually(lambda: {"viewer_id": "tab", "what": "left"} in supervisor.of_kind("viewer"), "left", limit_s=15)
        body.finish()
        assert await supervisor.exit_code() == 0
