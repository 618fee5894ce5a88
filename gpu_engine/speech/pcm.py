"""From the vocoder's 24 kHz float windows to the stream's 48 kHz int16: joins, loudness, resampling, quiet tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Samples = NDArray[np.int16]

_TAPS = 48
"""Half-band filter length on each phase: passband to 10.6 kHz, images below -80 dB."""
_KNEE = 0.7
_QUIET = 10 ** (-46 / 20)
_BLOCK = 480
_TAIL_MS = 60


def soft_limit(wave: Floats) -> Floats:
    """Straight up to 0.7, then a tanh knee that never reaches 1.0."""
    size = np.abs(wave)
    if not size.size or float(size.max()) <= _KNEE:
        return wave
    bent = _KNEE + (1 - _KNEE) * np.tanh((size - _KNEE) / (1 - _KNEE))
    return np.where(size <= _KNEE, wave, np.sign(wave) * bent).astype(np.float32)


class Doubler:
    """24 kHz to 48 kHz by a two-phase windowed sinc, piece by piece; output is aligned with the input."""

    def __init__(self) -> None:
        offsets = np.arange(_TAPS) - (_TAPS - 1) / 2
        odd = np.sinc(offsets) * np.kaiser(_TAPS, 8.0)
        self._odd = (odd / odd.sum()).astype(np.float32)
        self._past = np.zeros(_TAPS // 2 - 1, dtype=np.float32)

    def feed(self, wave: Floats) -> Floats:
        """float32[n] at 24 kHz; returns twice what is certain so far (24 samples of look-ahead are kept back)."""
        joined = np.concatenate([self._past, wave])
        count = joined.size - (_TAPS - 1)
        if count <= 0:
            self._past = joined
            return np.zeros(0, dtype=np.float32)
        self._past = joined[count:]
        out = np.empty(2 * count, dtype=np.float32)
        out[0::2] = joined[_TAPS // 2 - 1 : _TAPS // 2 - 1 + count]
        out[1::2] = np.convolve(joined, self._odd, mode="valid")[:count]
        return out

    def flush(self) -> Floats:
        """The rest."""
        return self.feed(np.zeros(_TAPS // 2, dtype=np.float32))


class Finisher:
    """One clause's way to int16 at 48 kHz.

    The quiet end of what came so far is kept back: it is a pause when more speech follows and is cut to 60 ms with a fade when
    the clause ends.
    """

    def __init__(self, gain: float) -> None:
        self._gain = np.float32(gain)
        self._doubler = Doubler()
        self._held = np.zeros(0, dtype=np.float32)
        self._first = True

    def feed(self, wave: Floats, *, last: bool) -> Samples:
        """float32[n] at 24 kHz in, int16[m] at 48 kHz out (m may be 0)."""
        loud = self._doubler.feed(soft_limit(wave * self._gain))
        if last:
            loud = np.concatenate([loud, self._doubler.flush()])
        if self._first and loud.size:
            ramp = min(240, loud.size)
            loud[:ramp] *= np.linspace(0, 1, ramp, dtype=np.float32)
            self._first = False
        joined = np.concatenate([self._held, loud])
        speech = _speech_end(joined)
        if not last:
            self._held = joined[speech:]
            return _to_int16(joined[:speech])
        kept = joined[: min(joined.size, speech + _TAIL_MS * 48)].copy()
        fade = min(kept.size, 720)
        if fade:
            kept[-fade:] *= np.linspace(1, 0, fade, dtype=np.float32)
        self._held = np.zeros(0, dtype=np.float32)
        return _to_int16(kept)


def _speech_end(wave: Floats) -> int:
    """Index behind the last 10 ms block that is not quiet (-46 dB below full scale)."""
    blocks = wave.size // _BLOCK
    tail = wave[blocks * _BLOCK :]
    if tail.size and float(np.sqrt(np.mean(tail * tail))) > _QUIET:
        return wave.size
    levels = np.sqrt(np.mean(wave[: blocks * _BLOCK].reshape(blocks, _BLOCK) ** 2, axis=1)) if blocks else np.zeros(0)
    loud = np.nonzero(levels > _QUIET)[0]
    return int((loud[-1] + 1) * _BLOCK) if loud.size else 0


def _to_int16(wave: Floats) -> Samples:
    return np.round(np.clip(wave, -1.0, 1.0) * 32767.0).astype(np.int16)
