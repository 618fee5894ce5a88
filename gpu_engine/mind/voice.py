"""What the mind needs from speech and lips, and the adapter to the speech service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_engine.session import spec as session
from gpu_engine.session.spec import Lang
from gpu_engine.speech.engine import PhonemeSpan, Style
from gpu_engine.speech.service import ClauseAudio, SpeechService

PREPARED_WAITING = 3
"""Clauses that may wait to be made ahead: more would keep what has become likelier since from its turn."""
REMEMBERED_TEXTS = 2_048


class Voice(Protocol):
    """Speaks written text clause by clause. Closing the iterator stops the synthesis."""

    def speak(self, clip_id: str, text: str, lang: Lang, priority: int) -> AsyncIterator[ClauseAudio]:
        """Audio of ``text`` in order. Higher ``priority`` is synthesised first.

        Raises:
            SpeechError: this text could not be spoken.
            SpeechBusy: too much waits to be spoken already.
        """
        ...

    def prepare(self, texts: Iterable[str], lang: Lang) -> None:
        """Synthesise texts ahead while nothing else is wanted."""
        ...


class Lips(Protocol):
    """Lip rows of one clip, in the order it is spoken (uint8[n, 32] at 50 rows a second)."""

    def push(
        self,
        phonemes: Sequence[PhonemeSpan],
        duration_ms: float,
        *,
        last: bool = False,
        upcoming: Sequence[PhonemeSpan] = (),
    ) -> NDArray[np.uint8]:
        """Rows of the next ``duration_ms`` of the clause."""
        ...

    def pause(self, duration_ms: float) -> NDArray[np.uint8]:
        """Rows of silence between clauses."""
        ...


class LipsFactory(Protocol):
    """Starts the lip rows of a clip in a language."""

    def __call__(self, lang: str) -> Lips: ...


class ServiceVoice:
    """The session's voices, spoken by a :class:`SpeechService`."""

    def __init__(self, service: SpeechService, voice: session.Voice) -> None:
        self._service = service
        self._made: set[tuple[Lang, str]] = set()
        self._styles: dict[Lang, Style] = {"zh": Style(voice.zh, voice.speed), "en": Style(voice.en, voice.speed)}

    async def speak(self, clip_id: str, text: str, lang: Lang, priority: int) -> AsyncIterator[ClauseAudio]:
        """See :class:`Voice`."""
        try:
            async with aclosing(self._service.speak(clip_id, text, lang, self._styles[lang], priority)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    yield piece
        finally:
            self._service.cancel(clip_id)

    def prepare(self, texts: Iterable[str], lang: Lang) -> None:
        """See :class:`Voice`. Texts beyond the few that may wait are left out: they are asked for again."""
        for text in texts:
            if (lang, text) in self._made:
                continue
            if self._service.waiting >= PREPARED_WAITING:
                return
            if not self._service.presynthesise((text,), lang, self._styles[lang]):
                if len(self._made) >= REMEMBERED_TEXTS:
                    self._made.clear()
                if self._service.is_cached(text, lang, self._styles[lang]):
                    self._made.add((lang, text))
