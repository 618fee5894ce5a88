"""Puts captions, product card and the AI-content label over the host's picture.

Sprites are drawn with Pillow when their text changes, at most one in a frame, and blended by a compiled kernel. The label
is made when the stage is, is the last thing laid over every frame, and nothing in the state can leave it out.
"""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gpu_engine.session.timeline import Card
from gpu_engine.stage.backdrop import LARGEST_PIXELS, MOST_SCANS, load_backdrop
from gpu_engine.stage.blend import Sprite, blend
from gpu_engine.stage.layout import layout
from gpu_engine.stage.sprites import caption_sprite, card_sprite, fit_picture, label_sprite, picture_size, shadow
from gpu_engine.stage.text import StageError, missing_glyphs

__all__ = ["Stage", "StageError", "StageState"]

NO_CARD = Card()
CAPTION_FADE_MS = 100.0
CARD_FADE_MS = 240.0
_PICTURES_KEPT = 24
_LABEL_RULE = re.compile(r"(AI|人工智能).*(生成|合成|generated)|(生成|合成|generated).*(AI|人工智能)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StageState:
    """What one frame shows besides host and label."""

    caption: str = ""
    card: Card = NO_CARD
    media_ms: float = 0.0


class _Overlay:
    """One place on the stage that shows a sprite, fades it in and lets the last one fade out."""

    def __init__(self, fade_ms: float) -> None:
        self._fade_ms = fade_ms
        self._sprite: Sprite | None = None
        self._leaving: Sprite | None = None
        self._since_ms = float("-inf")

    def show(self, sprite: Sprite | None, media_ms: float) -> None:
        """Change what is shown."""
        self._leaving = self._sprite
        self._sprite = sprite
        self._since_ms = media_ms

    def replace(self, sprite: Sprite) -> None:
        """Change the picture of what is shown without a fade."""
        self._sprite = sprite

    def draw(self, canvas: NDArray[np.uint8], media_ms: float) -> None:
        """Blend what is due at ``media_ms``."""
        share = (media_ms - self._since_ms) / self._fade_ms
        share = 1.0 if not 0.0 <= share < 1.0 else share
        if share < 1.0 and self._leaving is not None and self._sprite is None:
            blend(canvas, self._leaving, 1.0 - share)
        if self._sprite is not None:
            # Text replaced by text does not blink: only what comes from nothing fades in.
            blend(canvas, self._sprite, share if self._leaving is None else 1.0)
        if share >= 1.0:
            self._leaving = None


class Stage:
    """Everything drawn in front of and behind the host, for one session. Not thread-safe."""

    def __init__(self, width: int, height: int, lang: str, label: str, backdrop: str = "daylight") -> None:
        """Set the stage for ``width`` x ``height`` px frames.

        Args:
            lang: 'zh' or 'en', for the few words the stage itself writes.
            label: the AI-content label shown on every frame.
            backdrop: a shipped studio or the path of a picture, loaded by :meth:`background`.

        Raises:
            StageError: the label names no AI generation, has characters the font lacks, or the font files are missing.
        """
        if not _LABEL_RULE.search(label):
            raise StageError(
                f"AI-content label '{label}' must name AI and generation: use 'AI生成 · 数字人' or 'AI-generated …'"
            )
        lacking = missing_glyphs(label, "Bold")
        if lacking:
            raise StageError(
                f"AI-content label '{label}': the stage font has no glyph for '{lacking}': choose other characters or add "
                "them to gpu_engine/stage/fonts/make_subset.py"
            )
        self._plan = layout(width, height)
        self._lang = lang
        self._backdrop = backdrop
        self._background: NDArray[np.uint8] | None = None
        self._label = label_sprite(label, self._plan)
        self._shade = shadow(
            (self._plan.card.width, self._plan.card.height), round(0.026 * self._plan.short), round(0.016 * self._plan.short)
        )
        self._caption_text = ""
        self._caption = _Overlay(CAPTION_FADE_MS)
        self._card_shown = NO_CARD
        self._card_has_picture = False
        self._card = _Overlay(CARD_FADE_MS)
        self._pictures: dict[str, Future[Image.Image | None]] = {}
        self._loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stage-picture")
        self.pictures_failed: dict[str, str] = {}
        self._warm_up()

    def _warm_up(self) -> None:
        # Compiled kernels, font files and glyphs are loaded here and not on the first live frame.
        canvas = np.zeros((self._plan.height, self._plan.width, 3), dtype=np.uint8)
        card_sprite(Card("", "0 款", "¥0", "¥0", "0", 1), self._plan, self._lang, None, self._shade)
        caption_sprite("0", self._plan)
        blend(canvas, self._label, 0.5)
        blend(canvas, self._label)

    def background(self) -> NDArray[np.uint8]:
        """The studio without host, uint8[height, width, 3] BGR: read and fitted once, the same array at every call.

        Raises:
            StageError: the backdrop is a picture that cannot be used.
        """
        if self._background is None:
            self._background = load_backdrop(self._backdrop, self._plan)
        return self._background

    def preload(self, path: str) -> None:
        """Start loading a card picture; ``pictures_failed`` names those that could not be read."""
        self._picture(path)

    def compose(self, canvas: NDArray[np.uint8], state: StageState) -> None:
        """Lay captions, card and label over ``canvas`` (uint8[height, width, 3], BGR) in place.

        Call in order of media time. When caption and card change together the card follows one frame later.

        Raises:
            StageError: the canvas has another size than the stage.
        """
        if canvas.shape != (self._plan.height, self._plan.width, 3):
            raise StageError(f"canvas {canvas.shape} on a stage of {self._plan.width}x{self._plan.height}: sizes must agree")
        if not self._update_caption(state):
            self._update_card(state)
        self._card.draw(canvas, state.media_ms)
        self._caption.draw(canvas, state.media_ms)
        blend(canvas, self._label)

    def _update_caption(self, state: StageState) -> bool:
        if state.caption == self._caption_text:
            return False
        self._caption_text = state.caption
        self._caption.show(caption_sprite(state.caption, self._plan), state.media_ms)
        return True

    def _update_card(self, state: StageState) -> None:
        card = state.card
        picture = self._picture(card.image) if card.title and card.image else None
        if card != self._card_shown:
            shown_before = bool(self._card_shown.title)
            self._card_shown, self._card_has_picture = card, picture is not None
            if not card.title:
                if shown_before:
                    self._card.show(None, state.media_ms)
                return
            self._card.show(card_sprite(card, self._plan, self._lang, picture, self._shade), state.media_ms)
        elif picture is not None and not self._card_has_picture:
            self._card_has_picture = True
            self._card.replace(card_sprite(card, self._plan, self._lang, picture, self._shade))

    def _picture(self, path: str) -> Image.Image | None:
        waiting = self._pictures.get(path)
        if waiting is None:
            while len(self._pictures) >= _PICTURES_KEPT:
                self._pictures.pop(next(iter(self._pictures)))
            self._pictures[path] = self._loader.submit(self._load, path)
            return None
        return waiting.result() if waiting.done() else None

    def _load(self, path: str) -> Image.Image | None:
        try:
            # The kinds a catalogue has: Pillow's others start helpers (EPS) or have decoders few look at.
            with Image.open(Path(path), formats=("JPEG", "PNG", "WEBP", "GIF")) as picture:
                if picture.width * picture.height > LARGEST_PIXELS:
                    raise StageError(f"{picture.width}x{picture.height} px: save it smaller")
                if picture.format == "JPEG" and Path(path).read_bytes().count(b"\xff\xda") > MOST_SCANS:
                    raise StageError("a JPEG of too many scans: save it again")
                picture.draft("RGB", picture_size(self._plan))
                return fit_picture(picture, picture_size(self._plan))
        except Exception as error:  # noqa: BLE001 - decoders answer damaged files with whatever they stumble over
            self.pictures_failed[path] = str(error) or type(error).__name__
            return None
