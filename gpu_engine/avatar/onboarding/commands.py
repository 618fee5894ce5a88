"""``check`` and ``onboard`` of ``python -m gpu_engine.avatar``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_engine.avatar.fields import NAME
from gpu_engine.avatar.onboarding.consent import read_consent
from gpu_engine.avatar.onboarding.onboard import NEAREST, CancelledError, RefusedError, onboard
from gpu_engine.avatar.onboarding.photo import PhotoError, read_photo
from gpu_engine.avatar.onboarding.quality import Report, check_photo
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.inference.onnx import InferenceError

COMMANDS = ("check", "onboard")
LANGUAGES = ("en", "zh")
REFUSED, CANCELLED = 2, 130
"""Exit states beside 0 and 1: the photograph does not do; somebody pressed Ctrl-C."""


def add_commands(commands: Any) -> None:
    """Declare both commands on an ``argparse`` sub-parser collection."""
    check = commands.add_parser("check", help="say whether a photograph makes a good head, before any work starts")
    check.add_argument("photo", type=Path, help="a JPEG, PNG, WebP, BMP or TIFF of one person")
    check.add_argument("--json", action="store_true", help="print the report as JSON, in both languages")
    check.add_argument("--language", choices=LANGUAGES, default="en")
    make = commands.add_parser("onboard", help="make the pack of a person from one photograph")
    make.add_argument("photo", type=Path)
    make.add_argument("--name", required=True, help="name of the pack: a-z, 0-9, '-' and '_'")
    make.add_argument("--display-zh", default="", help="shown name in Chinese (default: the name)")
    make.add_argument("--display-en", default="", help="shown name in English (default: the name)")
    make.add_argument("--consent", type=Path, default=None, help="JSON record of the person's consent; required")
    make.add_argument("--out", type=Path, required=True, help="the .glb file to write")
    make.add_argument(
        "--template", default=NEAREST, help="shipped pack or .glb whose head is fitted (default: the nearest in form)"
    )
    make.add_argument("--progress", action="store_true", help="print each stage with the share done")
    make.add_argument("--language", choices=LANGUAGES, default="en")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _complain(line: str) -> None:
    sys.stderr.write(line + "\n")


def _advise(report: Report, language: str) -> None:
    words = {"refuse": {"zh": "不可用", "en": "refused"}, "warn": {"zh": "建议", "en": "advice"}}
    for finding in report.findings:
        _complain(f"{words[finding.severity][language]}: {finding.text(language)}")


def _report_json(report: Report) -> str:
    return json.dumps(
        {
            "usable": not report.refused,
            "measures": {name: round(value, 4) for name, value in report.measures.items()},
            "findings": [
                {
                    "code": f.code,
                    "severity": f.severity,
                    "value": round(f.value, 4),
                    "limit": f.limit,
                    "text": {language: f.text(language) for language in LANGUAGES},
                }
                for f in report.findings
            ],
        },
        ensure_ascii=False,
        indent=2,
    )


def run(args: argparse.Namespace) -> int:
    """Run the parsed command; returns the exit state."""
    language = args.language
    try:
        return _check(args, language) if args.command == "check" else _onboard(args, language)
    except PhotoError as error:
        if getattr(args, "json", False):
            refused = {"code": error.code, "severity": "refuse", "text": error.text}
            _say(json.dumps({"usable": False, "measures": {}, "findings": [refused]}, ensure_ascii=False, indent=2))
        else:
            _complain(f"error: {error.text[language]}")
        return REFUSED
    except RefusedError as error:
        _advise(error.report, language)
        return REFUSED
    except CancelledError as error:
        _complain(str(error))
        return CANCELLED
    except (AvatarError, InferenceError) as error:
        _complain(f"error: {error}")
        return 1


def _check(args: argparse.Namespace, language: str) -> int:
    report = check_photo(read_photo(args.photo))
    if args.json:
        _say(_report_json(report))
    else:
        _advise(report, language)
        if not report.findings:
            _say({"zh": "照片合格，可以开始制作。", "en": "The photograph is good; work can start."}[language])
        elif not report.refused:
            _say(
                {
                    "zh": "照片可用；按上面的建议重拍会更好。",
                    "en": "The photograph works; following the advice above makes it better.",
                }[language]
            )
    return REFUSED if report.refused else 0


def _onboard(args: argparse.Namespace, language: str) -> int:
    if not NAME.fullmatch(args.name):
        raise AvatarError(f"--name '{args.name[:40]}': use 1 to 64 of a-z, 0-9, '-' and '_'")
    if args.out.suffix != ".glb":
        raise AvatarError(f"--out {args.out}: a pack is a .glb file")
    consent = read_consent(args.consent, datetime.now(UTC).date())
    photo = read_photo(args.photo)
    stop = threading.Event()
    before = (
        signal.signal(signal.SIGINT, lambda *_: stop.set()) if threading.current_thread() is threading.main_thread() else None
    )

    def progress(stage: str, share: float) -> None:
        if args.progress:
            _say(f"{share:4.0%} {stage}")

    try:
        done = onboard(
            photo,
            name=args.name,
            out=args.out,
            consent=consent,
            template=args.template,
            progress=progress,
            display_name={"zh": args.display_zh or args.name, "en": args.display_en or args.name},
            cancelled=stop.is_set,
        )
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    _advise(done.report, language)
    yaw, pitch, roll = done.built.fit.pose_deg
    _say(
        f"{done.path}: {done.size / 1e6:.1f} MB, "
        f"fit error {done.built.fit.error_px[0]:.2f} px (worst {done.built.fit.error_px[1]:.2f}), "
        f"head as photographed: yaw {yaw:.0f}°, pitch {pitch:.0f}°, roll {roll:.0f}°"
    )
    return 0
