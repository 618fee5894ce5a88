"""``python -m gpu_engine.avatar sheet|validate|check|onboard``: look at a pack, check one, or make one from a photograph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2

from gpu_engine.avatar.onboarding import commands as onboarding
from gpu_engine.avatar.pack import load_pack, pack_path
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.sheet import contact_sheet
from gpu_engine.avatar.validate import validate


def say(line: str) -> None:
    """Write a line of the answer."""
    sys.stdout.write(line + "\n")


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.avatar", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sheet = commands.add_parser("sheet", help="render a contact sheet of a pack")
    sheet.add_argument("--pack", default="lin", help="shipped pack name or .glb file")
    sheet.add_argument("--out", type=Path, required=True, help="image file to write (.png or .jpg)")
    sheet.add_argument("--height", type=int, default=720, help="frame height the tiles are drawn at")
    sheet.add_argument("--tile", type=int, default=300, help="side of a tile in pixels")
    validate_ = commands.add_parser("validate", help="check a pack file")
    validate_.add_argument("file", type=Path, help="a .glb file or shipped pack name")
    onboarding.add_commands(commands)
    args = parser.parse_args(argv)
    if args.command in onboarding.COMMANDS:
        return onboarding.run(args)
    try:
        if args.command == "sheet":
            image = contact_sheet(load_pack(args.pack), height=args.height, tile=args.tile)
            quality = [cv2.IMWRITE_JPEG_QUALITY, 88] if args.out.suffix.lower() in (".jpg", ".jpeg") else []
            if not cv2.imwrite(str(args.out), image, quality):
                raise AvatarError(f"{args.out} could not be written")
            say(f"{args.out}: {image.shape[1]}x{image.shape[0]}")
        else:
            verdict = validate(args.file if args.file.exists() else pack_path(args.file))
            for problem in verdict.problems:
                sys.stderr.write(f"error: {problem}\n")
            if verdict.problems:
                sys.stderr.write(f"{args.file}: {len(verdict.problems)} problems\n")
                return 1
            say(verdict.summary)
    except AvatarError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
