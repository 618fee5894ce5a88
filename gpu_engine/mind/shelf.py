"""The product card: follows the script's segments, holds what the operator pinned until the segment changes."""

from __future__ import annotations

from gpu_engine.mind.facts import product_card
from gpu_engine.mind.studio import Studio
from gpu_engine.session.spec import Product, Segment
from gpu_engine.session.timeline import Card, ShowCard


class Shelf:
    """``product_id`` is what 'this' means to a viewer."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._pinned: str | None = None
        self._segment_id = ""
        self._script_product: str | None = None

    @property
    def product_id(self) -> str | None:
        """The product on the card."""
        return self._pinned or self._script_product

    def put(self, product_id: str | None) -> None:
        """What the script shows, without a segment having begun (after an absence of the mind)."""
        self._script_product = product_id

    def follow(self, segment: Segment) -> None:
        """A sentence of this segment sounds; a pin ends with its segment."""
        if segment.id != self._segment_id:
            self._segment_id = segment.id
            self._pinned = None
        self._script_product = segment.product_id

    def pin(self, product: Product) -> None:
        """Show a product's card until the script moves to another segment."""
        self._pinned = product.id
        self._segment_id = self._segment_id or "-"
        self.show()

    def show(self) -> None:
        """Send the card with today's facts."""
        if self.product_id is not None:
            self._studio.send(ShowCard(self._card(self._studio.knowledge.product(self.product_id))))

    def card_for(self, segment: Segment) -> Card:
        """The card while a sentence of this segment sounds."""
        knowledge = self._studio.knowledge
        pinned = self._pinned if segment.id == self._segment_id else None
        shown = knowledge.product(pinned) if pinned else None
        return self._card(shown or (knowledge.product(segment.product_id) if segment.product_id else None))

    def _card(self, product: Product | None) -> Card:
        return product_card(product, self._studio.spec.lang, self._studio.now())
