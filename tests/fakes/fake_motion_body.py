"""``python -m tests.fakes.fake_motion_body RUN_DIR``: the motion of a show at 25 fps without its picture.

Writes one JSON line for each hand-over to standard output.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gpu_engine.motion.live import LiveMotion
from gpu_engine.motion.vocabulary import WEIGHT_INDEX, rest_frame

FRAME_S = 0.04


def main() -> int:
    """Run until killed; the face's jaw is at 0.125 while the host is its own."""
    run_dir = Path(sys.argv[1])
    run_dir.mkdir(parents=True, exist_ok=True)

    def tell(state: str, reason: str) -> None:
        print(json.dumps({"state": state, "reason": reason}), flush=True)

    live = LiveMotion(run_dir, tell)
    own = rest_frame()
    own.weights[WEIGHT_INDEX["jawOpen"]] = 0.125
    start_s, frame = time.monotonic(), 0
    while True:
        live.publish(live.apply(own, False, int(frame * FRAME_S * 1000)), False)
        frame += 1
        time.sleep(max(0.0, start_s + frame * FRAME_S - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
