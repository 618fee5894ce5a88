"""What a lip-sync network hears: log-mel columns and prosody, computed once a column while the sound streams in.

A column ``c`` stands for the sound around sample ``c * hop``: a Hann window of ``n_fft`` samples centred there. Everything is
causal but for that half window, so columns never change once their samples are final.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Kind = Literal["log-mel", "mel-wav2lip", "logmel+prosody"]

PROSODY_CHANNELS = ("f0", "energy", "duration")
_F0_HZ = (70.0, 420.0)
_F0_WINDOW_S = 0.04
_VOICED = 0.45
_FLOOR = 1e-5


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """How sound becomes columns.

    Attributes:
        kind: ``log-mel``: (log10(mel) + 2.5) / 2.5; ``mel-wav2lip``: Wav2Lip's scale of -4..4; ``logmel+prosody``: log-mel
            and three rows below it (``PROSODY_CHANNELS``).
        rate_hz: sample rate of the features.
        hop, n_fft: samples.
        bands: mel bands between ``low_hz`` and ``high_hz``.
    """

    kind: Kind
    rate_hz: int = 16_000
    hop: int = 160
    n_fft: int = 512
    bands: int = 64
    low_hz: float = 55.0
    high_hz: float = 7600.0

    @property
    def rows(self) -> int:
        """Values in one column."""
        return self.bands + (len(PROSODY_CHANNELS) if self.kind == "logmel+prosody" else 0)


def mel_filters(spec: FeatureSpec) -> Floats:
    """Triangular filters of equal area, float32[bands, n_fft // 2 + 1], on Slaney's mel scale (as librosa's default)."""

    def to_mel(hz: float) -> float:
        return hz / (200 / 3) if hz < 1000 else 15.0 + np.log(hz / 1000) / (np.log(6.4) / 27)

    def to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(mel < 15, mel * (200 / 3), 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    edges = to_hz(np.linspace(to_mel(spec.low_hz), to_mel(spec.high_hz), spec.bands + 2))
    bins = np.arange(spec.n_fft // 2 + 1) * spec.rate_hz / spec.n_fft
    rise = (bins[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins[None]) / (edges[2:] - edges[1:-1])[:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return np.asarray(np.maximum(0, np.minimum(rise, fall)) * area[:, None], np.float32)


def pitch(frames: Floats, rate_hz: int) -> tuple[Floats, Floats]:
    """F0 in Hz (0 where unvoiced) and periodicity in [0, 1] of ``frames`` (float32[n, samples]).

    Normalised autocorrelation corrected for its window, the first high peak taken. Source: P. Boersma, "Accurate short-term
    analysis of the fundamental frequency", IFA Proceedings 17, 1993.
    """
    size = frames.shape[1]
    window = np.hanning(size).astype(np.float32)
    length = 1 << (2 * size - 1).bit_length()

    def correlation(x: Floats) -> Floats:
        spectrum = np.fft.rfft(x, length)
        return np.asarray(np.fft.irfft(spectrum * np.conj(spectrum), length)[..., :size], np.float32)

    of_window = correlation(window)
    r = correlation((frames - frames.mean(axis=1, keepdims=True)) * window)
    low, high = int(rate_hz / _F0_HZ[1]), min(int(rate_hz / _F0_HZ[0]), size - 2)
    share = r / np.maximum(r[:, :1], 1e-9) / np.maximum(of_window / of_window[0], 0.1)
    lags = np.arange(low, high)
    # Shorter lags are preferred a little: a period's double correlates as well as the period.
    scored = share[:, low:high] - 0.08 * np.log2(lags / low)[None]
    best = np.argmax(scored, axis=1)
    strength = np.clip(share[np.arange(len(frames)), best + low], 0, 1)
    hz = np.where((strength > _VOICED) & (r[:, 0] > 1e-3), rate_hz / (best + low), 0.0)
    return np.asarray(hz, np.float32), np.asarray(strength, np.float32)


class FeatureStream:
    """Columns from a stream of samples; holds what the next columns need and no more.

    Feed sound in order with :meth:`push`; :meth:`fork` gives an independent copy, to look ahead on sound that may not come.
    """

    def __init__(self, spec: FeatureSpec) -> None:
        self.spec = spec
        self._filters = mel_filters(spec)
        self._window = np.hanning(spec.n_fft + 1)[:-1].astype(np.float32)
        self._pitch_size = int(_F0_WINDOW_S * spec.rate_hz)
        self._reach = max(spec.n_fft // 2, self._pitch_size // 2 if spec.kind == "logmel+prosody" else 0)
        self._held = np.zeros(self._reach + 1, np.float32)
        self._last_spectrum = np.zeros(spec.bands, np.float32)
        self._since = 0.0
        self.columns = 0
        """Columns made so far; the next one stands for sample ``columns * hop``."""

    @property
    def lag_samples(self) -> int:
        """Samples of the future that a column needs."""
        return self._reach

    def fork(self) -> FeatureStream:
        """An independent stream in the same state."""
        other = object.__new__(FeatureStream)
        other.__dict__.update(self.__dict__)
        return other

    def push(self, samples: Floats) -> Floats:
        """Take float32[n] in -1..1 at ``rate_hz``; returns the columns that are now complete, float32[k, rows]."""
        spec = self.spec
        # One sample more than a window reaches back is held, for the pre-emphasis.
        held = np.concatenate([self._held, samples.astype(np.float32, copy=False)])
        count = max(0, (len(held) - 1 - 2 * self._reach) // spec.hop + 1) if len(held) > 2 * self._reach else 0
        if count == 0:
            self._held = held
            return np.zeros((0, spec.rows), np.float32)
        centres = 1 + self._reach + np.arange(count) * spec.hop
        at = centres[:, None] + np.arange(-(spec.n_fft // 2), spec.n_fft - spec.n_fft // 2)[None]
        sound = held
        if spec.kind == "mel-wav2lip":
            sound = held.copy()
            sound[1:] -= np.float32(0.97) * held[:-1]
        spectrum = np.abs(np.fft.rfft(sound[at] * self._window, axis=1)).astype(np.float32)
        if spec.kind == "mel-wav2lip":
            decibel = 20.0 * np.log10(np.maximum(spectrum @ self._filters.T, _FLOOR)) - 20.0
            rows = np.clip(8.0 * (decibel + 100.0) / 100.0 - 4.0, -4.0, 4.0).astype(np.float32)
        else:
            mel = np.log10(np.maximum((spectrum * spectrum) @ self._filters.T, _FLOOR))
            rows = ((mel + 2.5) / 2.5).astype(np.float32)
        if spec.kind == "logmel+prosody":
            rows = np.concatenate([rows, self._prosody(held, centres, rows)], axis=1)
        self._held = held[count * spec.hop :].copy()
        self.columns += count
        return np.asarray(rows, np.float32)

    def _prosody(self, held: Floats, centres: NDArray[np.int64], mel: Floats) -> Floats:
        half = self._pitch_size // 2
        frames = held[centres[:, None] + np.arange(-half, self._pitch_size - half)[None]]
        hz, _ = pitch(frames, self.spec.rate_hz)
        out = np.zeros((len(mel), 3), np.float32)
        out[:, 0] = np.where(hz > 0, np.log2(np.maximum(hz, 1.0) / 180.0) + 1.5, 0.0)
        level = np.log10(np.maximum((frames * frames).mean(axis=1), 1e-8))
        out[:, 1] = (level + 4.0) / 2.0
        # How long the present sound has lasted: a marked change of the spectrum starts a new one.
        seconds = self.spec.hop / self.spec.rate_hz
        previous = np.concatenate([self._last_spectrum[None], mel[:-1]])
        flux = np.abs(mel - previous).mean(axis=1)
        for i, change in enumerate(flux):
            self._since = 0.0 if change > _FLUX else self._since + seconds
            out[i, 2] = np.log1p(min(self._since, 0.6) * 20.0) / 2.56
        self._last_spectrum = mel[-1].copy()
        return out


_FLUX = 0.19
"""Mean change of a band between columns, in units of log-mel, that counts as a new sound."""


def resample_48k(pcm: NDArray[np.int16], rate_hz: int) -> Floats:
    """int16 at 48 kHz to float32 in -1..1 at ``rate_hz``, a divisor of 48 kHz; whole recordings, zero phase.

    Raises:
        ValueError: ``rate_hz`` does not divide 48,000.
    """
    if 48_000 % rate_hz:
        raise ValueError(f"features at {rate_hz} Hz: the rate must divide 48000 (16000, 24000 and 48000 do)")
    decimator = Decimator(48_000 // rate_hz)
    out = decimator.push(np.concatenate([pcm, np.zeros(decimator.delay + -len(pcm) % decimator.factor, np.int16)]))
    return out[decimator.delay // decimator.factor :]


class Decimator:
    """48 kHz int16 to a lower rate, block by block; ``delay`` input samples late."""

    def __init__(self, factor: int) -> None:
        self.factor = factor
        half = 8 * factor
        n = np.arange(-half, half + 1)
        kernel = np.sinc(0.92 * n / factor) * np.blackman(len(n)) if factor > 1 else np.ones(1)
        self._kernel = (kernel / kernel.sum() / 32768.0).astype(np.float32)
        self.delay = (len(self._kernel) - 1) // 2
        self._held = np.zeros(len(self._kernel) - 1, np.float32)

    def push(self, pcm: NDArray[np.int16]) -> Floats:
        """float32[m] for the samples that are complete; feed multiples of ``factor`` to keep the phase."""
        if len(pcm) % self.factor:
            raise ValueError(f"{len(pcm)} samples: blocks must be multiples of {self.factor}")
        sound = np.concatenate([self._held, pcm.astype(np.float32)])
        self._held = sound[len(pcm) :].copy()
        if self.factor == 1:
            return np.asarray(sound * self._kernel[0], np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(sound, len(self._kernel))[:: self.factor]
        return np.asarray(windows[: len(pcm) // self.factor] @ self._kernel, np.float32)
