"""The presenters the recipe can make. One entry says everything that differs from person to person."""

from __future__ import annotations

from dataclasses import dataclass

import faces


@dataclass(frozen=True)
class Light:
    """Watts of the area lights, world strength and view exposure (stops)."""

    key: float = 19.0
    fill: float = 3.4
    under: float = 0.8
    rim_left: float = 4.5
    rim_right: float = 3.5
    world: float = 0.16
    exposure: float = 0.30


@dataclass(frozen=True)
class Presenter:
    """A host: names shown to people, free words about the look, the styles of every part of the recipe,
    and how much lower than others the host stands in the picture (``headroom``, pixels of 1080 lines)."""

    name: str
    display_name: dict[str, str]
    presents: str
    face: faces.Face
    hair: str
    outfit: str
    light: Light = Light()
    headroom: int = 0


BRIGHTER = Light(exposure=0.5)
"""For dark skin, which a camera would be opened up for."""

PRESENTERS: dict[str, Presenter] = {
    p.name: p
    for p in (
        Presenter("lin", {"zh": "小林", "en": "Lin"}, "East Asian woman, about 26", faces.LIN, "lin", "lin"),
        Presenter(
            "marco", {"zh": "马可", "en": "Marco"}, "Southern European man, about 36",
            faces.MARCO, "marco", "marco", headroom=12,
        ),
        Presenter(
            "amara", {"zh": "阿玛拉", "en": "Amara"}, "Black woman, about 48",
            faces.AMARA, "amara", "amara", BRIGHTER, headroom=36,
        ),
    )
}  # fmt: skip


def presenter(name: str) -> Presenter:
    """The named presenter.

    Raises:
        ValueError: no such presenter.
    """
    if name not in PRESENTERS:
        raise ValueError(f"presenter '{name}' is unknown; the recipe has {', '.join(PRESENTERS)}")
    return PRESENTERS[name]
