"""The body process: ``python -m gpu_engine.body --spec S --run-dir D --incarnation N``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gpu_engine.session.process import die_with_parent, leave_interrupts_to_the_parent, single_threaded_math, start_logging


def main() -> int:
    """Run one session's body; exit code 0 when it was asked to stop."""
    die_with_parent()
    leave_interrupts_to_the_parent()
    single_threaded_math()
    start_logging("body")
    parser = argparse.ArgumentParser(prog="gpu_engine.body")
    parser.add_argument("--spec", type=Path, required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--incarnation", type=int, required=True)
    options = parser.parse_args()

    import cv2

    from gpu_engine.avatar.library import open_renderer
    from gpu_engine.body.links import SupervisorPort
    from gpu_engine.body.loop import BodyLoop
    from gpu_engine.body.picture import ShowPicture
    from gpu_engine.motion.live import LiveMotion
    from gpu_engine.session.aigc import implicit_label
    from gpu_engine.session.spec import load_spec

    cv2.setNumThreads(1)
    spec = load_spec(options.spec)
    notices: list[str] = []
    renderer = open_renderer(
        spec.avatar, spec.video.width, spec.video.height, fps=spec.video.fps, real_time=spec.clock == "real",
        draw_on=spec.draw_on, tell=notices.append,
    )  # fmt: skip
    picture = ShowPicture(spec, renderer)
    # Only now: who has said hello must answer pings, and a first start compiles for longer than a hung process may be silent.
    supervisor = SupervisorPort(options.run_dir, os.getpid())
    for reason in notices:
        supervisor.emit("avatar", state="degraded", reason=reason)
    picture.report_to(lambda state, reason: supervisor.emit("avatar", state=state, reason=reason))
    if spec.clock == "real":
        picture.live = LiveMotion(options.run_dir, lambda state, reason: supervisor.emit("motion", state=state, reason=reason))
    loop = BodyLoop(spec, options.run_dir, options.incarnation, picture, supervisor, implicit_label(spec.producer))
    loop.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
