"""One real show in real time: how soon it is on air, whether it keeps 25 frames a second while it speaks, how soon it answers.

Mind, body and outlet run as processes, the recording is written, the voice is the real one. Questions are asked one after the
other; "made ahead" are those whose answer's speech was already in the cache, as the mind reports it. Wall clock.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from gpu_engine.session.control import ControlMessage, Event, Metrics, Reply, Request
from gpu_engine.session.link import read_frame, socket_path, write_frame
from gpu_engine.session.spec import RecordingOutput, SessionSpec
from gpu_engine.session.supervisor import Supervisor
from tests.bench.table import print_table, save

ROOT = Path(__file__).resolve().parents[2]
LIKELY = [
    "茶壶多少钱",
    "保温杯多少钱",
    "1号链接多少钱",
    "运费多少",
    "你是真人吗",
    "防晒乳多少钱",
    "茶壶还有货吗",
    "露营灯多少钱",
]
UNLIKELY = [
    "茶壶能用电磁炉加热吗",
    "how heavy is the speaker?",
    "鹅绒被是什么填充的",
    "保温杯是什么材质",
    "does the lantern have a warranty?",
    "蓝牙音箱能防水吗",
    "防晒乳的质地怎么样",
    "茶壶和保温杯哪个便宜",
]
_decoder: msgspec.msgpack.Decoder[ControlMessage] = msgspec.msgpack.Decoder(ControlMessage)


class Watch:
    """Everything the session reports, with the wall time of its arrival."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.states: dict[str, float] = {}
        self.first_frame_s = 0.0
        self.turns: dict[str, dict[str, Any]] = {}
        self.metrics: list[Metrics] = []
        self.asked: dict[str, str] = {}

    def __call__(self, message: Event | Metrics) -> None:
        now_s = time.monotonic() - self.started
        if isinstance(message, Metrics):
            if message.fps and not self.first_frame_s:
                self.first_frame_s = now_s
            self.metrics.append(message)
        elif message.kind == "state":
            self.states.setdefault(str(message.data["state"]), now_s)
        elif message.kind == "turn":
            self.turns.setdefault(str(message.data["turn_id"]), {}).update(message.data)

    def spoken(self, question: str) -> dict[str, Any] | None:
        """The finished turn that answered ``question``."""
        for turn in self.turns.values():
            if turn.get("question") == question and turn.get("outcome") in {"spoken", "cut", "dropped"}:
                return turn
        return None


async def ask(run_dir: Path, text: str, number: int) -> None:
    """Write one comment through the control socket."""
    reader, writer = await asyncio.open_unix_connection(socket_path(run_dir / "control.sock"))
    request = Request(1, "comment", {"id": f"q{number}", "text": text, "user": f"viewer {number}", "source": "bench"})
    write_frame(writer, msgspec.msgpack.encode(request))
    while not isinstance(_decoder.decode(await read_frame(reader)), Reply):
        pass
    writer.close()


async def run(cache: Path) -> Watch:
    """One show: warm up, all questions, stop."""
    catalogue = json.loads((ROOT / "tests/questions/catalogue.json").read_text())
    shop = json.loads((ROOT / "platform/lumihost/knowledge/demo/shop.json").read_text())
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="lumihost-bench-") as folder:
        run_dir = Path(folder)
        spec = SessionSpec.model_validate(
            {"knowledge": catalogue, "show": shop["show"], "cache_dir": str(cache), "duration_s": 900,
             "outputs": [RecordingOutput(path=str(run_dir / "show.mp4")).model_dump()]}
        )  # fmt: skip
        supervisor = Supervisor(spec, run_dir, watch)
        task = asyncio.create_task(supervisor.run())
        while "live" not in watch.states:
            await asyncio.sleep(0.05)
        await asyncio.sleep(float(os.environ.get("LUMIHOST_BENCH_IDLE_S", "45")))
        for number, text in enumerate(q for pair in zip(LIKELY, UNLIKELY, strict=True) for q in pair):
            await ask(run_dir, text, number)
            deadline = time.monotonic() + 45
            while watch.spoken(text) is None and time.monotonic() < deadline:
                await asyncio.sleep(0.1)
            await asyncio.sleep(2.0)
        supervisor.request_stop("bench over")
        await task
    return watch


def main() -> int:
    """Print the table and write var/bench/session.json."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="lumihost-cache-") as cache:
        watch = asyncio.run(run(Path(cache)))
    turns = [t for q in LIKELY + UNLIKELY if (t := watch.spoken(q)) and t.get("first_word_ms", -1) >= 0]
    rows = [
        ["on air after start, s", f"{watch.states['live']:.1f}", ""],
        ["frames a second, median", f"{statistics.median(m.fps for m in watch.metrics if m.fps):.1f}", "25"],
        ["late pictures, share of all", f"{watch.metrics[-1].late_frames / max(1, watch.metrics[-1].media_s * 25):.2%}", "0"],
        ["ms a frame, median", f"{statistics.median(m.frame_ms for m in watch.metrics if m.frame_ms > 0):.1f}", "40"],
        ["questions asked / answered", f"{len(LIKELY + UNLIKELY)} / {len(turns)}", ""],
    ]
    result: dict[str, Any] = {"load_before": load, "live_s": watch.states["live"], "turns": turns}
    for stage, value in watch.metrics[-1].stage_ms.items():
        rows.append([f"  {stage}, ms", f"{value:.1f}", ""])
    for name, cached in (("made ahead", True), ("made on the spot", False)):
        words = sorted(float(t["first_word_ms"]) for t in turns if bool(t.get("cached")) is cached)
        if not words:
            rows.append([f"first word, {name}", "not measured here", "350"])
            continue
        waits = [float(t.get("cut_wait_ms", 0)) for t in turns if bool(t.get("cached")) is cached]
        rows.append([f"first word, {name}, n", str(len(words)), ""])
        rows.append([f"first word, {name}, P50 ms", f"{statistics.median(words):.0f}", "350"])
        rows.append([f"first word, {name}, worst ms", f"{words[-1]:.0f}", "800"])
        rows.append(["  wait for the cut beside it, P50 ms", f"{statistics.median(waits):.0f}", ""])
    print_table(f"one show in real time (load before: {load:.1f})", ["what", "this version", "goal"], rows)
    save("session", result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
