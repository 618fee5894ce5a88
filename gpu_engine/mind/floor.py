"""Who has the floor: the clips the body holds or will get, the one that sounds, and the cuts that end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from gpu_engine.mind.composer import ClipProgress, Composer
from gpu_engine.mind.studio import Studio
from gpu_engine.session.timeline import ClipDrop, ClipEnded, ClipKind, Cut, CutMode, EndReason

log = structlog.get_logger(__name__)

UNSEALED_LEFT_MS = 6_000.0
"""What counts as left of a clip that is still being made."""


class Floor:
    """Every clip sent and not ended is in ``clips``; ``media_ms`` is the body's clock as last reported."""

    def __init__(self, studio: Studio, composer: Composer) -> None:
        self._studio = studio
        self._composer = composer
        self.clips: dict[str, ClipProgress] = {}
        self.playing_id = ""
        self.media_ms = 0
        self.connected = False
        self.epoch = 0
        self.cut_pending = ""
        self.changed: Callable[[], None] = lambda: None
        """Called when a clip has been made (or could not be)."""
        self._count = 0
        self._cut_number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._serial = asyncio.Lock()

    @property
    def playing(self) -> ClipProgress | None:
        """The clip that sounds, if it is one of ours."""
        return self.clips.get(self.playing_id)

    def new_id(self, letter: str) -> str:
        """Ids are unique across restarts of the mind and say what they are: s script, a answer, o operator, t turn."""
        self._count += 1
        return f"{letter}{self.epoch}-{self._count}"

    def is_foreign(self, clip_id: str) -> bool:
        """Whether a clip is of an earlier mind."""
        return f"{self.epoch}-" not in clip_id

    def forget_all(self) -> None:
        """After a lost connection: nothing that was sent counts any more."""
        for clip in self.clips.values():
            clip.dead = True
        self.clips.clear()
        self.playing_id = ""
        self.cut_pending = ""

    # --- cuts ---------------------------------------------------------------------------------------------------------

    def next_cut_number(self) -> int:
        """The number of the next cut."""
        self._cut_number += 1
        return self._cut_number

    def cut(self, mode: CutMode, reason: str) -> int:
        """End what plays; returns the cut's number."""
        self.cut_pending = self.playing_id
        number = self.next_cut_number()
        self._studio.send(Cut(number, mode, reason))
        return number

    def left_ms(self, clip: ClipProgress) -> float:
        """What is still to be heard of a playing clip."""
        if not clip.sealed or clip.started_media_ms is None:
            return UNSEALED_LEFT_MS
        return clip.duration_ms - (self.media_ms - clip.started_media_ms)

    def to_cut_point_ms(self, clip: ClipProgress) -> float | None:
        """How long until the playing clip's next cut point, ``None`` while it is not known."""
        if clip.started_media_ms is None:
            return None
        heard_ms = self.media_ms - clip.started_media_ms
        return next((ms - heard_ms for ms in clip.cuts_ms if ms > heard_ms), None)

    @staticmethod
    def heard_share(clip: ClipProgress, message: ClipEnded) -> float:
        """How much of an ended clip was heard, 0 to 1."""
        if message.reason is EndReason.COMPLETED:
            return 1.0
        whole = clip.duration_ms
        if not clip.sealed:
            chars = sum(len(c) for c in clip.clauses) or 1
            whole = max(whole, clip.duration_ms * len(clip.utterance.text) / chars)
        return message.played_ms / whole if whole else 0.0

    def of_kind(self, *kinds: ClipKind) -> list[ClipProgress]:
        """Clips of these kinds, the playing one included."""
        return [c for c in self.clips.values() if c.utterance.kind in kinds]

    # --- making clips -------------------------------------------------------------------------------------------------

    def announce(self, clip: ClipProgress) -> None:
        """Tell the body of a clip before it has sound."""
        self._composer.begin(clip)

    async def make(self, clip: ClipProgress, on_first_audio: Callable[[], None]) -> bool:
        """Speak a clip onto the timeline; one that cannot be spoken is dropped and reported, and the answer is False."""
        try:
            if self._studio.virtual:
                async with self._serial:
                    await self._composer.compose(clip, on_first_audio)
            else:
                await self._composer.compose(clip, on_first_audio)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - one clip that cannot be made must not silence the host
            log.warning("a clip could not be made", clip=clip.utterance.clip_id, error=f"{type(error).__name__}: {error}")
            self._studio.emit("drop", what="clip", count=1, reason=f"{type(error).__name__}: {error}")
            self.discard(clip, "speech failed")
            return False
        return True

    def discard(self, clip: ClipProgress, reason: str) -> None:
        """Forget a clip and take what was sent of it off the timeline."""
        clip.dead = True
        if self.clips.pop(clip.utterance.clip_id, None) is not None and clip.begun:
            self._studio.send(ClipDrop((clip.utterance.clip_id,), reason))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that :meth:`settled` and :meth:`close` wait for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("making a clip failed", exc_info=error)
            self._studio.emit("drop", what="clip", count=1, reason=f"{type(error).__name__}: {error}")
        if not self._studio.virtual:
            self.changed()

    async def settled(self) -> bool:
        """Wait for the work at hand; false when there was none."""
        if not self._tasks:
            return False
        await asyncio.wait(set(self._tasks))
        await asyncio.sleep(0)
        return True

    async def close(self) -> None:
        """Cancel what is being made."""
        self.connected = False
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
