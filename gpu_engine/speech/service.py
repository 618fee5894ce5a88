"""Speech for the mind: turns of text in, clause audio out, on one worker thread.

The worker takes the waiting job of the highest priority and looks up after every vocoder window: a higher job that has
arrived meanwhile goes first and the interrupted one is resumed behind it. So pre-synthesis never delays live speech by more
than one window. A cancelled turn delivers nothing more, however late the engine is. A clause the engine fails on is skipped
and reported, never spoken.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpu_engine.speech.cache import CachedClause, SpeechCache, clause_key
from gpu_engine.speech.engine import Interrupted, PhonemeSpan, SpeechChunk, SpeechEngine, SpeechError, Style
from gpu_engine.speech.normalise import normalise
from gpu_engine.speech.splitter import Clause, split_clauses

Lang = Literal["zh", "en"]
PRESYNTHESIS = 0
"""Priority below every live one."""
URGENT = 30
"""From this priority on a viewer waits for the sound."""
SLOW_REAL_TIME_FACTOR = 0.8
"""Wall time of a window over its sound, smoothed; above it a clause is handed over whole: better late than with holes."""
_AHEAD = 3
"""Clauses of one turn that may be in work or waiting beyond the one being consumed."""


class SpeechBusy(RuntimeError):
    """The queue of clauses is full; say less or later."""


@dataclass(frozen=True, slots=True)
class ClauseAudio:
    """A piece of one clause.

    Attributes:
        clause: number of the clause within its turn, from 0.
        text: the clause as written, for captions (the same on every piece).
        pcm: int16[n], mono, 48 kHz.
        phonemes: those that start in this piece; times in ms from the clause's first sample.
        offset_ms: where this piece starts within its clause.
        first: the clause's first piece.
        last: the clause's last piece; then ``pause_ms`` of rest follow.
        cached: came from disk.
        start: where the clause starts in the text given to ``speak``.
    """

    clause: int
    text: str
    pcm: NDArray[np.int16]
    phonemes: tuple[PhonemeSpan, ...]
    offset_ms: float
    first: bool
    last: bool
    pause_ms: int
    cached: bool
    start: int = 0


@dataclass(frozen=True, slots=True)
class SpeechFault:
    """A clause that could not be spoken; for logs and counters, never for viewers."""

    turn_id: str
    text: str
    message: str


@dataclass(slots=True)
class SpeechStats:
    """Counters since start; ``first_audio_ms`` of the latest live clause from its request."""

    clauses: int = 0
    cached_clauses: int = 0
    faults: int = 0
    cancelled_turns: int = 0
    characters: int = 0
    audio_ms: float = 0.0
    work_ms: float = 0.0
    first_audio_ms: float = 0.0


@dataclass(eq=False, slots=True)
class _Job:
    turn_id: str
    clause: Clause
    spoken: str
    lang: Lang
    style: Style
    priority: int
    deliver: Callable[[SpeechChunk | SpeechFault | None], None]
    asked_at: float
    cancelled: bool = False
    chunks: Iterator[SpeechChunk] | None = None
    got: list[SpeechChunk] = field(default_factory=list)


class SpeechService:
    """Use as ``async with SpeechService(engine) as speech``. All methods belong to the event loop's thread.

    Args:
        engine: any :class:`SpeechEngine`; only the worker thread calls it.
        cache: this tenant's cache, or none.
        on_fault: called on the loop for every skipped clause.
        max_waiting: clauses that may wait, live and pre-synthesis together.
    """

    def __init__(
        self,
        engine: SpeechEngine,
        cache: SpeechCache | None = None,
        *,
        on_fault: Callable[[SpeechFault], None] | None = None,
        max_waiting: int = 256,
    ) -> None:
        self._engine = engine
        self._engine_id = f"{engine.name}/{engine.version}"
        self._cache = cache
        self._on_fault = on_fault
        self._max_waiting = max_waiting
        self.stats = SpeechStats()
        self.real_time_factor = 0.0
        self._lock = threading.Condition()
        self._heap: list[tuple[int, int, _Job]] = []
        self._order = itertools.count()
        self._turns: dict[str, set[_Job]] = {}
        self._presynthesis_keys: set[str] = set()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> SpeechService:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="speech", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        with self._lock:
            self._closing = True
            for _, _, job in self._heap:
                job.cancelled = True
            for jobs in self._turns.values():
                for job in jobs:
                    job.cancelled = True
            self._lock.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    @property
    def waiting(self) -> int:
        """Clauses that wait or are interrupted."""
        with self._lock:
            return len(self._heap)

    async def speak(self, turn_id: str, text: str, lang: Lang, style: Style, priority: int = 10) -> AsyncIterator[ClauseAudio]:
        """Speak a written text clause by clause, in order; ends early when the turn is cancelled.

        Raises:
            SpeechBusy: too many clauses wait already.
        """
        clauses = iter(split_clauses(text, lang))
        ahead: list[_Spoken] = []
        number = 0
        try:
            while True:
                while len(ahead) < _AHEAD and (clause := next(clauses, None)) is not None:
                    spoken = normalise(clause.text, lang).spoken.strip()
                    if any(c.isalnum() for c in spoken):
                        ahead.append(await self._request(turn_id, clause, spoken, lang, style, priority))
                if not ahead:
                    return
                current = ahead.pop(0)
                delivered = False
                async for piece in current.pieces(number):
                    delivered = True
                    yield piece
                if current.cancelled:
                    return
                number += delivered
        finally:
            for spoken_clause in ahead:
                spoken_clause.abandon()

    def cancel(self, turn_id: str) -> bool:
        """Drop everything of a turn, waiting or half made; nothing of it is delivered any more. False if it had nothing."""
        with self._lock:
            jobs = self._turns.pop(turn_id, set())
            for job in jobs:
                job.cancelled = True
        for job in jobs:
            job.deliver(None)
        self.stats.cancelled_turns += bool(jobs)
        return bool(jobs)

    def presynthesise(self, texts: Iterable[str], lang: Lang, style: Style) -> int:
        """Make clauses ahead into the cache while nothing live wants the engine; returns how many were queued.

        Texts beyond the room in the queue are left out: ask again later.
        """
        queued = 0
        if self._cache is None:
            return 0
        for text in texts:
            for clause in split_clauses(text, lang):
                spoken = normalise(clause.text, lang).spoken.strip()
                key = self._key(spoken, lang, style)
                with self._lock:
                    full = len(self._heap) >= self._max_waiting // 2
                if full:
                    return queued
                if not any(c.isalnum() for c in spoken) or key in self._cache or key in self._presynthesis_keys:
                    continue
                self._presynthesis_keys.add(key)
                done = self._presynthesised(key, clause)
                self._enqueue(_Job("", clause, spoken, lang, style, PRESYNTHESIS, done, time.monotonic()))
                queued += 1
        return queued

    def is_cached(self, text: str, lang: Lang, style: Style) -> bool:
        """Whether every clause of ``text`` is in the cache."""
        cache = self._cache
        if cache is None:
            return False
        spoken = (normalise(clause.text, lang).spoken.strip() for clause in split_clauses(text, lang))
        return all(self._key(s, lang, style) in cache for s in spoken if any(c.isalnum() for c in s))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _key(self, spoken: str, lang: str, style: Style) -> str:
        return clause_key(spoken=spoken, lang=lang, voice=style.voice, speed=style.speed, engine=self._engine_id)

    def _presynthesised(self, key: str, clause: Clause) -> Callable[[SpeechChunk | SpeechFault | None], None]:
        def deliver(item: SpeechChunk | SpeechFault | None) -> None:
            if isinstance(item, SpeechFault):
                self._report(item)
            if not isinstance(item, SpeechChunk) or item.last:
                self._presynthesis_keys.discard(key)

        del clause
        return deliver

    async def _request(self, turn_id: str, clause: Clause, spoken: str, lang: Lang, style: Style, priority: int) -> _Spoken:
        asked_at = time.monotonic()
        self.stats.characters += len(clause.text)
        if self._cache is not None and (key := self._key(spoken, lang, style)) in self._cache:
            found = await asyncio.to_thread(self._cache.get, key)
            if found is not None:
                self.stats.cached_clauses += 1
                return _Spoken(self, clause, None, found)
        queue: asyncio.Queue[SpeechChunk | SpeechFault | None] = asyncio.Queue()
        style = replace(style, urgent=priority >= URGENT)
        job = _Job(turn_id, clause, spoken, lang, style, priority, queue.put_nowait, asked_at)
        self._enqueue(job)
        return _Spoken(self, clause, job, None, queue)

    def _enqueue(self, job: _Job) -> None:
        with self._lock:
            if self._closing or self._thread is None:
                raise SpeechError("the speech service is not running: enter it with 'async with'")
            if len(self._heap) >= self._max_waiting:
                raise SpeechBusy(f"{self._max_waiting} clauses are waiting to be spoken: the engine is too slow for this show")
            heapq.heappush(self._heap, (-job.priority, next(self._order), job))
            if job.turn_id:
                self._turns.setdefault(job.turn_id, set()).add(job)
            self._lock.notify()
        if job.style.urgent:
            self._engine.interrupt()

    def _report(self, fault: SpeechFault) -> None:
        self.stats.faults += 1
        if self._on_fault is not None:
            self._on_fault(fault)

    def _done(self, job: _Job) -> None:
        with self._lock:
            jobs = self._turns.get(job.turn_id)
            if jobs is not None:
                jobs.discard(job)
                if not jobs:
                    del self._turns[job.turn_id]

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._heap and not self._closing:
                    self._lock.wait()
                if self._closing:
                    return
                rank, order, job = heapq.heappop(self._heap)
            while not job.cancelled and self._advance(job):
                with self._lock:
                    if self._heap and self._heap[0][0] < rank and not self._closing:
                        heapq.heappush(self._heap, (rank, order, job))
                        break
            else:
                if job.chunks is not None and hasattr(job.chunks, "close"):
                    job.chunks.close()
                self._done(job)

    def _advance(self, job: _Job) -> bool:
        """One window of a job; false when the job is finished."""
        started = time.monotonic()
        try:
            if job.chunks is None:
                job.chunks = iter(self._engine.synthesize(job.spoken, job.lang, job.style, lambda: job.cancelled))
            chunk = next(job.chunks, None)
        except Interrupted:
            job.chunks = None
            return not job.cancelled
        except Exception as error:  # noqa: BLE001 - one clause must never silence the host for ever
            message = str(error) if isinstance(error, SpeechError) else f"{type(error).__name__}: {error}"
            self._hand_over(job, SpeechFault(job.turn_id, job.clause.text, message))
            return False
        now = time.monotonic()
        self.stats.work_ms += (now - started) * 1000
        if chunk is None:
            if not job.cancelled:
                self._hand_over(
                    job, SpeechFault(job.turn_id, job.clause.text, "the engine ended the clause without its last piece")
                )
            return False
        if chunk.pcm.size:
            factor = (now - started) * 48_000 / chunk.pcm.size
            self.real_time_factor += 0.2 * (factor - self.real_time_factor)
        if not job.got and job.priority > PRESYNTHESIS:
            self.stats.first_audio_ms = (now - job.asked_at) * 1000
        job.got.append(chunk)
        if chunk.last and not job.cancelled:
            self._keep(job)
        self._hand_over(job, chunk)
        return not chunk.last

    def _keep(self, job: _Job) -> None:
        pcm = np.concatenate([chunk.pcm for chunk in job.got])
        self.stats.clauses += 1
        self.stats.audio_ms += pcm.size / 48
        if job.style.urgent:
            self._make_again(job)
        elif self._cache is not None and pcm.size:
            phonemes = tuple(span for chunk in job.got for span in chunk.phonemes)
            self._cache.put(self._key(job.spoken, job.lang, job.style), CachedClause(pcm, phonemes))

    def _make_again(self, job: _Job) -> None:
        """What was made in haste is made well for the cache, once nobody waits."""
        key = self._key(job.spoken, job.lang, job.style)
        with self._lock:
            room = len(self._heap) < self._max_waiting // 2 and not self._closing
            if self._cache is None or not room or key in self._presynthesis_keys:
                return
            self._presynthesis_keys.add(key)
        style = replace(job.style, urgent=False)
        done = self._presynthesised(key, job.clause)
        again = _Job("", job.clause, job.spoken, job.lang, style, PRESYNTHESIS, done, time.monotonic())
        try:
            self._enqueue(again)
        except (SpeechBusy, SpeechError):
            # Filled up or closing meanwhile: the clause is simply made again when it is asked for again.
            with self._lock:
                self._presynthesis_keys.discard(key)

    def _hand_over(self, job: _Job, item: SpeechChunk | SpeechFault) -> None:
        loop = self._loop
        assert loop is not None

        def on_loop() -> None:
            if not job.cancelled:
                job.deliver(item)

        try:
            loop.call_soon_threadsafe(on_loop)
        except RuntimeError:
            # The loop is closed: nobody is left to listen.
            job.cancelled = True


class _Spoken:
    """One clause of a turn on its way to the consumer: from the cache or from a job."""

    def __init__(
        self,
        service: SpeechService,
        clause: Clause,
        job: _Job | None,
        cached: CachedClause | None,
        queue: asyncio.Queue[SpeechChunk | SpeechFault | None] | None = None,
    ) -> None:
        self._service = service
        self._clause = clause
        self._job = job
        self._cached = cached
        self._queue = queue

    @property
    def cancelled(self) -> bool:
        return self._job is not None and self._job.cancelled

    def abandon(self) -> None:
        """The consumer has gone."""
        if self._job is not None:
            self._job.cancelled = True
            self._service._done(self._job)

    async def pieces(self, number: int) -> AsyncIterator[ClauseAudio]:
        clause = self._clause
        if self._cached is not None:
            found = self._cached
            yield ClauseAudio(
                number, clause.text, found.pcm, found.phonemes, 0.0, True, True, clause.pause_ms, True, clause.start
            )
            return
        samples = 0
        first = True
        finished = False
        whole = self._service.real_time_factor > SLOW_REAL_TIME_FACTOR
        held: list[SpeechChunk] = []
        try:
            while not finished:
                item = await self._next()
                if item is None or self.cancelled:
                    return
                if isinstance(item, SpeechFault):
                    finished = True
                    self._service._report(item)
                    if not first:
                        # What has been heard of the clause is closed properly.
                        yield self._piece(number, SpeechChunk(np.zeros(0, dtype=np.int16), last=True), samples, first=False)
                    return
                finished = item.last
                if whole:
                    held.append(item)
                    if not finished:
                        continue
                    item = _joined(held)
                if first and finished and not item.pcm.size:
                    return
                yield self._piece(number, item, samples, first=first)
                samples += item.pcm.size
                first = False
        finally:
            if not finished:
                self.abandon()

    async def _next(self) -> SpeechChunk | SpeechFault | None:
        assert self._queue is not None
        return await self._queue.get()

    def _piece(self, number: int, chunk: SpeechChunk, samples_before: int, *, first: bool) -> ClauseAudio:
        clause = self._clause
        pause_ms = clause.pause_ms if chunk.last else 0
        return ClauseAudio(
            number,
            clause.text,
            chunk.pcm,
            chunk.phonemes,
            samples_before / 48,
            first,
            chunk.last,
            pause_ms,
            False,
            clause.start,
        )


def _joined(chunks: list[SpeechChunk]) -> SpeechChunk:
    phonemes = tuple(span for chunk in chunks for span in chunk.phonemes)
    return SpeechChunk(np.concatenate([chunk.pcm for chunk in chunks]), phonemes, last=True)
