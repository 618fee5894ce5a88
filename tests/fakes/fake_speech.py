"""A speech engine for tests: exact lengths, one tone per clause, windows that the test can hold back one by one."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator

import numpy as np

from gpu_engine.speech.engine import Cancelled, Interrupted, PhonemeSpan, SpeechChunk, SpeechError, Style

SAMPLES_PER_MS = 48


class FakeSpeechEngine:
    """Every character of spoken text lasts ``ms_per_char`` and is its own phoneme 'a'.

    Args:
        ms_per_char: length of one character of spoken text.
        chars_per_window: characters in one chunk.
        gated: when true a window is made only after :meth:`allow` (the test decides the interleaving).
        fail_on: clauses that contain this text raise :class:`SpeechError` in place of window ``fail_at_window``.
    """

    name = "fake"
    version = "1"

    def __init__(
        self,
        *,
        ms_per_char: int = 50,
        chars_per_window: int = 4,
        gated: bool = False,
        fail_on: str = "",
        fail_at_window: int = 0,
    ) -> None:
        self.ms_per_char = ms_per_char
        self.chars_per_window = chars_per_window
        self.fail_on = fail_on
        self.fail_at_window = fail_at_window
        self.asked: list[str] = []
        self.urgent: list[bool] = []
        self.windows: list[tuple[str, int]] = []
        self.interrupted: list[str] = []
        self._interrupt = threading.Event()
        self._gate = threading.Semaphore(0) if gated else None

    def allow(self, windows: int = 1) -> None:
        """Let the worker make that many more windows (gated engines only)."""
        assert self._gate is not None
        for _ in range(windows):
            self._gate.release()

    def length_ms(self, spoken: str) -> int:
        """How long this engine takes to say ``spoken``."""
        return len(spoken) * self.ms_per_char

    def interrupt(self) -> None:
        """A clause held back before its first window, and not urgent, gives way."""
        self._interrupt.set()

    def synthesize(self, spoken: str, lang: str, style: Style, cancelled: Cancelled) -> Iterator[SpeechChunk]:
        """See :class:`gpu_engine.speech.engine.SpeechEngine`."""
        self.asked.append(spoken)
        self.urgent.append(style.urgent)
        self._interrupt.clear()
        total = len(spoken)
        frequency = 200 + zlib.crc32(spoken.encode()) % 600
        for window, start in enumerate(range(0, max(total, 1), self.chars_per_window)):
            if self._gate is not None:
                # A closing service must not wait for a test that has failed.
                while not self._gate.acquire(timeout=0.02):
                    if self._interrupt.is_set() and window == 0 and not style.urgent:
                        self.interrupted.append(spoken)
                        raise Interrupted
                    if cancelled():
                        return
            if cancelled():
                return
            if self.fail_on and self.fail_on in spoken and window >= self.fail_at_window:
                raise SpeechError(f"fake engine refuses '{self.fail_on}'")
            end = min(total, start + self.chars_per_window)
            at = np.arange(start * self.ms_per_char * SAMPLES_PER_MS, end * self.ms_per_char * SAMPLES_PER_MS)
            pcm = (6000 * np.sin(2 * np.pi * frequency * at / 48_000)).astype(np.int16)
            phonemes = tuple(
                PhonemeSpan("a", i * self.ms_per_char, (i + 1) * self.ms_per_char)
                for i in range(start, end)
                if spoken[i].isalnum()
            )
            self.windows.append((spoken, window))
            yield SpeechChunk(pcm, phonemes, last=end >= total)
