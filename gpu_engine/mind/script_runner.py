"""Keeps the script ahead of the playhead, and finds the way back to it after answers, gaps and cuts."""

from __future__ import annotations

import asyncio

from gpu_engine.mind.composer import ClipProgress, Utterance
from gpu_engine.mind.floor import Floor
from gpu_engine.mind.script import Script, cursor_from, cursor_tuple
from gpu_engine.mind.script_texts import ScriptTexts
from gpu_engine.mind.shelf import Shelf
from gpu_engine.mind.studio import Studio
from gpu_engine.session.spec import Cursor, Lang, Product
from gpu_engine.session.timeline import ClipEnded, ClipKind, EndReason, Playhead, Priority

LEAD_MS = 6_000
LEAD_MAX_MS = 12_000
LEAD_SENTENCES = 2
RESUME_PRIORITY = 15
"""A sentence said again goes before the waiting script and after the bridging phrase."""
HEARD_ENOUGH = 0.7
FADE_KNOWN_MS = 120
DISCLOSURE_EVERY_MS = 25 * 60_000
TRIES_A_SENTENCE = 2
FAILURE_WAIT_S = 0.5
FAILURE_WAIT_MAX_S = 8.0


class ScriptRunner:
    """The script's place is ``next_cursor``: the first sentence not yet on the timeline."""

    def __init__(self, studio: Studio, floor: Floor) -> None:
        self._studio = studio
        self._floor = floor
        self._script = Script(studio.spec.show)
        self.shelf = Shelf(studio)
        self._texts = ScriptTexts(studio, floor, self._script, self.shelf)
        self.next_cursor: Cursor = studio.spec.cursor
        self.paused = False
        self.ends_whole = True
        """Whether what was last heard of the script leaves nothing to come back to."""
        self.answers_since = 0
        """Answers begun since a sentence of the script was heard."""
        self.gap_until_ms = 0
        self._reached: Cursor = studio.spec.cursor
        self._reported: Cursor | None = None
        self._hold_until_ms = 0
        self._task: asyncio.Task[None] | None = None
        self._making: ClipProgress | None = None
        self._resume: Cursor | None = None
        self._bridge_due = False
        self._gap_due = False
        self._skip_resume: set[str] = set()
        self._disclosed_ms: int | None = None
        self._failures = 0

    # --- state others ask for ----------------------------------------------------------------------------------------

    @property
    def card_product(self) -> str | None:
        """The product on the card: what 'this' means."""
        return self.shelf.product_id

    @property
    def finished(self) -> bool:
        """True when the script has nothing left to say and nothing of it is waiting."""
        return self._script.at(self.next_cursor) is None and not self._clips()

    @property
    def in_gap(self) -> bool:
        """True in a segment's time for questions."""
        return self._floor.media_ms < self.gap_until_ms

    def ahead_ms(self) -> float:
        """Script audio made and not yet heard."""
        total = 0.0
        for clip in self._clips():
            total += clip.duration_ms
            if clip.started_media_ms is not None:
                total -= min(clip.duration_ms, self._floor.media_ms - clip.started_media_ms)
        return total

    def language_here(self) -> Lang:
        """The language of the next sentence."""
        sentence = self._script.at(self._resume or self.next_cursor)
        return sentence.lang if sentence else self._studio.spec.lang

    def next_texts(self, count: int) -> list[tuple[Lang, str]]:
        """The script's next ``count`` sentences as they will be said now, and the next bridging phrase."""
        return self._texts.expected(self.next_cursor, count, self.language_here())

    def products(self) -> list[Product]:
        """The products of the run-of-show: the card's first, then from here on in the show's order."""
        segments = self._studio.spec.show.segments
        here = self.next_cursor.segment_index
        ids = [self.card_product, *(s.product_id for s in (*segments[here:], *segments[:here]))]
        found = (self._studio.knowledge.product(i) for i in dict.fromkeys(ids) if i)
        return [p for p in found if p is not None]

    # --- the body's reports ------------------------------------------------------------------------------------------

    def attach(self, head: Playhead, *, foreign: bool) -> None:
        """Go on from what the body plays; ``foreign``: it plays or holds clips of an earlier mind."""
        # Whether what plays is faded out (unfinished) or plays on is known a moment later.
        self._hold_until_ms = head.media_ms + FADE_KNOWN_MS if head.clip_id else 0
        self.next_cursor = self._after_absence(head)
        self.stop_making()
        self._resume = None
        self._bridge_due = self._gap_due = False
        if foreign or head.cursor is not None:
            self._disclosed_ms = head.media_ms - DISCLOSURE_EVERY_MS + 5 * 60_000
        segment = self._script.segment(cursor_from(head.cursor) or self.next_cursor)
        self.shelf.put(segment.product_id if segment and head.cursor is not None else None)
        self._report_cursor(self.next_cursor)

    def _after_absence(self, head: Playhead) -> Cursor:
        """Where the script goes on. The body plays what waits while there is no mind, and nobody cuts it then.

        A sentence that was cut for a clip that is not script (an answer still sounding) is said again.
        """
        last = cursor_from(head.cursor)
        if last is None:
            return self._reached
        later = cursor_tuple(last) > cursor_tuple(self._reached)
        told = cursor_tuple(last) == cursor_tuple(self._reached) and not head.clip_id
        if head.clip_id.startswith("s") or later or told:
            return self._script.after(last)
        return self._reached

    def started(self, said: Utterance) -> None:
        """A script clip sounds: the card follows, the place is reported."""
        cursor = cursor_from(said.cursor)
        segment = self._script.segment(cursor) if cursor is not None else None
        if cursor is None or segment is None:
            return
        self.shelf.follow(segment)
        self._report_cursor(cursor)

    def foreign_ended(self, message: ClipEnded) -> None:
        """A clip of an earlier mind: say its sentence again if it was broken off."""
        cursor = cursor_from(message.cursor)
        if cursor is None or not self._floor.is_foreign(message.clip_id):
            return
        if message.reason is not EndReason.COMPLETED and cursor_tuple(cursor) < cursor_tuple(self.next_cursor):
            self._hold_until_ms = 0
            self.rewind(cursor, "said again")

    def ended(self, clip: ClipProgress, message: ClipEnded) -> None:
        """A script clip was heard, in whole or in part; a sentence heard too little of is said again."""
        said = clip.utterance
        if clip is self._making:
            self.kill(clip, "ended while being made")
        skipped = said.clip_id in self._skip_resume
        self._skip_resume.discard(said.clip_id)
        cursor = cursor_from(said.cursor)
        if message.reason is EndReason.COMPLETED or self._floor.heard_share(clip, message) >= HEARD_ENOUGH or skipped:
            self.answers_since = 0
            if said.gap_after_ms and message.reason is EndReason.COMPLETED:
                self.gap_until_ms = message.media_ms + said.gap_after_ms
            self.ends_whole = said.cursor is None or bool(said.gap_after_ms)
            if cursor is not None:
                self._report_cursor(self._upcoming() if skipped else self._script.after(cursor))
            if message.reason is EndReason.CUT and not skipped and not self.paused:
                self.want_bridge()
            return
        if cursor is None:
            return
        self.ends_whole = False
        if self.paused:
            if cursor_tuple(cursor) < cursor_tuple(self.next_cursor):
                self.next_cursor = cursor
            return
        self._resume = cursor
        self.want_bridge()

    def _report_cursor(self, cursor: Cursor) -> None:
        self._reached = cursor
        sentence = self._script.at(cursor)
        place = sentence.cursor if sentence else cursor
        if place == self._reported:
            return
        self._reported = place
        segment = self._script.segment(place)
        self._studio.emit(
            "cursor",
            **place.model_dump(),
            segment_id=segment.id if segment else "",
            title=segment.title if segment else "",
        )

    # --- what others change ------------------------------------------------------------------------------------------

    def want_bridge(self) -> None:
        """One phrase back to the script, however many answers there were."""
        self._bridge_due = not self._floor.of_kind(ClipKind.BRIDGE)

    def give_back_gap(self) -> None:
        """What an answer leaves of a gap comes back after it."""
        self._gap_due = True

    def drop_bridge(self, reason: str) -> None:
        """No bridging phrase now: what plays next follows silence."""
        for clip in [c for c in self._waiting() if c.utterance.kind is ClipKind.BRIDGE]:
            self.kill(clip, reason)
        self._bridge_due = False

    def let_go(self, clip_id: str) -> None:
        """This clip's sentence is not said again when it is cut."""
        self._skip_resume.add(clip_id)

    def pause(self) -> None:
        """Stop after the sentence that plays."""
        if not self.paused:
            self.paused = True
            self.rewind(None, "paused")

    def leave_segment(self) -> None:
        """Drop what waits and go on with the next segment."""
        playing = self._floor.playing
        here = cursor_from(playing.utterance.cursor) if playing else None
        waiting = [cursor_from(c.utterance.cursor) for c in self._waiting()]
        places = [c for c in (here, self._resume, *waiting) if c is not None] or [self.next_cursor]
        self.rewind(self._script.next_segment(min(places, key=cursor_tuple)), "next segment")
        self._resume = None
        self.gap_until_ms = 0
        self.ends_whole = True

    def rewind(self, to: Cursor | None, reason: str, *, from_clip: str = "") -> None:
        """Drop waiting script clips (all, or ``from_clip`` and those after it) and go on from ``to`` or the first dropped."""
        first: Cursor | None = None
        found = not from_clip
        dropped: list[ClipProgress] = []
        for clip in self.waiting_in_order():
            found = found or clip.utterance.clip_id == from_clip
            if found:
                dropped.append(clip)
                if first is None:
                    first = cursor_from(clip.utterance.cursor)
        if self._resume is not None and not from_clip:
            first = min((c for c in (first, self._resume) if c is not None), key=cursor_tuple)
            self._resume = None
        if not from_clip:
            self._bridge_due = False
        for clip in dropped:
            self.kill(clip, reason)
        target = to or first
        if target is not None:
            self.next_cursor = target

    def kill(self, clip: ClipProgress, reason: str) -> None:
        """Stop making a script clip and take it off the timeline."""
        self._floor.discard(clip, reason)
        if clip is self._making:
            self.stop_making()

    def stop_making(self) -> None:
        """Leave the sentence in work."""
        task, self._task, self._making = self._task, None, None
        if task is not None:
            task.cancel()

    def waiting_in_order(self) -> list[ClipProgress]:
        """Script clips that do not sound yet, in playing order."""
        return sorted(self._waiting(), key=lambda c: -c.utterance.priority)

    def _waiting(self) -> list[ClipProgress]:
        clips = self._floor.of_kind(ClipKind.SCRIPT, ClipKind.BRIDGE)
        return [c for c in clips if c.utterance.clip_id != self._floor.playing_id]

    def _clips(self) -> list[ClipProgress]:
        return self._floor.of_kind(ClipKind.SCRIPT, ClipKind.ANNOUNCEMENT)

    def _upcoming(self) -> Cursor:
        """The sentence that will be heard next."""
        waiting = [c for c in (cursor_from(clip.utterance.cursor) for clip in self._waiting()) if c is not None]
        return min([*waiting, self.next_cursor], key=cursor_tuple)

    # --- making sentences ---------------------------------------------------------------------------------------------

    def keep_lead(self) -> None:
        """Have the next sentences on the timeline before they are due."""
        if self._task is None and self._wants():
            self._task = self._floor.spawn(self._make())

    def _wants(self) -> bool:
        floor = self._floor
        if self.paused or not floor.connected or floor.media_ms < self._hold_until_ms:
            return False
        if self._bridge_due or self._gap_due or self._resume is not None:
            return True
        ahead = self.ahead_ms()
        waiting = sum(1 for c in self._clips() if c.started_media_ms is None)
        short = ahead < LEAD_MS or waiting < LEAD_SENTENCES
        return short and ahead < LEAD_MAX_MS and self._script.at(self.next_cursor) is not None

    async def _make(self) -> None:
        try:
            while self._wants():
                utterance = self._next_utterance()
                if utterance is None:
                    return
                clip = ClipProgress(utterance)
                self._floor.clips[utterance.clip_id] = clip
                self._making = clip
                made = await self._floor.make(clip, lambda: None)
                self._making = None
                await self._after_a_failure(made, utterance)
        finally:
            self._making = None
            self._task = None

    async def _after_a_failure(self, made: bool, utterance: Utterance) -> None:
        """Speech that refuses must neither spin nor race through the script: wait longer each time, try a sentence twice."""
        if made:
            self._failures = 0
            return
        self._failures += 1
        if utterance.cursor is not None and self._failures % TRIES_A_SENTENCE:
            self._resume = Cursor(
                loop=utterance.cursor[0], segment_index=utterance.cursor[1], line_index=utterance.cursor[2],
                sentence_index=utterance.cursor[3],
            )  # fmt: skip
        await asyncio.sleep(min(FAILURE_WAIT_MAX_S, FAILURE_WAIT_S * 2 ** (self._failures - 1)))

    def _next_utterance(self) -> Utterance | None:
        if self._gap_due and (gap := self._rest_of_gap()) is not None:
            return gap
        here = self.language_here()
        if self._bridge_due:
            self._bridge_due = False
            segment = self._script.segment(self._resume or self.next_cursor)
            if segment is not None and not self.in_gap:
                return self._texts.bridge(here)
        if self._resume is not None:
            cursor, self._resume = self._resume, None
            said = self._texts.sentence_at(cursor, RESUME_PRIORITY)
            if said is not None:
                return said
        due_ms = self._floor.media_ms + self.ahead_ms()
        if self._disclosed_ms is None or due_ms - self._disclosed_ms >= DISCLOSURE_EVERY_MS:
            self._disclosed_ms = int(due_ms)
            return self._texts.disclosure(self.language_here())
        said, self.next_cursor = self._texts.sentence_from(self.next_cursor, Priority.SCRIPT)
        return said

    def _rest_of_gap(self) -> Utterance | None:
        """An answer ends a gap early: what is left of it comes back as a silent clip after the answer."""
        self._gap_due = False
        end_ms = float(self._floor.media_ms)
        for clip in self._floor.of_kind(ClipKind.ANSWER, ClipKind.SAY):
            if clip.started_media_ms is not None:
                end_ms = max(end_ms, clip.started_media_ms + clip.duration_ms)
        left = int(self.gap_until_ms - end_ms)
        if left < 500:
            self.gap_until_ms = 0
            return None
        return self._texts.silence(left)
