"""A mind that plays one clip of beeps, the jaw wide open exactly while one sounds: the yardstick of audio against picture."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec
import numpy as np

from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX
from gpu_engine.session.child import ChildLink
from gpu_engine.session.link import read_frame, socket_path, write_frame
from gpu_engine.session.timeline import ClipBegin, ClipChunk, ClipKind, ClipSeal, Pass, Priority

BEEP_EVERY_MS = 1000
BEEP_MS = 300
BEEPS = 6


def clip() -> list[object]:
    """Six beeps, one a second, each starting 500 ms into its second."""
    total_ms = BEEP_EVERY_MS * BEEPS
    pcm = np.zeros(total_ms * 48, dtype="<i2")
    lips = np.zeros((total_ms // 20, WEIGHT_COUNT), dtype=np.uint8)
    for beep in range(BEEPS):
        start_ms = beep * BEEP_EVERY_MS + 500
        t = np.arange(BEEP_MS * 48)
        pcm[start_ms * 48 : (start_ms + BEEP_MS) * 48] = (12_000 * np.sin(2 * np.pi * 1000 * t / 48_000)).astype(np.int16)
        lips[start_ms // 20 : (start_ms + BEEP_MS) // 20, WEIGHT_INDEX["jawOpen"]] = 200
    return [
        ClipBegin("beeps", "t", ClipKind.SCRIPT, Priority.SCRIPT),
        ClipChunk("beeps", pcm.tobytes(), lips.tobytes()),
        ClipSeal("beeps"),
        Pass(3_600_000),
    ]


async def main() -> None:
    """Connect, play, then listen until the body goes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec")
    parser.add_argument("--run-dir", type=Path)
    run_dir = parser.parse_args().run_dir
    link = ChildLink("mind")
    await link.connect(run_dir)
    serving = asyncio.create_task(link.serve({}))
    while not (run_dir / "mind.sock").exists():
        await asyncio.sleep(0.05)
    reader, writer = await asyncio.open_unix_connection(socket_path(run_dir / "mind.sock"))
    for message in clip():
        write_frame(writer, msgspec.msgpack.encode(message))
    await writer.drain()
    while True:
        await read_frame(reader)
        if serving.done():
            return


if __name__ == "__main__":
    asyncio.run(main())
