"""The body's loop with a real encoder: what comes out is on the clock, in order, and carries on alone."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from gpu_engine.body.links import OutletPort, SupervisorPort, listen
from gpu_engine.body.loop import BodyLoop
from gpu_engine.body.stopwatch import Stopwatch
from gpu_engine.body.timeline import Scene
from gpu_engine.session.child import ChildEvent, ChildMessage
from gpu_engine.session.clock import FrameTime
from gpu_engine.session.link import NonBlockingLink
from gpu_engine.session.packets import BodyPacket, EndOfStream, Media, Packet, StreamInfo
from gpu_engine.session.spec import RunOfShow, Segment, SegmentKind, SessionSpec, Video
from gpu_engine.session.timeline import (
    BodyMessage,
    Caption,
    ClipBegin,
    ClipChunk,
    ClipEnded,
    ClipKind,
    ClipSeal,
    Pass,
    Playhead,
    Priority,
)

pytestmark = pytest.mark.media

_encode = msgspec.msgpack.Encoder().encode
_packets: msgspec.msgpack.Decoder[BodyPacket] = msgspec.msgpack.Decoder(BodyPacket)
_reports: msgspec.msgpack.Decoder[BodyMessage] = msgspec.msgpack.Decoder(BodyMessage)
_child: msgspec.msgpack.Decoder[ChildMessage] = msgspec.msgpack.Decoder(ChildMessage)


class GreyPicture:
    """A frame whose brightness is its number; ``slow_frames`` take 100 ms."""

    def __init__(self, slow_frames: frozenset[int] = frozenset()) -> None:
        self.drawn: list[int] = []
        self._slow = slow_frames

    def draw(self, canvas: NDArray[np.uint8], scene: Scene, time_: FrameTime, watch: Stopwatch) -> None:
        canvas[:] = time_.index % 256
        self.drawn.append(time_.index)
        if time_.index in self._slow:
            time.sleep(0.1)


class Peer:
    """A connected end that collects decoded frames."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.connect(str(path))
        self.link = NonBlockingLink(self._sock, max_queued_bytes=16 * 1024 * 1024)

    def send(self, *messages: object) -> None:
        for message in messages:
            assert self.link.send(_encode(message))

    def frames(self) -> Iterator[bytes]:
        yield from self.link.pump()


class Rig:
    """A body in a thread, with us as supervisor, mind and outlet."""

    def __init__(self, run_dir: Path, picture: GreyPicture, *, clock: str, duration_s: float) -> None:
        self._server = listen(run_dir / "supervisor.sock")
        spec = SessionSpec(
            clock=clock, duration_s=duration_s, video=Video(width=320, height=180, bitrate_kbps=300),
            show=RunOfShow(segments=(Segment(id="s", kind=SegmentKind.OPENING),)),
        )  # fmt: skip
        self.loop = BodyLoop(spec, run_dir, 3, picture, SupervisorPort(run_dir, 1), aigc="{}")
        self._supervisor = NonBlockingLink(self._server.accept()[0], max_queued_bytes=1024 * 1024)
        self.run_dir = run_dir
        self.packets: list[BodyPacket] = []
        self.reports: list[BodyMessage] = []
        self.events: list[ChildEvent] = []
        self.reason = ""
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.reason = self.loop.run()

    def play(self, *mind_messages: object, with_mind: bool = True, mind_leaves_after_s: float | None = None) -> None:
        outlet = Peer(self.run_dir / "outlet.sock")
        mind = Peer(self.run_dir / "mind.sock") if with_mind else None
        if mind is not None:
            mind.send(*mind_messages)
        started = time.monotonic()
        self._thread.start()
        while self._thread.is_alive():
            self._collect(outlet, mind)
            if mind is not None and mind_leaves_after_s is not None and time.monotonic() - started > mind_leaves_after_s:
                mind.link.close()
                mind = None
            time.sleep(0.002)
        self._collect(outlet, mind)

    def _collect(self, outlet: Peer, mind: Peer | None) -> None:
        self.packets += [_packets.decode(f) for f in outlet.frames()]
        if mind is not None:
            self.reports += [_reports.decode(f) for f in mind.frames()]
        for frame in self._supervisor.pump():
            message = _child.decode(frame)
            if isinstance(message, ChildEvent):
                self.events.append(message)

    def media(self, kind: Media) -> list[Packet]:
        return [p for p in self.packets if isinstance(p, Packet) and p.media is kind]


def clip(clip_id: str, ms: int) -> list[object]:
    return [
        ClipBegin(clip_id, "t", ClipKind.SCRIPT, Priority.SCRIPT, cursor=(0, 0, 0, 1)),
        ClipChunk(clip_id, np.full(ms * 48, 900, dtype="<i2").tobytes(), b"", (Caption(0, "hello"),)),
        ClipSeal(clip_id),
    ]


def test_a_virtual_run_makes_every_frame_once_and_only_as_far_as_the_mind_passed(tmp_path: Path) -> None:
    picture = GreyPicture()
    rig = Rig(tmp_path, picture, clock="virtual", duration_s=2.0)

    rig.play(*clip("a", 500), Pass(60_000))

    assert rig.reason == "duration reached"
    assert picture.drawn == list(range(50))
    video = rig.media(Media.H264)
    assert [p.pts for p in video] == [90_000 + i * 3_600 for i in range(50)]
    assert [i for i, p in enumerate(video) if p.key] == [0, 25]
    assert isinstance(rig.packets[0], StreamInfo) and rig.packets[0].incarnation == 3
    assert isinstance(rig.packets[-1], EndOfStream)
    opus = rig.media(Media.OPUS)
    assert [b.pts - a.pts for a, b in itertools.pairwise(opus)] == [960] * (len(opus) - 1)
    assert len(opus) == 100
    (ended,) = [r for r in rig.reports if isinstance(r, ClipEnded)]
    assert (ended.clip_id, ended.played_ms, ended.text) == ("a", 500, "hello")
    spoken = [e for e in rig.events if e.kind == "spoken"]
    assert [e.data["text"] for e in spoken] == ["hello"]


def test_the_picture_goes_on_when_the_mind_leaves_or_never_comes(tmp_path: Path) -> None:
    rig = Rig(tmp_path, GreyPicture(), clock="real", duration_s=1.0)

    rig.play(*clip("a", 2000), mind_leaves_after_s=0.4)

    assert len(rig.media(Media.H264)) >= 24
    assert any(isinstance(r, Playhead) for r in rig.reports)


def test_a_late_picture_is_skipped_and_audio_never_is(tmp_path: Path) -> None:
    picture = GreyPicture(slow_frames=frozenset({10}))
    rig = Rig(tmp_path, picture, clock="real", duration_s=1.0)

    rig.play()

    assert rig.loop.counters.late_frames >= 1
    assert len(rig.media(Media.H264)) == 25 - rig.loop.counters.late_frames
    assert len(rig.media(Media.OPUS)) == 50
    skipped = set(range(25)) - set(picture.drawn)
    assert skipped and min(skipped) > 10


def test_the_end_is_said_to_an_outlet_whose_queue_is_full(tmp_path: Path) -> None:
    port = OutletPort(tmp_path)
    outlet = Peer(tmp_path / "outlet.sock")
    info = StreamInfo(1, 320, 180, 25, 300, 48_000, b"", "{}")
    port.poll(info)
    sound = Packet(Media.AAC, 48_000, True, 0, b"a" * 500_000)
    while not port.dropped_frames:
        port.send(sound)
    assert port._port.link is not None
    port._port.link._max_queued_bytes = port.queued_bytes

    refused = port.finish("stopped")
    received: list[BodyPacket] = []
    for _ in range(1000):
        received += [_packets.decode(f) for f in outlet.frames()]
        port.poll(info)
    said = port.finish("stopped")
    for _ in range(100):
        port.poll(info)
        received += [_packets.decode(f) for f in outlet.frames()]

    assert (refused, said) == (False, True)
    assert isinstance(received[-1], EndOfStream)
