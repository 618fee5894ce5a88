"""Where things stand in the picture, for wide and tall frames."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rect:
    """Whole pixels; right and bottom are one past the last."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Pixels down."""
        return self.bottom - self.top

    def contains(self, other: Rect) -> bool:
        """Whether ``other`` lies wholly inside."""
        return self.left <= other.left and self.top <= other.top and self.right >= other.right and self.bottom >= other.bottom


@dataclass(frozen=True, slots=True)
class Layout:
    """Rectangles in px and em sizes in px for one frame size.

    ``label_em`` is where the search for a lawful label size starts; a label wider than ``label_width`` takes two lines.
    ``safe`` is what players and platform apps leave uncovered: everything on the stage stays inside it. ``tall`` frames
    (9:16) put the card across, between the host and the captions, and keep clear of the buttons at the foot and the right.
    """

    width: int
    height: int
    tall: bool
    safe: Rect
    label_em: int
    label_width: int
    card: Rect
    caption: Rect
    caption_em: int
    host_x: float

    @property
    def short(self) -> int:
        """Length of the short side in px."""
        return min(self.width, self.height)


def layout(width: int, height: int) -> Layout:
    """The stage plan of a frame."""
    short = min(width, height)
    tall = height > width

    def rect(left: float, top: float, right: float, bottom: float) -> Rect:
        return Rect(round(left * width), round(top * height), round(right * width), round(bottom * height))

    if tall:
        return Layout(
            width,
            height,
            True,
            safe=rect(0.045, 0.05, 0.955, 0.86),
            label_em=_even(0.050 * short),
            label_width=round(0.86 * width),
            card=rect(0.05, 0.585, 0.87, 0.715),
            caption=rect(0.05, 0.735, 0.95, 0.85),
            caption_em=_even(0.056 * short),
            host_x=0.5,
        )
    return Layout(
        width,
        height,
        False,
        safe=rect(0.03, 0.035, 0.97, 0.965),
        label_em=_even(0.050 * short),
        label_width=round(0.235 * width),
        card=rect(0.695, 0.09, 0.965, 0.755),
        caption=rect(0.06, 0.77, 0.94, 0.955),
        caption_em=_even(0.058 * short),
        host_x=0.37,
    )


def _even(value: float) -> int:
    return max(2 * round(value / 2), 8)
