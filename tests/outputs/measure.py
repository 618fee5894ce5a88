"""What a decoder sees and hears in the test signal of :mod:`tests.fakes.fake_body`: when it flashes, when it beeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np


@dataclass
class Seen:
    """Times in seconds, as the container gives them."""

    frames: int = 0
    flashes_s: list[float] = field(default_factory=list)
    beeps_s: list[float] = field(default_factory=list)
    frame_times_s: list[float] = field(default_factory=list)
    audio_times_s: list[float] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)

    def offsets_ms(self) -> list[float]:
        """Beep minus flash of each flash that has a beep within half a second: positive = sound late."""
        return [
            1000 * min((b - f for b in self.beeps_s), key=abs)
            for f in self.flashes_s
            if any(abs(b - f) < 0.5 for b in self.beeps_s)
        ]


class SignalReader:
    """Feeds on decoded frames and notes onsets."""

    def __init__(self) -> None:
        self.seen = Seen()
        self._was_bright = False
        self._silent_since_s = -1.0

    def picture(self, frame: av.VideoFrame, time_s: float) -> None:
        """One decoded picture."""
        self.seen.frames += 1
        self.seen.frame_times_s.append(time_s)
        bright = bool(frame.to_ndarray(format="gray").mean() > 210)
        if bright and not self._was_bright:
            self.seen.flashes_s.append(time_s)
        self._was_bright = bright

    def sound(self, frame: av.AudioFrame, time_s: float) -> None:
        """One decoded block of audio."""
        self.seen.audio_times_s.append(time_s)
        pcm = frame.to_ndarray()
        wave = pcm.astype(np.float64).reshape(-1, frame.layout.nb_channels if not frame.format.is_planar else 1)
        wave = wave[:, 0] if not frame.format.is_planar else pcm[0].astype(np.float64)
        if pcm.dtype == np.int16:
            wave = wave / 32768
        loud = np.flatnonzero(np.abs(wave) > 0.15)
        if loud.size:
            onset_s = time_s + loud[0] / frame.sample_rate
            if onset_s - self._silent_since_s > 0.3:
                self.seen.beeps_s.append(onset_s)
            self._silent_since_s = time_s + loud[-1] / frame.sample_rate


def read_media(source: Path | str, **options: str) -> Seen:
    """Decode a whole file (or what could be written of it)."""
    reader = SignalReader()
    with av.open(str(source), options=options) as container:
        reader.seen.metadata = dict(container.metadata)
        for packet in container.demux():
            try:
                frames = packet.decode()
            except av.error.InvalidDataError:
                continue
            for frame in frames:
                if frame.time is None:
                    continue
                if isinstance(frame, av.VideoFrame):
                    reader.picture(frame, float(frame.time))
                elif isinstance(frame, av.AudioFrame):
                    reader.sound(frame, float(frame.time))
    return reader.seen
