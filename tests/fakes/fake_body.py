"""A body for tests of outputs: encodes a moving picture with a flash and a beep each second and serves ``outlet.sock``.

The picture is a grey ramp with a bright bar that moves; at every whole media second it is white for ``FLASH_MS`` and a
1 kHz tone sounds for exactly as long. Runs in a thread; real encoders, real packets, the wire of ``session.packets``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from fractions import Fraction
from pathlib import Path

import av
import msgspec
import numpy as np

from gpu_engine.session.link import NonBlockingLink, socket_path
from gpu_engine.session.packets import EndOfStream, KeyframeRequest, Media, Packet, StreamInfo

FLASH_MS = 80
SAMPLE_RATE_HZ = 48_000
AIGC = '{"Label":"1","ContentProducer":"Lumihost","ProduceID":"test-1","ReservedCode1":"","ContentPropagator":"Lumihost",' + (
    '"PropagateID":"test-1","ReservedCode2":""}'
)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(KeyframeRequest)


class Encoders:
    """x264 baseline, Opus and AAC over the test signal; ``tick`` makes the packets of one frame interval."""

    def __init__(
        self, *, width: int = 320, height: int = 180, fps: int = 25, bitrate_kbps: int = 400, gop_s: float = 1.0,
        start_s: float = 1.0, incarnation: int = 1, noise: bool = False,
    ) -> None:  # fmt: skip
        self.fps, self.frame = fps, 0
        self._start_s = start_s
        self._video = av.CodecContext.create("libx264", "w")
        self._video.width, self._video.height = width, height
        self._video.pix_fmt = "yuv420p"
        self._video.time_base = Fraction(1, 90_000)
        self._video.framerate = Fraction(fps, 1)
        self._video.bit_rate = bitrate_kbps * 1000
        self._video.gop_size = round(fps * gop_s)
        self._video.thread_count = 1
        self._video.profile = "Baseline"
        vbv = f"vbv-maxrate={bitrate_kbps}:vbv-bufsize={bitrate_kbps // 2}:scenecut=0"
        self._video.options = {"preset": "ultrafast", "tune": "zerolatency", "forced-idr": "1", "x264-params": vbv}
        self._opus = self._audio_encoder("libopus", 64_000)
        self._aac = self._audio_encoder("aac", 96_000)
        self._samples_done = 0
        self._wave, self._wave_start = np.zeros(0), 0
        self._encoded = {Media.OPUS: 0, Media.AAC: 0}
        ramp = np.linspace(40, 120, width, dtype=np.uint8)
        self._base = np.full((height * 3 // 2, width), 128, np.uint8)
        self._base[:height] = ramp
        self._noise = np.random.default_rng(7).integers(0, 60, (height, width), dtype=np.uint8) if noise else None
        self._height = height
        self.info = StreamInfo(
            incarnation, width, height, fps, bitrate_kbps, SAMPLE_RATE_HZ, bytes(self._aac.extradata or b""), AIGC
        )

    @staticmethod
    def _audio_encoder(name: str, bit_rate: int) -> av.AudioCodecContext:
        context = av.CodecContext.create(name, "w")
        context.sample_rate = SAMPLE_RATE_HZ
        context.layout = "mono"
        context.format = "fltp" if name == "aac" else "s16"
        context.bit_rate = bit_rate
        context.time_base = Fraction(1, SAMPLE_RATE_HZ)
        context.open()
        return context

    def media_s(self) -> float:
        """Media time of the next frame."""
        return self._start_s + self.frame / self.fps

    def tick(self, *, force_key: bool, wall_ns: int) -> list[Packet]:
        """Packets of the next frame and of the audio beside it."""
        packets = []
        media_ms = round(self.media_s() * 1000)
        picture = self._picture(flash=media_ms % 1000 < FLASH_MS and media_ms >= self._start_s * 1000 + 500)
        frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
        frame.pts = round(self._start_s * 90_000) + self.frame * 90_000 // self.fps
        frame.time_base = Fraction(1, 90_000)
        frame.pict_type = 1 if force_key else 0
        packets += [
            Packet(Media.H264, int(p.pts or 0), bool(p.is_keyframe), wall_ns, bytes(p)) for p in self._video.encode(frame)
        ]
        until = (self.frame + 1) * SAMPLE_RATE_HZ // self.fps
        packets += self._audio(until - self._samples_done, wall_ns)
        self._samples_done = until
        self.frame += 1
        return packets

    def _picture(self, *, flash: bool) -> np.ndarray:
        picture = self._base.copy()
        luma = picture[: self._height]
        if flash:
            luma[:] = 235
            return picture
        if self._noise is not None:
            luma += np.roll(self._noise, self.frame * 3, axis=1)
        left = (self.frame * 4) % (luma.shape[1] - 20)
        luma[:, left : left + 20] = 200
        return picture

    def _audio(self, count: int, wall_ns: int) -> list[Packet]:
        first = round(self._start_s * SAMPLE_RATE_HZ) + self._samples_done
        at = first + np.arange(count)
        sounding = (at % SAMPLE_RATE_HZ < FLASH_MS * SAMPLE_RATE_HZ // 1000) & (at >= (self._start_s + 0.5) * SAMPLE_RATE_HZ)
        wave = np.where(sounding, 0.5 * np.sin(2 * np.pi * 1000 * at / SAMPLE_RATE_HZ), 0.0)
        packets = []
        self._wave = np.concatenate([self._wave, wave])
        for media, codec, size in ((Media.OPUS, self._opus, 960), (Media.AAC, self._aac, 1024)):
            while (end := self._encoded[media] + size) <= self._wave_start + len(self._wave):
                chunk = self._wave[end - size - self._wave_start : end - self._wave_start]
                pcm = (chunk * 32767).astype(np.int16) if media is Media.OPUS else chunk.astype(np.float32)
                frame = av.AudioFrame.from_ndarray(pcm[None, :], format=codec.format.name, layout="mono")
                frame.sample_rate, frame.time_base = SAMPLE_RATE_HZ, Fraction(1, SAMPLE_RATE_HZ)
                frame.pts = round(self._start_s * SAMPLE_RATE_HZ) + self._encoded[media]
                packets += [Packet(media, int(p.pts or 0), True, wall_ns, bytes(p)) for p in codec.encode(frame)]
                self._encoded[media] = end
        used = min(self._encoded.values()) - self._wave_start
        self._wave, self._wave_start = self._wave[used:], self._wave_start + used
        return packets


class FakeBody(threading.Thread):
    """Serves ``run_dir/outlet.sock``. ``paced`` keeps real time; otherwise it runs as fast as the outlet reads."""

    def __init__(
        self, run_dir: Path, *, seconds: float | None = None, paced: bool = True, incarnation: int = 1, noise: bool = False,
        width: int = 320, height: int = 180, bitrate_kbps: int = 400, gop_s: float = 1.0, start_s: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(daemon=True, name="fake-body")
        self._path = run_dir / "outlet.sock"
        self._seconds = seconds
        self._paced = paced
        self._encoders = Encoders(
            incarnation=incarnation, width=width, height=height, bitrate_kbps=bitrate_kbps, gop_s=gop_s, noise=noise,
            start_s=start_s,
        )  # fmt: skip
        self._stop_requested = threading.Event()
        self._say_goodbye = True
        self.keyframe_requests: list[str] = []
        self.forced_keys = 0
        self.dropped = 0
        self.frames = 0
        self.connections = 0
        self._path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(socket_path(self._path))
        self._listener.listen(4)
        self._listener.setblocking(False)

    @property
    def info(self) -> StreamInfo:
        """What it sends first on each connection."""
        return self._encoders.info

    @property
    def media_s(self) -> float:
        """Media time reached."""
        return self._encoders.media_s()

    def finish(self, *, say_goodbye: bool = True) -> None:
        """Stop and wait: with an ``EndOfStream``, or like a process that died."""
        self._say_goodbye = say_goodbye
        self._stop_requested.set()
        self.join(10)

    def run(self) -> None:
        link: NonBlockingLink | None = None
        want_key = False
        last_forced_s = float("-inf")
        started_s = time.monotonic()
        while not self._stop_requested.is_set():
            if self._seconds is not None and self._encoders.frame >= self._seconds * self._encoders.fps:
                break
            with contextlib.suppress(BlockingIOError):
                accepted, _ = self._listener.accept()
                link = NonBlockingLink(accepted, max_queued_bytes=4 * 1024 * 1024)
                link.send(_encoder.encode(self.info))
                self.connections += 1
            if not self._paced and (link is None or link.queued_bytes > 65_536):
                time.sleep(0.001)
                if link is not None:
                    list(link.pump())
                continue
            due_s = started_s + self._encoders.frame / self._encoders.fps
            if self._paced and (wait_s := due_s - time.monotonic()) > 0:
                time.sleep(wait_s)
            force = want_key and time.monotonic() - last_forced_s >= 1.0
            if force:
                want_key, last_forced_s = False, time.monotonic()
                self.forced_keys += 1
            wall_ns = round(due_s * 1e9) if self._paced else time.monotonic_ns()
            for packet in self._encoders.tick(force_key=force, wall_ns=wall_ns):
                if link is not None and not link.send(_encoder.encode(packet)):
                    self.dropped += 1
            self.frames += 1
            if link is not None:
                for frame in link.pump():
                    self.keyframe_requests.append(_decoder.decode(frame).reason)
                    want_key = True
                if link.closed:
                    link = None
        if link is not None:
            if self._say_goodbye:
                link.send(_encoder.encode(EndOfStream("test over")))
                deadline_s = time.monotonic() + 5
                while link.queued_bytes and not link.closed and time.monotonic() < deadline_s:
                    list(link.pump())
                    time.sleep(0.001)
            link.close()
        self._listener.close()
        self._path.unlink(missing_ok=True)
