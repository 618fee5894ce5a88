"""Runs a show against the fake body in one event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_engine.chat.events import ChatEvent
from gpu_engine.mind.body_link import BodyLink
from gpu_engine.mind.requests import handlers
from gpu_engine.mind.show import Show
from gpu_engine.session.spec import SessionSpec
from tests.fakes.fake_timeline import FakeBody, settle, until
from tests.fakes.fake_voice import FakeLips, FakeVoice

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
_ids = itertools.count(1)


@dataclass
class Rig:
    """A show on the air."""

    spec: SessionSpec
    run_dir: Path
    body: FakeBody
    voice: FakeVoice
    show: Show
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Data of the events of a kind."""
        return [data for name, data in self.events if name == kind]

    async def ask(self, text: str, *, user: str = "") -> dict[str, Any]:
        """A viewer's comment through the control method."""
        number = next(_ids)
        return await self.call("comment", id=f"c{number}", text=text, user=user or f"viewer{number}", source="test")

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A request of the supervisor."""
        result = await handlers(self.show)[method](params)
        await settle()
        return result

    def offer(self, event: ChatEvent) -> Any:
        """An event of a feed."""
        return self.show.take_comment(event)

    async def restart_mind(self, spec: SessionSpec | None = None) -> None:
        """Kill the mind and start another one on the same body."""
        await self.stop()
        self.show, self.task = _start(spec or self.spec, self.run_dir, self.voice, self.events)
        connections = self.body.connections
        await until(lambda: self.body.connections > connections, what="reconnect")
        await settle()

    async def stop(self) -> None:
        """End the mind as a kill would: nothing is said good-bye to."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.show.director.close()
        self.body.disconnect()
        await settle()


def _start(
    spec: SessionSpec, run_dir: Path, voice: FakeVoice, events: list[tuple[str, dict[str, Any]]]
) -> tuple[Show, asyncio.Task[None]]:
    def emit(kind: str, /, **data: Any) -> None:
        events.append((kind, data))

    link = BodyLink(run_dir / "mind.sock")
    show = Show(spec, voice=voice, lips=FakeLips, link=link, emit=emit, now=lambda: NOW)
    return show, asyncio.create_task(show.run())


@asynccontextmanager
async def on_air(spec: SessionSpec, run_dir: Path) -> AsyncIterator[Rig]:
    """Start a body and a mind; both are gone afterwards."""
    voice = FakeVoice()
    events: list[tuple[str, dict[str, Any]]] = []
    async with FakeBody(run_dir) as body:
        show, task = _start(spec, run_dir, voice, events)
        rig = Rig(spec, run_dir, body, voice, show, events, task)
        await until(lambda: body.connections > 0, what="the mind connects")
        await settle()
        try:
            yield rig
        finally:
            await rig.stop()
