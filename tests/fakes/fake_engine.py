"""An engine without picture or sound: speaks the control socket, writes usage and a recording like the real supervisor.

``python -m tests.fakes.fake_engine --spec S --run-dir D``. Behaviour is told by the file ``<run_dir>/../../fake.json``:
{"die_after_s": …, "exit_code": …, "ignore_stop": true, "ignore_term": true, "hang": true}. It makes one media second every
``LUMIHOST_FAKE_SECOND_S`` real seconds (default 0.1) and says one line a media second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from gpu_engine.session.control import Event, Metrics, Reply, Request
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame
from gpu_engine.session.spec import load_spec
from gpu_engine.session.state_files import StateFiles
from gpu_engine.session.usage import UsageJournal

EVENTS_PER_INCARNATION = 1_000_000_000
SEGMENT_S = 2


class FakeEngine:
    """One run of a fake show."""

    def __init__(self, spec_path: Path, run_dir: Path) -> None:
        self.spec = load_spec(spec_path)
        self.run_dir = run_dir
        self.orders: dict[str, Any] = self._orders()
        files = StateFiles(run_dir)
        self.files = files
        self.incarnation = files.next_incarnation()
        self.cursor = files.load_cursor(self.spec.cursor)
        self.usage = UsageJournal(run_dir / "usage.jsonl")
        self.ring: deque[Event] = deque(maxlen=2000)
        self.seq = self.incarnation * EVENTS_PER_INCARNATION
        self.clients: set[asyncio.StreamWriter] = set()
        self.started = time.monotonic()
        self.stop = asyncio.Event()
        self.stop_reason = ""
        self.media_s = 0
        self.state = "starting"
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.second_s = float(os.environ.get("LUMIHOST_FAKE_SECOND_S", "0.1"))

    def _orders(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads((self.run_dir.parent.parent / "fake.json").read_text()))
        return {}

    async def run(self) -> int:
        """Until stopped, or until it is told to die."""
        if self.orders.get("ignore_term"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server = await asyncio.start_unix_server(self._client, socket_path(self.run_dir / "control.sock"))
        self.event("state", {"state": "starting", "reason": ""})
        self.state = "live"
        self.event("state", {"state": "live", "reason": ""})
        recording = self._recording()
        open_from = 0
        opened_ms = int(time.time() * 1000)
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), self.second_s)
            self.media_s += 1
            self._say_a_line()
            if recording is not None:
                with recording.open("ab") as file:
                    file.write(b"media" * 200)
            if self.media_s - open_from >= SEGMENT_S or self.stop.is_set():
                self._account(open_from, opened_ms)
                open_from, opened_ms = self.media_s, int(time.time() * 1000)
            self._publish(self.metrics())
            if self.media_s * self.second_s >= self.orders.get("die_after_s", float("inf")):
                os._exit(int(self.orders.get("exit_code", 70)))
            if self.spec.duration_s is not None and self.media_s >= self.spec.duration_s:
                self.stop_reason = "the show ended"
                break
        if recording is not None:
            size = recording.stat().st_size
            self.event(
                "recording",
                {"id": "recording", "path": str(recording), "started_media_s": 0, "seconds": self.media_s, "bytes": size,
                 "finished": True},
            )  # fmt: skip
        self.event("state", {"state": "ended", "reason": self.stop_reason})
        for writer in list(self.clients):
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.drain(), 1.0)
            writer.close()
        server.close()
        return 0

    def _account(self, from_s: int, started_ms: int) -> None:
        self.usage.append(
            incarnation=self.incarnation, from_s=from_s, to_s=self.media_s, started_at_ms=started_ms, height_px=720,
            accepted_by=("recording",),
        )  # fmt: skip

    def _say_a_line(self) -> None:
        line = self.cursor.line_index + 1
        self.cursor = self.cursor.model_copy(update={"line_index": line})
        self.files.save_cursor(self.cursor.model_dump())
        self.event("cursor", {**self.cursor.model_dump(), "segment_id": "s1", "title": "fake"})

    def _recording(self) -> Path | None:
        for output in self.spec.outputs:
            if output.kind == "recording":
                return Path(output.path)
        return None

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everyone."""
        self.seq += 1
        event = Event(self.seq, int((time.monotonic() - self.started) * 1000), kind, data)
        self.ring.append(event)
        self._publish(event)

    def metrics(self) -> Metrics:
        """Plausible figures."""
        seconds = self.media_s
        return Metrics(
            media_s=float(seconds), fps=25.0, late_frames=0, frame_ms=5.0, stage_ms={}, av_offset_ms=0.0,
            first_word_ms=-1.0, first_word_p50_ms=-1.0, first_word_p99_ms=-1.0, inbox=0, buffered_ms=1000,
            viewers=0, bitrate_kbps=2500.0, cpu_percent={}, rss_mb={}, accepted_s=seconds, produced_s=seconds, outputs={},
        )  # fmt: skip

    def _publish(self, message: Event | Metrics) -> None:
        for writer in list(self.clients):
            if writer.is_closing():
                self.clients.discard(writer)
            else:
                write_frame(writer, msgspec.msgpack.encode(message))

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for event in list(self.ring):
            write_frame(writer, msgspec.msgpack.encode(event))
        self.clients.add(writer)
        try:
            while True:
                request = msgspec.msgpack.decode(await read_frame(reader), type=Request)
                if not self.orders.get("hang"):
                    write_frame(writer, msgspec.msgpack.encode(self._answer(request)))
        except LinkError:
            self.clients.discard(writer)
            writer.close()

    def _answer(self, request: Request) -> Reply:
        match request.method:
            case "status":
                return Reply(
                    request.id,
                    result={"state": self.state, "media_s": self.media_s, "cursor": self.cursor.model_dump(), "pids": {}},
                )
            case "stop":
                if not self.orders.get("ignore_stop"):
                    self.stop_reason = str(request.params.get("reason", ""))
                    self.stop.set()
                return Reply(request.id)
            case "comment":
                text = str(request.params["text"])
                self.event("comment", {"id": request.params["id"], "text": text, "user": request.params.get("user", ""),
                                       "outcome": "received", "reason": "", "turn_id": "", "source": "console"})  # fmt: skip
                return Reply(request.id, result={"accepted": True, "reason": ""})
            case "knowledge":
                version = request.params["knowledge"]["version"]
                self.event("process", {"name": "mind", "what": "knowledge", "version": version})
                return Reply(request.id, result={"version": version})
            case "whep_offer":
                return Reply(request.id, result={"sdp": "v=0\r\n" + request.params["viewer_id"]})
            case "say" if request.params["text"] == "forbidden":
                return Reply(request.id, error="refused", detail="'forbidden' may not be said")
            case "say" | "cut" | "pin" | "pause" | "resume" | "next_segment" | "whep_close":
                self.event("process", {"name": "mind", "what": request.method})
                return Reply(request.id, result={"turn_id": "t1"} if request.method == "say" else {})
            case _:
                return Reply(request.id, error="not_found", detail=f"no method '{request.method}'")


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", type=Path, required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    options = parser.parse_args()
    return asyncio.run(FakeEngine(options.spec, options.run_dir).run())


if __name__ == "__main__":
    raise SystemExit(main())
