"""The body's side of the timeline: which clip sounds now, where it may be cut, and what was heard.

Pure state, no sockets and no wall clock: ``pull`` advances by exactly one audio block and returns what happened.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.mixer import interpolate_lips
from gpu_engine.motion.vocabulary import WEIGHT_COUNT
from gpu_engine.session.timeline import (
    SAMPLE_RATE_HZ,
    BodyMessage,
    Caption,
    Card,
    ClipBegin,
    ClipChunk,
    ClipDrop,
    ClipEnded,
    ClipSeal,
    ClipStarted,
    Cut,
    CutAck,
    CutMode,
    Emotion,
    EndReason,
    Gesture,
    Playhead,
    Priority,
)

SAMPLES_PER_MS = SAMPLE_RATE_HZ // 1000
CUT_FADE_SAMPLES = 30 * SAMPLES_PER_MS
HOLD_FOR_ANSWER_MS = 1_200
"""How long an announced answer without sound yet keeps lower clips from starting."""
MAX_CLIPS = 256
MAX_CLIP_SAMPLES = 180 * SAMPLE_RATE_HZ
MAX_WAITING_SAMPLES = 900 * SAMPLE_RATE_HZ
"""Of all clips together: 86 MB."""


@dataclass(slots=True, eq=False)
class _Clip:
    begin: ClipBegin
    order: int
    opened_ms: int
    pcm: list[NDArray[np.int16]] = field(default_factory=list)
    samples: int = 0
    lips: list[NDArray[np.uint8]] = field(default_factory=list)
    lip_rows: int = 0
    captions: list[Caption] = field(default_factory=list)
    cuts_ms: list[int] = field(default_factory=list)
    emphasis_ms: list[int] = field(default_factory=list)
    emotions: list[tuple[int, Emotion]] = field(default_factory=list)
    sealed: bool = False
    offset: int = 0
    end_at: int | None = None
    end_reason: EndReason = EndReason.COMPLETED
    fade: bool = False
    first_pcm: int = 0
    first_pcm_start: int = 0

    @property
    def ready(self) -> bool:
        return self.samples > 0 or self.sealed

    @property
    def stop(self) -> int:
        return self.samples if self.end_at is None else min(self.end_at, self.samples)


@dataclass(frozen=True, slots=True)
class ClipSound:
    """The sound of the playing clip around one frame, for a renderer that draws from sound.

    Attributes:
        serial: which clip, in the order in which clips came.
        at: sample of the frame's middle, at 48 kHz from the clip's first.
    """

    serial: int
    at: int
    _clip: _Clip

    @property
    def stop(self) -> int:
        """Samples that exist and will be played: grows while the clip is made, shrinks when it is cut."""
        return self._clip.stop

    def read(self, start: int, stop: int) -> NDArray[np.int16]:
        """int16[stop - start]; silence outside ``0..self.stop``. From the past or the future of the playhead."""
        clip = self._clip
        out = np.zeros(stop - start, dtype=np.int16)
        low, high = max(0, start), min(stop, clip.stop)
        # Pieces are looked for from the playhead on: what is read lies near it.
        number, begin = clip.first_pcm, clip.first_pcm_start
        while begin > low and number > 0:
            number -= 1
            begin -= len(clip.pcm[number])
        while begin < high and number < len(clip.pcm):
            piece = clip.pcm[number]
            inside, until = max(low, begin), min(high, begin + len(piece))
            if until > inside:
                out[inside - start : until - start] = piece[inside - begin : until - begin]
            begin += len(piece)
            number += 1
        return out


@dataclass(frozen=True, slots=True)
class Scene:
    """What to show during one frame."""

    lips: NDArray[np.float32] | None
    speaking: bool
    emotion: Emotion
    emphasis_ms: tuple[int, ...]
    caption: str
    card: Card
    gesture: tuple[Gesture, ...] = ()
    sound: ClipSound | None = None


class Timeline:
    """Clips waiting and playing. Times of emphasis and gestures are reported in media time."""

    def __init__(self) -> None:
        self._clips: dict[str, _Clip] = {}
        self._playing: _Clip | None = None
        self._order = 0
        self._gap_samples = 0
        self._gap_priority = 0
        self._card = Card()
        self._cursor: tuple[int, int, int, int] | None = None
        self._ended: deque[BodyMessage] = deque()
        self._lips = np.zeros(WEIGHT_COUNT, dtype=np.float32)
        self._starved = False
        self.refused = 0
        self.underrun_ms = 0

    # --- edits from the mind --------------------------------------------------------------------------------------

    def begin(self, message: ClipBegin, now_ms: int) -> None:
        """Open a clip; a known id or a full queue is refused and counted."""
        if message.clip_id in self._clips or len(self._clips) >= MAX_CLIPS:
            self.refused += 1
            return
        self._order += 1
        self._clips[message.clip_id] = _Clip(message, self._order, now_ms)

    def chunk(self, message: ClipChunk) -> None:
        """Append to an open clip; for an unknown, sealed or over-long clip it is refused and counted."""
        clip = self._clips.get(message.clip_id)
        pcm = np.frombuffer(message.pcm[: len(message.pcm) & ~1], dtype="<i2")
        if clip is None or clip.sealed or not self._has_room(clip, len(pcm)):
            self.refused += 1
            return
        if message.emotion is not None:
            clip.emotions.append((clip.samples // SAMPLES_PER_MS, message.emotion))
        rows = len(message.lips) // WEIGHT_COUNT
        if rows:
            clip.lips.append(np.frombuffer(message.lips[: rows * WEIGHT_COUNT], dtype=np.uint8).reshape(rows, WEIGHT_COUNT))
            clip.lip_rows += rows
        if len(pcm):
            clip.pcm.append(pcm)
            clip.samples += len(pcm)
        clip.captions.extend(message.captions)
        clip.cuts_ms.extend(message.cut_ms)
        clip.emphasis_ms.extend(message.emphasis_ms)

    def _has_room(self, clip: _Clip, samples: int) -> bool:
        held = sum(c.samples for c in self._clips.values())
        return clip.samples + samples <= MAX_CLIP_SAMPLES and held + samples <= MAX_WAITING_SAMPLES

    def seal(self, message: ClipSeal) -> None:
        """Close a clip for good."""
        clip = self._clips.get(message.clip_id)
        if clip is None:
            self.refused += 1
            return
        clip.sealed = True

    def drop(self, message: ClipDrop, now_ms: int) -> None:
        """Forget waiting clips; the playing one is faded out only while it is still being made."""
        for clip_id in message.clip_ids:
            clip = self._clips.get(clip_id)
            if clip is None:
                continue
            if clip is self._playing:
                if not clip.sealed:
                    self._end_soon(clip, EndReason.DROPPED)
            else:
                del self._clips[clip_id]
                self._ended.append(self._end_report(clip, EndReason.DROPPED, now_ms))

    def cut(self, message: Cut, now_ms: int) -> CutAck:
        """End the playing clip early, as the mode says."""
        clip = self._playing
        if clip is None:
            self._gap_samples = 0
            return CutAck(message.number, False, "", now_ms, "idle")
        clip_id = clip.begin.clip_id
        if not clip.begin.interruptible:
            return CutAck(message.number, False, clip_id, now_ms, "not interruptible")
        if message.mode is CutMode.NOW:
            self._end_soon(clip, EndReason.CUT)
        else:
            offset_ms = clip.offset // SAMPLES_PER_MS
            later = [ms for ms in clip.cuts_ms if ms > offset_ms]
            if later and min(later) * SAMPLES_PER_MS < clip.stop:
                clip.end_at = min(later) * SAMPLES_PER_MS
                clip.end_reason = EndReason.CUT
            elif not clip.sealed:
                self._end_soon(clip, EndReason.CUT)
        remaining = max(0, clip.stop - clip.offset)
        return CutAck(message.number, True, clip_id, now_ms + remaining // SAMPLES_PER_MS)

    def show_card(self, card: Card) -> None:
        """Change the card now."""
        self._card = card

    def _end_soon(self, clip: _Clip, reason: EndReason) -> None:
        clip.end_at = min(clip.offset + CUT_FADE_SAMPLES, clip.samples)
        clip.end_reason = reason
        clip.fade = True

    # --- the playhead -----------------------------------------------------------------------------------------------

    def pull(self, out: NDArray[np.int16], now_ms: int, wall_ns: int) -> list[BodyMessage]:
        """Fill ``out`` (int16[n], mono 48 kHz) with the next audio; silence where there is none. Returns reports, in order."""
        out[:] = 0
        reports: list[BodyMessage] = list(self._ended)
        self._ended.clear()
        filled = 0
        self._starved = False
        while filled < len(out):
            at_ms = now_ms + filled // SAMPLES_PER_MS
            if self._playing is None:
                filled += self._idle(len(out) - filled, at_ms)
                if self._playing is None:
                    continue
                reports.append(self._start_report(self._playing, now_ms + filled // SAMPLES_PER_MS, wall_ns))
            clip = self._playing
            wanted = min(len(out) - filled, clip.stop - clip.offset)
            if wanted > 0:
                self._copy(clip, out[filled : filled + wanted])
                filled += wanted
            if clip.offset >= clip.stop:
                if clip.end_at is not None or clip.sealed:
                    reports.append(self._finish(clip, now_ms + filled // SAMPLES_PER_MS))
                elif filled < len(out):
                    self._starved = True
                    self.underrun_ms += (len(out) - filled) // SAMPLES_PER_MS
                    filled = len(out)
        return reports

    def _idle(self, room: int, at_ms: int) -> int:
        """Let a gap pass or start the next clip; returns the samples of silence used."""
        candidate = self._next(at_ms)
        if self._gap_samples > 0 and (candidate is None or candidate.begin.priority <= self._gap_priority):
            used = min(room, self._gap_samples)
            self._gap_samples -= used
            return used
        self._gap_samples = 0
        if candidate is None:
            return room
        self._playing = candidate
        if candidate.begin.card is not None:
            self._card = candidate.begin.card
        if candidate.begin.cursor is not None:
            self._cursor = candidate.begin.cursor
        return 0

    def _next(self, at_ms: int) -> _Clip | None:
        waiting = [c for c in self._clips.values() if c is not self._playing]
        if not waiting:
            return None
        waiting.sort(key=lambda c: (-c.begin.priority, c.order))
        for clip in waiting:
            if clip.ready:
                return clip
            if clip.begin.priority >= Priority.ANSWER and at_ms - clip.opened_ms < HOLD_FOR_ANSWER_MS:
                return None
            if clip.begin.priority < Priority.ANSWER:
                return None
        return None

    def _copy(self, clip: _Clip, out: NDArray[np.int16]) -> None:
        done = 0
        while done < len(out):
            piece = clip.pcm[clip.first_pcm]
            inside = clip.offset - clip.first_pcm_start
            if inside >= len(piece):
                clip.first_pcm_start += len(piece)
                clip.first_pcm += 1
                continue
            count = min(len(out) - done, len(piece) - inside)
            out[done : done + count] = piece[inside : inside + count]
            done += count
            clip.offset += count
        if clip.fade and clip.end_at is not None:
            start = clip.end_at - (clip.offset - len(out))
            gain = np.clip((start - np.arange(len(out))) / CUT_FADE_SAMPLES, 0.0, 1.0)
            out[:] = (out * gain).astype(np.int16)

    def _finish(self, clip: _Clip, at_ms: int) -> ClipEnded:
        del self._clips[clip.begin.clip_id]
        self._playing = None
        reason = clip.end_reason if clip.offset < clip.samples or not clip.sealed else EndReason.COMPLETED
        if reason is EndReason.COMPLETED and clip.begin.gap_after_ms > 0:
            self._gap_samples = clip.begin.gap_after_ms * SAMPLES_PER_MS
            self._gap_priority = clip.begin.priority
        return self._end_report(clip, reason, at_ms)

    @staticmethod
    def _start_report(clip: _Clip, at_ms: int, wall_ns: int) -> ClipStarted:
        return ClipStarted(clip.begin.clip_id, clip.begin.turn_id, at_ms, wall_ns)

    @staticmethod
    def _end_report(clip: _Clip, reason: EndReason, at_ms: int) -> ClipEnded:
        played_ms = clip.offset // SAMPLES_PER_MS
        heard = "".join(c.text for c in clip.captions if c.start_ms < played_ms)
        return ClipEnded(clip.begin.clip_id, clip.begin.turn_id, reason, played_ms, at_ms, heard, clip.begin.cursor)

    # --- what to show -----------------------------------------------------------------------------------------------

    def scene(self, now_ms: int, lead_ms: int) -> Scene:
        """What the clip shows ``lead_ms`` after its playhead, which is at media time ``now_ms``.

        For the middle of a frame: before its ``pull`` half a frame ahead, after it half a frame back.
        """
        clip = self._playing
        if clip is None or clip.offset >= clip.stop:
            return Scene(None, False, Emotion(), (), "", self._card)
        at_ms = max(0, clip.offset // SAMPLES_PER_MS + lead_ms)
        caption = ""
        for item in clip.captions:
            if item.start_ms > at_ms:
                break
            caption = item.text
        lips = self._lips_at(clip, at_ms)
        started_ms = now_ms - clip.offset // SAMPLES_PER_MS
        emphasis = tuple(started_ms + ms for ms in clip.emphasis_ms)
        gesture = tuple(Gesture(g.kind, started_ms + g.at_ms) for g in clip.begin.gesture)
        sound = ClipSound(clip.order, max(0, clip.offset + lead_ms * SAMPLES_PER_MS), clip)
        return Scene(lips, True, self._emotion_at(clip, at_ms), emphasis, caption, self._card, gesture, sound)

    @staticmethod
    def _emotion_at(clip: _Clip, at_ms: int) -> Emotion:
        return next((felt for since, felt in reversed(clip.emotions) if since <= at_ms), clip.begin.emotion)

    def _lips_at(self, clip: _Clip, at_ms: int) -> NDArray[np.float32] | None:
        if clip.lip_rows == 0:
            return None
        if len(clip.lips) > 1:
            clip.lips = [np.concatenate(clip.lips)]
        return interpolate_lips(clip.lips[0], at_ms, self._lips)

    def playhead(self, now_ms: int) -> Playhead:
        """Where we are, for the mind."""
        clip = self._playing
        waiting = sorted((c for c in self._clips.values() if c is not clip), key=lambda c: (-c.begin.priority, c.order))
        buffered = sum(c.samples for c in waiting)
        if clip is not None:
            buffered += max(0, clip.stop - clip.offset)
        return Playhead(
            now_ms,
            clip.begin.clip_id if clip else "",
            clip.offset // SAMPLES_PER_MS if clip else 0,
            (buffered + self._gap_samples) // SAMPLES_PER_MS,
            tuple(c.begin.clip_id for c in waiting),
            self._starved,
            self._cursor,
        )
