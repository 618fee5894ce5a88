"""``python -m gpu_engine.training.lip_head``: speech, footage, training and head, each step kept so that a stop costs little.

Needs the ``[train]`` extra, the speech model (``python -m gpu_engine.models prepare``) and a checkout (for the texts).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

STEPS = ("speech", "footage", "train", "head")


def say(line: str) -> None:
    """Write a line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.training.lip_head", description=__doc__)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, "all"], default=["all"], help="default: all, in order")
    parser.add_argument("--work", type=Path, default=Path("var/lip_head"), help="folder for speech, footage and checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="folder of the finished head")
    parser.add_argument("--pack", default="lin", help="avatar pack to film")
    parser.add_argument("--checkout", type=Path, default=Path(), help="checkout with the demo shop's texts")
    parser.add_argument("--minutes", type=float, default=10.5, help="minutes of speech to learn from")
    parser.add_argument("--held-out-minutes", type=float, default=1.5, help="minutes of each held-out set")
    parser.add_argument(
        "--decoder-minutes", type=float, default=None, help="CPU minutes for the painter; joint takes twice that"
    )
    options = parser.parse_args(argv)
    steps = STEPS if "all" in options.steps else tuple(s for s in STEPS if s in options.steps)
    speech, film = options.work / "speech", options.work / "footage"
    if "speech" in steps:
        from gpu_engine.speech.kokoro import KokoroEngine
        from gpu_engine.training.lip_head.speech import synthesise
        from gpu_engine.training.lip_head.texts import Role, plan

        minutes: dict[Role, float] = {
            "train": options.minutes, "sentences": options.held_out_minutes, "voice": options.held_out_minutes
        }  # fmt: skip
        synthesise(KokoroEngine(), list(plan(options.checkout)), speech, minutes, say)
    if "footage" in steps:
        from gpu_engine.training.lip_head.footage import Studio, film_all

        film_all(Studio(options.pack), sorted(speech.glob("*.npz")), film, say)
    if "train" in steps:
        from gpu_engine.training.lip_head.learn import learn
        from gpu_engine.training.lip_head.train import Schedule

        schedule = Schedule()
        if options.decoder_minutes:
            schedule = Schedule(decoder_min=options.decoder_minutes, joint_min=2 * options.decoder_minutes)
        files = sorted(film.glob("*.npz"))
        learn([speech / file.name for file in files], files, options.work / "trained", schedule, say)
    if "head" in steps:
        from gpu_engine.training.lip_head.assemble import assemble

        command = f"python -m gpu_engine.training.lip_head --pack {options.pack} --minutes {options.minutes:g} --out HEAD"
        say(str(assemble(options.pack, options.work / "trained", options.out, command, say)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
