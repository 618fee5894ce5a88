"""Bends the template onto a photographed face: pose from the points, then one smooth image-plane warp for mesh and targets.

The template is measured by the same network as the photograph, in the photograph's pose and with its mouth as far open, so
what the network gets wrong it gets wrong on both sides. Targets are warped with the mesh (warp of the posed vertex less warp
of the resting one): a lid that closes on the template's lower lid closes on the photograph's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, OVAL, Face
from gpu_engine.avatar.onboarding.posed import Lens, Measured, measure, posed_verts, turned
from gpu_engine.avatar.onboarding.template import Template
from gpu_engine.avatar.onboarding.warp import Neighbours, Spline, Table, similarity
from gpu_engine.avatar.skeleton import JOINT_NUMBER

F64 = NDArray[np.float64]
STEADY = (
    33,
    133,
    362,
    263,
    1,
    2,
    4,
    5,
    6,
    168,
    197,
    195,
    98,
    327,
    94,
    50,
    280,
    117,
    346,
    10,
    338,
    297,
    332,
    284,
    251,
    389,
    356,
    454,
    234,
    127,
    162,
    21,
    54,
    103,
    67,
    109,
)
"""Points that no expression moves much."""
GAPS = ((13, 14), (82, 87), (312, 317), (81, 178), (311, 402), (80, 88), (310, 318))
"""Upper and lower inner lip, pairs from the middle outwards."""
OPEN_GAP = 0.045
"""Lips further apart than this share of the eye distance are open; the pack's rest pose closes them."""
DEPTH_TRUST = 0.6
TEETH_BACK_DM = 0.035
SMILE_GAIN, SMILE_GAIN_SMILING = 0.85, 0.6
"""How much of the template's smile is added to a resting face, and to one that smiles already."""
MOUTH_PIECES = ("teeth_upper", "teeth_lower", "tongue", "throat")
ROUNDED, ROUNDS = ("mouthFunnel", "mouthPucker"), 10
"""Targets whose peaks, at home on the template's lips, are evened out between neighbours, and how often."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted head, in the template camera's pixels ("canvas") and decimetres.

    Attributes:
        scale, offset: canvas px = photo px * scale + offset.
        turn: float64[3, 3], the head's rotation in the photograph; ``pose_deg`` the same as yaw, pitch, roll.
        expression: ARKit weights the photograph was taken with, as far as the rest pose undoes them.
        verts: piece → float64[n, 3] dm, at rest; targets: piece → target → float64[n, 3] dm.
        photographed: float64[n, 3], the skin's canvas px and depth as photographed (before the mouth is closed).
        eyes: ``l``/``r`` → centre float64[3], radius, dm.
        points: float64[468, 2], the photograph's points on the canvas.
        error_px: mean and largest distance in photo px between the network's points and the warped template's.
    """

    lens: Lens
    scale: float
    offset: F64
    turn: F64
    expression: dict[str, float]
    verts: dict[str, F64]
    targets: dict[str, dict[str, F64]]
    photographed: F64
    eyes: dict[str, tuple[F64, float]]
    joints: F64
    points: F64
    error_px: tuple[float, float]

    @property
    def pose_deg(self) -> tuple[float, float, float]:
        return pose_angles(self.turn)


def pose_angles(turn: F64) -> tuple[float, float, float]:
    """Yaw (to the person's left), pitch (down) and roll (to the person's right ear up) in degrees of a head rotation."""
    yaw = float(np.degrees(np.arctan2(turn[0, 2], turn[2, 2])))
    pitch = float(np.degrees(-np.arcsin(np.clip(turn[1, 2], -1, 1))))
    roll = float(np.degrees(np.arctan2(turn[1, 0], turn[1, 1])))
    return yaw, pitch, roll


def _world(points: NDArray[np.floating]) -> F64:
    """Image axes (y down, z away) to the pack's (y up, z to the viewer)."""
    return np.asarray(points * np.array([1.0, -1.0, -1.0]), np.float64)


def head_turn(template: Template, lens: Lens, face: Face) -> tuple[F64, Measured]:
    """Rotation of the head in the photograph and the template measured under it."""
    pivot = template.joints[JOINT_NUMBER["head"]].astype(np.float64)
    turn = np.eye(3)
    target = _world(face.points)[list(STEADY)]
    for _ in range(2):
        seen = measure(template, lens, {}, pivot, turn)
        source = seen.points[list(STEADY)].copy()
        source[:, 1] *= -1
        source[:, 2] *= lens.focal / (lens.eye[2] - pivot[2])
        _, more, _ = similarity(source, target)
        turn = more @ turn
    return turn, measure(template, lens, {}, pivot, turn)


def likeness(template: Template, face: Face) -> float:
    """How far the template's face is from this one in form: mean distance of the points after moving, turning and scaling one
    onto the other, in eye distances. Expressions count little: only points that stay still are compared.

    Raises:
        AvatarError: the network does not recognise the template's own face.
    """
    lens = Lens(template.focal_px, template.eye, np.array(template.info["camera"]["principal"], np.float64))
    _, seen = head_turn(template, lens, face)
    a, b = seen.points[list(STEADY), :2], face.points[list(STEADY), :2].astype(np.float64)
    scale, rotation, offset = similarity(a, b)
    return float(np.linalg.norm(scale * a @ rotation.T + offset - b, axis=1).mean() / face.eye_distance)


def _mouth(points: NDArray[np.floating], unit: float) -> F64:
    """Lip gaps, lift of the corners and width, in eye distances."""
    xy = points[:, :2] / unit
    across = xy[291] - xy[61]
    normal = np.array([-across[1], across[0]]) / np.linalg.norm(across)
    gaps = [float((xy[b] - xy[a]) @ normal) for a, b in GAPS]
    middle = (xy[13] + xy[14]) / 2
    lift = float((middle - (xy[61] + xy[291]) / 2) @ normal)
    return np.array([*gaps, 1.5 * lift, 0.5 * float(np.linalg.norm(across))])


def mouth_pose(template: Template, lens: Lens, face: Face, turn: F64, closed: Measured) -> dict[str, float]:
    """ARKit weights that open the template's mouth as far as the photograph's; empty when the lips are together."""

    def unit(points: NDArray[np.floating]) -> float:
        return float(np.linalg.norm(points[list(EYE_RIGHT), :2].mean(0) - points[list(EYE_LEFT), :2].mean(0)))

    wanted = _mouth(face.points, unit(face.points)) - (start := _mouth(closed.points, unit(closed.points)))
    if wanted[: len(GAPS)].mean() < OPEN_GAP:
        return {}
    pivot = template.joints[JOINT_NUMBER["head"]].astype(np.float64)
    moves = {
        "jawOpen": ("jawOpen",),
        "smile": ("mouthSmileLeft", "mouthSmileRight"),
        "up": ("mouthUpperUpLeft", "mouthUpperUpRight"),
        "down": ("mouthLowerDownLeft", "mouthLowerDownRight"),
    }
    step = 0.4
    columns = []
    for names in moves.values():
        seen = measure(template, lens, dict.fromkeys(names, step), pivot, turn)
        columns.append((_mouth(seen.points, unit(seen.points)) - start) / step)
    matrix = np.stack(columns, 1)
    gain = np.zeros(len(moves))
    ridge = 0.003
    for _ in range(200):
        for i in range(len(moves)):
            rest = wanted - matrix @ gain + matrix[:, i] * gain[i]
            gain[i] = np.clip(matrix[:, i] @ rest / (matrix[:, i] @ matrix[:, i] + ridge), 0, 0.9)
    return {name: float(g) for g, names in zip(gain, moves.values(), strict=True) for name in names if g > 0.02}


def _anchored(source: F64, target: F64) -> tuple[F64, F64]:
    """Points with two rings of anchors around the face that follow the affine part alone, so that nothing flies off outside."""
    oval = source[list(OVAL)]
    centre = oval.mean(0)
    rings = np.concatenate([centre + (oval[::2] - centre) * k for k in (1.55, 2.3)])
    flat = np.concatenate([np.ones((len(source), 1)), source], 1)
    affine, *_ = np.linalg.lstsq(flat, target, rcond=None)
    return np.concatenate([source, rings]), np.concatenate(
        [target, np.concatenate([np.ones((len(rings), 1)), rings], 1) @ affine]
    )


class _Bend:
    """Template space (turned, dm) to fitted space, and the rules for what must stay a sphere or keep clear of one."""

    def __init__(self, lens: Lens, seen: Measured, points: F64, depth: F64) -> None:
        self.lens = lens
        source = seen.points[:, :2]
        plane = Spline(*_anchored(source, points), stiffness=2e-4)
        nodes, lifted = _anchored(source, depth[:, None])
        lifted[len(source) :] = float(np.median(depth[list(OVAL)]))
        low, high = nodes.min(0), nodes.max(0)
        cell = float(high[0] - low[0]) / 200
        self.plane = Table(plane, low, high, cell)
        self.depth = Table(Spline(nodes, lifted, stiffness=0.05), low, high, 4 * cell)
        self.error = np.linalg.norm(self.plane(source) - points, axis=1)

    def screen(self, verts: F64) -> F64:
        at = self.lens.project(verts)
        out = np.empty_like(at)
        out[:, :2] = self.plane(at[:, :2])
        out[:, 2] = at[:, 2] + self.depth(at[:, :2])[:, 0]
        return out

    def __call__(self, verts: F64) -> F64:
        return self.lens.lift(self.screen(verts))

    def scale_at(self, a: F64, b: F64) -> float:
        """Length of the bent segment a-b over its length before."""
        bent = self(np.stack([a, b]))
        return float(np.linalg.norm((bent[1] - bent[0])[:2]) / np.linalg.norm((b - a)[:2]))


@dataclass(frozen=True, slots=True)
class _Ball:
    centre: F64
    radius: float
    new_centre: F64
    new_radius: float

    def clear(self, before: F64, after: F64) -> F64:
        """Push lid vertices forward until they clear the new eyeball as they cleared the old one."""
        distance = np.linalg.norm(before - self.centre, axis=1)
        near = (distance < 1.5 * self.radius) & (distance > 0.9 * self.radius) & (before[:, 2] > self.centre[2])
        wanted = distance * self.new_radius / self.radius
        side = after[:, :2] - self.new_centre[:2]
        inner = wanted**2 - (side**2).sum(1)
        near &= inner > 0
        out = after.copy()
        floor = self.new_centre[2] + np.sqrt(np.maximum(inner, 0))
        fade = np.clip((1.5 - distance / self.radius) / 0.25, 0, 1)
        out[:, 2] = np.where(near, np.maximum(after[:, 2], after[:, 2] + fade * (floor - after[:, 2])), after[:, 2])
        return out


def fit_head(template: Template, face: Face) -> Fit:
    """Fit a template to one face.

    Raises:
        AvatarError: the network does not recognise the template's own face.
    """
    lens = Lens(template.focal_px, template.eye, np.array(template.info["camera"]["principal"], np.float64))
    pivot = template.joints[JOINT_NUMBER["head"]].astype(np.float64)
    turn, seen = head_turn(template, lens, face)
    expression = mouth_pose(template, lens, face, turn, seen)
    if expression:
        seen = measure(template, lens, expression, pivot, turn)
    steady = list(STEADY)
    photo = face.points[:, :2].astype(np.float64)
    a, b = photo[steady] - photo[steady].mean(0), seen.points[steady, :2] - seen.points[steady, :2].mean(0)
    scale = float(np.sqrt((b**2).sum() / (a**2).sum()))
    offset = seen.points[steady, :2].mean(0) - scale * photo[steady].mean(0)
    points = photo * scale + offset
    per_px = (lens.eye[2] - float(seen.surface.mean())) / lens.focal
    deeper = -face.points[:, 2].astype(np.float64) * scale * per_px - seen.points[:, 2]
    depth = np.clip((deeper - np.median(deeper)) * DEPTH_TRUST, -0.25, 0.25)
    bend = _Bend(lens, seen, points, depth)

    def placed(piece: str, weights: dict[str, float]) -> F64:
        return turned(posed_verts(template.pieces[piece], weights), pivot, turn)

    rest = {name: 0.5 * gain for name, gain in expression.items() if name.startswith("mouthSmile")}
    balls = {}
    for side in ("l", "r"):
        old, radius = template.eyeball(side)
        old = turned(old[None], pivot, turn)[0]
        reach = turn @ np.array([radius, 0, 0])
        size = radius * float(np.clip(bend.scale_at(old - reach, old + reach), 0.7, 1.4))
        front = bend((old + np.array([0, 0, radius]))[None])[0]
        balls[side] = _Ball(old, radius, front - np.array([0, 0, size]), size)

    teeth = placed("teeth_upper", {})
    hinge = np.array([teeth[:, 0].mean(), teeth[:, 1].min(), teeth[:, 2].max()])
    reach = turn @ np.array([0.2, 0, 0])
    mouth_scale = float(np.clip(bend.scale_at(hinge - reach, hinge + reach), 0.7, 1.4))
    new_hinge = bend(hinge[None])[0]
    # A row of teeth is stiff: it lies as far back as the most hidden of its parts, or its ends would pierce the lips.
    row = bend.lens.project(hinge + np.array([[-0.2, 0, 0], [0, 0, 0], [0.2, 0, 0]]) @ turn.T)
    new_hinge[2] = hinge[2] + float(bend.depth(row[:, :2]).min()) - TEETH_BACK_DM

    def bent(name: str, verts: F64) -> F64:
        if name in MOUTH_PIECES:
            return np.asarray(new_hinge + (verts - hinge) * mouth_scale)
        side = name.split("_")[1] if "_" in name else ""
        if name.startswith(("eye_", "glint_")):
            ball = balls[side]
            return ball.new_centre + (verts - ball.centre) * (ball.new_radius / ball.radius)
        out = bend(verts)
        for ball in [balls[side]] if side in balls else balls.values():
            out = ball.clear(verts, out)
        return out

    verts: dict[str, F64] = {}
    targets: dict[str, dict[str, F64]] = {}
    for name, piece in template.pieces.items():
        before = placed(name, rest)
        verts[name] = bent(name, before)
        targets[name] = {}
        near = Neighbours(piece.verts, piece.tris) if name == "skin" else None
        if name.startswith("eye_"):
            continue
        for target, delta in piece.targets.items():
            moved = np.nonzero(np.abs(delta).max(1) > 1e-4)[0]
            out = np.zeros_like(before)
            gain = (SMILE_GAIN_SMILING if expression else SMILE_GAIN) if target.startswith("mouthSmile") else 1.0
            out[moved] = bent(name, before[moved] + gain * delta[moved] @ turn.T) - verts[name][moved]
            if near and target in ROUNDED:
                out = near.evened(out, ROUNDS)
            targets[name][target] = out
    joints = template.joints.astype(np.float64)
    head = JOINT_NUMBER["head"]
    chin = bend(turned(np.array([[0.0, joints[head, 1], joints[head, 2]]]), pivot, turn))[0]
    shift = np.array([chin[0] - joints[head, 0], chin[1] - joints[head, 1], 0])
    return Fit(
        lens,
        scale,
        offset,
        turn,
        expression,
        verts,
        targets,
        bend.screen(placed("skin", expression)),
        {s: (b.new_centre, b.new_radius) for s, b in balls.items()},
        joints + shift,
        points,
        (float(bend.error.mean() / scale), float(bend.error.max() / scale)),
    )
