"""The three outfits: cloth, cut and pieces. ``assemble`` turns a settled body into pieces ready for the bake."""

from __future__ import annotations

from dataclasses import dataclass

import cage
import drape
import hands
import numpy as np
import rig
import shell as shells
import source
import surface
import tailor
from garment import laplace
from scipy.interpolate import CubicSpline

Rgb = tuple[float, float, float]


@dataclass(frozen=True)
class Fabric:
    """A material: linear albedo, roughness, specular, sheen, and how its surface is woven (see ``weave.py``)."""

    colour: Rgb
    roughness: float = 0.85
    specular: float = 0.25
    sheen: float = 0.15
    weave: str = "twill"


@dataclass(frozen=True)
class Under:
    """A top below the jacket: offset from the body and its neckline.

    ``depth`` is how far below the neck point the neckline dips in front, ``width`` its half width.
    """

    ease: float = 0.03
    depth: float = 0.42
    width: float = 0.52
    vee: bool = False
    band: float = 0.09


@dataclass(frozen=True)
class Outfit:
    """Everything that differs between the three."""

    cloth: drape.Cloth
    revers: tailor.Revers
    fabrics: dict[str, Fabric]
    under: Under | None = None
    shirt: tailor.Revers | None = None
    buttons: tuple[float, ...] = ()
    button_x: float = 0.05
    button_radius: float = 0.085
    pad: float = 0.10
    hand_triangles: int = 1080
    pocket: bool = True
    necklace: bool = False
    cuff: str = "plain"


SLEEVE_LONGER = 0.22
"""The tights end at the wrist; a sleeve covers it, decimetres."""
HEM_Y = 0.8
"""Clothes end here, below every framing."""
BUTTON = Fabric((0.018, 0.020, 0.028), 0.35, 0.5, 0.0, "plain")
GOLD = Fabric((0.83, 0.60, 0.28), 0.25, 1.0, 0.0, "metal")

OUTFITS: dict[str, Outfit] = {
    "lin": Outfit(
        cloth=drape.Cloth(
            ease=0.07, sleeve_ease=0.125, extra=0.0, sleeve_extra=0.06, tension=50.0, bending=22.0, mass=0.06, hold=0.22,
            smooth=5, shoulder_hold=0.3, iron=14,
        ),
        revers=tailor.Revers(break_y=2.92),
        fabrics={
            "main": Fabric((0.017, 0.024, 0.045), 0.85, 0.25, 0.22, "twill"),
            "under": Fabric((0.60, 0.55, 0.46), 0.9, 0.15, 0.25, "rib"), "button": BUTTON,
        },
        under=Under(), buttons=(2.80,),
    ),
    "marco": Outfit(
        cloth=drape.Cloth(
            ease=0.10, sleeve_ease=0.13, extra=0.0, sleeve_extra=0.04, tension=40.0, bending=14.0, mass=0.07, hold=0.06,
            smooth=3, shoulder_hold=0.18, iron=6, press=3,
        ),
        revers=tailor.Revers(break_y=2.72, gorge=(0.62, 0.24), tip=(1.16, 0.46), belly=0.14, leaf=0.42),
        fabrics={
            "main": Fabric((0.040, 0.042, 0.046), 0.9, 0.2, 0.25, "tweed"),
            "under": Fabric((0.62, 0.63, 0.65), 0.8, 0.25, 0.05, "poplin"),
            "button": Fabric((0.03, 0.026, 0.022), 0.4, 0.5, 0.0, "plain"),
            "shirt_button": Fabric((0.55, 0.54, 0.50), 0.3, 0.5, 0.0, "plain"),
        },
        under=Under(ease=0.05, depth=0.80, width=0.46, vee=True, band=0.0),
        shirt=tailor.Revers(
            break_y=3.2, gorge=(0.26, 0.22), notch=1.0, tip=(0.50, 0.68), leaf=0.34, point=(0.012, 0.01), stand=0.22, lift=0.02,
            gap=0.045, rise=0.07,
        ),
        buttons=(2.58,), hand_triangles=640,
    ),
    "amara": Outfit(
        cloth=drape.Cloth(
            ease=0.11, sleeve_ease=0.17, extra=0.01, sleeve_extra=0.06, tension=25.0, bending=1.2, mass=0.06, hold=0.02,
            smooth=3, shoulder_hold=0.12, iron=2, press=2,
        ),
        revers=tailor.Revers(
            break_y=3.56, gorge=(0.44, 0.18), notch=0.62, tip=(0.80, 0.46), belly=0.06, leaf=0.36, stand=0.18, roll=0.05,
        ),
        fabrics={
            "main": Fabric((0.007, 0.050, 0.034), 0.52, 0.32, 0.25, "silk"),
            "button": Fabric((0.008, 0.045, 0.032), 0.4, 0.4, 0.0, "plain"), "gold": GOLD,
        },
        buttons=(3.40, 2.92, 2.44, 1.96), button_radius=0.048, button_x=0.0, pad=0.08, pocket=False, necklace=True,
        cuff="shirt",
    ),
}  # fmt: skip


def _loop_cuff(sheet: cage.Sheet, axis: np.ndarray, depth: float) -> cage.Sheet:
    """Turn the open end of a sleeve inwards so that the cloth has an edge."""
    length, _ = cage.along_arm(sheet.verts, axis)
    arm = np.linalg.norm(axis[1] - axis[0]) + np.linalg.norm(axis[2] - axis[1])
    edges = cage.rim(sheet)
    edges = edges[length[edges].min(1) > arm - 0.75].tolist()
    ids = np.unique(edges)
    centre = sheet.verts[ids].mean(0)
    d = (axis[2] - axis[1]) / np.linalg.norm(axis[2] - axis[1])
    rings, uvs = [], []
    for shrink, back, out in (
        (1.0, -SLEEVE_LONGER, SLEEVE_LONGER),
        (0.96, -SLEEVE_LONGER - 0.012, SLEEVE_LONGER + 0.03),
        (0.80, depth, SLEEVE_LONGER + 0.10),
    ):
        rings.append(centre + (sheet.verts[ids] - centre) * shrink - d * back)
        uvs.append(sheet.uv[ids] + [0, out])
    n = len(sheet.verts)
    at = {int(v): k for k, v in enumerate(ids)}
    tris = []
    for a, b in edges:
        i, j = at[a], at[b]
        tris += [[b, a, n + i], [b, n + i, n + j]]
        for m in (n, n + len(ids)):
            up = m + len(ids)
            tris += [[m + j, m + i, up + i], [m + j, up + i, up + j]]
    w = sheet.weights[ids]
    return cage.Sheet(
        np.concatenate([sheet.verts, *rings]), np.concatenate([sheet.tris, np.array(tris, int).reshape(-1, 3)]),
        np.concatenate([sheet.uv, *uvs]), np.concatenate([sheet.weights, w, w, w]),
    )  # fmt: skip


def _tongue(sheet: cage.Sheet) -> cage.Sheet:
    """Let the cage of the body run on under the sleeves at the armholes: no crack opens between the two layers."""
    edges = cage.rim(sheet)
    edges = edges[sheet.weights[:, 16:22].sum(1)[edges].min(1) > 0.12]
    ids = np.unique(edges)
    normals = surface.vertex_normals(sheet.verts, sheet.tris)
    ring = np.concatenate([sheet.tris[:, [0, 1]], sheet.tris[:, [1, 2]], sheet.tris[:, [2, 0]]])
    ring = np.concatenate([ring, ring[:, ::-1]])
    inner = np.zeros((len(sheet.verts), 3))
    count = np.zeros(len(sheet.verts))
    np.add.at(inner, ring[:, 0], sheet.verts[ring[:, 1]])
    np.add.at(count, ring[:, 0], 1)
    away = sheet.verts[ids] - inner[ids] / count[ids, None]
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
    at = {int(v): k for k, v in enumerate(ids)}
    n = len(sheet.verts)
    tris = []
    for a, b in edges.tolist():
        tris += [[b, a, n + at[a]], [b, n + at[a], n + at[b]]]
    lap = sheet.verts[ids] + 0.12 * away - 0.025 * normals[ids]
    return cage.Sheet(
        np.concatenate([sheet.verts, lap]), np.concatenate([sheet.tris, np.array(tris, int).reshape(-1, 3)]),
        np.concatenate([sheet.uv, sheet.uv[ids]]), np.concatenate([sheet.weights, sheet.weights[ids]]),
    )  # fmt: skip


def _sleeve(s: shells.Shell, joints: np.ndarray, side: str, faces: np.ndarray) -> cage.Piece:
    axis = cage.sleeve_axis(joints, side)
    quads = s.quads[0][faces]
    corners = s.verts[quads]
    _, angle = cage.along_arm(corners.mean(1), axis)
    lookup: dict[tuple[int, int], list[int]] = {}
    for f, q in enumerate(quads):
        for k in range(4):
            a, b = int(q[k]), int(q[(k + 1) % 4])
            lookup.setdefault((min(a, b), max(a, b)), []).append(f)
    seams = [e for e, f in lookup.items() if len(f) == 2 and abs(angle[f[0]] - angle[f[1]]) > np.pi]
    used, compact = np.unique(quads, return_inverse=True)
    back = {int(v): k for k, v in enumerate(used)}
    uv = cage.unwrap(s.verts[used], compact.reshape(-1, 4), np.array([[back[a], back[b]] for a, b in seams]))
    length, ang = cage.along_arm(corners.reshape(-1, 3), axis)
    ang = ang.reshape(-1, 4)
    ang = np.where(ang - angle[:, None] > np.pi, ang - 2 * np.pi, np.where(ang - angle[:, None] < -np.pi, ang + 2 * np.pi, ang))
    sign = np.sign(axis[0, 0])
    target = np.stack([-sign * ang * 0.5, length.reshape(-1, 4)], -1)
    uv = cage.align(uv, target)
    high, low = cage.sheets(s, faces, uv, length.reshape(-1, 4).mean(1) < np.linalg.norm(axis[1] - axis[0]) * 1.35)
    return cage.Piece(f"sleeve_{side}", "over", "main", _loop_cuff(high, axis, 0.25), _loop_cuff(low, axis, 0.25), 150.0)


def _shirt_cuff(s: shells.Shell, joints: np.ndarray, side: str) -> cage.Piece:
    """The strip of shirt below the jacket's sleeve."""
    axis = cage.sleeve_axis(joints, side)
    d = (axis[2] - axis[1]) / np.linalg.norm(axis[2] - axis[1])
    length, _ = cage.along_arm(s.verts, axis)
    rim = (s.arm > 0.9) & (s.verts[:, 0] * np.sign(axis[0, 0]) > 0)
    end = length[rim].max()
    last = rim & (length > end - 0.15)
    centre, weights = s.verts[last].mean(0), s.weights[last].mean(0)
    front = np.array([0.75 * np.sign(axis[0, 0]), 0.0, 0.66])
    front = front - d * (front @ d)
    front /= np.linalg.norm(front)
    across = np.cross(front, d)
    flat = s.verts[last] - centre
    angle = np.arctan2(flat @ across, flat @ front)
    order = np.argsort(angle)
    a = np.linspace(-np.pi, np.pi, 33)
    radius = np.interp(a, angle[order], np.hypot(flat @ across, flat @ front)[order], period=2 * np.pi)
    radius = np.convolve(np.pad(radius[:-1], 4, mode="wrap"), np.ones(9) / 9, "valid")
    radius = np.append(radius, radius[0]) * 0.83
    ring = np.cos(a)[:, None] * front + np.sin(a)[:, None] * across
    rows = [(-0.25, 1.0), (0.2, 1.0), (0.385, 0.99), (0.40, 0.96), (0.25, 0.84)]
    points = np.stack([centre + d * (t + end - length[last].mean()) + ring * radius[:, None] * k for t, k in rows])
    w = np.tile(weights, (points.shape[0] * points.shape[1], 1))
    return cage.grid_piece(f"cuff_{side}", "over", "under", points, w, [0, 2, 3, 4], list(range(0, 33, 2)), 150.0)


def _torso(s: shells.Shell, faces: np.ndarray, value: object) -> cage.Piece:
    quads = s.quads[0][faces]
    used, compact = np.unique(quads, return_inverse=True)
    compact = compact.reshape(-1, 4)
    uv = cage.unwrap(s.verts[used], compact, np.zeros((0, 2), int))
    uv = cage.align(uv, s.verts[quads][..., :2] * [1, -1])
    centre = s.verts[quads].mean(1)
    facing = np.cross(s.verts[quads[:, 2]] - s.verts[quads[:, 0]], s.verts[quads[:, 3]] - s.verts[quads[:, 1]])
    facing = facing[:, 2] / np.linalg.norm(facing, axis=1)
    fine = (facing > 0.0) & (centre[:, 1] > 2.3)
    # Next to a sleeve, which is fine there: edges must match.
    fine |= (s.arm[quads].max(1) > 0.45) & (facing > -0.2)
    high, low = cage.sheets(s, faces, uv, fine)
    high, low = high.cut(value(high.verts)), low.cut(value(low.verts))
    return cage.Piece("torso", "mesh", "main", high, _tongue(low), 190.0)


def under_neckline(under: Under, verts: np.ndarray, neck_point: float, neck: np.ndarray) -> np.ndarray:
    """Positive below the neckline of the top."""
    x, y, z = verts.T
    front = np.clip((z - neck[2] - 0.1) / 0.35, 0, 1)
    shape = np.clip(1 - np.abs(x) / under.width, -0.3, 1) if under.vee else np.exp(-((x / under.width) ** 4))
    return neck_point + 0.16 - (under.depth + 0.16) * shape * front - y


def _under(mesh: source.BaseMesh, weight: np.ndarray, outfit: Outfit, ground: tailor.Ground) -> list[cage.Piece]:
    under = outfit.under
    assert under is not None
    quads = mesh.faces[mesh.group("helper-tights")]
    centre = mesh.verts[quads].mean(1)
    reach = outfit.revers.tip[0] + 0.1
    keep = (np.abs(centre[:, 0]) < reach + 0.25) & (centre[:, 1] > outfit.revers.break_y - 0.5)
    # Only a collar needs the back of the neck.
    keep &= (centre[:, 2] > ground.neck[2] - 0.6) | ((centre[:, 1] > ground.neck_point - 0.5) & (outfit.shirt is not None))
    used, compact = np.unique(quads[keep], return_inverse=True)
    q0 = compact.reshape(-1, 4)
    v = shells.smooth_on(mesh.verts[used], q0, 2, 0.5)
    levels, faces, ws = [], q0, weight[used]
    verts_all = [v]
    for _ in range(2):
        step = surface.catmull_clark(faces, len(verts_all[-1]))
        verts_all.append(step.matrix @ verts_all[-1])
        ws = np.asarray(step.matrix @ ws)
        faces = step.faces
        levels.append(step)
    top = verts_all[2]
    tris = surface.triangles(faces)
    top = laplace(top, tris, 4)
    normals = surface.vertex_normals(top, tris)
    edge = under_neckline(under, top, ground.neck_point, ground.neck)
    lift = under.ease + (0.025 * np.clip(1 - edge / max(under.band, 1e-3), 0, 1) if under.band else 0.0)
    top = top + normals * np.broadcast_to(lift, len(top))[:, None]
    fake = shells.Shell(used, (levels[0], levels[1]), (q0, levels[0].faces, levels[1].faces), top, ws, np.zeros(len(top)))
    corners = cage.align(cage.unwrap(top[: len(used)], q0, np.zeros((0, 2), int)), top[q0][..., :2] * [1, -1])
    high, low = cage.sheets(
        fake, np.arange(len(q0)), corners, np.abs(under_neckline(under, top[q0].mean(1), ground.neck_point, ground.neck)) < 0.32
    )

    def value(p: np.ndarray) -> np.ndarray:
        curve = tailor.roll_line(outfit.revers, ground, np.linspace(0, 1, 60))
        above = p[:, 1] - outfit.revers.break_y
        margin = 0.15 * np.clip(above / 0.7, 0.1, 1)
        x = np.interp(p[:, 1], curve[:, 1], curve[:, 0]) + margin
        inside = np.minimum(
            under_neckline(under, p, ground.neck_point, ground.neck), np.minimum(x - np.abs(p[:, 0]), above - 0.01)
        )
        return np.minimum(inside, tailor.below_fold(outfit.shirt or outfit.revers, ground, p))

    pieces = [cage.Piece("under", "mesh", "under", high.cut(value(high.verts)), low.cut(value(low.verts)), 210.0)]
    if outfit.shirt:
        own = tailor.Ground(top, faces, ws, ground.neck, body_verts(mesh))
        pieces.append(tailor.collar(outfit.shirt, own, 210.0, "shirt_collar", "under"))
        for k, below in enumerate((1.02, 1.52)):
            pieces.append(tailor.button(own, 0.0, own.neck_point - below, 0.05, 230.0, f"shirt_button_{k}", "shirt_button"))
    return pieces


def body_verts(mesh: source.BaseMesh) -> np.ndarray:
    """Vertices of the body without helpers."""
    return mesh.verts[np.unique(mesh.faces[mesh.group("body")])]


def _necklace(mesh: source.BaseMesh, weight: np.ndarray, ground: tailor.Ground) -> list[cage.Piece]:
    """A fine chain on the skin with a small drop."""
    body = mesh.faces[mesh.group("body")]
    ids = np.unique(body)
    ids = ids[
        (np.abs(mesh.verts[ids, 0]) < 0.9)
        & (mesh.verts[ids, 1] > ground.neck_point - 1.0)
        & (mesh.verts[ids, 1] < ground.neck_point + 0.9)
    ]
    tris = surface.triangles(body)
    normals = surface.vertex_normals(mesh.verts, tris)
    from scipy.spatial import cKDTree

    tree = cKDTree(mesh.verts[ids])
    np_y, nz = ground.neck_point, ground.neck[2]
    way = np.array([[-0.62, np_y + 0.30, nz - 0.25], [-0.52, np_y + 0.10, nz + 0.15], [-0.34, np_y - 0.22, nz + 0.6],
                    [0, np_y - 0.50, nz + 0.9],
                    [0.34, np_y - 0.22, nz + 0.6], [0.52, np_y + 0.10, nz + 0.15], [0.62, np_y + 0.30, nz - 0.25]])  # fmt: skip
    path = CubicSpline(np.arange(7), way)(np.linspace(0, 6, 121))
    for _ in range(4):
        dist, near = tree.query(path, k=5)
        w = 1 / (dist + 0.02)
        w = (w / w.sum(1, keepdims=True))[..., None]
        p, n = (mesh.verts[ids[near]] * w).sum(1), (normals[ids[near]] * w).sum(1)
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        path = path - n * (((path - p) * n).sum(1, keepdims=True) - 0.022)
        path[1:-1] = (path[:-2] + 2 * path[1:-1] + path[2:]) / 4
    ws = (weight[ids[near]] * w).sum(1)
    chain = tailor.tube(path, 0.011, 6, ws, "chain", "gold", 150.0, 5)
    mid = path[60]
    drop = np.linspace(0, 1, 9)
    pend = mid + np.stack([0 * drop, -0.012 - 0.11 * drop, 0.016 + 0 * drop], 1)
    pendant = tailor.tube(pend, 0.020, 8, np.repeat(ws[60:61], 9, 0), "pendant", "gold", 150.0, 8)
    return [chain, pendant]


def _build_shoulder(piece: cage.Piece, joints: np.ndarray, pad: float) -> None:
    """A jacket's shoulder: raised at the sleeve head, upper sleeve drawn in below it; UVs stay."""
    out, height = joints[rig.INDEX["left_shoulder"]][:2]
    for sheet in (piece.high, piece.low):
        side, y = np.abs(sheet.verts[:, 0]), sheet.verts[:, 1]
        upper = np.clip((y - height + 0.30) / 0.45, 0, 1)
        sheet.verts[:, 1] += pad * np.exp(-(((side - 1.02 * out) / 0.36) ** 2)) * upper
        bulge = np.exp(-(((y - height + 0.55) / 0.85) ** 2)) * np.clip((side - out) / 0.35, 0, 1)
        sheet.verts[:, 0] -= np.sign(sheet.verts[:, 0]) * 1.1 * pad * bulge


def _cover(piece: cage.Piece, body: tailor.HeightField) -> None:
    """A smoothed cut bridges hollows but sinks into what stands out: it must cover the skin, which is drawn down to y = 3.4."""
    if piece.layer != "mesh":
        return
    for sheet in (piece.high, piece.low):
        x, y, z = sheet.verts.T
        inner = np.clip((1.25 - np.abs(x)) / 0.10, 0, 1) * np.clip((y - 3.0) / 0.3, 0, 1) * np.clip((z - 0.35) / 0.2, 0, 1)
        room = 0.045 + 0.06 * np.clip((np.abs(x) - 0.55) / 0.25, 0, 1)
        sheet.verts[:, 2] += inner * np.clip(body(x, y) + room - z, 0, 0.4)


def assemble(
    mesh: source.BaseMesh, weight: np.ndarray, s: shells.Shell, outfit: Outfit
) -> tuple[list[cage.Piece], tailor.Ground]:
    """Every piece of clothing and both hands."""
    joints = rig.skeleton(mesh)
    ground = tailor.Ground(s.verts, s.quads[2], s.weights, mesh.joint("neck"), body_verts(mesh))
    q = s.quads[0]
    p = s.verts[q]
    arm = s.arm[q].mean(1)
    n = np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    front = (arm <= 0.5) & ((n[:, 2] > -0.35) | ((np.abs(p.mean(1)[:, 0]) < 0.5) & (p.mean(1)[:, 1] > ground.neck_point + 9)))
    pieces = [
        _torso(
            s, np.nonzero(front)[0], lambda v: np.minimum(tailor.inside_front(outfit.revers, ground, v, 0.05), v[:, 1] - HEM_Y)
        )
    ]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        mine = np.nonzero((arm > 0.5) & (p.mean(1)[:, 0] * sign > 0))[0]
        pieces.append(_sleeve(s, joints, side, mine))
    for sign in (1.0, -1.0):
        pieces.append(tailor.lapel(outfit.revers, ground, sign, 230.0))
    pieces.append(tailor.collar(outfit.revers, ground, 200.0))
    if outfit.under:
        pieces += _under(mesh, weight, outfit, ground)
    for k, y in enumerate(outfit.buttons):
        pieces.append(tailor.button(ground, outfit.button_x, y, outfit.button_radius, 230.0, f"button_{k}"))
    if outfit.necklace:
        pieces += _necklace(mesh, weight, ground)
    pieces += hands.pieces(mesh, weight, outfit.hand_triangles)
    if outfit.shirt:
        pieces += [_shirt_cuff(s, joints, side) for side in ("left", "right")]
    body = tailor.HeightField(mesh.verts, surface.triangles(mesh.faces[mesh.group("body")]))
    for piece in pieces:
        if piece.material == "main":
            _build_shoulder(piece, joints, outfit.pad)
        if piece.material in ("main", "button"):
            _cover(piece, body)
    return pieces, ground
