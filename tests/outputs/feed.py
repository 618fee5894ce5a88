"""A live stream in the test's own loop, and outputs that run while it flows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from gpu_engine.outputs.hub import AccessUnit, EncodedHub
from gpu_engine.outputs.outlet import RunningOutput
from tests.fakes.fake_body import Encoders
from tests.outputs.harness import Notes


class Feed:
    """A live stream in this loop: 25 frames a second into a hub, as the outlet would receive them."""

    def __init__(self, notes: Notes, **signal: object) -> None:
        self.hub: EncodedHub = notes.hub()
        self.notes = notes
        self.encoders = Encoders(**signal)  # type: ignore[arg-type]
        self.video: list[AccessUnit] = []
        self.latest_s = 0.0

    async def run(self) -> None:
        """Until cancelled. Notes how late the loop was woken at worst."""
        self.hub.body_connected(self.encoders.info)
        start_s = time.monotonic()
        for n in range(100_000):
            due_s = start_s + n / 25
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            self.latest_s = max(self.latest_s, time.monotonic() - due_s)
            self.tick(round(due_s * 1e9))

    def tick(self, wall_ns: int) -> None:
        """One frame interval."""
        force, self.notes.keyframe_requests[:] = bool(self.notes.keyframe_requests), []
        for packet in self.encoders.tick(force_key=force, wall_ns=wall_ns):
            unit = AccessUnit(self.encoders.info, packet)
            if unit.is_video:
                self.video.append(unit)
            self.hub.publish(unit)

    @contextlib.asynccontextmanager
    async def flowing(self, *outputs: RunningOutput) -> AsyncIterator[None]:
        """The stream and these outputs run until the block ends; then the stream ends in order."""
        tasks = [asyncio.create_task(output.run()) for output in outputs]
        stream = asyncio.create_task(self.run())
        try:
            yield
        finally:
            stream.cancel()
            self.hub.end()
            await asyncio.wait_for(asyncio.gather(*tasks), 10)
