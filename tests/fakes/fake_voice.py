"""A voice for tests of the mind: exact durations, no model, and faults on demand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable

import numpy as np

from gpu_engine.session.spec import Lang
from gpu_engine.speech.engine import SpeechError
from gpu_engine.speech.service import ClauseAudio

ZH_MS_PER_CHAR = 180
EN_MS_PER_CHAR = 60
PAUSE_MS = 120
_CLAUSE = re.compile(r".+?(?:[，。！？；,;!?]|\.(?=\s|$)|$)", re.DOTALL)


def spoken_ms(text: str, lang: str) -> int:
    """How long the fake speaks a text, pauses included."""
    per_char = ZH_MS_PER_CHAR if lang == "zh" else EN_MS_PER_CHAR
    return sum(len(c) * per_char + PAUSE_MS for c in _CLAUSE.findall(text) if c.strip())


class FakeVoice:
    """Speaks at once. ``hold``: waits for this event before each clause. ``fail_on``: texts containing it raise."""

    def __init__(self) -> None:
        self.spoken: list[str] = []
        self.prepared: list[str] = []
        self.closed_early: list[str] = []
        self.hold: asyncio.Event | None = None
        self.fail_on = ""

    async def speak(self, clip_id: str, text: str, lang: Lang, priority: int) -> AsyncIterator[ClauseAudio]:
        """One piece a clause; the samples are a quiet constant."""
        self.spoken.append(text)
        if self.fail_on and self.fail_on in text:
            raise SpeechError(f"cannot speak '{text}'")
        clauses = [c for c in _CLAUSE.findall(text) if c.strip()]
        done = False
        try:
            for number, clause in enumerate(clauses):
                if self.hold is not None:
                    await self.hold.wait()
                ms = len(clause) * (ZH_MS_PER_CHAR if lang == "zh" else EN_MS_PER_CHAR)
                pcm = np.full(ms * 48, 1000, dtype=np.int16)
                yield ClauseAudio(number, clause, pcm, (), 0.0, True, True, PAUSE_MS, False, 0)
            done = True
        finally:
            if not done:
                self.closed_early.append(text)

    def prepare(self, texts: Iterable[str], lang: Lang) -> None:
        """Remember what should be made ahead."""
        self.prepared.extend(texts)


class FakeLips:
    """Closed lips on the 20 ms grid."""

    def __init__(self, lang: str) -> None:
        self._ms = 0.0
        self._rows = 0

    def push(self, phonemes: object, duration_ms: float, *, last: bool = False, upcoming: object = ()) -> np.ndarray:
        """Rows up to the new end."""
        self._ms += duration_ms
        total = int(np.ceil(self._ms / 20 - 1e-9))
        rows, self._rows = total - self._rows, total
        return np.zeros((rows, 32), dtype=np.uint8)

    def pause(self, duration_ms: float) -> np.ndarray:
        """Rows of silence."""
        return self.push((), duration_ms, last=True)
