"""Looks at a photograph before any work starts and says what stands in the way of a good head, in Chinese and English.

Every rule has a measured value, a limit and a remedy. Limits were set on a public-domain portrait, on pictures of our own
presenters and on copies of both spoilt step by step (tests/onboarding); each says where it bites. What is not measured
reliably is not claimed: there is no rule for glasses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.detector import Detection, detect_faces
from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, LIPS_INNER, LIPS_OUTER, OVAL, Face, find_points
from gpu_engine.avatar.onboarding.advice import ADVICE
from gpu_engine.avatar.onboarding.photo import Photo
from gpu_engine.avatar.onboarding.texture import polygon

Severity = Literal["refuse", "warn"]
PRESENCE = 0.5
"""Below this the landmark network does not believe in a face."""
SECOND_FACE_SHARE = 0.35
"""A second face this large beside the first counts as another person, a smaller one as background."""

FACE_PIXELS = (36.0, 90.0)
MARGIN = (0.02, 0.12)
YAW_DEG, PITCH_DEG, ROLL_DEG = (22.0, 11.0), (22.0, 14.0), (35.0, 15.0)
EYE_OPEN = (0.09, 0.155)
MOUTH_OPEN = (0.30, 0.12)
SHARPNESS = (0.012, 0.030)
DARK, BRIGHT, CLIPPED = (38.0, 70.0), (240.0, 220.0), (0.30, 0.09)
ONE_SIDED = (3.6, 1.9)
CAST = (36.0, 12.0)
HIDDEN = (0.028, 0.0135)
UNEVEN = (0.55, 0.42)
"""Limits (refuse, warn) of the rules below, in the units ``advice.ADVICE`` names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with the photograph."""

    code: str
    severity: Severity
    value: float
    limit: float

    def text(self, language: str) -> str:
        """The sentence in ``zh`` or ``en``: what, how much against which limit, and what to do."""
        entry = ADVICE[self.code]
        what, remedy = (entry.what_zh, entry.remedy_zh) if language == "zh" else (entry.what_en, entry.remedy_en)
        value, limit = (entry.shown.format(v) for v in (self.value, self.limit))
        if language == "zh":
            return f"{what}（实测 {value}，限值 {limit}）。{remedy}"
        return f"{what} (measured {value}, limit {limit}). {remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """The answer: ``findings`` worst first, ``measures`` by rule, ``face`` unless none was found."""

    findings: tuple[Finding, ...]
    measures: dict[str, float]
    face: Face | None

    @property
    def refused(self) -> bool:
        return any(f.severity == "refuse" for f in self.findings)


def pose(face: Face) -> tuple[float, float, float]:
    """Yaw (to the person's left), pitch (down) and roll in degrees, from the points alone.

    Yaw compares the face's two halves in depth, pitch the forehead with the chin, roll the eyes' line. Against rendered heads
    of known pose yaw was within 3° and pitch within 5° up to 20°.
    """
    p = face.points.astype(np.float64) * np.array([1, -1, -1])
    across = p[[454, 323, 356, 263]].mean(0) - p[[234, 93, 127, 33]].mean(0)
    up = p[[10, 109, 338]].mean(0) - p[[152, 148, 377]].mean(0)
    roll = float(np.degrees(np.arctan2(across[1], np.hypot(across[0], across[2]))))
    yaw = float(np.degrees(np.arctan2(-across[2], np.hypot(across[0], across[1]))))
    pitch = float(np.degrees(np.arctan2(up[2], np.hypot(up[0], up[1])))) - PITCH_REST_DEG
    return yaw, pitch, roll


PITCH_REST_DEG = 6.0
"""Lean of the chin-to-forehead line of a face that looks straight ahead."""


def _opening(points: NDArray[np.floating], outline: tuple[int, ...]) -> float:
    """Height over width of an eye (Soukupová & Čech 2016), corners at places 0 and 8 of the outline."""
    p = points[list(outline), :2]
    width = float(np.linalg.norm(p[0] - p[8]))
    heights = [float(np.linalg.norm(p[a] - p[b])) for a, b in ((3, 13), (4, 12), (5, 11))]
    return float(np.mean(heights)) / max(width, 1e-6)


def _face_crop(image: NDArray[np.uint8], face: Face) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.float64]]:
    """The face upright at 112 px between the eyes' outer parts, its skin mask, and the points in it."""
    side, gap = 320, 112.0
    right, left = (face.points[list(e), :2].mean(0) for e in (EYE_RIGHT, EYE_LEFT))
    across = left - right
    angle, scale = np.arctan2(across[1], across[0]), gap / max(float(np.linalg.norm(across)), 1e-6)
    c, s = np.cos(angle) * scale, np.sin(angle) * scale
    turn = np.array([[c, s], [-s, c]])
    matrix = np.concatenate([turn, (np.array([side / 2, 0.38 * side]) - turn @ ((right + left) / 2))[:, None]], 1)
    source: NDArray[np.uint8] = image
    if scale < 0.5:
        shrink = 2 ** int(np.floor(-np.log2(scale)))
        source = np.asarray(cv2.resize(image, None, fx=1 / shrink, fy=1 / shrink, interpolation=cv2.INTER_AREA), np.uint8)
        matrix[:, :2] *= shrink
    crop = np.asarray(cv2.warpAffine(source, matrix, (side, side), borderMode=cv2.BORDER_REPLICATE), np.uint8)
    points = face.points[:, :2] @ (matrix[:, :2] / (image.shape[1] / source.shape[1])).T + matrix[:, 2]
    mask = polygon(crop.shape, points[list(OVAL)])
    for outline in (EYE_RIGHT, EYE_LEFT, LIPS_OUTER):
        mask[cv2.dilate(polygon(crop.shape, points[list(outline)]), np.ones((9, 9))) > 0] = 0
    return crop, np.asarray(cv2.erode(mask, np.ones((9, 9))), np.uint8), np.asarray(points, np.float64)


def sharpness(image: NDArray[np.uint8], face: Face) -> float:
    """Share of fine structure in the face: mean gradient at the finest scale the face has, over its contrast.

    Measured at the face's own size (never enlarged), around eyes, brows, nose and mouth, so that a small but crisp face and a
    large but soft one are told apart.
    """
    x0, y0 = np.maximum(face.points[:, :2].min(0).astype(int), 0)
    x1, y1 = face.points[:, :2].max(0).astype(int) + 1
    part = cv2.cvtColor(image[y0:y1, x0:x1], cv2.COLOR_BGR2GRAY).astype(np.float32)
    if part.size == 0:
        return 0.0
    gap = face.eye_distance
    if gap > 110:
        part = np.asarray(cv2.resize(part, None, fx=110 / gap, fy=110 / gap, interpolation=cv2.INTER_AREA), np.float32)
    fine = part - cv2.GaussianBlur(part, (0, 0), 1.0)
    # Noise is fine structure too, but has no edges: the strongest hundredth of the detail is what a face's features give.
    strong = np.percentile(np.abs(fine), 99)
    noise = 1.4826 * float(np.median(np.abs(fine - np.median(fine))))
    contrast = float(np.percentile(part, 98) - np.percentile(part, 2))
    return float(max(0.0, float(strong) - 3 * noise) / max(contrast, 12.0))


def skin_cast(image: NDArray[np.uint8], face: Face) -> tuple[float, float]:
    """How far the skin's median a and b lie from what human skin takes in daylight, in Lab units (8-bit scale)."""
    crop, mask, _ = _face_crop(image, face)
    if (mask > 0).sum() < 100:
        return 0.0, 0.0
    lab = cv2.cvtColor(crop, cv2.COLOR_BGR2LAB).astype(np.float32)[mask > 0]
    a, b = float(np.median(lab[:, 1])) - 128, float(np.median(lab[:, 2])) - 128
    inside_a = float(np.clip(a, 4, 30))
    inside_b = float(np.clip(b, 0.45 * inside_a, 2.7 * inside_a))
    return a - inside_a, b - inside_b


def light(image: NDArray[np.uint8], face: Face) -> dict[str, float]:
    """Brightness, clipped share, left/right ratio and colour cast of the face's skin.

    ``cast`` is the distance of the skin's colour from that of human skin, pale to dark (a 4 to 30, b 0.45 a to 2.7 a in Lab).
    """
    crop, mask, points = _face_crop(image, face)
    skin = mask > 0
    if skin.sum() < 100:
        return {"dark": 0.0, "bright": 255.0, "clipped": 1.0, "one_sided": 1.0, "cast": 0.0}
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    linear = (grey / 255) ** 2.2
    middle = points[[168, 1, 152], 0].mean()
    column = np.arange(crop.shape[1])[None, :]
    halves = [float(linear[skin & (column < middle)].mean()), float(linear[skin & (column >= middle)].mean())]
    level = float(np.median(grey[skin]))
    return {
        "dark": level,
        "bright": level,
        "clipped": float((grey[skin] > 250).mean()),
        "one_sided": max(halves) / max(min(halves), 1e-3),
        "cast": float(np.hypot(*skin_cast(image, face))),
    }


def unevenness(image: NDArray[np.uint8], face: Face) -> float:
    """How differently the two halves of the face look, 0 to 1: a hand, a mask, hair over one eye, a cropped edge.

    Mean over blocks of one minus the correlation of the mirrored halves' gradients, after evening out their light.
    """
    crop, _, points = _face_crop(image, face)
    grey = cv2.GaussianBlur(cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), (0, 0), 2.5).astype(np.float32)
    level = cv2.GaussianBlur(grey, (0, 0), 24)
    flat = (grey - level) / (level + 12)
    middle = float(points[[168, 6, 1, 2, 152], 0].mean())
    mirror = cv2.warpAffine(flat, np.array([[-1.0, 0, 2 * middle], [0, 1, 0]]), (crop.shape[1], crop.shape[0]))
    oval = cv2.erode(polygon(crop.shape, points[list(OVAL)]), np.ones((13, 13))) > 0
    inside = (
        oval & (cv2.warpAffine(oval.astype(np.uint8), np.array([[-1.0, 0, 2 * middle], [0, 1, 0]]), oval.shape[::-1]) > 0)
    ).astype(np.float32)
    size = (41, 41)
    mean_a, mean_b, share = (cv2.blur(v * inside, size) for v in (flat, mirror, np.ones_like(flat)))
    share = np.maximum(share, 1e-3)
    ma, mb = mean_a / share, mean_b / share
    cross = cv2.blur((flat - ma) * (mirror - mb) * inside, size) / share
    va, vb = (cv2.blur(np.square(v - m) * inside, size) / share for v, m in ((flat, ma), (mirror, mb)))
    floor = 4e-4
    likeness = (cross + floor) / (np.sqrt(np.maximum(va, 0) * np.maximum(vb, 0)) + floor)
    return float(np.clip((1 - likeness[inside > 0]).mean(), 0, 1)) if inside.any() else 0.0


def measure(image: NDArray[np.uint8], face: Face) -> dict[str, float]:
    """Every measured value by rule, units as in ``advice.ADVICE``."""
    height, width = image.shape[:2]
    points = face.points
    x0, y0 = points[list(OVAL), :2].min(0)
    x1, y1 = points[list(OVAL), :2].max(0)
    face_h = max(float(y1 - y0), 1e-6)
    # Above the hairline there is about a third of a face of hair.
    margin = min(float(x0), float(width - x1), float(height - y1), float(y0) - 0.12 * face_h) / face_h
    yaw, pitch, roll = pose(face)
    mouth = points[list(LIPS_INNER), :2]
    gap = float(np.mean([np.linalg.norm(points[a, :2] - points[b, :2]) for a, b in ((13, 14), (82, 87), (312, 317))]))
    return {
        "face_small": face.eye_distance,
        "border": margin,
        "yaw": abs(yaw),
        "pitch": abs(pitch),
        "roll": abs(roll),
        "eyes_closed": min(_opening(points, EYE_RIGHT), _opening(points, EYE_LEFT)),
        "mouth_open": gap / max(float(np.linalg.norm(mouth[0] - mouth[10])), 1e-6),
        "blurred": sharpness(image, face),
        **light(image, face),
        "hidden": face.spread / max(face.eye_distance, 1e-6),
        "uneven": unevenness(image, face),
    }


def _least(value: float, limits: tuple[float, float]) -> tuple[Severity, float] | None:
    return ("refuse", limits[0]) if value < limits[0] else ("warn", limits[1]) if value < limits[1] else None


def _most(value: float, limits: tuple[float, float]) -> tuple[Severity, float] | None:
    return ("refuse", limits[0]) if value > limits[0] else ("warn", limits[1]) if value > limits[1] else None


RULES: dict[str, tuple[Callable[[float, tuple[float, float]], tuple[Severity, float] | None], tuple[float, float]]] = {
    "face_small": (_least, FACE_PIXELS),
    "border": (_least, MARGIN),
    "yaw": (_most, YAW_DEG),
    "pitch": (_most, PITCH_DEG),
    "roll": (_most, ROLL_DEG),
    "eyes_closed": (_least, EYE_OPEN),
    "mouth_open": (_most, MOUTH_OPEN),
    "blurred": (_least, SHARPNESS),
    "dark": (_least, DARK),
    "bright": (_most, BRIGHT),
    "clipped": (_most, CLIPPED),
    "one_sided": (_most, ONE_SIDED),
    "cast": (_most, CAST),
    "hidden": (_most, HIDDEN),
    "uneven": (_most, UNEVEN),
}


def _faces(image: NDArray[np.uint8]) -> list[tuple[Detection, Face]]:
    found = []
    for detection in detect_faces(image)[:12]:
        face = find_points(image, detection)
        if face.presence >= PRESENCE:
            found.append((detection, face))
    kept: list[tuple[Detection, Face]] = []
    for pair in sorted(found, key=lambda pair: -pair[1].eye_distance):
        # Two windows may each see the same face: a nose inside a face already found is that face's.
        nose = pair[1].points[1, :2]
        if not any(((nose > f.points[:, :2].min(0)) & (nose < f.points[:, :2].max(0))).all() for _, f in kept):
            kept.append(pair)
    return kept


def check_photo(photo: Photo) -> Report:
    """Examine an opened photograph; takes about half a second on one core."""
    faces = _faces(photo.image)
    if not faces:
        return Report((Finding("no_face", "refuse", 0, 1),), {}, None)
    face = faces[0][1]
    measures = {"several_faces": float(len(faces)), **measure(photo.image, face)}
    findings = []
    others = [f for _, f in faces[1:] if f.eye_distance > SECOND_FACE_SHARE * face.eye_distance]
    if others:
        findings.append(Finding("several_faces", "refuse", float(1 + len(others)), 1))
    for code, (rule, limits) in RULES.items():
        if (hit := rule(measures[code], limits)) is not None:
            findings.append(Finding(code, hit[0], measures[code], hit[1]))
    if "grey" in photo.notes:
        findings.append(Finding("grey", "warn", 0, 0))
    return Report(tuple(sorted(findings, key=lambda f: f.severity != "refuse")), measures, face)
