"""Identities of the presenters: MakeHuman targets, face units of the resting look, complexion and eyes."""

from __future__ import annotations

from dataclasses import dataclass, field

MACRO = "macrodetails"
PROPORTIONS = f"{MACRO}/proportions"


@dataclass(frozen=True)
class Complexion:
    """Painted skin; colours are 8-bit sRGB of the unlit albedo, moles are (x, y under the eyes, radius) in dm.

    ``soft_folds`` is the share of the light's small modelling that is smoothed away beside the nose.
    """

    base: tuple[int, int, int]
    blush: tuple[int, int, int]
    shadow: tuple[int, int, int]
    lip: tuple[int, int, int]
    lip_amount: float
    brow: tuple[int, int, int]
    hair: tuple[int, int, int]
    blush_amount: float = 0.3
    pore: float = 1.0
    freckles: int = 0
    moles: tuple[tuple[float, float, float], ...] = ()
    stubble: float = 0.0
    creases: float = 0.0
    soft_folds: float = 0.0
    make_up: float = 0.5
    brow_width: float = 1.0
    brow_lift: float = 0.0
    brow_arch: float = 1.0
    roughness: float = 0.46
    specular: float = 0.42


@dataclass(frozen=True)
class Iris:
    """Iris colours, 8-bit sRGB: at the pupil's edge, between, and the limbal ring."""

    inner: tuple[int, int, int]
    outer: tuple[int, int, int]
    ring: tuple[int, int, int]


@dataclass(frozen=True)
class Face:
    """Who somebody is: targets under ``mpfb2/targets`` (``*/l-`` is mirrored), rest units, skin and eyes."""

    identity: dict[str, float]
    rest: dict[str, float]
    skin: Complexion
    iris: Iris
    asymmetry: dict[str, float] = field(default_factory=dict)
    lash_length: float = 1.0
    lash_strength: float = 1.0


def macros(sex: str, races: dict[str, float], old: float, muscle: float, weight: float, ideal: float) -> dict[str, float]:
    """Macro targets of a body: ``old`` 0 is 25 years and 1 is 90; ``muscle`` and ``weight`` run from -1 to 1."""
    out: dict[str, float] = {}
    for age, a in (("young", 1 - old), ("old", old)):
        if a <= 0:
            continue
        for race, r in races.items():
            out[f"{MACRO}/{race}-{sex}-{age}"] = a * r
        muscles = {"averagemuscle": 1 - abs(muscle), ("maxmuscle" if muscle > 0 else "minmuscle"): abs(muscle)}
        weights = {"averageweight": 1 - abs(weight), ("maxweight" if weight > 0 else "minweight"): abs(weight)}
        for m, mv in muscles.items():
            for w, wv in weights.items():
                if mv * wv > 0:
                    out[f"{MACRO}/universal-{sex}-{age}-{m}-{w}"] = a * mv * wv
                    out[f"{PROPORTIONS}/{sex}-{age}-{m}-{w}-idealproportions"] = a * mv * wv * ideal
    return out


LIN = Face(
    identity={
        **macros("female", {"asian": 0.84, "caucasian": 0.16}, 0.0, -0.1, -0.45, 0.7),
        "eyes/l-eye-scale-incr": 1.15, "eyes/l-eye-height2-incr": 0.35, "eyes/l-eye-height1-incr": 0.20,
        "eyes/l-eye-height3-incr": 0.25, "eyes/l-eye-corner2-up": 0.30, "eyes/l-eye-bag-decr": 0.40,
        "head/head-oval": 0.30, "head/head-fat-decr": 0.35, "head/head-scale-horiz-decr": 0.50,
        "forehead/forehead-scale-vert-decr": 0.35,
        "chin/chin-width-decr": 0.20, "chin/chin-bones-decr": 0.15, "chin/chin-prominent-incr": 0.2,
        "cheek/l-cheek-bones-incr": 0.35, "cheek/l-cheek-volume-decr": 0.35, "cheek/l-cheek-trans-up": 0.2,
        "nose/nose-width3-decr": 0.40, "nose/nose-flaring-decr": 0.30, "nose/nose-point-width-decr": 0.35,
        "nose/nose-volume-decr": 0.20, "nose/nose-greek-incr": 0.20,
        "nose/nose-scale-vert-decr": 0.45, "nose/nose-scale-depth-incr": 0.15,
        "mouth/mouth-angles-up": 0.30, "mouth/mouth-lowerlip-volume-decr": 0.10, "mouth/mouth-scale-vert-decr": 0.30,
        "mouth/mouth-cupidsbow-incr": 0.30, "mouth/mouth-scale-horiz-decr": 0.12,
        "mouth/mouth-trans-up": 0.40, "chin/chin-height-decr": 0.25,
        "neck/neck-scale-horiz-decr": 0.55, "neck/neck-scale-depth-decr": 0.3, "ears/l-ear-scale-decr": 0.45,
        "ears/l-ear-wing-decr": 0.5,
    },
    rest={
        "mouthSmileLeft": 0.43, "mouthSmileRight": 0.40, "cheekSquintLeft": 0.16, "cheekSquintRight": 0.16,
        "mouthPressLeft": 0.08, "mouthPressRight": 0.08, "mouthShrugLower": 0.10, "mouthClose": 0.06,
    },
    skin=Complexion(
        base=(227, 177, 149), blush=(220, 118, 104), shadow=(174, 110, 88),
        lip=(182, 88, 86), lip_amount=0.62, blush_amount=0.34,
        brow=(28, 20, 18), hair=(30, 23, 21), make_up=0.5, brow_width=1.25, brow_arch=0.8, moles=((0.34, -0.50, 0.006),),
    ),
    iris=Iris((136, 88, 54), (76, 45, 27), (24, 15, 12)),
    asymmetry={"asym/asym-brown-1-l": 0.15, "asym/asym-eye-1-r": 0.10, "asym/asym-mouth-1-l": 0.15},
    lash_length=0.80, lash_strength=0.85,
)  # fmt: skip

MARCO = Face(
    identity={
        **macros("male", {"caucasian": 1.0}, 0.10, 0.25, -0.10, 0.6),
        "eyes/l-eye-scale-incr": 0.50, "eyes/l-eye-height2-incr": 0.25, "eyes/l-eye-bag-decr": 0.3,
        "eyes/l-eye-corner2-up": 0.15, "eyebrows/eyebrows-trans-down": 0.15, "head/head-scale-horiz-decr": 0.25,
        "chin/chin-width-incr": 0.10, "chin/chin-jaw-drop-incr": 0.15, "chin/chin-bones-incr": 0.25,
        "chin/chin-cleft-incr": 0.15,
        "chin/chin-prominent-incr": 0.15, "cheek/l-cheek-bones-incr": 0.25, "cheek/l-cheek-inner-decr": 0.2,
        "nose/nose-width3-decr": 0.35, "nose/nose-flaring-decr": 0.3, "nose/nose-volume-decr": 0.25,
        "nose/nose-hump-incr": 0.10, "nose/nose-point-width-decr": 0.3, "nose/nose-scale-vert-decr": 0.15,
        "mouth/mouth-scale-horiz-decr": 0.10, "mouth/mouth-upperlip-height-incr": 0.35,
        "mouth/mouth-upperlip-volume-incr": 0.35, "mouth/mouth-lowerlip-volume-incr": 0.15,
        "mouth/mouth-angles-up": 0.2, "mouth/mouth-trans-up": 0.15,
        "neck/neck-scale-horiz-decr": 0.10, "ears/l-ear-wing-decr": 0.4, "ears/l-ear-scale-decr": 0.2,
        "torso/measure-shoulder-dist-decr": 0.35, "torso/torso-scale-horiz-decr": 0.25,
    },
    rest={
        "mouthSmileLeft": 0.35, "mouthSmileRight": 0.40, "cheekSquintLeft": 0.14, "cheekSquintRight": 0.14,
        "browInnerUp": 0.06, "eyeWideLeft": 0.30, "eyeWideRight": 0.30,
    },
    skin=Complexion(
        base=(209, 153, 122), blush=(194, 106, 88), shadow=(148, 94, 72), lip=(160, 92, 80), lip_amount=0.40,
        brow=(30, 21, 17), hair=(46, 33, 27), blush_amount=0.28, stubble=0.58, make_up=0.0, creases=0.45,
        brow_width=1.55, brow_arch=0.55,
        brow_lift=-0.012, freckles=10, moles=((-0.36, -0.42, 0.007),), roughness=0.48, specular=0.38,
    ),
    iris=Iris((122, 92, 52), (74, 56, 34), (26, 20, 16)),
    asymmetry={"asym/asym-nose-1-l": 0.15, "asym/asym-brown-1-r": 0.2, "asym/asym-jaw-1-l": 0.15},
    lash_length=0.75, lash_strength=0.8,
)  # fmt: skip

AMARA = Face(
    identity={
        **macros("female", {"african": 0.88, "caucasian": 0.12}, 0.38, -0.25, 0.10, 0.6),
        "eyes/l-eye-scale-incr": 0.45, "eyes/l-eye-height2-incr": 0.30, "eyes/l-eye-corner2-up": 0.25,
        "eyes/l-eye-bag-decr": 0.15,
        "head/head-oval": 0.35, "head/head-scale-horiz-decr": 0.30, "head/head-round": 0.10,
        "chin/chin-width-decr": 0.30, "chin/chin-bones-decr": 0.30, "chin/chin-jaw-drop-decr": 0.15,
        "cheek/l-cheek-volume-incr": 0.25, "cheek/l-cheek-bones-incr": 0.30,
        "forehead/forehead-scale-vert-decr": 0.15,
        "nose/nose-width3-decr": 0.25, "nose/nose-volume-decr": 0.15, "nose/nose-flaring-decr": 0.10,
        "mouth/mouth-scale-horiz-decr": 0.10, "mouth/mouth-upperlip-height-incr": 0.20, "mouth/mouth-cupidsbow-incr": 0.25,
        "mouth/mouth-angles-up": 0.25, "mouth/mouth-laugh-lines-in": 0.35,
        "neck/neck-scale-horiz-decr": 0.55, "neck/neck-scale-depth-decr": 0.2, "ears/l-ear-scale-decr": 0.35,
        "ears/l-ear-wing-decr": 0.4,
    },
    rest={"mouthSmileLeft": 0.30, "mouthSmileRight": 0.33, "cheekSquintLeft": 0.18, "cheekSquintRight": 0.18},
    skin=Complexion(
        base=(126, 84, 65), blush=(126, 66, 54), shadow=(68, 42, 34), lip=(116, 62, 54), lip_amount=0.50,
        brow=(26, 19, 17), hair=(34, 27, 25), blush_amount=0.20, make_up=0.5, freckles=6, brow_width=1.1,
        creases=1.25, soft_folds=0.9,
        moles=((0.40, -0.24, 0.008), (-0.30, -0.18, 0.006)), roughness=0.50, specular=0.36,
    ),
    iris=Iris((84, 52, 34), (46, 28, 20), (18, 13, 12)),
    asymmetry={"asym/asym-brown-2-l": 0.15, "asym/asym-mouth-2-r": 0.12, "asym/asym-eye-2-l": 0.10},
    lash_length=0.9, lash_strength=0.9,
)  # fmt: skip
