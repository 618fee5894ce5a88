"""From a photograph to a pack file: check, build, examine, and only then appear under the wanted name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_engine.avatar.landmarks.face import Face
from gpu_engine.avatar.onboarding.build import STAGES, Built, build
from gpu_engine.avatar.onboarding.fit import likeness
from gpu_engine.avatar.onboarding.photo import Photo
from gpu_engine.avatar.onboarding.quality import Report, check_photo
from gpu_engine.avatar.onboarding.template import Template, read_template
from gpu_engine.avatar.pack import pack_path, shipped_packs
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.validate import validate
from gpu_engine.avatar.writer import build_pack

NEAREST = "nearest"
"""Instead of a template's name: the shipped pack whose face is nearest in form."""
Progress = Callable[[str, float], None]


class RefusedError(AvatarError):
    """The photograph does not do; ``report`` says why."""

    def __init__(self, report: Report) -> None:
        first = next(f for f in report.findings if f.severity == "refuse")
        super().__init__(first.text("en"))
        self.report = report


class CancelledError(AvatarError):
    """Somebody asked to stop; nothing was written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was written, and the advice that did not stand in the way."""

    path: Path
    size: int
    report: Report
    built: Built


def nearest_template(face: Face) -> Template:
    """The shipped pack whose face is nearest to this one in form; about a second.

    Raises:
        AvatarError: no pack is shipped, or one of them is damaged.
    """
    best: tuple[float, Template] | None = None
    for name in shipped_packs():
        template = read_template(pack_path(name))
        distance = likeness(template, face)
        if best is None or distance < best[0]:
            best = (distance, template)
    if best is None:
        raise AvatarError("no pack is shipped to serve as template; name a .glb")
    return best[1]


def onboard(
    photo: Photo,
    *,
    name: str,
    out: Path,
    consent: dict[str, Any],
    display_name: dict[str, str] | None = None,
    template: str | Path = NEAREST,
    progress: Progress = lambda stage, share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Make the pack of the person in ``photo``; about ten seconds on one core, under a gigabyte of memory.

    Args:
        name: the pack's name, lower case; ``display_name`` the shown one by language (by default the name).
        out: the file to write; it appears complete or not at all, replacing what was there.
        consent: ``consent.read_consent``'s answer.
        template: shipped pack or file whose head is fitted, or ``nearest``.
        progress: called with a stage (``check``, then ``build.STAGES``) and the share done, 0 to 1.
        cancelled: asked between stages.

    Raises:
        RefusedError: the photograph fails a rule.
        CancelledError: ``cancelled`` said so.
        AvatarError: template or output unusable, or the finished pack is not valid.
    """
    order = ("check", *STAGES)

    def stage(which: str) -> None:
        if cancelled():
            raise CancelledError(f"stopped before '{which}'; {out} was not touched")
        progress(which, order.index(which) / len(order))

    stage("check")
    named = None if template == NEAREST else read_template(pack_path(template))
    report = check_photo(photo)
    if report.refused or report.face is None:
        raise RefusedError(report)
    model = named or nearest_template(report.face)
    built = build(
        model,
        photo.image,
        report.face,
        name=name,
        display_name=display_name or {"zh": name, "en": name},
        consent=consent,
        origin=f"photograph sha256 {photo.sha256}",
        on_stage=stage,
    )
    stage("write")
    data = build_pack(built.source).encode()
    verdict = validate(data)
    if verdict.problems:
        raise AvatarError(f"the pack made from this photograph is not valid: {verdict.problems[0]}")
    place(out, data, cancelled)
    progress("done", 1.0)
    return Outcome(out, len(data), report, built)


def place(out: Path, data: bytes, cancelled: Callable[[], bool]) -> None:
    """Write beside the target and rename: a reader sees the old file or the whole new one."""
    part = ""
    try:
        handle, part = tempfile.mkstemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if cancelled():
            raise CancelledError(f"stopped before the pack was put in place; {out} was not touched")
        os.chmod(part, 0o644)
        os.replace(part, out)
    except OSError as error:
        raise AvatarError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        if part and os.path.exists(part):
            os.unlink(part)
