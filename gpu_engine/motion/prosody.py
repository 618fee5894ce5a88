"""How a voice says something: F0, loudness and rate from PCM, piece by piece, beside how the same voice usually speaks.

F0 is the highest peak of the normalised autocorrelation (Boersma 1993) of 40 ms frames at 8 kHz, every 20 ms. Frames once
looked at are kept, so that a clause that comes in pieces costs its length once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.affect import VoiceSketch

RATE_HZ = 48_000
_DOWN = 6
_LOW_RATE_HZ = RATE_HZ // _DOWN
_FRAME, _HOP = 320, 160
_LAG_MIN, _LAG_MAX = _LOW_RATE_HZ // 400, _LOW_RATE_HZ // 75
_SIZE = 1024
VOICED = 0.5
"""Height of the autocorrelation peak from which a frame counts as voiced."""
QUIET_DB = -50.0
LEARN = 0.12
"""Share of a new clause in what is usual."""
VOICED_FRAMES = 5
"""Fewer say nothing about a clause."""

_WINDOW = np.hanning(_FRAME + 2)[1:-1]
_WINDOW_SHAPE = np.fft.irfft(np.abs(np.fft.rfft(_WINDOW, _SIZE)) ** 2)[: _LAG_MAX + 2]
_WINDOW_SHAPE = _WINDOW_SHAPE / _WINDOW_SHAPE[0]


@dataclass(frozen=True, slots=True)
class Prosody:
    """Of one clause: median F0 in Hz, its spread (10th to 90th percentile) in semitones, level of the voiced frames in dB full
    scale, sounds a second."""

    f0_hz: float
    range_st: float
    level_db: float
    sounds_s: float


def frames_of(pcm: NDArray[np.int16]) -> NDArray[np.float64]:
    """Overlapping windows float64[n, 320] at 8 kHz in [-1, 1] of int16[m] at 48 kHz."""
    whole = len(pcm) // _DOWN * _DOWN
    low = pcm[:whole].astype(np.float64).reshape(-1, _DOWN).mean(axis=1) / 32768.0
    if len(low) < _FRAME:
        return np.zeros((0, _FRAME))
    return np.lib.stride_tricks.sliding_window_view(low, _FRAME)[::_HOP]


def pitch(frames: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """F0 in Hz (0 where unvoiced) and level in dB full scale of windows float64[n, 320]: float64[n] each."""
    if not len(frames):
        return np.zeros(0), np.zeros(0)
    level = 10.0 * np.log10((frames**2).mean(axis=1) + 1e-12)
    spectrum = np.fft.rfft((frames - frames.mean(axis=1, keepdims=True)) * _WINDOW, _SIZE)
    similar = np.fft.irfft(np.abs(spectrum) ** 2)[:, : _LAG_MAX + 2]
    similar = similar / (similar[:, :1] + 1e-12) / _WINDOW_SHAPE
    before, here, after = (similar[:, _LAG_MIN + k : _LAG_MAX + 1 + k] for k in (-1, 0, 1))
    bend = np.minimum(before - 2.0 * here + after, -1e-9)
    peak = (here >= before) & (here >= after)
    height = np.where(peak, here - 0.125 * (before - after) ** 2 / bend, here)
    # Half the true pitch is as similar as the pitch: longer lags count a little less.
    weighed = height - 0.2 * np.linspace(0.0, 1.0, _LAG_MAX - _LAG_MIN + 1)
    best = weighed.argmax(axis=1) + _LAG_MIN
    rows = np.arange(len(frames))
    at = best - _LAG_MIN
    shift = 0.5 * (before[rows, at] - after[rows, at]) / bend[rows, at]
    voiced = (height[rows, at] > VOICED) & (level > QUIET_DB)
    return np.where(voiced, _LOW_RATE_HZ / (best + np.clip(shift, -0.5, 0.5)), 0.0), level


class Ear:
    """Listens to one clip: pieces of a clause in, its prosody out."""

    def __init__(self) -> None:
        self._f0: list[NDArray[np.float64]] = []
        self._level: list[NDArray[np.float64]] = []
        self._rest = np.zeros(0, dtype=np.int16)
        self._samples = 0
        self._sounds = 0

    def hear(self, pcm: NDArray[np.int16], sounds: int) -> None:
        """The next piece of the clause, int16[n] at 48 kHz, and how many sounds start in it."""
        self._samples += len(pcm)
        self._sounds += sounds
        joined = np.concatenate((self._rest, pcm)) if len(self._rest) else pcm
        f0, level = pitch(frames_of(joined))
        self._f0.append(f0)
        self._level.append(level)
        self._rest = joined[len(f0) * _HOP * _DOWN :].copy()

    def clause(self) -> Prosody | None:
        """What was heard since the last call; ``None`` when there was no voice in it."""
        f0, level = (np.concatenate(x) if x else np.zeros(0) for x in (self._f0, self._level))
        seconds, sounds = self._samples / RATE_HZ, self._sounds
        self._f0, self._level, self._rest = [], [], np.zeros(0, dtype=np.int16)
        self._samples = self._sounds = 0
        voiced = f0 > 0
        if voiced.sum() < VOICED_FRAMES:
            return None
        low, middle, high = np.percentile(f0[voiced], [10, 50, 90])
        loud = float(10.0 * np.log10((10.0 ** (level[voiced] / 10.0)).mean()))
        return Prosody(float(middle), float(12.0 * np.log2(high / low)), loud, sounds / seconds)


class UsualVoice:
    """How a voice usually speaks, learnt as it goes on."""

    def __init__(self) -> None:
        self._usual: dict[str, NDArray[np.float64]] = {}

    def sketch(self, heard: Prosody, lang: str) -> VoiceSketch:
        """A clause beside the usual way of this voice in ``lang``, which it then becomes a part of. The first is the usual."""
        now = np.array([12.0 * np.log2(heard.f0_hz), heard.range_st, heard.level_db, heard.sounds_s])
        usual = self._usual.setdefault(lang, now.copy())
        away = now - usual
        rate = now[3] / usual[3] if usual[3] > 0 and now[3] > 0 else 1.0
        usual += LEARN * away
        return VoiceSketch(float(away[0]), float(away[1]), float(away[2]), float(rate))
