"""Eyes, teeth, gums, tongue, lashes and catch-lights: own geometry plus one small texture that colours all of it.

The feature texture (512 x 256 RGBA) holds the eye at (0, 0, 256, 256), palette blocks, the lash strip and the
catch-light sprite. Vertices carry a shade factor, so teeth and tongue are palette colour times shade.
"""

from __future__ import annotations

import cv2
import numpy as np
import source
import surface
from faces import Face, Iris
from piece import PALETTE, Piece, grid_tris
from scipy.spatial import cKDTree
from teeth import teeth

TEX_W, TEX_H = 512, 256
LASH_COLUMNS = 26
LASH_BOX = (256, 64, 512, 160)
LOWER_LASH_BOX = (336, 176, 512, 248)
TEAR_ROWS = 16
GLINT_BOX = (256, 176, 320, 240)
TUB_BEHIND = 0.17
"""The mouth's tub ends this far (dm) behind the front teeth, under the skin beside the corners."""


def eyeball(mesh: source.BaseMesh, side: str) -> tuple[Piece, np.ndarray, float]:
    """Front of an eyeball with a corneal bulge, its centre and radius."""
    verts = mesh.verts[np.unique(mesh.faces[mesh.group(f"helper-{side}-eye")])]
    low, high = verts.min(0), verts.max(0)
    radius = (high[0] - low[0]) / 2 * 0.985
    centre = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[2] - 0.006 - radius])
    rings, spokes = 22, 36
    theta = np.radians(88) * np.linspace(0, 1, rings) ** 0.9
    phi = np.linspace(0, 2 * np.pi, spokes, endpoint=False)
    d = np.stack(
        [np.sin(theta)[:, None] * np.cos(phi), np.sin(theta)[:, None] * np.sin(phi), np.cos(theta)[:, None] + 0 * phi], -1
    ).reshape(-1, 3)
    bulge = 0.0085 * np.exp(-((np.hypot(d[:, 0], d[:, 1]) / 0.40) ** 4))
    out = centre + d * (radius + bulge)[:, None]
    uv = np.stack([128 + d[:, 0] * 124, 128 - d[:, 1] * 124], 1)
    # Ambient light falls off towards the corners and under the brow.
    shade = 0.96 - 0.26 * np.clip(np.abs(d[:, 0]) - 0.40, 0, 1) - 0.12 * np.clip(d[:, 1] + 0.15, 0, 1)
    return Piece(f"eye_{side}", out, grid_tris(rings, spokes, wrap=True), uv, shade), centre, radius


def eye_texture(rng: np.random.Generator, colours: Iris) -> np.ndarray:
    """Sclera, iris with fibres and limbal ring, pupil; f32[256, 256, 3] sRGB 0–255 RGB."""
    y, x = np.mgrid[0:256, 0:256]
    dx, dy = (x - 127.5) / 124, (y - 127.5) / 124
    r, a = np.hypot(dx, dy), np.arctan2(dy, dx)
    sclera = np.ones((256, 256, 3)) * [230, 222, 216]
    red = np.clip((np.abs(dx) - 0.45) / 0.5, 0, 1)[..., None]
    sclera = sclera * (1 - 0.55 * red) + np.array([214, 160, 148]) * 0.55 * red
    iris_r = 0.475
    fibres = np.zeros_like(r)
    for _ in range(40):
        fibres += np.sin(a * rng.integers(18, 90) + rng.uniform(0, 6.28) + r * rng.normal(0, 8)) / 40**0.5
    t = np.clip((r - 0.17) / (iris_r - 0.17), 0, 1)
    dark, mid = np.array(colours.outer), np.array(colours.inner)
    glow = np.clip(0.5 + 0.5 * dy / iris_r, 0, 1)
    mix = np.clip(0.80 * np.sin(np.pi * t**0.8) * (0.45 + 0.75 * glow) + 0.13 * fibres, 0, 1)[..., None]
    iris = dark * (1 - mix) + mid * mix
    ring = (0.85 * np.clip((r - iris_r * 0.80) / (iris_r * 0.20), 0, 1) ** 1.5)[..., None]
    iris = iris * (1 - ring) + np.array(colours.ring) * ring
    pupil = 1 - np.clip((r - 0.165) / 0.03, 0, 1)
    iris = iris * (1 - pupil[..., None]) + np.array([9, 7, 7]) * pupil[..., None]
    edge = np.clip((iris_r + 0.022 - r) / 0.044, 0, 1)
    edge = (edge * edge * (3 - 2 * edge))[..., None]
    return (sclera * (1 - edge) + iris * edge).astype(np.float32)


def _lash_strip(
    image: np.ndarray, box: tuple[int, int, int, int], count: int, strength: float, liner: float, rng: np.random.Generator
) -> None:
    """Draw one fan of lashes, roots at the bottom row of ``box``, with a liner along the roots."""
    x0, y0, x1, y1 = box
    w, h, k = x1 - x0, y1 - y0, 4
    big = np.zeros((h * k, w * k), np.uint8)
    for i in range(count):
        u = (i + 0.5 + rng.uniform(-0.42, 0.42)) / count
        length = (0.50 + 0.42 * np.sin(np.pi * (0.12 + 0.80 * u)) ** 0.8) * rng.uniform(0.62, 1.0)
        lean = (u - 0.35) * 26 * k + rng.normal(0, 4 * k)
        t = np.linspace(0, 1, 14)
        px = u * w * k + lean * t**1.6 * length
        py = (h * k - 1) * (1 - t * length)
        for j in range(13):
            thick = max(1, round((3.4 * (1 - t[j]) + 0.9) * k * 0.5))
            cv2.line(big, (int(px[j]), int(py[j])), (int(px[j + 1]), int(py[j + 1])), 255, thick, cv2.LINE_AA)
    lash = cv2.GaussianBlur(cv2.resize(big, (w, h), interpolation=cv2.INTER_AREA).astype(np.float32), (0, 0), 0.8)
    line = np.clip((np.linspace(0, 1, h)[:, None] - 0.86) / 0.08, 0, 1) * liner
    fade = np.clip(np.minimum(np.linspace(0, 1, w), np.linspace(1.04, 0.04, w)) / 0.10, 0, 1)[None, :]
    image[y0:y1, x0:x1, :3] = (26, 17, 15)
    image[y0:y1, x0:x1, 3] = np.maximum(lash * strength, line) * fade


def _tear_line(image: np.ndarray) -> None:
    """Wet rim along the lower lid: bottom rows of the lower lashes' box, which lie between lash roots and eyeball."""
    x0, _, x1, y1 = LOWER_LASH_BOX
    rows = TEAR_ROWS
    y, x = np.mgrid[0:rows, 0 : x1 - x0]
    ends = np.clip(np.minimum(x, x1 - x0 - 1 - x) / 26, 0, 1)
    bright = np.exp(-(((y - 0.60 * rows) / (0.20 * rows)) ** 2)) * ends
    pink = np.clip(1 - y / (0.9 * rows), 0, 1) * ends
    image[y1 - rows : y1, x0:x1, :3] = np.where(bright[..., None] > 0.25, (250, 240, 236), (206, 146, 132))
    image[y1 - rows : y1, x0:x1, 3] = np.maximum(70 * bright, 90 * pink)


def texture(face: Face, seed: int = 4) -> np.ndarray:
    """The whole feature texture, uint8[256, 512, 4] RGBA, straight alpha."""
    rng = np.random.default_rng(seed)
    image = np.zeros((TEX_H, TEX_W, 4), np.float32)
    image[:, :256, :3] = eye_texture(rng, face.iris)
    image[:, :256, 3] = 255
    for name, colour in {
        "enamel": (234, 219, 196),
        "gum": (176, 92, 88),
        "tongue": (180, 90, 86),
        "throat": (74, 27, 25),
    }.items():
        u, v = PALETTE[name]
        image[v - 16 : v + 16, u - 16 : u + 16] = (*colour, 255)
    _lash_strip(image, LASH_BOX, 74, 0.92 * face.lash_strength, 235.0 * face.lash_strength, rng)
    _lash_strip(image, (*LOWER_LASH_BOX[:3], LOWER_LASH_BOX[3] - TEAR_ROWS), 44, 0.34 * face.lash_strength, 60.0, rng)
    _tear_line(image)
    x0, y0, x1, y1 = GLINT_BOX
    gy, gx = np.mgrid[0 : y1 - y0, 0 : x1 - x0]
    r = np.hypot((gx - 31.5) / 26, (gy - 31.5) / 24)
    image[y0:y1, x0:x1, :3] = (255, 253, 250)
    image[y0:y1, x0:x1, 3] = 240 * np.clip((1.0 - r) / 0.35, 0, 1) ** 1.2
    return np.clip(image + 0.5, 0, 255).astype(np.uint8)


def throat(mesh: source.BaseMesh) -> Piece:
    """A dark tub around the teeth, open to the lips: nothing behind the head may be seen past a corner of the mouth."""
    teeth_verts = mesh.verts[np.unique(mesh.faces[mesh.group("helper-upper-teeth", "helper-lower-teeth")])]
    low, high = teeth_verts.min(0), teeth_verts.max(0)
    rows, columns = 3, 13
    angle = np.linspace(-np.pi / 2, np.pi / 2, columns)
    across = np.sign(angle) * np.abs(np.sin(angle)) ** 0.6
    # Further down the jaw narrows and its skin lies further back.
    near = high[2] - TUB_BEHIND - np.array([0.0, 0.04, 0.22])[:, None]
    z = low[2] + 0.02 + (near - low[2] - 0.02) * (1 - np.cos(angle) ** 0.5)
    y = np.linspace(high[1], low[1] - 0.02, rows)
    width = high[0] * 1.07 * np.array([1.0, 1.0, 0.72])
    verts = np.stack([width[:, None] * across, np.repeat(y[:, None], columns, 1), z], -1).reshape(-1, 3)
    # The walls are cheek, redder than the deep of the throat.
    shade = np.tile(0.80 + 0.20 * np.abs(np.sin(angle)) ** 3, rows)
    uv = np.tile(PALETTE["throat"], (rows * columns, 1)).astype(float)
    piece = Piece("throat", verts, grid_tris(rows, columns), uv, shade)
    drop = np.zeros_like(verts)
    drop[:, 1] = -np.repeat([0.0, 0.08, 0.18], columns)
    piece.units["jawOpen"] = drop
    return piece


def tongue(mesh: source.BaseMesh, units: dict[str, np.ndarray]) -> Piece:
    """The helper tongue refined once, with a groove in its shade."""
    faces = mesh.faces[mesh.group("helper-tongue")]
    used, compact = np.unique(faces, return_inverse=True)
    step = surface.catmull_clark(compact.reshape(-1, 4), len(used))
    v = step.matrix @ mesh.verts[used]
    tris = surface.triangles(step.faces)
    n = surface.vertex_normals(v, tris)
    groove = 1 - 0.22 * np.exp(-((v[:, 0] / 0.022) ** 2)) * np.clip(n[:, 1], 0, 1)
    deep = np.clip((v[:, 2].max() - v[:, 2]) / 0.40, 0, 1)
    shade = (0.55 + 0.30 * np.clip(n[:, 1] * 0.6 + n[:, 2] * 0.7, 0, 1)) * (1 - 0.75 * deep) * groove
    piece = Piece("tongue", v, tris, np.tile(PALETTE["tongue"], (len(v), 1)).astype(float), shade)
    for name, delta in units.items():
        if np.abs(delta[used]).max() > 1e-4:
            piece.units[name] = step.matrix @ delta[used]
    return piece


def lashes(
    mesh: source.BaseMesh,
    units: dict[str, np.ndarray],
    skin_verts: np.ndarray,
    skin_units: dict[str, np.ndarray],
    side: str,
    upper: bool,
    reach_factor: float = 1.0,
) -> Piece:
    """A textured fan along a lid margin that follows the lid and turns down with it."""
    group = f"helper-{side}-eyelashes-{2 if upper else 1}"
    helper = mesh.verts[np.unique(mesh.faces[mesh.group(group)])]
    dist, _ = cKDTree(skin_verts).query(helper)
    keep = dist < 0.022
    pts = helper[keep]
    order = np.argsort(pts[:, 0])
    pts = pts[order]
    cols = LASH_COLUMNS
    s = np.linspace(0, 1, cols)
    span = (pts[:, 0] - pts[0, 0]) / (pts[-1, 0] - pts[0, 0])
    margin = np.stack([np.polyval(np.polyfit(span, pts[:, c], 5), s) for c in range(3)], 1)
    _, idx = cKDTree(skin_verts).query(margin, k=3)
    sign = 1.0 if side == "l" else -1.0
    outward = s if side == "l" else 1 - s
    length = (0.062 if upper else 0.022) * reach_factor * (0.80 + 0.35 * outward)
    open_dir = np.stack([sign * (outward - 0.42) * 0.75, np.full(cols, 0.62 if upper else -0.80), np.full(cols, 0.62)], 1)
    shut_dir = np.stack([sign * (outward - 0.42) * 0.75, np.full(cols, -0.75), np.full(cols, 0.65)], 1)
    open_dir /= np.linalg.norm(open_dir, axis=1, keepdims=True)
    shut_dir /= np.linalg.norm(shut_dir, axis=1, keepdims=True)
    reach = np.array([-0.09, 0.5, 1.0]) if upper else np.array([-0.45, -0.04, 0.5, 1.0])
    curl = np.array([0, -0.10, 0.10]) if upper else np.zeros(4)
    rows = len(reach)
    root = margin + np.array([0, 0, 0.006])
    grid = root[None] + reach[:, None, None] * length[None, :, None] * open_dir[None]
    grid[..., 1] += curl[:, None] * length[None]
    x0, y0, x1, y1 = LASH_BOX if upper else LOWER_LASH_BOX
    along = outward if upper else outward * 0.9 + 0.05
    u = np.tile(x0 + 1 + along * (x1 - x0 - 2), (rows, 1))
    # The first row of lower lashes carries the tear line, the next one their roots.
    at = np.clip((reach + 0.09) / 1.09, 0, 1) * (y1 - y0 - 2)
    if not upper:
        at = np.array([0.0, *(TEAR_ROWS + np.array([0, 0.5, 1]) * (y1 - y0 - TEAR_ROWS - 2))])
    v = np.repeat(y1 - 1 - at, cols).reshape(rows, cols)
    piece = Piece(
        f"lash_{side}_{'upper' if upper else 'lower'}", grid.reshape(-1, 3), grid_tris(rows, cols),
        np.stack([u, v], -1).reshape(-1, 2), np.ones(rows * cols), blend=True,
    )  # fmt: skip
    blink = "eyeBlinkLeft" if side == "l" else "eyeBlinkRight"
    for name, delta in skin_units.items():
        d = delta[idx].mean(1)
        if np.abs(d).max() < 1e-4:
            continue
        full = np.tile(d, (rows, 1, 1)).reshape(rows, cols, 3)
        if name == blink and upper:
            full = full + np.clip(reach, 0, 1)[:, None, None] * length[None, :, None] * (shut_dir - open_dir)[None]
        if name == blink and not upper:
            # The tear line has nowhere to lie between closed lids.
            full = full.copy()
            full[0] = full[1] + grid[1] - grid[0]
            full[:2] -= [0, 0.004, 0.020]
        piece.units[name] = full.reshape(-1, 3)
    return piece


def pieces(
    mesh: source.BaseMesh,
    units: dict[str, np.ndarray],
    skin_verts: np.ndarray,
    skin_units: dict[str, np.ndarray],
    face: Face,
) -> list[Piece]:
    """Every piece of a head, in drawing order; skin arrays are the refined or the packed skin."""
    eyes = {side: eyeball(mesh, side) for side in ("l", "r")}
    out = [eyes["l"][0], eyes["r"][0], *teeth(mesh, units, "upper"), *teeth(mesh, units, "lower")]
    out += [tongue(mesh, units), throat(mesh)]
    out += [glint(eyes[side][1], eyes[side][2], side) for side in ("l", "r")]
    for side in ("l", "r"):
        out += [lashes(mesh, units, skin_verts, skin_units, side, upper, face.lash_length) for upper in (False, True)]
    return out


def glint(centre: np.ndarray, radius: float, side: str) -> Piece:
    """Catch-light quads on the cornea: key light up-left of the viewer, a faint fill below right."""
    verts, tris, uv, shade = [], [], [], []
    x0, y0, x1, y1 = GLINT_BOX
    for k, (dx, dy, size) in enumerate(((-0.17, 0.11, 0.0140), (0.19, -0.17, 0.0055))):
        p = centre + np.array([dx * radius, dy * radius, radius * 1.09])
        verts += [p + np.array([a * size, b * size, 0.0]) for a, b in ((-1, 1), (1, 1), (1, -1), (-1, -1))]
        uv += [(x0 + 1, y0 + 1), (x1 - 1, y0 + 1), (x1 - 1, y1 - 1), (x0 + 1, y1 - 1)]
        tris += [(4 * k, 4 * k + 2, 4 * k + 1), (4 * k, 4 * k + 3, 4 * k + 2)]
        shade += [1.0 if k == 0 else 0.9] * 4
    return Piece(f"glint_{side}", np.array(verts), np.array(tris), np.array(uv, float), np.array(shade), blend=True)
