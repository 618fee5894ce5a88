"""What an output tells the outlet about itself."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from gpu_engine.outputs.hub import AccessUnit

State = Literal["connecting", "up", "busy", "retrying", "down", "finished"]


class Reports(Protocol):
    """Implemented by the outlet; kinds and data of events are those of ``session.control.Event``."""

    def state(self, output_id: str, kind: str, state: State, detail: str = "") -> None:
        """The output entered a state; repeated states with the same detail are told once."""

    def accepted(self, output_id: str, unit: AccessUnit) -> None:
        """The output took a packet (see :mod:`gpu_engine.outputs.usage`)."""

    def event(self, kind: str, /, **data: Any) -> None:
        """Anything else that happened."""
