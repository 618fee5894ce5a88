"""WebRTC viewers by WHEP-shaped signalling: one offer, one complete answer, then the shared packets.

Encoded once, packetised once; per viewer there is a header, SRTP and a datagram. Key frames are sent in bursts of a few
packets so that no receive buffer overflows. A viewer who left without a word is noticed by the silence of its RTCP.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.rtcdtlstransport import RTCDtlsTransport

from gpu_engine.outputs import h264, rtp
from gpu_engine.outputs.hub import AUDIO_CLOCK_HZ, VIDEO_CLOCK_HZ, AccessUnit, EncodedHub
from gpu_engine.outputs.reports import Reports
from gpu_engine.outputs.viewer import PacketSender
from gpu_engine.session.child import RequestRefused
from gpu_engine.session.packets import Media
from gpu_engine.session.spec import WebrtcOutput as WebrtcSpec

log = structlog.get_logger(__name__)

CONNECT_LIMIT_S = 15.0
SILENCE_LIMIT_S = 10.0
REPORT_INTERVAL_S = 1.0
MAX_SDP_BYTES = 65_536
MAX_CANDIDATES = 24
_BURST_PACKETS = 12
_BURST_INTERVAL_S = 0.004
_MAX_BURSTS = 5


@dataclass(eq=False)
class Viewer:
    """A peer connection and its two senders. ``joined`` once media can flow, ``started`` once a key frame was sent."""

    id: str
    pc: RTCPeerConnection
    video: PacketSender
    audio: PacketSender | None
    since_s: float
    joined: bool = False
    started: bool = False
    gone: bool = False

    async def report(self, timeline: rtp.RtpTimeline) -> None:
        """Send the sender reports of both tracks."""
        for sender, hz in ((self.video, VIDEO_CLOCK_HZ), (self.audio, AUDIO_CLOCK_HZ)):
            if sender is not None and (packets := sender.sender_report(timeline, hz)):
                await sender._send_rtcp(packets)

    def silent_s(self, now_s: float) -> float:
        """Seconds since the viewer's last RTCP packet."""
        return now_s - max(sender.last_heard_s for sender in (self.video, self.audio) if sender is not None)


class WebrtcFanout:
    """Serves one WebrtcOutput: offers in, packets out, until the stream ends."""

    kind = "webrtc"

    def __init__(
        self, output: WebrtcSpec, hub: EncodedHub, reports: Reports, *, clock: Callable[[], float] = time.monotonic,
        own_addresses: bool = True,
    ) -> None:  # fmt: skip
        self.id = output.id
        self._max_viewers = output.max_viewers
        self._host_addresses = output.host_addresses
        self._own_addresses = own_addresses
        self._hub = hub
        self._reports = reports
        self._clock = clock
        self._viewers: dict[str, Viewer] = {}
        self._timeline = rtp.RtpTimeline()
        self._queue = hub.subscribe(self.id, (Media.H264, Media.OPUS), limit_ms=2_000)
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def viewer_count(self) -> int:
        """Viewers to whom media flows."""
        return sum(viewer.joined for viewer in self._viewers.values())

    @property
    def viewers(self) -> list[Viewer]:
        """Connected and connecting viewers."""
        return list(self._viewers.values())

    # --- signalling -------------------------------------------------------------------------------------------------

    async def offer(self, viewer_id: str, sdp: str) -> str:
        """Answer a viewer's offer; the answer holds all candidates. The same id again replaces the earlier connection.

        Raises:
            RequestRefused: no place is free, the stream has ended, or the offer cannot be used.
        """
        if self._hub.ended:
            raise RequestRefused("refused", "the show has ended")
        if len(sdp) > MAX_SDP_BYTES:
            raise RequestRefused("bad_request", f"the offer has {len(sdp)} characters, over {MAX_SDP_BYTES}")
        self.reap()
        if viewer_id in self._viewers:
            self._drop(self._viewers[viewer_id])
        if len(self._viewers) >= self._max_viewers:
            raise RequestRefused("refused", f"all {self._max_viewers} viewer places are taken: try again when one is free")
        viewer = self._new_viewer(viewer_id, with_audio="m=audio" in sdp)
        self._viewers[viewer_id] = viewer
        try:
            return await self._negotiate(viewer, sdp)
        except Exception as error:
            # The offer comes from a stranger, and aiortc's SDP parser answers a bad one with whatever it stumbles over.
            self._drop(viewer)
            log.info("offer refused", viewer=viewer_id, error=f"{type(error).__name__}: {error}")
            raise RequestRefused(
                "bad_request", "the offer must be SDP that can receive H.264 video (and Opus, if sound)"
            ) from error
        except BaseException:
            self._drop(viewer)
            raise

    async def close_viewer(self, viewer_id: str) -> None:
        """End a viewer's connection; an unknown id is no error."""
        if viewer := self._viewers.get(viewer_id):
            self._drop(viewer)

    def _new_viewer(self, viewer_id: str, *, with_audio: bool) -> Viewer:
        pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        video = pc.addTransceiver("video", direction="sendonly")
        # Before setRemoteDescription, or VP8 is agreed upon and H.264 bytes travel in VP8 packets: connected, never a picture.
        video.setCodecPreferences(_capabilities("video", ("video/H264", "video/rtx")))
        sound: PacketSender | None = None
        # A transceiver that the offer has no place for would make the answer fail.
        if with_audio:
            audio = pc.addTransceiver("audio", direction="sendonly")
            audio.setCodecPreferences(_capabilities("audio", ("audio/opus",)))
            sound = PacketSender.install(audio, on_ready=lambda: None, on_keyframe=lambda: None)
        viewer = Viewer(
            viewer_id,
            pc,
            video=PacketSender.install(video, on_ready=lambda: self._joined(viewer), on_keyframe=self._ask_keyframe),
            audio=sound,
            since_s=self._clock(),
        )
        pc.on("connectionstatechange", lambda: self._state_changed(viewer))
        return viewer

    async def _negotiate(self, viewer: Viewer, sdp: str) -> str:
        pc = viewer.pc
        await pc.setRemoteDescription(RTCSessionDescription(reachable_candidates(sdp), "offer"))
        # aiortc keeps one transport per bundle; it may have been replaced by the offer's first media section.
        dtls: RTCDtlsTransport = viewer.video.transport
        self._offer_addresses(dtls)
        dtls.on("statechange", lambda: self._state_changed(viewer))
        await pc.setLocalDescription(await pc.createAnswer())
        codecs = next(t for t in pc.getTransceivers() if t.kind == "video")._codecs
        if not codecs or codecs[0].mimeType.lower() != "video/h264":
            raise ValueError("no H.264 agreed")
        return self.with_given_addresses(pc.localDescription.sdp)

    def _offer_addresses(self, dtls: RTCDtlsTransport) -> None:
        """Gather on loopback and on the given addresses of this machine too: aioice leaves loopback out."""
        connection: Any = dtls.transport._connection
        gather = connection.get_component_candidates
        extra = ["127.0.0.1", *(a for a in self._host_addresses if a != "127.0.0.1" and _is_local(a))]

        async def with_extra(component: int, addresses: list[str], **options: Any) -> Any:
            own = addresses if self._own_addresses else []
            return await gather(component=component, addresses=list(dict.fromkeys([*own, *extra])), **options)

        connection.get_component_candidates = with_extra

    def with_given_addresses(self, sdp: str) -> str:
        """Add candidates for addresses that are not on this machine (one-to-one NAT): same port, other address."""
        foreign = [a for a in self._host_addresses if not _is_local(a)]
        if not foreign:
            return sdp
        lines: list[str] = []
        for line in sdp.splitlines():
            lines.append(line)
            match = re.match(r"a=candidate:(\S+) (\d+) udp (\d+) (\S+) (\d+) typ host", line)
            if match and match[4] != "127.0.0.1" and ":" not in match[4]:
                lines += [
                    f"a=candidate:{match[1]}{n} {match[2]} udp {int(match[3]) - n - 1} {address} {match[5]} typ host"
                    for n, address in enumerate(foreign)
                ]
        return "\r\n".join(lines) + "\r\n"

    # --- life of viewers --------------------------------------------------------------------------------------------

    def _joined(self, viewer: Viewer) -> None:
        if viewer.gone or viewer.joined:
            return
        viewer.joined = True
        self._reports.event("viewer", viewer_id=viewer.id, what="joined")
        self._ask_keyframe()

    def _ask_keyframe(self) -> None:
        self._hub.request_keyframe(f"{self.id} viewer")

    def _state_changed(self, viewer: Viewer) -> None:
        dtls_state = viewer.video.transport.state
        if viewer.pc.connectionState in ("failed", "closed") or dtls_state in ("failed", "closed"):
            self._drop(viewer)

    def reap(self) -> None:
        """Free the places of viewers that never connected or have fallen silent."""
        now_s = self._clock()
        for viewer in list(self._viewers.values()):
            never_came = not viewer.joined and now_s - viewer.since_s > CONNECT_LIMIT_S
            fell_silent = viewer.joined and viewer.silent_s(now_s) > SILENCE_LIMIT_S
            if never_came or fell_silent:
                log.info("viewer reaped", viewer=viewer.id, joined=viewer.joined)
                self._drop(viewer)

    def _drop(self, viewer: Viewer) -> None:
        if viewer.gone:
            return
        viewer.gone = True
        if self._viewers.get(viewer.id) is viewer:
            del self._viewers[viewer.id]
        if viewer.joined:
            self._reports.event("viewer", viewer_id=viewer.id, what="left")
        task = asyncio.get_running_loop().create_task(_close(viewer))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # --- media ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Forward packets until the stream ends, then close all viewers."""
        self._reports.state(self.id, self.kind, "up")
        try:
            async with asyncio.TaskGroup() as group:
                chores = group.create_task(self._chores())
                while (unit := await self._queue.get()) is not None:
                    await self._forward(unit)
                chores.cancel()
        finally:
            self._hub.unsubscribe(self._queue)
        for viewer in self.viewers:
            self._drop(viewer)
        if self._closing:
            await asyncio.wait(self._closing, timeout=2.0)
        self._reports.state(self.id, self.kind, "finished")

    async def _forward(self, unit: AccessUnit) -> None:
        ticks = self._timeline.ticks(unit)
        viewers = [viewer for viewer in self._viewers.values() if viewer.joined]
        if not viewers:
            return
        if not unit.is_video:
            listeners = [(viewer, viewer.audio) for viewer in viewers if viewer.audio is not None]
            sent = [self._send(viewer, sender, [unit.packet.data], ticks, 0, 1) for viewer, sender in listeners]
            if any(sent):
                self._reports.accepted(self.id, unit)
            return
        if unit.packet.key:
            for viewer in viewers:
                viewer.started = True
        viewers = [viewer for viewer in viewers if viewer.started]
        payloads = rtp.packetise_h264(h264.split_nals(unit.packet.data))
        burst = max(_BURST_PACKETS, -(-len(payloads) // _MAX_BURSTS))
        accepted = False
        for first in range(0, len(payloads), burst):
            if first:
                await asyncio.sleep(_BURST_INTERVAL_S)
            last = min(first + burst, len(payloads))
            for viewer in viewers:
                if not viewer.started or viewer.gone:
                    continue
                if self._send(viewer, viewer.video, payloads, ticks, first, last):
                    accepted = True
                elif not viewer.gone:
                    # Its socket is full: what was cut off is useless to it, so it goes on at the next key frame.
                    viewer.started = False
                    self._ask_keyframe()
        if accepted:
            self._reports.accepted(self.id, unit)

    def _send(self, viewer: Viewer, sender: PacketSender, payloads: list[bytes], ticks: int, first: int, last: int) -> bool:
        """Forward to one viewer; one whose transport breaks is dropped, and no other hears of it."""
        try:
            return sender.forward(payloads, ticks, first=first, last=last, marker=sender is viewer.video)
        except Exception:
            log.exception("viewer dropped: its transport failed", viewer=viewer.id)
            self._drop(viewer)
            return False

    async def _chores(self) -> None:
        while True:
            for viewer in self.viewers:
                try:
                    await viewer.report(self._timeline)
                except Exception:
                    log.exception("viewer dropped: its report failed", viewer=viewer.id)
                    self._drop(viewer)
            self.reap()
            await asyncio.sleep(REPORT_INTERVAL_S)


async def _close(viewer: Viewer) -> None:
    try:
        await asyncio.wait_for(viewer.pc.close(), 5.0)
    except TimeoutError:
        log.warning("a viewer's connection took over 5 s to close", viewer=viewer.id)


def _capabilities(kind: str, mime_types: tuple[str, ...]) -> list[Any]:
    return [codec for codec in RTCRtpSender.getCapabilities(kind).codecs if codec.mimeType in mime_types]


def reachable_candidates(sdp: str) -> str:
    """Leave out candidates we cannot use: mDNS names (looking them up delays the answer) and TCP.

    The pair is then found by the browser's own checks (peer-reflexive, RFC 8445 §7.3.1.3); the end-of-candidates mark goes
    too, or ICE would give up before they arrive.
    """
    kept = []
    candidates = 0
    for line in sdp.splitlines():
        if line.startswith("a=end-of-candidates"):
            continue
        if line.startswith("a=candidate:"):
            fields = line.split()
            if len(fields) < 6 or fields[2].lower() != "udp" or not _is_address(fields[4]):
                continue
            candidates += 1
            if candidates > MAX_CANDIDATES:
                continue
        kept.append(line)
    return "\r\n".join(kept) + "\r\n"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_local(address: str) -> bool:
    """Whether a socket of this machine can be bound to the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
