"""One RTMP destination: connect, start at a key frame, send, notice trouble, come back.

Everything here is asyncio with deadlines, in the outlet process: a silent or vanished peer suspends this task only. Packets
are taken from the hub only while connected, so a destination that is down costs nothing.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time

import structlog

from gpu_engine.outputs import flv, h264
from gpu_engine.outputs.hub import AccessUnit, EncodedHub, SinkQueue
from gpu_engine.outputs.reports import Reports, State
from gpu_engine.outputs.rtmp import OPEN_LIMIT_S, SEND_AGE_LIMIT_S, RtmpConnection, RtmpError, RtmpUrl
from gpu_engine.session.packets import Media, StreamInfo
from gpu_engine.session.spec import RtmpOutput

log = structlog.get_logger(__name__)

BACKOFF_FIRST_S = 0.25
BACKOFF_LIMIT_S = 15.0
BACKOFF_JITTER = 0.2
STEADY_S = 10.0
_STATES: dict[str, State] = {"busy": "busy", "refused": "down", "bad_url": "down"}


class RtmpPush:
    """Publishes to one RtmpOutput until the stream ends."""

    kind = "rtmp"

    def __init__(
        self,
        output: RtmpOutput,
        hub: EncodedHub,
        reports: Reports,
        *,
        tls: ssl.SSLContext | None = None,
        open_limit_s: float = OPEN_LIMIT_S,
        send_age_limit_s: float = SEND_AGE_LIMIT_S,
        random_source: random.Random | None = None,
    ) -> None:
        self.id = output.id
        self._address = output.url
        self._hub = hub
        self._reports = reports
        self._tls = tls
        self._open_limit_s = open_limit_s
        self._send_age_limit_s = send_age_limit_s
        self._random = random_source or random.Random()
        self._up = False
        self.connections = 0

    async def run(self) -> None:
        """Publish until the stream ends."""
        try:
            url = RtmpUrl.parse(self._address)
        except RtmpError as error:
            self._reports.state(self.id, self.kind, "down", str(error))
            return
        failures = 0
        while not self._hub.ended:
            if not failures:
                self._reports.state(self.id, self.kind, "connecting", str(url))
            since_s = time.monotonic()
            try:
                await self._publish_once(url)
            except Exception as error:
                failures = 1 if self._was_steady(since_s) else failures + 1
                if not isinstance(error, RtmpError):
                    log.exception("destination failed, trying again", id=self.id)
                    error = RtmpError("protocol", f"{url} could not be served ({type(error).__name__})")
                self._reports.state(self.id, self.kind, _STATES.get(error.reason, "retrying"), str(error))
                await self._hub.wait_ended(self.backoff_s(failures))
        self._reports.state(self.id, self.kind, "finished")

    def _was_steady(self, since_s: float) -> bool:
        return self._up and time.monotonic() - since_s >= STEADY_S

    def backoff_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row (from 1): doubling, bounded, with jitter."""
        base = min(BACKOFF_FIRST_S * 2.0 ** min(failures - 1, 10), BACKOFF_LIMIT_S)
        return base * (1 + BACKOFF_JITTER * self._random.random())

    async def _publish_once(self, url: RtmpUrl) -> None:
        """Connect and send until the stream ends (returns) or the connection fails (RtmpError)."""
        self._up = False
        info = await self._hub.wait_info()
        if info is None:
            return
        # About one second of media, so that a peer that has stopped reading is noticed while it is news.
        buffer_bytes = max(65_536, info.bitrate_kbps * 1000 // 8)
        opening = asyncio.create_task(
            RtmpConnection.publish(url, send_buffer_bytes=buffer_bytes, tls=self._tls, limit_s=self._open_limit_s)
        )
        ended = asyncio.create_task(self._hub.wait_ended(self._open_limit_s * 2))
        try:
            await asyncio.wait((opening, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not opening.done():
                opening.cancel()
        if self._hub.ended and not opening.done():
            return
        connection = await opening
        self.connections += 1
        self._up = True
        queue = self._hub.subscribe(self.id, (Media.H264, Media.AAC))
        complete = False
        try:
            self._reports.state(self.id, self.kind, "up", str(url))
            await self._feed(connection, queue)
            complete = True
        finally:
            self._hub.unsubscribe(queue)
            await connection.close(polite=complete)

    async def _feed(self, connection: RtmpConnection, queue: SinkQueue) -> None:
        track = _Timestamps()
        info: StreamInfo | None = None
        sets: h264.ParameterSets | None = None
        while (unit := await queue.get()) is not None:
            timestamp = track.of(unit)
            if timestamp is None:
                continue
            if unit.info != info:
                info, sets = unit.info, None
                connection.send_metadata(flv.metadata(info))
                connection.send(flv.AUDIO, flv.audio_sequence_header(info.aac_config), timestamp)
            if unit.is_video:
                nals = h264.split_nals(unit.packet.data)
                if unit.packet.key and (found := h264.parameter_sets(nals)) is not None and found != sets:
                    sets = found
                    header = flv.video_sequence_header(h264.decoder_configuration(sets))
                    connection.send(flv.VIDEO, header, timestamp)
                connection.send(flv.VIDEO, flv.video_body(h264.to_avcc(nals), key=unit.packet.key), timestamp)
            else:
                connection.send(flv.AUDIO, flv.audio_body(unit.packet.data), timestamp)
            await connection.drain(self._send_age_limit_s)
            self._reports.accepted(self.id, unit)


class _Timestamps:
    """Milliseconds of one connection: media time minus a base, going on by wall time when the body is a new one."""

    def __init__(self) -> None:
        self._incarnation: int | None = None
        self._base_ms = 0
        self._last_ms = 0
        self._last_wall_ns = 0

    def of(self, unit: AccessUnit) -> int | None:
        """The packet's timestamp; ``None`` for sound from before the first picture."""
        if unit.info.incarnation != self._incarnation:
            if self._incarnation is None:
                self._base_ms = unit.media_ms
            else:
                passed_ms = max(1, (unit.packet.wall_ns - self._last_wall_ns) // 1_000_000)
                self._base_ms = unit.media_ms - self._last_ms - passed_ms
            self._incarnation = unit.info.incarnation
        timestamp = unit.media_ms - self._base_ms
        if timestamp < 0:
            return None
        if timestamp >= self._last_ms:
            self._last_ms, self._last_wall_ns = timestamp, unit.packet.wall_ns
        return timestamp
