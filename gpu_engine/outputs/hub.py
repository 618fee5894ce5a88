"""Encoded packets from the body to every output: a bounded queue per sink, and key frames asked for, never too often.

A sink starts on a key frame. A sink that falls behind loses what waits for it and goes on at the next key frame; nobody
else notices. Nothing here waits for a sink, except :meth:`EncodedHub.wait_for_room` in virtual-clock runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu_engine.session.clock import SAMPLE_RATE_HZ
from gpu_engine.session.clock import VIDEO_CLOCK_HZ as VIDEO_CLOCK_HZ
from gpu_engine.session.packets import Media, Packet, StreamInfo

KEYFRAME_INTERVAL_S = 1.0
AUDIO_CLOCK_HZ = SAMPLE_RATE_HZ


@dataclass(frozen=True, slots=True)
class AccessUnit:
    """A packet and the stream it belongs to."""

    info: StreamInfo
    packet: Packet

    @property
    def is_video(self) -> bool:
        """Whether the packet is a picture."""
        return self.packet.media is Media.H264

    @property
    def media_ms(self) -> int:
        """Presentation time in whole milliseconds of this incarnation's media time."""
        return media_ms(self.packet)


def media_ms(packet: Packet) -> int:
    """Presentation time of a packet in whole milliseconds (rounded down), by integers so that it never drifts."""
    return packet.pts // 90 if packet.media is Media.H264 else packet.pts // 48


class SinkQueue:
    """What waits for one sink: at most ``limit_ms`` of media and ``limit_bytes``, of the media it ``wants``."""

    def __init__(self, hub: EncodedHub, sink_id: str, wants: frozenset[Media], *, limit_ms: int, limit_bytes: int) -> None:
        self.sink_id = sink_id
        self.dropped = 0
        self._hub = hub
        self._wants = wants
        self._limit_ms = limit_ms
        self._limit_bytes = limit_bytes
        self._units: deque[AccessUnit] = deque()
        self._bytes = 0
        self._needs_key = True
        self._incarnation = -1
        self._arrived = asyncio.Event()
        self._left = asyncio.Event()
        self._closed = False

    def skip_to_key(self) -> None:
        """Take nothing more until a key frame comes; what waits stays."""
        self._needs_key = True

    @property
    def waiting_ms(self) -> int:
        """Media time between the oldest and the newest packet that wait."""
        if not self._units:
            return 0
        newest, oldest = self._units[-1], self._units[0]
        return newest.media_ms - oldest.media_ms if newest.info.incarnation == oldest.info.incarnation else self._limit_ms

    @property
    def has_room(self) -> bool:
        """Less than half of the limits is used."""
        return self.waiting_ms * 2 < self._limit_ms and self._bytes * 2 < self._limit_bytes

    def put(self, unit: AccessUnit) -> None:
        """Queue a packet, or count it as dropped."""
        if unit.packet.media not in self._wants or self._closed:
            return
        if unit.info.incarnation != self._incarnation:
            self._incarnation = unit.info.incarnation
            self._needs_key = True
        if self._needs_key:
            if not (unit.is_video and unit.packet.key):
                return
            self._needs_key = False
        self._units.append(unit)
        self._bytes += len(unit.packet.data)
        self._arrived.set()
        if self._bytes > self._limit_bytes or self.waiting_ms > self._limit_ms:
            count = len(self._units)
            self.dropped += count
            self.restart()
            self._hub.report_drop(self.sink_id, count)

    def restart(self) -> None:
        """Forget what waits and go on at the next key frame, which is asked for."""
        self._units.clear()
        self._bytes = 0
        self._needs_key = True
        self._arrived.clear()
        self._left.set()
        self._hub.request_keyframe(f"{self.sink_id} starts")

    async def get(self) -> AccessUnit | None:
        """The next packet; ``None`` once the stream has ended and nothing waits."""
        while not self._units:
            if self._closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._take()

    async def get_batch(self) -> list[AccessUnit]:
        """All that waits, at least one packet; empty once the stream has ended."""
        first = await self.get()
        if first is None:
            return []
        batch = [first]
        while self._units:
            batch.append(self._take())
        return batch

    async def wait_for_room(self) -> None:
        """Return when the queue is less than half full (or closed)."""
        while not self.has_room and not self._closed:
            self._left.clear()
            await self._left.wait()

    def end(self) -> None:
        """No more packets will come; what waits can still be taken."""
        self._closed = True
        self._arrived.set()
        self._left.set()

    def _take(self) -> AccessUnit:
        unit = self._units.popleft()
        self._bytes -= len(unit.packet.data)
        self._left.set()
        return unit


class EncodedHub:
    """Hands each packet to every sink. ``on_keyframe_request`` reaches the body, ``on_drop`` gets (sink id, packets)."""

    def __init__(
        self,
        *,
        on_keyframe_request: Callable[[str], None],
        on_drop: Callable[[str, int], None],
        clock: Callable[[], float],
    ) -> None:
        self._on_keyframe_request = on_keyframe_request
        self._on_drop = on_drop
        self._clock = clock
        self._sinks: dict[str, SinkQueue] = {}
        self._last_request_s = float("-inf")
        self._wanted = ""
        self._ended = asyncio.Event()
        self._info: StreamInfo | None = None
        self._info_known = asyncio.Event()

    @property
    def ended(self) -> bool:
        """No more packets will come."""
        return self._ended.is_set()

    async def wait_ended(self, limit_s: float) -> bool:
        """Wait at most ``limit_s`` seconds; True if the stream has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), limit_s)
        return self.ended

    async def wait_info(self) -> StreamInfo | None:
        """What the body sends, once it is known; ``None`` if the stream ended before."""
        await self._info_known.wait()
        return None if self.ended else self._info

    def subscribe(
        self, sink_id: str, wants: Iterable[Media], *, limit_ms: int = 3_000, limit_bytes: int = 8 * 1024 * 1024
    ) -> SinkQueue:
        """A queue that starts at the next key frame, which is asked for."""
        queue = SinkQueue(self, sink_id, frozenset(wants), limit_ms=limit_ms, limit_bytes=limit_bytes)
        if self.ended:
            queue.end()
            return queue
        self._sinks[sink_id] = queue
        self.request_keyframe(f"{sink_id} starts")
        return queue

    def unsubscribe(self, queue: SinkQueue) -> None:
        """Forget a queue; who waits for room in it waits no longer."""
        queue.end()
        if self._sinks.get(queue.sink_id) is queue:
            del self._sinks[queue.sink_id]

    def publish(self, unit: AccessUnit) -> None:
        """Give a packet to all sinks; never waits."""
        if unit.is_video and unit.packet.key:
            self._wanted = ""
        elif self._wanted:
            self.request_keyframe(self._wanted)
        for queue in list(self._sinks.values()):
            queue.put(unit)

    def request_keyframe(self, reason: str) -> None:
        """Ask the body for a key frame; at most one request a second goes out, a later one when its time has come."""
        now_s = self._clock()
        if now_s - self._last_request_s < KEYFRAME_INTERVAL_S:
            self._wanted = reason
            return
        self._wanted = ""
        self._last_request_s = now_s
        self._on_keyframe_request(reason)

    def body_connected(self, info: StreamInfo) -> None:
        """A body is there (again). Packets are missing and earlier requests are lost: all sinks go on at a new key frame."""
        self._info = info
        self._info_known.set()
        self._last_request_s = float("-inf")
        for queue in self._sinks.values():
            queue.skip_to_key()
        if self._sinks:
            self.request_keyframe("outlet connected")

    async def wait_for_room(self) -> None:
        """Return when every sink can take more: for runs on a virtual clock, which lose nothing and take their time."""
        for queue in list(self._sinks.values()):
            await queue.wait_for_room()

    def report_drop(self, sink_id: str, count: int) -> None:
        """A sink lost packets."""
        self._on_drop(sink_id, count)

    def end(self) -> None:
        """The stream has ended: sinks take what waits and finish."""
        self._ended.set()
        self._info_known.set()
        for queue in self._sinks.values():
            queue.end()
