"""One H.264, one Opus and one AAC encode for every output.

H.264: x264 through PyAV behind :class:`VideoEncoder`, constrained baseline, no B-frames, closed GOP, VBV one second,
Annex B with SPS/PPS before each key frame, so that the same packets feed WebRTC, FLV, MP4 and TS.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import av
import cv2
import numpy as np
from av.audio.frame import AudioFrame
from av.video.frame import PictureType, VideoFrame
from numpy.typing import NDArray

from gpu_engine.session.clock import SAMPLE_RATE_HZ, VIDEO_CLOCK_HZ
from gpu_engine.session.packets import Media, Packet
from gpu_engine.session.spec import Video

KEYFRAME_MIN_INTERVAL_S = 1.0
_OPUS_SAMPLES = 960
_AAC_SAMPLES = 1024


class EncoderError(RuntimeError):
    """The encoder could not be opened; the message names it and the way out."""


class VideoEncoder:
    """BGR frames in, access units out; one picture in, at most one packet out, no reordering."""

    def __init__(self, video: Video, preset: str = "superfast") -> None:
        self._video = video
        self._yuv = np.empty((video.height * 3 // 2, video.width), dtype=np.uint8)
        # x264 takes its own copy of a picture before encode() returns, so that the planes may be lent and used again; PyAV
        # finds them only where chroma has an even number of rows (tests/body/test_encoder.py).
        self._lend = VideoFrame.from_numpy_buffer if video.height % 4 == 0 else VideoFrame.from_ndarray
        gop = max(1, round(video.fps * video.gop_s))
        try:
            context = av.CodecContext.create("libx264", "w")
            context.width, context.height = video.width, video.height
            context.pix_fmt = "yuv420p"
            context.time_base = Fraction(1, VIDEO_CLOCK_HZ)
            context.framerate = Fraction(video.fps, 1)
            context.bit_rate = video.bitrate_kbps * 1000
            context.gop_size = gop
            context.max_b_frames = 0
            context.thread_count = 1
            context.options = {
                "preset": preset,
                "tune": "zerolatency",
                "profile": "baseline",
                "forced-idr": "1",
                "x264-params": (
                    f"keyint={gop}:min-keyint=1:scenecut=0:repeat-headers=1:annexb=1:bframes=0:sliced-threads=0:"
                    f"vbv-maxrate={video.bitrate_kbps}:vbv-bufsize={video.bitrate_kbps}"
                ),
            }
            context.open()
        except (av.FFmpegError, ValueError) as error:
            raise EncoderError(
                f"x264 refused {video.width}x{video.height} at {video.fps} fps, {video.bitrate_kbps} kb/s: {error}; "
                "check the show's video settings and that PyAV was installed from its wheel"
            ) from error
        self._context = context
        self._keyframe_wanted = False
        self._last_key_pts = -VIDEO_CLOCK_HZ * 60

    def request_keyframe(self) -> None:
        """Make the next picture a key frame, unless one was sent less than a second ago."""
        self._keyframe_wanted = True

    def encode(self, bgr: NDArray[np.uint8], pts: int, wall_ns: int) -> Iterator[Packet]:
        """Encode one picture (uint8[height, width, 3]) with presentation time ``pts`` in 90 kHz ticks."""
        cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420, dst=self._yuv)
        frame = self._lend(self._yuv, format="yuv420p")
        frame.pts = pts
        frame.time_base = Fraction(1, VIDEO_CLOCK_HZ)
        if self._keyframe_wanted and pts - self._last_key_pts >= KEYFRAME_MIN_INTERVAL_S * VIDEO_CLOCK_HZ:
            frame.pict_type = PictureType.I
            self._keyframe_wanted = False
        else:
            frame.pict_type = PictureType.NONE
        for packet in self._context.encode(frame):
            if packet.is_keyframe:
                self._last_key_pts = pts
                self._keyframe_wanted = False
            yield Packet(Media.H264, int(packet.pts or 0), bool(packet.is_keyframe), wall_ns, bytes(packet))


class AudioEncoder:
    """48 kHz mono int16 in, Opus (20 ms) and AAC-LC packets out, timestamps in samples."""

    def __init__(self, *, opus_bps: int = 48_000, aac_bps: int = 96_000) -> None:
        self._pending = np.empty(0, dtype=np.int16)
        self._aac_pending = np.empty(0, dtype=np.int16)
        self._opus_pts = -1
        self._aac_pts = -1
        try:
            self._opus = _audio_context("libopus", opus_bps, "s16", {"application": "audio", "frame_duration": "20"})
            self._aac = _audio_context("aac", aac_bps, "fltp", {})
        except (av.FFmpegError, ValueError) as error:
            raise EncoderError(f"audio encoder refused: {error}; check that PyAV was installed from its wheel") from error
        self.aac_config = bytes(self._aac.extradata or b"")

    def encode(self, pcm: NDArray[np.int16], pts: int, wall_ns: int) -> Iterator[Packet]:
        """Encode one block whose first sample has time ``pts``; blocks must follow each other without holes."""
        if self._opus_pts < 0:
            self._opus_pts = self._aac_pts = pts
        self._pending = np.concatenate((self._pending, pcm))
        self._aac_pending = np.concatenate((self._aac_pending, pcm))
        while len(self._pending) >= _OPUS_SAMPLES:
            frame = _audio_frame(self._pending[:_OPUS_SAMPLES].reshape(1, -1), "s16", self._opus_pts)
            self._pending = self._pending[_OPUS_SAMPLES:]
            self._opus_pts += _OPUS_SAMPLES
            for packet in self._opus.encode(frame):
                yield Packet(Media.OPUS, int(packet.pts or 0), True, wall_ns, bytes(packet))
        while len(self._aac_pending) >= _AAC_SAMPLES:
            block = self._aac_pending[:_AAC_SAMPLES].astype(np.float32) / 32768.0
            frame = _audio_frame(block.reshape(1, -1), "fltp", self._aac_pts)
            self._aac_pending = self._aac_pending[_AAC_SAMPLES:]
            self._aac_pts += _AAC_SAMPLES
            for packet in self._aac.encode(frame):
                yield Packet(Media.AAC, int(packet.pts or 0), True, wall_ns, bytes(packet))


def _audio_context(codec: str, bit_rate: int, sample_format: str, options: dict[str, str]) -> av.AudioCodecContext:
    context = av.CodecContext.create(codec, "w")
    assert isinstance(context, av.AudioCodecContext)
    context.sample_rate = SAMPLE_RATE_HZ
    context.layout = "mono"
    context.format = sample_format
    context.bit_rate = bit_rate
    context.time_base = Fraction(1, SAMPLE_RATE_HZ)
    context.options = options
    context.open()
    return context


def _audio_frame(samples: NDArray[np.int16] | NDArray[np.float32], sample_format: str, pts: int) -> AudioFrame:
    frame = AudioFrame.from_ndarray(samples, format=sample_format, layout="mono")
    frame.sample_rate = SAMPLE_RATE_HZ
    frame.pts = pts
    frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
    return frame
