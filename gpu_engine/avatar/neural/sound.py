"""What a lip-sync renderer hears: the clip that plays, as far as it exists, and the windows a network wants of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.features import Decimator, FeatureSpec, FeatureStream, mel_filters, resample_48k
from gpu_engine.avatar.neural.hearing import Pcm, Sound
from gpu_engine.avatar.neural.manifest import AudioFeature, Encoder
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.inference.onnx import InferenceError, open_session

RATE_HZ = 48_000
_KEPT_COLUMNS = 512
_RESTART_S = 1.0

Floats = NDArray[np.float32]


class RecordedSound:
    """A finished recording as a :class:`Sound`; move ``at`` from frame to frame."""

    def __init__(self, pcm: Pcm, serial: int = 1) -> None:
        self.pcm, self.serial, self.at, self.stop = pcm, serial, 0, len(pcm)

    def read(self, start: int, stop: int) -> Pcm:
        """See :class:`Sound`."""
        out = np.zeros(stop - start, np.int16)
        low, high = max(0, start), min(stop, self.stop)
        if high > low:
            out[low - start : high - start] = self.pcm[low:high]
        return out


class Ear(Protocol):
    """Windows of features for frames."""

    look_ahead_ms: float

    def windows(self, sound: Sound, ats: Sequence[int]) -> Floats:
        """float32[len(ats), rows, window] around the given samples, which may lie ahead of ``sound.at``."""
        ...


class ColumnEar:
    """Log-mel columns, computed once each as the clip is played; what lies ahead of the known sound is taken as silence."""

    def __init__(self, feature: AudioFeature) -> None:
        assert feature.kind in ("log-mel", "mel-wav2lip", "logmel+prosody")
        self._spec = FeatureSpec(
            feature.kind, feature.sample_rate_hz, feature.hop, feature.n_fft, feature.bands, feature.low_hz, feature.high_hz
        )
        self._window, self._ahead = feature.window, feature.look_ahead
        self._factor = RATE_HZ // feature.sample_rate_hz
        self._hop = feature.hop * self._factor
        silent = FeatureStream(self._spec)
        self._silence = silent.push(np.zeros(8 * feature.n_fft, np.float32))[-1]
        self._serial = -1
        self._start(0)
        lag = self._stream.lag_samples * self._factor + self._decimator.delay
        self.look_ahead_ms = ((self._ahead - 1) * self._hop + lag) * 1000.0 / RATE_HZ

    def _start(self, column: int) -> None:
        self._decimator = Decimator(self._factor)
        self._stream = FeatureStream(self._spec)
        self._first = column
        self._fed = column * self._hop
        self._columns = np.zeros((0, self._spec.rows), np.float32)
        # The decimator is late by its delay: what it gives first belongs before the first sample and is thrown away.
        self._skip = self._decimator.delay // self._factor

    def _feed(self, pcm: Pcm) -> None:
        samples = self._decimator.push(pcm)
        if self._skip:
            dropped = min(self._skip, len(samples))
            samples, self._skip = samples[dropped:], self._skip - dropped
        made = self._stream.push(samples)
        self._fed += len(pcm)
        if len(made):
            self._columns = np.concatenate([self._columns, made])
            extra = len(self._columns) - _KEPT_COLUMNS
            if extra > 0:
                self._columns = self._columns[extra:].copy()
                self._first += extra

    def windows(self, sound: Sound, ats: Sequence[int]) -> Floats:
        """See :class:`Ear`."""
        starts = [round(at / self._hop) + self._ahead - self._window for at in ats]
        low, high = min(starts), max(starts) + self._window
        if sound.serial != self._serial or sound.stop < self._fed or (low < self._first and self._first > 0):
            # Another clip, a cut, or a jump back: begin again a little earlier, so that what depends on the past is right.
            self._serial = sound.serial
            self._start(max(0, min(ats) - int(_RESTART_S * RATE_HZ) - self._window * self._hop) // self._hop)
        needed = (high - 1) * self._hop + self._stream.lag_samples * self._factor + self._decimator.delay + self._factor
        until = min(needed, sound.stop)
        until -= (until - self._fed) % self._factor
        if until > self._fed:
            self._feed(sound.read(self._fed, until))
        known = self._columns
        missing = high - self._first - len(known)
        if missing > 0:
            known = np.concatenate([known, self._imagined(needed)])
        at = np.arange(low, high) - self._first
        block = np.where(
            (at >= 0)[:, None], known[np.clip(at, 0, len(known) - 1)] if len(known) else self._silence, self._silence
        )
        picked = [block[start - low : start - low + self._window].T for start in starts]
        return np.ascontiguousarray(np.stack(picked), np.float32)

    def _imagined(self, needed: int) -> Floats:
        """The columns that follow if nothing more is said; the stream itself is left as it is."""
        kept = copy.copy(self._decimator), self._stream, self._fed, self._columns, self._first, self._skip
        self._stream = self._stream.fork()
        count = len(self._columns)
        short = max(0, needed - self._fed) + self._factor * self._spec.hop
        self._feed(np.zeros(short + -short % self._factor, np.int16))
        made = self._columns[count - (self._first - kept[4]) :]
        self._decimator, self._stream, self._fed, self._columns, self._first, self._skip = kept
        return made


class EncoderEar:
    """Features of a sound encoder network (whisper, hubert), run over a bounded stretch of sound at a time."""

    def __init__(self, feature: AudioFeature, folder: Path, threads: int = 1, providers: Sequence[str] = ()) -> None:
        """Raises AvatarError when the encoder cannot be opened."""
        assert feature.encoder is not None
        self._feature, self._encoder = feature, feature.encoder
        path = folder / feature.encoder.file
        try:
            self._network: Any = open_session(path, threads=threads, providers=providers or None)
        except InferenceError as error:
            raise AvatarError(f"audio encoder {path}: {error}") from error
        self._input = self._network.get_inputs()[0].name
        self._filters = mel_filters(
            FeatureSpec(
                "log-mel", feature.sample_rate_hz, feature.hop, feature.n_fft, feature.bands, feature.low_hz, feature.high_hz
            )
        )
        self.look_ahead_ms = feature.look_ahead * 1000.0 / feature.encoder.rate_hz

    def windows(self, sound: Sound, ats: Sequence[int]) -> Floats:
        """See :class:`Ear`. ``rows`` is the encoder's width."""
        encoder, feature = self._encoder, self._feature
        step = RATE_HZ / encoder.rate_hz
        first = round(min(ats) / step) + feature.look_ahead - feature.window
        last = round(max(ats) / step) + feature.look_ahead
        context = max(encoder.context_s, (last - first) / encoder.rate_hz)
        begin = round(last * step) - int(context * RATE_HZ)
        begin -= begin % (RATE_HZ // feature.sample_rate_hz)
        length = round(last * step) - begin
        factor = RATE_HZ // feature.sample_rate_hz
        wave = resample_48k(sound.read(begin, begin + length + -length % factor), feature.sample_rate_hz)
        steps = self._run(wave, encoder)
        origin = begin / step
        out = np.zeros((len(ats), encoder.width, feature.window), np.float32)
        for i, at in enumerate(ats):
            start = round(at / step - origin) + feature.look_ahead - feature.window
            index = np.clip(np.arange(start, start + feature.window), 0, len(steps) - 1)
            out[i] = steps[index].T
        return out

    def _run(self, wave: Floats, encoder: Encoder) -> Floats:
        given = wave[None] if encoder.input == "waveform" else self._whisper_mel(wave)[None]
        try:
            found: Floats = self._network.run(None, {self._input: given.astype(np.float32)})[0]
        except Exception as error:
            raise AvatarError(f"audio encoder '{encoder.file}' refuses {list(given.shape)}: {error}") from error
        if found.ndim != 3 or found.shape[2] != encoder.width or found.shape[1] < 1:
            raise AvatarError(
                f"audio encoder '{encoder.file}' gives {list(found.shape)}, the manifest says [1, n, {encoder.width}]"
            )
        if not np.isfinite(found).all():
            raise AvatarError(f"audio encoder '{encoder.file}' gives values that are not finite")
        return np.asarray(found[0], np.float32)

    def _whisper_mel(self, wave: Floats) -> Floats:
        """float32[bands, n]. Source: Radford et al. 2022, "Robust speech recognition …", scaled as in their code."""
        feature = self._feature
        half = feature.n_fft // 2
        padded = np.pad(wave, (half, half), mode="reflect" if len(wave) > half else "constant")
        count = max(1, len(wave) // feature.hop)
        at = np.arange(count)[:, None] * feature.hop + np.arange(feature.n_fft)[None]
        window = np.hanning(feature.n_fft + 1)[:-1].astype(np.float32)
        power = np.abs(np.fft.rfft(padded[at] * window, axis=1)) ** 2
        mel = np.log10(np.maximum(power @ self._filters.T, 1e-10))
        return np.asarray((np.maximum(mel, mel.max() - 8.0) + 4.0).T / 4.0, np.float32)


def open_ear(feature: AudioFeature, folder: Path, threads: int = 1, providers: Sequence[str] = ()) -> Ear:
    """The ear a manifest asks for."""
    if feature.encoder is not None:
        return EncoderEar(feature, folder, threads, providers)
    return ColumnEar(feature)
