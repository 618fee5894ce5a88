"""Fragmented MP4 of copied H.264 and AAC, written by PyAV into a plain file object: bytes and files only, never sockets.

Fragments are closed at least once a second, so a process killed at any moment leaves a file that plays up to its last second.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from gpu_engine.outputs import flv, h264
from gpu_engine.outputs.hub import AUDIO_CLOCK_HZ, VIDEO_CLOCK_HZ, AccessUnit

_OPTIONS = {
    "movflags": "+frag_keyframe+empty_moov+default_base_moof+use_metadata_tags",
    "frag_duration": "1000000",
}
_AAC_RATES_HZ = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)


class _CountingFile(io.RawIOBase):
    """What PyAV writes to: unseekable, counted, and each error the operating system gives comes through."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self.written = 0
        self._failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        # After a failure nothing more may be written: what follows a hole would spoil what came before it.
        if self._failure is not None:
            raise self._failure
        view = memoryview(data).cast("B")
        while view:
            try:
                count = os.write(self._descriptor, view)
            except OSError as error:
                self._failure = error
                raise
            self.written += count
            view = view[count:]
        return len(data)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
            super().close()


class FragmentedMp4:
    """One file. Its time zero is the presentation time of the key frame it starts with.

    Raises:
        FileExistsError: the path is taken (an earlier part is never overwritten).
        OSError: the file cannot be written.
        ValueError: the first unit is not a key frame with SPS and PPS.
    """

    def __init__(self, path: Path, first: AccessUnit) -> None:
        nals = h264.split_nals(first.packet.data)
        sets = h264.parameter_sets(nals)
        if not first.packet.key or sets is None:
            raise ValueError(f"{path.name}: a recording starts with a key frame that carries SPS and PPS")
        self.path = path
        self.info = first.info
        self.parameter_sets = sets
        self.start_ms = first.media_ms
        self._video_base = first.packet.pts
        self._audio_base = first.packet.pts * AUDIO_CLOCK_HZ // VIDEO_CLOCK_HZ
        self._end_ms = 0
        self._file = _CountingFile(path)
        self._container = av.open(self._file, "w", format="mp4", options=_OPTIONS)
        self._container.metadata["AIGC"] = first.info.aigc
        with av.open(io.BytesIO(_video_template(nals, sets)), format="flv") as template:
            self._video = self._container.add_stream_from_template(template.streams.video[0], opaque=True)
        with av.open(io.BytesIO(_audio_template(first.info.aac_config)), format="matroska") as template:
            self._audio = self._container.add_stream_from_template(template.streams.audio[0], opaque=True)
        self._video.time_base = Fraction(1, VIDEO_CLOCK_HZ)
        self._audio.time_base = Fraction(1, AUDIO_CLOCK_HZ)

    @property
    def bytes_written(self) -> int:
        """Bytes the operating system took."""
        return self._file.written

    @property
    def seconds(self) -> float:
        """Media handed over so far."""
        return self._end_ms / 1000

    def write(self, units: Iterable[AccessUnit]) -> bool:
        """Copy packets of the same stream, in order; True when a fragment with earlier packets reached the file."""
        before = self._file.written
        for unit in units:
            self._write(unit)
        return self._file.written > before

    def _write(self, unit: AccessUnit) -> None:
        is_video = unit.is_video
        pts = unit.packet.pts - (self._video_base if is_video else self._audio_base)
        if pts < 0:
            return
        packet = av.Packet(h264.to_avcc(h264.split_nals(unit.packet.data)) if is_video else unit.packet.data)
        packet.pts = packet.dts = pts
        packet.duration = VIDEO_CLOCK_HZ // self.info.fps if is_video else 1024
        packet.time_base = Fraction(1, VIDEO_CLOCK_HZ if is_video else AUDIO_CLOCK_HZ)
        packet.is_keyframe = unit.packet.key or not is_video
        packet.stream = self._video if is_video else self._audio
        self._container.mux_one(packet)
        self._end_ms = max(self._end_ms, unit.media_ms - self.start_ms + (1000 // self.info.fps if is_video else 21))

    def close(self) -> None:
        """Finish the file; it is on the disk when this returns."""
        try:
            self._container.close()
            self._file.sync()
        except av.error.PyAVCallbackError as error:
            # PyAV's word for an exception that a write raised after an earlier one.
            raise OSError(f"{self.path} could not be finished") from error
        finally:
            self._file.close()


def _video_template(nals: list[bytes], sets: h264.ParameterSets) -> bytes:
    """A tiny FLV from which the muxer learns the picture's parameters (it has no other door for a decoder configuration)."""
    picture = flv.video_body(h264.to_avcc(nals), key=True)
    tags = [(flv.VIDEO, 0, flv.video_sequence_header(h264.decoder_configuration(sets)))]
    return flv.file_bytes(tags + [(flv.VIDEO, n * 40, picture) for n in range(3)])


def _audio_template(aac_config: bytes) -> bytes:
    """A tiny Matroska file with AAC-LC of the same rate and channels as an AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1)."""
    if len(aac_config) < 2:
        raise ValueError(f"the AAC configuration has {len(aac_config)} bytes: the body must send an AudioSpecificConfig")
    bits = int.from_bytes(aac_config[:2], "big")
    rate_index, channels = bits >> 7 & 0xF, bits >> 3 & 0xF
    if rate_index >= len(_AAC_RATES_HZ) or channels not in (1, 2):
        raise ValueError(f"AAC configuration {aac_config.hex()}: only mono and stereo at a standard rate can be recorded")
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as container:
        stream = container.add_stream("aac", rate=_AAC_RATES_HZ[rate_index], layout="mono" if channels == 1 else "stereo")
        frame = av.AudioFrame(format="fltp", layout=stream.layout.name, samples=1024)
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        frame.sample_rate = _AAC_RATES_HZ[rate_index]
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()
