"""A WHEP viewer on aiortc, on loopback only: decodes what arrives and notes flashes, beeps and times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import av
from aiortc import MediaStreamTrack, RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError

from tests.outputs.measure import SignalReader

Signalling = Callable[[str, str], Awaitable[str]]


class Viewer:
    """Connects through ``signalling(viewer_id, offer) -> answer``."""

    def __init__(self, viewer_id: str) -> None:
        self.id = viewer_id
        self.reader = SignalReader()
        self.first_frame_s: float | None = None
        self.started_s = time.monotonic()
        self.sizes: set[tuple[int, int]] = set()
        self.answer = ""
        self._tasks: list[asyncio.Task[None]] = []
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self.pc.on("track", self._on_track)

    async def connect(self, signalling: Signalling, *, audio: bool = True) -> None:
        """Offer, then use the answer."""
        self.pc.addTransceiver("video", direction="recvonly")
        if audio:
            self.pc.addTransceiver("audio", direction="recvonly")
        connection: Any = self.pc.getTransceivers()[0].receiver.transport.transport._connection
        gather = connection.get_component_candidates

        async def loopback_only(component: int, addresses: list[str], **options: Any) -> Any:
            return await gather(component=component, addresses=["127.0.0.1"], **options)

        connection.get_component_candidates = loopback_only
        await self.pc.setLocalDescription(await self.pc.createOffer())
        self.started_s = time.monotonic()
        self.answer = await signalling(self.id, self.pc.localDescription.sdp)
        await self.pc.setRemoteDescription(RTCSessionDescription(_on_loopback(self.answer), "answer"))

    async def ask_keyframe(self) -> None:
        """Send a picture loss indication."""
        receiver = next(t.receiver for t in self.pc.getTransceivers() if t.kind == "video")
        await receiver._send_rtcp_pli(self.video_ssrc())

    def video_ssrc(self) -> int:
        """The media SSRC that the answer names for video."""
        section = self.answer[self.answer.index("m=video") :]
        return int(section[section.index("a=ssrc:") + 7 :].split()[0])

    def _on_track(self, track: MediaStreamTrack) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._consume(track)))

    async def _consume(self, track: MediaStreamTrack) -> None:
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            if isinstance(frame, av.VideoFrame):
                self.first_frame_s = self.first_frame_s or time.monotonic()
                self.sizes.add((frame.width, frame.height))
                self.reader.picture(frame, time.monotonic())
            elif isinstance(frame, av.AudioFrame):
                self.reader.sound(frame, time.monotonic())

    async def close(self) -> None:
        """Leave politely."""
        await self.pc.close()
        for task in self._tasks:
            task.cancel()


def _on_loopback(sdp: str) -> str:
    """Leave out candidates of the machine's other addresses."""
    return "".join(line for line in sdp.splitlines(True) if not line.startswith("a=candidate") or " 127.0.0.1 " in line)
