"""Identities of the presenters: MakeHuman targets, face units of the resting look, complexion and eyes."""

from __future__ import annotations

from dataclasses import dataclass, field

MACRO = "macrodetails"
PROPORTIONS = f"{MACRO}/proportions"


@dataclass(frozen=True)
class Complexion:
    """Painted skin; colours are 8-bit sRGB of the unlit albedo."""

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
        **macros("female", {"asian": 0.72, "caucasian": 0.28}, 0.0, -0.1, -0.35, 0.7),
        "eyes/l-eye-scale-incr": 0.62, "eyes/l-eye-height2-incr": 0.45, "eyes/l-eye-height1-incr": 0.30,
        "eyes/l-eye-height3-incr": 0.30, "eyes/l-eye-corner2-up": 0.25, "eyes/l-eye-bag-decr": 0.40,
        "head/head-oval": 0.55, "head/head-fat-decr": 0.25, "head/head-scale-horiz-decr": 0.25,
        "chin/chin-width-decr": 0.55, "chin/chin-triangle": 0.35, "chin/chin-height-decr": 0.25, "chin/chin-bones-decr": 0.3,
        "cheek/l-cheek-bones-incr": 0.30, "cheek/l-cheek-volume-decr": 0.25,
        "nose/nose-width3-decr": 0.35, "nose/nose-flaring-decr": 0.30, "nose/nose-point-width-decr": 0.35,
        "nose/nose-scale-vert-decr": 0.10, "nose/nose-volume-decr": 0.20, "nose/nose-greek-incr": 0.15,
        "mouth/mouth-angles-up": 0.30, "mouth/mouth-upperlip-volume-incr": 0.25, "mouth/mouth-lowerlip-volume-incr": 0.20,
        "mouth/mouth-cupidsbow-incr": 0.35, "mouth/mouth-scale-horiz-decr": 0.25,
        "neck/neck-scale-horiz-decr": 0.55, "neck/neck-scale-depth-decr": 0.3, "ears/l-ear-scale-decr": 0.30,
    },
    rest={
        "mouthSmileLeft": 0.20, "mouthSmileRight": 0.18, "cheekSquintLeft": 0.12, "cheekSquintRight": 0.12,
        "mouthPressLeft": 0.08, "mouthPressRight": 0.08, "mouthShrugLower": 0.10, "mouthClose": 0.06,
    },
    skin=Complexion(
        base=(226, 176, 147), blush=(222, 128, 112), shadow=(176, 112, 88), lip=(190, 98, 98), lip_amount=0.62,
        brow=(48, 34, 29), hair=(46, 34, 30), make_up=0.6, moles=((0.34, -0.50, 0.007),),
    ),
    iris=Iris((112, 70, 42), (62, 36, 22), (22, 14, 12)),
    asymmetry={"asym/asym-brown-1-l": 0.15, "asym/asym-eye-1-r": 0.10, "asym/asym-mouth-1-l": 0.15},
)  # fmt: skip

MARCO = Face(
    identity={
        **macros("male", {"caucasian": 1.0}, 0.13, 0.25, -0.05, 0.6),
        "eyes/l-eye-scale-incr": 0.40, "eyes/l-eye-height2-incr": 0.2,
        "chin/chin-width-incr": 0.15, "chin/chin-jaw-drop-incr": 0.2, "chin/chin-bones-incr": 0.2,
        "mouth/mouth-scale-horiz-decr": 0.10, "neck/neck-scale-horiz-decr": 0.10,
    },
    rest={"mouthSmileLeft": 0.16, "mouthSmileRight": 0.19, "cheekSquintLeft": 0.12, "cheekSquintRight": 0.12},
    skin=Complexion(
        base=(206, 150, 118), blush=(196, 108, 90), shadow=(150, 92, 70), lip=(172, 96, 88), lip_amount=0.5,
        brow=(40, 28, 23), hair=(46, 33, 27), blush_amount=0.25, stubble=0.5, make_up=0.0, brow_width=1.45, freckles=10,
        moles=((-0.36, -0.42, 0.008),),
    ),
    iris=Iris((122, 92, 52), (74, 56, 34), (26, 20, 16)),
    asymmetry={"asym/asym-nose-1-l": 0.15, "asym/asym-brown-1-r": 0.2, "asym/asym-jaw-1-l": 0.15},
    lash_length=0.75, lash_strength=0.8,
)  # fmt: skip

AMARA = Face(
    identity={
        **macros("female", {"african": 1.0}, 0.30, -0.1, 0.10, 0.6),
        "eyes/l-eye-scale-incr": 0.45, "eyes/l-eye-height2-incr": 0.3,
        "mouth/mouth-scale-horiz-decr": 0.15, "neck/neck-scale-horiz-decr": 0.25,
    },
    rest={"mouthSmileLeft": 0.20, "mouthSmileRight": 0.22, "cheekSquintLeft": 0.15, "cheekSquintRight": 0.15},
    skin=Complexion(
        base=(136, 86, 62), blush=(140, 68, 52), shadow=(76, 44, 34), lip=(122, 62, 58), lip_amount=0.6,
        brow=(28, 20, 18), hair=(40, 32, 29), blush_amount=0.25, make_up=0.5, freckles=6,
        moles=((0.40, -0.24, 0.008), (-0.30, -0.18, 0.006)), roughness=0.42, specular=0.45,
    ),
    iris=Iris((84, 52, 34), (46, 28, 20), (18, 13, 12)),
    asymmetry={"asym/asym-brown-2-l": 0.15, "asym/asym-mouth-2-r": 0.12, "asym/asym-eye-2-l": 0.10},
)  # fmt: skip
