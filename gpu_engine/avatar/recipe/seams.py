"""Where seams, stitches, bands, pockets and buttons lie, and the colour of hands: the detail of every piece in texel space."""

from __future__ import annotations

import cage
import faces
import numpy as np
import outfits
import tailor
import weave


def _torso(outfit: outfits.Outfit, ground: tailor.Ground, t: weave.Texels, height: np.ndarray, tint: np.ndarray) -> None:
    x, y = t.pos[..., 0], t.pos[..., 1]
    top, break_y = ground.neck_point, outfit.revers.break_y
    armhole = t.line(t.arm - 0.5)
    height += weave.groove(armhole, 0.012, 0.012)
    below = np.clip((break_y + 0.04 - y) / 0.05, 0, 1)
    height += _creases(t, outfit, ground)
    jacket = outfit.pocket
    if jacket:
        # Panel seam from the armhole down, nipped at the waist.
        panel = np.abs(x) - (0.80 - 0.10 * np.exp(-(((y - 1.9) / 0.7) ** 2)))
        d = t.line(panel)
        height += weave.groove(d, 0.012, 0.010) * np.clip((top - 1.0 - y) / 0.1, 0, 1)
    edge = x - (0.14 if jacket else 0.13)
    d = t.line(edge)
    over = np.clip(-edge / 0.02, 0, 1)
    height += (-0.022 * (edge > 0) * np.exp(-np.abs(edge) / 0.03) + 0.010 * over * np.exp(-np.abs(edge) / 0.02)) * below
    height += weave.stitches(d, y, 0.045) * below * (edge < 0)
    tint *= (1 - 0.45 * np.exp(-(((edge - 0.008) / 0.012) ** 2)) * below)[..., None]
    if not jacket:
        height += weave.stitches(t.line(x + 0.13), y, 0.0) * below
    if jacket:
        # Welt of the breast pocket on the host's left.
        cx, cy, half, tall, slope = 0.84, top - 1.22, 0.25, 0.075, 0.14
        lx = x - cx
        ly = y - cy - slope * lx
        box = np.maximum(np.abs(lx) - half, np.abs(ly) - tall / 2)
        line = np.abs(box)
        height += np.where(box < 0, 0.010, 0.0) + weave.groove(line, 0.010, 0.010) * (box > -0.03)
        tint *= (1 - 0.30 * np.exp(-((line / 0.010) ** 2)))[..., None]


def _creases(t: weave.Texels, outfit: outfits.Outfit, ground: tailor.Ground) -> np.ndarray:
    """Soft drag lines: from the button to the sides, and from the armpit across the chest."""
    x, y = t.pos[..., 0].astype(float), t.pos[..., 1].astype(float)
    side = np.abs(x)
    wander = weave.noise(x.shape, 0.35 * t.density, 77)
    dx, dy = side, y - (outfit.revers.break_y - 0.12)
    pull = np.sin(9.0 * np.arctan2(dy, dx + 0.12) + 0.9 * wander) * np.exp(-np.hypot(dx, dy) / 0.55) * np.clip(dx / 0.25, 0, 1)
    px, py = side - 1.15, y - (ground.neck_point - 1.45)
    reach = np.hypot(px, py)
    pit = (
        np.sin(11.0 * np.arctan2(py, -px + 0.05) + 1.1 * wander)
        * np.exp(-((reach / 0.55) ** 2))
        * np.clip((reach - 0.15) / 0.35, 0, 1)
    )
    return 0.013 * pull + 0.010 * pit + 0.008 * wander * np.clip((ground.neck_point - 1.6 - y) / 1.0, 0, 1)


def _sleeve(outfit: outfits.Outfit, joints: np.ndarray, t: weave.Texels, height: np.ndarray, tint: np.ndarray) -> None:
    side = "left" if t.piece.name.endswith("left") else "right"
    axis = cage.sleeve_axis(joints, side)
    length, angle = cage.along_arm(t.pos.reshape(-1, 3).astype(float), axis)
    length, angle = length.reshape(t.hit.shape), angle.reshape(t.hit.shape)
    arm = np.linalg.norm(axis[1] - axis[0]) + np.linalg.norm(axis[2] - axis[1])
    armhole = t.line(t.arm - 0.5)
    height += weave.groove(armhole, 0.012, 0.012)
    # Sleeve head: the fullness eased into the armhole.
    height += 0.006 * np.exp(-(((armhole - 0.09) / 0.05) ** 2))
    cuff = arm - length
    if outfit.cuff == "shirt":
        height += weave.groove(np.abs(cuff - 0.62), 0.012, 0.012) + weave.stitches(np.abs(cuff - 0.62), angle * 0.4, 0.04)
        height += 0.010 * (cuff < 0.62)
        gather = np.clip(1 - (cuff - 0.62) / 0.6, 0, 1) * (cuff > 0.62)
        height += 0.012 * gather * np.sin(angle * 22 + 2 * np.sin(angle * 5))
        spots = [0.30]
    else:
        height += weave.groove(np.abs(cuff - 0.06), 0.010, 0.005)
        spots = [0.32, 0.48, 0.64, 0.80]
        vent = np.abs(np.abs(angle) - 2.05) * 0.42
        height += weave.groove(vent, 0.012, 0.010) * (cuff < 1.0) * (angle * np.sign(axis[0, 0]) < 0)
    for k in spots:
        r = np.hypot(cuff - k, (np.abs(angle) - 1.85) * 0.42) / 0.055
        here = (angle * np.sign(axis[0, 0]) < 0) & (r < 1.25)
        dome = np.where(r < 0.72, 0.018, np.where(r < 1, 0.030, -0.02 * np.clip(1.25 - r, 0, 1)))
        height[here] = dome[here]
        if outfit.cuff != "shirt":
            tint[here & (r < 1)] = 0.55


def _leaf(t: weave.Texels, height: np.ndarray, depth: float) -> None:
    inset = t.inset()
    run = t.uv[..., 1] + t.uv[..., 0]
    height += weave.stitches(inset, run, 0.05, depth=depth)
    height -= 0.010 * np.exp(-((inset / 0.018) ** 2))


def _under(outfit: outfits.Outfit, ground: tailor.Ground, t: weave.Texels, height: np.ndarray) -> None:
    under = outfit.under
    assert under is not None
    edge = outfits.under_neckline(under, t.pos.reshape(-1, 3).astype(float), ground.neck_point, ground.neck).reshape(
        t.hit.shape
    )
    if under.band:
        height += weave.groove(t.line(edge - under.band), 0.010, 0.012)
        height += 0.010 * np.exp(-(((edge - under.band / 2) / (under.band / 2)) ** 2))
    else:
        x, y = t.pos[..., 0], t.pos[..., 1]
        for k in (-0.15, 0.15):
            d = t.line(x - k)
            height += weave.stitches(d, y, 0.0 if k < 0 else 0.035, depth=0.003) - 0.014 * ((x - k) * np.sign(k) > 0) * np.exp(
                -d / 0.03
            )


PALM = (np.array([216, 158, 132]) / 255) ** 2.2
"""Linear colour palms tend to."""
Nails = dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]


def _nail(nail: tuple[np.ndarray, np.ndarray, np.ndarray], t: weave.Texels, height: np.ndarray, tint: np.ndarray) -> None:
    centre, along, up = nail
    d = t.pos - centre
    a, c = d @ along, d @ np.cross(along, up)
    r = np.hypot(a / 0.062, c / 0.048) ** 1.0
    here = np.clip((t.normal @ up - 0.15) / 0.25, 0, 1) * (np.abs(d @ up) < 0.12)
    plate = np.clip((1.0 - r) / 0.14, 0, 1) * here
    rim = np.exp(-(((r - 1.0) / 0.12) ** 2)) * here
    white = plate * np.clip((a - 0.030) / 0.012, 0, 1)
    height += 0.004 * plate - 0.003 * rim
    tint *= 1 + plate[..., None] * np.array([0.06, 0.01, 0.03]) + white[..., None] * np.array([0.03, 0.08, 0.10])
    tint *= 1 - rim[..., None] * np.array([0.05, 0.10, 0.10])


def _hand(
    skin: faces.Complexion, joints: np.ndarray, nails: Nails, t: weave.Texels, height: np.ndarray, tint: np.ndarray
) -> None:
    """Warmer knuckles and finger tips, lighter palms; creases come with the mesh."""
    side = "left" if t.piece.name.endswith("left") else "right"
    wrist = joints[cage.rig.INDEX[f"{side}_wrist"]]
    reach = np.linalg.norm(t.pos - wrist, axis=-1)
    tip = np.clip((reach - 1.1) / 0.7, 0, 1)
    blush = np.array([skin.blush[k] / max(skin.base[k], 1) for k in range(3)]) ** 2.2
    blotch = np.clip(0.5 + 0.35 * weave.noise(t.hit.shape, 0.10 * t.density, 11), 0, 1)
    amount = (0.08 + 0.22 * tip + 0.18 * (blotch - 0.5))[..., None]
    tint *= 1 + (blush - 1) * amount
    up = np.mean([n[2] for n in nails[side][1:]], 0)
    palm = (
        np.clip((-(t.normal @ (up / np.linalg.norm(up))) - 0.05) / 0.6, 0, 1)[..., None]
        * np.clip((reach - 0.1) / 0.4, 0, 1)[..., None]
    )
    # Palms hold little melanin: the darker the skin, the more they differ from the back of the hand.
    base = (np.array(skin.base) / 255) ** 2.2
    tint *= 1 + palm * (np.clip(0.62 * PALM / base + 0.38, 1.18, 2.4) - 1)
    for nail in nails[side]:
        _nail(nail, t, height, tint)


def detail(
    outfit: outfits.Outfit,
    ground: tailor.Ground,
    joints: np.ndarray,
    skin: faces.Complexion,
    nails: Nails,
    t: weave.Texels,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Height (dm) float64[h, w] and albedo factor float64[h, w, 3] of one piece."""
    name = t.piece.name
    kind = "skin" if t.piece.material == "skin" else outfit.fabrics[t.piece.material].weave
    cloth, grain = weave.weave(t, kind, 40 + 10 * seed)
    if name == "torso" or name.startswith("sleeve"):
        # Two islands meet at the armhole: their unevenness must not end in a step there.
        cloth = cloth * np.clip(np.abs(t.arm - 0.5) / 0.15, 0.1, 1)
    height, tint = np.zeros_like(cloth), np.repeat(grain[..., None], 3, 2)
    if name == "torso":
        _torso(outfit, ground, t, height, tint)
    elif name.startswith("sleeve"):
        _sleeve(outfit, joints, t, height, tint)
    elif name.startswith("hand"):
        _hand(skin, joints, nails, t, height, tint)
    elif name.startswith(("lapel", "collar", "shirt")):
        _leaf(t, height, 0.0035)
    elif name == "under":
        _under(outfit, ground, t, height)
    elif name.startswith("button"):
        centre = t.uv.reshape(-1, 2)[t.hit.ravel()].mean(0)
        rel = t.uv - centre
        for a in range(4):
            hole = np.hypot(rel[..., 0] - 0.016 * (1 - 2 * (a & 1)), rel[..., 1] - 0.016 * (1 - 2 * (a >> 1)))
            tint *= np.where(hole < 0.009, 0.25, 1.0)[..., None]
    # Seams sink deep into wool and barely into silk.
    return cloth + height * (0.45 if kind == "silk" else 1.0), tint
