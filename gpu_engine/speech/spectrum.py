"""Distances between sounds, for choosing a vocoder and for tests."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FFT = 1024
_HOP = 256
_BANDS = 80
_FLOOR_DB = -10.0


@lru_cache(maxsize=4)
def _mel(rate_hz: int) -> NDArray[np.float64]:
    """float64[513, 80]: triangular mel filters (O'Shaughnessy) from 50 Hz to just below half the rate."""
    edges_mel = np.linspace(_to_mel(50.0), _to_mel(rate_hz / 2 - 500.0), _BANDS + 2)
    edges = 700 * (10 ** (edges_mel / 2595) - 1)
    frequency = np.linspace(0, rate_hz / 2, _FFT // 2 + 1)[:, None]
    rising = (frequency - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequency) / (edges[2:] - edges[1:-1])
    filters: NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling))
    return filters


def _to_mel(hz: float) -> float:
    return float(2595 * np.log10(1 + hz / 700))


def log_mel(wave: NDArray[Any], rate_hz: int) -> NDArray[np.float64]:
    """float64[frames, 80] in dB of a mono wave in [-1, 1]."""
    frames = np.lib.stride_tricks.sliding_window_view(wave.astype(np.float64), _FFT)[::_HOP] * np.hanning(_FFT)
    out: NDArray[np.float64] = 10 * np.log10(np.abs(np.fft.rfft(frames)) ** 2 @ _mel(rate_hz) + 1e-4)
    return out


def log_mel_distance(reference: NDArray[Any], other: NDArray[Any], rate_hz: int) -> float:
    """Mean over the reference's audible frames of the root mean square difference of log-mel bands, in dB."""
    size = min(reference.size, other.size)
    a, b = log_mel(reference[:size], rate_hz), log_mel(other[:size], rate_hz)
    audible = a.max(axis=1) > _FLOOR_DB
    if not audible.any():
        return 0.0
    return float(np.sqrt(((a - b)[audible] ** 2).mean(axis=1)).mean())
