"""Measurements on a finished recording: where sounds start, where the mouth opens, what the label looks like."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

MOUTH_720P = (slice(275, 350), slice(445, 535))
MOUTH_DARK_LEVEL = 75
LABEL_720P = (slice(16, 100), slice(30, 390))


def audio(path: Path) -> tuple[NDArray[np.float32], int, float]:
    """Samples float32[n], rate, and the time of the first sample in seconds."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        start_s: float | None = None
        blocks: list[NDArray[np.float32]] = []
        for frame in container.decode(stream):
            if start_s is None:
                start_s = float(frame.time)
            block = frame.to_ndarray().astype(np.float32)
            blocks.append(block.mean(axis=0) if block.shape[0] > 1 else block.reshape(-1))
        return np.concatenate(blocks), stream.rate, float(start_s or 0.0)


def pictures(path: Path) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Times in seconds and grey pictures uint8[n, h, w]."""
    with av.open(str(path)) as container:
        times: list[float] = []
        frames: list[NDArray[np.uint8]] = []
        for frame in container.decode(video=0):
            times.append(float(frame.time))
            frames.append(frame.to_ndarray(format="gray"))
    return np.array(times), np.array(frames)


def sound_onsets_s(path: Path, threshold: float = 0.02) -> list[float]:
    """Times at which sound begins after at least 200 ms of quiet."""
    samples, rate, start_s = audio(path)
    scale = 1.0 if np.abs(samples).max() <= 1.5 else 32768.0
    window = rate // 200
    energy = np.sqrt(np.convolve((samples / scale) ** 2, np.ones(window) / window, mode="same"))
    loud = energy > threshold
    onsets: list[float] = []
    quiet = rate
    for index in range(0, len(loud), 48):
        if loud[index]:
            if quiet >= rate // 5:
                onsets.append(start_s + index / rate)
            quiet = 0
        else:
            quiet += 48
    return onsets


def mouth_opening(frames: NDArray[np.uint8]) -> NDArray[np.float64]:
    """How many pixels of the mouth region are as dark as the inside of an open mouth (the swaying head does not count)."""
    region = frames[:, MOUTH_720P[0], MOUTH_720P[1]]
    return (region < MOUTH_DARK_LEVEL).sum(axis=(1, 2)).astype(np.float64)
