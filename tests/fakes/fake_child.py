"""A child process for supervisor tests: answers, and on request hangs or dies. Run as body, mind or outlet."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

from gpu_engine.session.child import ChildLink


def run(name: str) -> None:
    """Serve until asked to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec")
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--incarnation", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(name, options.run_dir))


async def _serve(name: str, run_dir: Path) -> None:
    link = ChildLink(name)
    await link.connect(run_dir)
    done = asyncio.Event()

    async def stop(params: dict[str, Any]) -> dict[str, Any]:
        link.emit("state", state="stopping", reason=params.get("reason", ""))
        (run_dir / "eos").touch()
        done.set()
        return {}

    async def end_of_stream() -> None:
        while name != "outlet" or not (run_dir / "eos").exists():
            await asyncio.sleep(0.02)
        done.set()

    def count_and_end() -> None:
        link.emit("accepted", incarnation=1, second=1, outputs=["recording"])
        done.set()

    async def say(params: dict[str, Any]) -> dict[str, Any]:
        if params["text"] == "die":
            os._exit(9)
        if params["text"] == "hang":
            time.sleep(3600)  # the point is a blocked event loop
        if params["text"] == "cursor":
            link.emit("cursor", loop=1, segment_index=2, line_index=3, sentence_index=4)
        if params["text"] == "count at the end":
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, count_and_end)
        if params["text"] == "nonsense":
            link.emit("accepted", second="soon")
        if params["text"] == "take":
            for second in range(1, 8):
                link.emit("accepted", incarnation=1, second=second, outputs=["recording"])
        return {"pid": os.getpid()}

    link.metrics(inbox=7)
    (run_dir / "eos").unlink(missing_ok=True)
    ending = asyncio.create_task(end_of_stream())
    serving = asyncio.create_task(link.serve({"stop": stop, "say": say, "whep_offer": say, "whep_close": say, "comment": say}))
    await asyncio.wait({serving, asyncio.create_task(done.wait())}, return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    await asyncio.sleep(0.05)
