"""A body for tests of the mind: the real timeline state, a real socket, and a clock the test moves.

It serves ``mind.sock`` like :mod:`gpu_engine.body` but draws and encodes nothing. ``advance`` plays exactly the media asked
for; everything the mind sent and everything reported is kept for assertions.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import numpy as np

from gpu_engine.body.timeline import Timeline
from gpu_engine.session.link import LinkError, read_frame, write_frame
from gpu_engine.session.timeline import (
    BodyMessage,
    Card,
    ClipBegin,
    ClipChunk,
    ClipDrop,
    ClipEnded,
    ClipSeal,
    ClipStarted,
    Cut,
    MindMessage,
    Pass,
    ShowCard,
)

FRAME_MS = 40
START_MS = 1_000
PLAYHEAD_EVERY_MS = 200
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[MindMessage] = msgspec.msgpack.Decoder(MindMessage)


class FakeBody:
    """Media time in ms, 40 ms frames. ``virtual``: ``run_to`` obeys Pass; otherwise only ``advance`` moves the clock."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / "mind.sock"
        self.timeline = Timeline()
        self.media_ms = START_MS
        self.passed_ms = 0
        self.sent: list[MindMessage] = []
        self.reports: list[BodyMessage] = []
        self.begun: dict[str, ClipBegin] = {}
        self.audio_ms: dict[str, float] = {}
        self.connections = 0
        self._last_playhead_ms = -PLAYHEAD_EVERY_MS
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._pcm = np.zeros(48 * FRAME_MS, dtype=np.int16)
        self.heard_samples: list[np.ndarray] = []
        self.keep_audio = False

    async def __aenter__(self) -> FakeBody:
        self._server = await asyncio.start_unix_server(self._serve, str(self._path))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._server is not None:
            self._server.close()
        self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.connections += 1
        self._report(self.timeline.playhead(self.media_ms))
        try:
            while True:
                self._apply(_decoder.decode(await read_frame(reader)))
        except LinkError:
            if self._writer is writer:
                self._writer = None

    def _apply(self, message: MindMessage) -> None:
        self.sent.append(message)
        match message:
            case ClipBegin():
                self.begun[message.clip_id] = message
                self.timeline.begin(message, self.media_ms)
            case ClipChunk():
                self.audio_ms[message.clip_id] = self.audio_ms.get(message.clip_id, 0.0) + len(message.pcm) / 96
                self.timeline.chunk(message)
            case ClipSeal():
                self.timeline.seal(message)
            case ClipDrop():
                self.timeline.drop(message, self.media_ms)
            case Cut():
                self._report(self.timeline.cut(message, self.media_ms))
            case Pass():
                self.passed_ms = max(self.passed_ms, message.until_ms)
            case ShowCard():
                self.timeline.show_card(message.card)

    def _report(self, message: BodyMessage) -> None:
        self.reports.append(message)
        if self._writer is not None and not self._writer.is_closing():
            write_frame(self._writer, _encode(message))

    def disconnect(self) -> None:
        """Break the connection (the mind's process died)."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def frame(self) -> None:
        """Play one frame."""
        for report in self.timeline.pull(self._pcm, self.media_ms, time.monotonic_ns()):
            self._report(report)
        if self.keep_audio:
            self.heard_samples.append(self._pcm.copy())
        if self.media_ms - self._last_playhead_ms >= PLAYHEAD_EVERY_MS:
            self._last_playhead_ms = self.media_ms
            self._report(self.timeline.playhead(self.media_ms))
        self.media_ms += FRAME_MS

    async def advance(self, ms: int) -> None:
        """Play ``ms`` of media, letting the mind work after every frame."""
        until = self.media_ms + ms
        while self.media_ms < until:
            self.frame()
            await settle()

    async def run_to(self, media_ms: int, *, deadline_s: float = 60.0) -> None:
        """Virtual clock: play as far as the mind passes, until ``media_ms``."""
        deadline = time.monotonic() + deadline_s
        while self.media_ms < media_ms:
            if self.media_ms < self.passed_ms:
                self.frame()
                if self.media_ms % 4_000 == 0:
                    await asyncio.sleep(0)
                continue
            if time.monotonic() > deadline:
                raise TimeoutError(f"the mind did not pass {self.media_ms} ms within {deadline_s} s")
            await asyncio.sleep(0)

    # --- what happened ------------------------------------------------------------------------------------------------

    @property
    def card(self) -> Card:
        """The card that is shown now."""
        return self.timeline.scene(self.media_ms, 20).card

    def started(self) -> list[tuple[ClipBegin, int]]:
        """Clips that sounded (with text), in order, with the media time of their first sample."""
        return [
            (self.begun[r.clip_id], r.media_ms)
            for r in self.reports
            if isinstance(r, ClipStarted) and self.begun[r.clip_id].text
        ]

    def spoken_texts(self, kind: str = "") -> list[str]:
        """Texts of the clips that sounded, in order."""
        return [begin.text for begin, _ in self.started() if not kind or begin.kind == kind]

    def ended(self) -> list[ClipEnded]:
        """End reports, in order."""
        return [r for r in self.reports if isinstance(r, ClipEnded)]


async def settle(rounds: int = 30) -> None:
    """Let every ready callback run."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def until(condition: object, *, deadline_s: float = 10.0, what: str = "condition") -> None:
    """Poll a callable until it is true.

    Raises:
        TimeoutError: it stayed false.
    """
    assert callable(condition)
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come true within {deadline_s} s")
        await asyncio.sleep(0.002)
