"""The one interface of every speech engine: a clause in, PCM with phoneme timings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Cancelled = Callable[[], bool]


class SpeechError(RuntimeError):
    """The clause could not be synthesised; the message is for logs, never for viewers."""


class Interrupted(Exception):
    """The engine was asked to make room for a more urgent clause before anything of this one existed: ask for it again."""


@dataclass(frozen=True, slots=True)
class PhonemeSpan:
    """One phoneme symbol (Kokoro's IPA-like set) and when it sounds, in ms from the clause's first sample."""

    symbol: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """A piece of a clause.

    Attributes:
        pcm: int16[n], mono, 48 kHz, leading silence already trimmed.
        phonemes: spans that start within this chunk; times count from the clause's first sample.
        last: true on the clause's final chunk.
    """

    pcm: NDArray[np.int16]
    phonemes: tuple[PhonemeSpan, ...] = field(default=())
    last: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """How a clause is spoken.

    Attributes:
        voice: voice id.
        speed: speaking rate, 1.0 = the voice's own.
        urgent: somebody waits: the first sound matters more than an even timbre.
    """

    voice: str
    speed: float = 1.0
    urgent: bool = False


class SpeechEngine(Protocol):
    """Implementations are thread-compatible: one caller at a time."""

    name: str
    version: str

    def synthesize(self, spoken: str, lang: str, style: Style, cancelled: Cancelled) -> Iterator[SpeechChunk]:
        """Speak one clause of already normalised text ('一千二百九十九元', not '¥1,299').

        Yields at least one chunk with ``last`` true unless cancelled. Text without anything to pronounce yields one empty
        last chunk.

        Raises:
            SpeechError: unknown voice, model missing, or the model failed.
            Interrupted: see :meth:`interrupt`.
        """
        ...

    def interrupt(self) -> None:
        """From any thread: end the making of a clause that nobody waits for, if nothing of it was yielded yet; else nothing."""
        ...
