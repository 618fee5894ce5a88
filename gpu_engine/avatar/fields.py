"""Checks the fields of a pack's root extension (docs/avatar-pack.md) without touching geometry."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from gpu_engine.avatar.problems import Problems
from gpu_engine.avatar.skeleton import JOINT_NUMBER

VERSION = 2
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
FRAMINGS = ("16:9", "9:16")
SEE = "see docs/avatar-pack.md"


def is_number(value: Any, low: float, high: float) -> bool:
    """A finite JSON number within [low, high]."""
    # Compared, never converted: a whole number of 400 digits is no float, and no bound lets NaN or infinity through.
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def is_vector(value: Any, length: int, low: float, high: float) -> bool:
    """A list of ``length`` numbers within [low, high]."""
    return isinstance(value, list) and len(value) == length and all(is_number(v, low, high) for v in value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= 4000


def check_fields(extension: dict[str, Any], problems: Problems) -> None:
    """Every field of the root extension: present, of its kind, within its range."""
    version = extension.get("version")
    if version != VERSION or isinstance(version, bool):
        problems.add(
            "version",
            f"is {str(version)[:20]!r}, this engine reads {VERSION}",
            "write the pack again with this version's recipe",
        )
    if not isinstance(extension.get("name"), str) or not NAME.fullmatch(extension["name"]):
        problems.add("name", f"is {str(extension.get('name'))[:40]!r}", "use 1 to 64 of a-z, 0-9, '-' and '_'")
    _display(extension, problems)
    _licence(extension.get("licence"), problems)
    _consent(extension.get("consent"), problems)
    _camera(extension.get("camera"), problems)
    _framings(extension.get("framings"), problems)
    limits = extension.get("limits_deg")
    if not isinstance(limits, dict) or not limits:
        problems.add("limits_deg", "is missing", "give the largest angle of each joint in degrees")
    else:
        for joint, limit in limits.items():
            if joint not in JOINT_NUMBER:
                problems.add(f"limits_deg.{str(joint)[:40]}", "is none of the 22 joints", SEE)
            elif not is_number(limit, 0, 180):
                problems.add(f"limits_deg.{joint}", f"is {str(limit)[:20]!r}", "give degrees from 0 to 180")
    gaze = extension.get("gaze")
    per_unit = gaze.get("degrees_per_unit") if isinstance(gaze, dict) else None
    for way in ("horizontal", "up", "down"):
        if not isinstance(per_unit, dict) or not is_number(per_unit.get(way), 1, 60):
            problems.add(f"gaze.degrees_per_unit.{way}", "is missing or not 1 to 60", "give the eye's turn at weight 1")
    eyes = extension.get("eyes")
    for side in ("l", "r"):
        eye = eyes.get(side) if isinstance(eyes, dict) else None
        if (
            not isinstance(eye, dict)
            or not is_vector(eye.get("centre"), 3, -4, 4)
            or not is_number(eye.get("radius"), 0.002, 0.05)
        ):
            problems.add(f"eyes.{side}", "needs centre [x, y, z] and radius in metres", SEE)
    columns = extension.get("lash_columns")
    if not is_number(columns, 0, 512) or not isinstance(columns, int):
        problems.add(
            "lash_columns", f"is {str(columns)[:20]!r}", "give the vertices in one row of a lash fan, 0 without lashes"
        )
    for key, kind in (("plates", dict), ("generator", str)):
        if not isinstance(extension.get(key), kind):
            problems.add(key, "is missing", SEE)
    if not isinstance(extension.get("sha256"), str) or not re.fullmatch(r"[0-9a-f]{64}", extension["sha256"]):
        problems.add("sha256", "is missing or no SHA-256", "give the hash of the binary chunk in lower-case hex")


def _display(extension: dict[str, Any], problems: Problems) -> None:
    shown = extension.get("display_name")
    for language in ("zh", "en"):
        if not isinstance(shown, dict) or not _text(shown.get(language)):
            problems.add(f"display_name.{language}", "is missing", "give the shown name in both languages")
    if not _text(extension.get("presents")):
        problems.add("presents", "is missing", "say in a few words how the host presents: sex, age, look")


def _licence(licence: Any, problems: Problems) -> None:
    for key, fix in (
        ("spdx", "give an SPDX licence expression, e.g. CC0-1.0"),
        ("origin", "name every source the pack was made from"),
        ("attribution", "give the line to show, e.g. the maker's name"),
    ):
        if not isinstance(licence, dict) or not _text(licence.get(key)):
            problems.add(f"licence.{key}", "is missing", fix)


def _consent(consent: Any, problems: Problems) -> None:
    if not isinstance(consent, dict) or consent.get("subject") not in ("synthetic", "person"):
        problems.add("consent.subject", "must be 'synthetic' or 'person'", "say whether a real person is shown")
        return
    if not _text(consent.get("statement")):
        problems.add("consent.statement", "is missing", "state who is shown and on what ground")
    if consent["subject"] == "synthetic":
        return
    fix = "a real person may only be shown with recorded consent"
    if not _text(consent.get("granted_by")):
        problems.add("consent.granted_by", "is missing", fix)
    try:
        date.fromisoformat(str(consent.get("granted_on")))
    except ValueError:
        problems.add("consent.granted_on", f"is {str(consent.get('granted_on'))[:20]!r}, no date", f"{fix}: YYYY-MM-DD")
    if not re.fullmatch(r"[0-9a-f]{64}", str(consent.get("evidence_sha256"))):
        problems.add("consent.evidence_sha256", "is missing or no SHA-256", f"{fix}: hash of the signed record")


def _camera(camera: Any, problems: Problems) -> None:
    camera = camera if isinstance(camera, dict) else {}
    if not is_number(camera.get("focal_px"), 10, 1e6):
        problems.add("camera.focal_px", "is missing or not 10 to 1000000", SEE)
    eye = camera.get("eye")
    if not is_vector(eye, 3, -100, 100) or eye[2] < 0.8:
        problems.add("camera.eye", "needs [x, y, z] in metres with z of at least 0.8, before the host", SEE)
    if not is_vector(camera.get("principal"), 2, -1e5, 1e5):
        problems.add("camera.principal", "needs [x, y] in canvas pixels", SEE)
    canvas = camera.get("canvas")
    if not is_vector(canvas, 2, 16, 4096) or not all(isinstance(v, int) for v in canvas):
        problems.add("camera.canvas", "needs [w, h], 16 to 4096 px", SEE)


def _framings(framings: Any, problems: Problems) -> None:
    for name in FRAMINGS:
        if not isinstance(framings, dict) or name not in framings:
            problems.add(f"framings.{name}", "is missing", "a pack frames its host for 16:9 and 9:16")
    for name, framing in framings.items() if isinstance(framings, dict) else ():
        where = f"framings.{str(name)[:20]}"
        ranges = {"height_px": (16, 4096), "scale": (0.05, 20), "centre_x": (-1, 2), "top_px": (-8192, 8192)}
        for key, (low, high) in ranges.items():
            if not isinstance(framing, dict) or not is_number(framing.get(key), low, high):
                problems.add(f"{where}.{key}", f"is missing or not {low} to {high}", SEE)
        if isinstance(framing, dict) and set(framing) - set(ranges):
            problems.add(where, f"has unknown fields {sorted(set(framing) - set(ranges))!r:.60}", SEE)


def check_relight(relight: dict[str, Any], where: str, problems: Problems) -> None:
    """A material's own extension: what renderers need that light it anew."""
    for key in ("roughness", "specular"):
        if not is_number(relight.get(key), 0, 1):
            problems.add(f"{where} {key}", "is missing or not 0 to 1", SEE)
    if not is_vector(relight.get("subsurface"), 3, 0, 100):
        problems.add(f"{where} subsurface", "needs [r, g, b] in millimetres, 0 to 100", SEE)
