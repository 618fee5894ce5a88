"""Viewers one outlet process can serve: shared packets against naive re-encoding (aiortc's MediaRelay), in the same run.

``python -m tests.bench.bench_fanout`` starts a server process for each mode; this process plays the viewers, which do real
ICE, DTLS and SRTP on loopback, count frames and do not decode. The figure is CPU time of the server process as a share of
one core. Encoding is left out of the shared mode, for the body does it once whoever watches; in the naive mode it is what
each viewer costs. Writes var/bench/fanout.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import structlog
import uvloop
from aiortc import MediaStreamTrack, RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.codecs import h264 as aiortc_h264
from aiortc.contrib.media import MediaRelay
from aiortc.rtp import RtcpReceiverInfo, RtcpRrPacket

from gpu_engine.outputs.hub import AccessUnit
from gpu_engine.outputs.webrtc import WebrtcFanout
from gpu_engine.session.packets import Media, Packet
from gpu_engine.session.spec import WebrtcOutput
from tests.fakes.fake_body import Encoders
from tests.outputs.harness import Notes

WIDTH, HEIGHT, FPS, BITRATE_KBPS = 1280, 720, 25, 2000
SHARED_STEPS = (1, 10, 25, 50)
NAIVE_STEPS = (1, 2, 4)
CORE_LIMIT_PERCENT = 70.0
GOAL_FACTOR = 10.0


@dataclass
class Row:
    """One measurement."""

    mode: str
    viewers: int
    cpu_percent: float
    fps_min: float
    fps_mean: float
    kbps_per_viewer: float


# --- servers ------------------------------------------------------------------------------------------------------------


async def serve_shared() -> None:
    """The outlet's own fan-out over a recorded loop of encoded packets."""
    encoders = Encoders(width=WIDTH, height=HEIGHT, fps=FPS, bitrate_kbps=BITRATE_KBPS, noise=True)
    loop_s = 4
    frames = [[p for p in encoders.tick(force_key=False, wall_ns=0) if p.media is not Media.AAC] for _ in range(loop_s * FPS)]
    notes = Notes()
    hub = notes.hub()
    fanout = WebrtcFanout(WebrtcOutput(max_viewers=250), hub, notes, own_addresses=False)
    hub.body_connected(encoders.info)

    async def play() -> None:
        start_s = time.monotonic()
        n = 0
        while True:
            due_s = start_s + n / FPS
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            rounds, index = divmod(n, len(frames))
            for p in frames[index]:
                later = rounds * loop_s * (90_000 if p.media is Media.H264 else 48_000)
                packet = Packet(p.media, p.pts + later, p.key, round(due_s * 1e9), p.data)
                hub.publish(AccessUnit(encoders.info, packet))
            n += 1

    tasks = [asyncio.create_task(play()), asyncio.create_task(fanout.run())]
    await _answer_offers(fanout.offer)
    os._exit(0 if not any(task.done() for task in tasks) else 1)


class Pictures(MediaStreamTrack):
    """Raw pictures in real time for the naive mode."""

    kind = "video"

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(7)
        base = np.tile(np.linspace(40, 120, WIDTH, dtype=np.uint8), (HEIGHT, 1))
        base += random.integers(0, 60, (HEIGHT, WIDTH), dtype=np.uint8)
        self._pictures = []
        for n in range(FPS):
            planes = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            planes[:HEIGHT] = np.roll(base, n * 3, axis=1)
            self._pictures.append(av.VideoFrame.from_ndarray(planes, format="yuv420p"))
        self._start_s = time.monotonic()
        self._n = 0

    async def recv(self) -> av.VideoFrame:
        """The next picture, when it is due; pictures that could not be taken in time are skipped."""
        self._n = max(self._n + 1, int((time.monotonic() - self._start_s) * FPS))
        await asyncio.sleep(max(0.0, self._start_s + self._n / FPS - time.monotonic()))
        frame = self._pictures[self._n % len(self._pictures)]
        frame.pts, frame.time_base = self._n * 90_000 // FPS, Fraction(1, 90_000)
        return frame


async def serve_naive() -> None:
    """One encode for each viewer, as aiortc does with raw frames behind a MediaRelay."""
    aiortc_h264.DEFAULT_BITRATE = BITRATE_KBPS * 1000
    relay, source = MediaRelay(), Pictures()
    connections: list[RTCPeerConnection] = []

    async def answer(_: str, sdp: str) -> str:
        pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        connections.append(pc)
        transceiver = pc.addTransceiver(relay.subscribe(source), direction="sendonly")
        codecs = RTCRtpSender.getCapabilities("video").codecs
        transceiver.setCodecPreferences([c for c in codecs if c.mimeType == "video/H264"])
        await pc.setRemoteDescription(RTCSessionDescription(sdp, "offer"))
        _only_loopback(pc)
        await pc.setLocalDescription(await pc.createAnswer())
        return pc.localDescription.sdp

    await _answer_offers(answer)
    os._exit(0)


async def _answer_offers(answer: Any) -> None:
    """Lines of JSON on stdin: {id, sdp} is answered with {sdp}, {cpu} with this process's CPU seconds; ends with stdin."""
    reader = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        request = json.loads(line)
        reply = {"cpu_s": sum(os.times()[:2])} if "cpu" in request else {"sdp": await answer(request["id"], request["sdp"])}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


# --- viewers ------------------------------------------------------------------------------------------------------------


class CountingViewer:
    """Connects, counts frames and bytes of video as they arrive, and reports reception, without decoding."""

    def __init__(self) -> None:
        self.frames = 0
        self.octets = 0
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))

    async def connect(self, exchange: Any, viewer_id: str, *, audio: bool) -> None:
        """Offer and answer; returns when the answer is set."""
        self.pc.addTransceiver("video", direction="recvonly")
        if audio:
            self.pc.addTransceiver("audio", direction="recvonly")
        _only_loopback(self.pc)
        await self.pc.setLocalDescription(await self.pc.createOffer())
        self._dtls: Any = self.pc.getTransceivers()[0].receiver.transport
        self._dtls._handle_rtp_data = self._count
        answer = (await exchange({"id": viewer_id, "sdp": self.pc.localDescription.sdp}))["sdp"]
        section = answer[answer.index("m=video") :]
        self._payload_type = int(section.split()[3])
        self._ssrc = int(section[section.index("a=ssrc:") + 7 :].split()[0])
        await self.pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def _count(self, data: bytes, arrival_time_ms: int) -> None:
        if data[1] & 0x7F == self._payload_type:
            self.octets += len(data)
            self.frames += data[1] >> 7

    async def report(self) -> None:
        """A receiver report, so that the server knows that somebody is there."""
        info = RtcpReceiverInfo(ssrc=self._ssrc, fraction_lost=0, packets_lost=0, highest_sequence=0, jitter=0, lsr=0, dlsr=0)
        with contextlib.suppress(ConnectionError):
            await self._dtls._send_rtp(bytes(RtcpRrPacket(ssrc=1, reports=[info])))


def _only_loopback(pc: RTCPeerConnection) -> None:
    connection: Any = pc.getTransceivers()[0].receiver.transport.transport._connection
    gather = connection.get_component_candidates

    async def loopback(component: int, addresses: list[str], **options: Any) -> Any:
        return await gather(component=component, addresses=["127.0.0.1"], **options)

    connection.get_component_candidates = loopback


async def measure(mode: str, steps: tuple[int, ...], window_s: float) -> list[Row]:
    """Rows of one mode, viewers added step by step."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.bench_fanout", "--serve", mode,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    stdin, stdout = server.stdin, server.stdout

    async def exchange(request: dict[str, Any]) -> dict[str, Any]:
        stdin.write(json.dumps(request).encode() + b"\n")
        return dict(json.loads(await stdout.readline()))

    rows: list[Row] = []
    viewers: list[CountingViewer] = []

    async def keep_reporting() -> None:
        while True:
            for viewer in list(viewers):
                await viewer.report()
            await asyncio.sleep(2)

    reporting = asyncio.create_task(keep_reporting())
    try:
        for count in steps:
            while len(viewers) < count:
                viewer = CountingViewer()
                await viewer.connect(exchange, str(len(viewers)), audio=mode == "shared")
                viewers.append(viewer)
            deadline_s = time.monotonic() + 15
            while not all(viewer.frames for viewer in viewers) and time.monotonic() < deadline_s:
                await asyncio.sleep(0.05)
            before = [(viewer.frames, viewer.octets) for viewer in viewers]
            cpu_s, start_s = (await exchange({"cpu": True}))["cpu_s"], time.monotonic()
            await asyncio.sleep(window_s)
            passed_s = time.monotonic() - start_s
            cpu_s = (await exchange({"cpu": True}))["cpu_s"] - cpu_s
            fps = [(viewer.frames - frames) / passed_s for viewer, (frames, _) in zip(viewers, before, strict=True)]
            octets = sum(viewer.octets - seen for viewer, (_, seen) in zip(viewers, before, strict=True))
            row = Row(
                mode, count, round(100 * cpu_s / passed_s, 1), round(min(fps), 1), round(sum(fps) / count, 1),
                round(octets * 8 / 1000 / passed_s / count, 0),
            )  # fmt: skip
            rows.append(row)
            print(f"{mode:>7} {count:4d} viewers: {row.cpu_percent:6.1f} % of a core, fps {row.fps_min:5.1f} (least) "
                  f"{row.fps_mean:5.1f} (mean), {row.kbps_per_viewer:5.0f} kbit/s each", flush=True)  # fmt: skip
    finally:
        reporting.cancel()
        stdin.close()
        for viewer in viewers:
            viewer.pc.getTransceivers()[0].receiver.transport._rtp_router.receivers.clear()
        with contextlib.suppress(ProcessLookupError):
            server.kill()
        await server.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(viewer.pc.close() for viewer in viewers)), 20)
    return rows


def viewers_at_limit(rows: list[Row]) -> float:
    """Viewers at ``CORE_LIMIT_PERCENT`` by the least-squares line through rows that kept the frame rate.

    With fewer than two such rows, by the first row's cost of a frame: what it would take at the full rate.
    """
    good = [row for row in rows if row.fps_min >= 0.95 * FPS]
    if len(good) < 2:
        first = rows[0]
        return CORE_LIMIT_PERCENT / (first.cpu_percent * FPS / first.fps_mean) * first.viewers
    slope, base = np.polyfit([row.viewers for row in good], [row.cpu_percent for row in good], 1)
    return float((CORE_LIMIT_PERCENT - base) / slope)


async def bench(window_s: float) -> dict[str, Any]:
    """Both modes."""
    load = os.getloadavg()[0]
    if load > 1:
        print(f"the machine is busy (load {load:.1f} on {os.cpu_count()} cores): frame rates below 25 may be its doing")
    shared = await measure("shared", SHARED_STEPS, window_s)
    naive = await measure("naive", NAIVE_STEPS, window_s)
    ours, theirs = viewers_at_limit(shared), viewers_at_limit(naive)
    measured = max((r.viewers for r in shared if r.cpu_percent <= CORE_LIMIT_PERCENT and r.fps_min >= 0.95 * FPS), default=0)
    return {
        "machine": f"{os.cpu_count()} x {platform.processor() or platform.machine()}",
        "load_before": round(load, 1),
        "stream": f"{WIDTH}x{HEIGHT}@{FPS} {BITRATE_KBPS} kbit/s H.264 + Opus (naive: video only)",
        "rows": [asdict(row) for row in shared + naive],
        "most_viewers_measured_under_limit": measured,
        "viewers_at_70_percent_shared": round(ours, 1),
        "viewers_at_70_percent_naive": round(theirs, 1),
        "ratio": round(ours / theirs, 1),
        "goal_ratio": GOAL_FACTOR,
    }


def main() -> int:
    """Print the table and write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", choices=["shared", "naive"])
    parser.add_argument("--window-s", type=float, default=4.0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if options.serve:
        uvloop.run({"shared": serve_shared, "naive": serve_naive}[options.serve]())
    result = uvloop.run(bench(options.window_s))
    print(f"\nviewers per process at {CORE_LIMIT_PERCENT:g} % of a core (line through the rows that kept {FPS} fps)")
    print(f"  shared packets {result['viewers_at_70_percent_shared']:8.1f}   (most measured under the limit: "
          f"{result['most_viewers_measured_under_limit']})")  # fmt: skip
    print(f"  naive relay    {result['viewers_at_70_percent_naive']:8.1f}")
    print(f"  ratio          {result['ratio']:8.1f}   goal {GOAL_FACTOR:g}")
    path = Path("var/bench/fanout.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
