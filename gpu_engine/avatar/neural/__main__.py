"""``python -m gpu_engine.avatar.neural check|render|analyse|prepare``: look at heads, let them speak, make them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from gpu_engine.avatar.neural.loop import analyse
from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.neural.network import HeadNetwork
from gpu_engine.avatar.neural.offline import read_sound, render
from gpu_engine.avatar.neural.renderer import STAGES, NeuralRenderer, providers_from_environment
from gpu_engine.avatar.renderer import AvatarError


def say(line: str) -> None:
    """Write a line of the answer."""
    sys.stdout.write(line + "\n")


def _check(path: Path) -> None:
    head = load_head(path)
    network = HeadNetwork(head, providers=providers_from_environment())
    seam = analyse(head)
    size = sum(head.path(ref).stat().st_size for ref in head.files())
    say(f"{head.name}: valid, {size / 1e6:.1f} MB, {head.licence.spdx}, {head.consent.subject}")
    say(f"loop: frames {seam.first} to {seam.last}, {seam.mode}, {len(seam.open_frames)} with an open mouth")
    found = network.providers
    say(f"providers: configured {', '.join(found.configured) or 'default'}; available {', '.join(found.available)}; "
        f"active {', '.join(found.active)}")  # fmt: skip


def _analyse(path: Path) -> None:
    seam = analyse(load_head(path))
    raw = json.loads(path.read_text("utf-8"))
    raw["loop"] |= {
        "first": seam.first, "last": seam.last, "mode": seam.mode, "fade_frames": seam.fade_frames,
        "open_frames": list(seam.open_frames),
    }  # fmt: skip
    path.write_text(json.dumps(raw, ensure_ascii=False, indent=1) + "\n", "utf-8")
    say(f"{path}: loop {seam.first} to {seam.last}, {seam.mode}, seam {seam.jump:.1f} times the usual step")


def _render(options: argparse.Namespace) -> None:
    renderer = NeuralRenderer(
        load_head(options.head), options.width, options.height, fps=options.fps, real_time=False, batch=options.batch,
        providers=providers_from_environment(),
    )  # fmt: skip
    renderer.on_event = lambda state, reason: say(f"{state}: {reason}")
    renderer.warm_up()
    spent = dict.fromkeys(STAGES, 0.0)

    def add(_: int) -> None:
        for stage, ms in renderer.stage_ms.items():
            spent[stage] += ms

    began = time.perf_counter()
    count = render(renderer, read_sound(options.audio), options.out, fps=options.fps, each=add)
    took = time.perf_counter() - began
    stages = ", ".join(f"{stage} {ms / count:.1f}" for stage, ms in spent.items())
    say(f"{options.out}: {count} frames, {took / (count / options.fps):.2f} s a second; ms a frame: {stages}")


def _prepare(options: argparse.Namespace) -> None:
    from gpu_engine.avatar.neural.prepare import track_points

    points = track_points(options.video, options.points)
    np.savez_compressed(options.out, points=points)
    say(f"{options.out}: five points in {len(points)} frames")


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.avatar.neural", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("check", "check files, shapes and loop"), ("analyse", "choose the loop's seam and write it down")):
        one = commands.add_parser(name, help=what)
        one.add_argument("head", type=Path)
    speak = commands.add_parser("render", help="let a head speak a sound file")
    speak.add_argument("--head", type=Path, required=True)
    speak.add_argument("--audio", type=Path, required=True)
    speak.add_argument("--out", type=Path, required=True, help="MP4 to write")
    speak.add_argument("--width", type=int, default=1280)
    speak.add_argument("--height", type=int, default=720)
    speak.add_argument("--fps", type=int, default=25)
    speak.add_argument("--batch", type=int, choices=(1, 2, 4, 8), default=None)
    track = commands.add_parser("prepare", help="follow five points of a face through a recording")
    track.add_argument("video", type=Path)
    track.add_argument("--points", help="x,y of right eye, left eye, nose tip, right and left mouth corner in the first frame, "
                       "as the person's own sides; without: found by the face landmarks")  # fmt: skip
    track.add_argument("--out", type=Path, required=True, help="landmarks.npz to write")
    options = parser.parse_args(argv)
    try:
        if options.command == "check":
            _check(options.head)
        elif options.command == "analyse":
            _analyse(options.head)
        elif options.command == "render":
            _render(options)
        else:
            _prepare(options)
    except AvatarError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
