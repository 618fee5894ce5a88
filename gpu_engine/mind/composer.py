"""Gated text to a clip on the body's timeline: speech, lips, captions, cut points and emphasis, sent as they are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import numpy as np

from gpu_engine.mind.feeling import Feeling, Occasion
from gpu_engine.mind.voice import Lips, LipsFactory, Voice
from gpu_engine.motion.gate import Fusion
from gpu_engine.motion.prosody import Ear
from gpu_engine.session.spec import Lang
from gpu_engine.session.timeline import (
    SAMPLE_RATE_HZ,
    Caption,
    Card,
    ClipBegin,
    ClipChunk,
    ClipKind,
    ClipSeal,
    Emotion,
    Fact,
    Gesture,
    MindMessage,
)
from gpu_engine.speech.engine import SpeechError
from gpu_engine.speech.service import ClauseAudio

Send = Callable[[MindMessage], None]
NEUTRAL = Emotion()
_SAMPLES_PER_MS = SAMPLE_RATE_HZ // 1000
_NUMBER = re.compile(r"[¥$€£]?\d[\d,.]*")
_STRONG = re.compile(
    r"特别|非常|真的|超级|只要|直接|一定|完全|全部|免费|包邮|放心|绝对|而且|但是|千万|马上|赶紧|"
    r"\b(?:really|very|only|just|free|every|all|never|so|love|always|especially|right now|but|today)\b",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"[\w'’]+(?=\W*$)")
_NUCLEUS_FROM_CHARS: dict[Lang, int] = {"zh": 6, "en": 18}
"""Clauses this long have a main accent even when no word of theirs is special."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one clip says and shows; the text has passed the gate."""

    clip_id: str
    turn_id: str
    kind: ClipKind
    priority: int
    text: str
    lang: Lang
    facts: tuple[Fact, ...] = ()
    card: Card | None = None
    emotion: Emotion = NEUTRAL
    interruptible: bool = True
    cursor: tuple[int, int, int, int] | None = None
    gap_after_ms: int = 0
    stressed: tuple[str, ...] = ()
    gesture: tuple[Gesture, ...] = ()
    occasion: Occasion | None = None
    """What it is for: the gate then finds its emotion; without one ``emotion`` stands."""


@dataclass(slots=True)
class ClipProgress:
    """How far a clip has been made. ``dead`` stops everything that would still be sent of it."""

    utterance: Utterance
    duration_ms: float = 0.0
    begun: bool = False
    first_audio: bool = False
    sealed: bool = False
    dead: bool = False
    cached: bool = False
    started_media_ms: int | None = None
    uncuttable: bool = False
    clauses: list[str] = field(default_factory=list)
    cuts_ms: list[int] = field(default_factory=list)
    felt: Fusion | None = None
    heard: bool = False


class Composer:
    """Makes clips. One instance serves many at once; each clip's messages leave in order."""

    def __init__(
        self,
        voice: Voice,
        lips: LipsFactory,
        send: Send,
        *,
        feeling: Feeling | None = None,
        on_felt: Callable[[Utterance, Fusion], None] = lambda *_: None,
    ) -> None:
        """``on_felt``: called once a clip, when its voice has been weighed with the rest, or at its end if it had none."""
        self._feeling = feeling
        self._on_felt = on_felt
        self._voice = voice
        self._lips = lips
        self._send = send

    async def compose(self, clip: ClipProgress, on_first_audio: Callable[[], None]) -> None:
        """Send begin, chunks and seal of ``clip``; silent clips (no text) are sealed at once.

        Raises:
            SpeechError: the text could not be spoken; what was sent before stays unsealed for the caller to drop.
        """
        said = clip.utterance
        self.begin(clip)
        if not said.text:
            self._seal(clip)
            return
        lips = self._lips(said.lang)
        clause_start_ms = 0.0
        all_cached = True
        ear = Ear()
        async with aclosing(self._voice.speak(said.clip_id, said.text, said.lang, said.priority)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                if clip.dead:
                    return
                all_cached = all_cached and piece.cached
                if piece.first:
                    clause_start_ms = clip.duration_ms
                    clip.clauses.append(piece.text)
                self._chunk(clip, piece, lips, ear, clause_start_ms)
                if not clip.first_audio and clip.duration_ms > 0:
                    clip.first_audio = True
                    clip.cached = piece.cached
                    on_first_audio()
        if clip.dead:
            return
        if clip.duration_ms <= 0:
            raise SpeechError(f"nothing of '{said.text[:40]}' could be spoken")
        clip.cached = all_cached and clip.first_audio
        self._seal(clip)

    def begin(self, clip: ClipProgress) -> None:
        """Announce the clip (once): an announced answer keeps lower clips from starting before it."""
        if clip.begun or clip.dead:
            return
        said = clip.utterance
        clip.begun = True
        if self._feeling is not None and said.occasion is not None and said.text:
            clip.felt = self._feeling.before(said.text, said.occasion)
        self._send(
            ClipBegin(
                clip_id=said.clip_id,
                turn_id=said.turn_id,
                kind=said.kind,
                priority=said.priority,
                interruptible=said.interruptible,
                lang=said.lang,
                text=said.text,
                facts=said.facts,
                card=said.card,
                emotion=clip.felt.emotion if clip.felt else said.emotion,
                cursor=said.cursor,
                gap_after_ms=said.gap_after_ms,
                gesture=said.gesture,
            )
        )

    def _chunk(self, clip: ClipProgress, piece: ClauseAudio, lips: Lips, ear: Ear, clause_start_ms: float) -> None:
        start_ms = clip.duration_ms
        spoken_ms = len(piece.pcm) / _SAMPLES_PER_MS
        rows = lips.push(piece.phonemes, spoken_ms, last=piece.last)
        end_ms = start_ms + spoken_ms
        emotion = self._feel(clip, piece, ear)
        pcm = piece.pcm
        cuts: tuple[int, ...] = ()
        emphasis: tuple[int, ...] = ()
        if piece.last:
            # The cut point lies a little inside the pause, so that a cut never clips the last sound.
            cuts = (int(end_ms + min(60, piece.pause_ms)),)
            clip.cuts_ms.extend(cuts)
            if piece.pause_ms > 0:
                pcm = np.concatenate((pcm, np.zeros(piece.pause_ms * _SAMPLES_PER_MS, dtype=np.int16)))
                rows = np.concatenate((rows, lips.pause(piece.pause_ms)))
            emphasis = _emphasis(clip, clause_start_ms, end_ms)
        clip.duration_ms = start_ms + len(pcm) / _SAMPLES_PER_MS
        # What was heard is the captions joined: English clauses need the blank between them.
        blank = " " if clip.utterance.lang == "en" and len(clip.clauses) > 1 else ""
        captions = (Caption(int(start_ms), blank + piece.text),) if piece.first else ()
        sound = pcm.astype("<i2").tobytes()
        self._send(ClipChunk(clip.utterance.clip_id, sound, rows.tobytes(), captions, cuts, emphasis, emotion))

    def _feel(self, clip: ClipProgress, piece: ClauseAudio, ear: Ear) -> Emotion | None:
        """The emotion from here on, when a clause has been heard to its end."""
        said = clip.utterance
        if self._feeling is None or said.occasion is None:
            return None
        ear.hear(piece.pcm, len(piece.phonemes))
        if not piece.last:
            return None
        felt = self._feeling.after(said.text, said.occasion, said.lang, ear)
        if felt is None:
            return None
        clip.felt = felt
        if not clip.heard:
            clip.heard = True
            self._on_felt(said, felt)
        return felt.emotion

    def _seal(self, clip: ClipProgress) -> None:
        clip.sealed = True
        if clip.felt is not None and not clip.heard:
            self._on_felt(clip.utterance, clip.felt)
        self._send(ClipSeal(clip.utterance.clip_id))


def _emphasis(clip: ClipProgress, start_ms: float, end_ms: float) -> tuple[int, ...]:
    """Where the stressed words of the clause just finished are spoken, by their place in the written text: numbers, product
    names and words of degree; in a longer clause without any the last word, where speech puts its main accent."""
    clause = clip.clauses[-1] if clip.clauses else ""
    if not clause:
        return ()
    places = {m.start() for m in _NUMBER.finditer(clause)}
    places |= {clause.find(name) for name in clip.utterance.stressed if name and name in clause}
    places |= {m.start() for m in _STRONG.finditer(clause)}
    if not places and len(clause) >= _NUCLEUS_FROM_CHARS[clip.utterance.lang]:
        places = {_nucleus(clause, clip.utterance.lang)}
    return tuple(int(start_ms + (end_ms - start_ms) * place / len(clause)) for place in sorted(places))


def _nucleus(clause: str, lang: Lang) -> int:
    last = _LAST_WORD.search(clause) if lang == "en" else None
    return last.start() if last else int(0.7 * len(clause))
