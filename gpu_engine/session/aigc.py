"""The implicit AI-content label of GB 45438-2025, annex E: the JSON carried under the metadata key ``AIGC``."""

from __future__ import annotations

import json
import re

from gpu_engine.session.spec import Producer

_ALLOWED = re.compile(r"[^\x21\x23-\x5B\x5D-\x7E]")


def implicit_label(producer: Producer) -> str:
    """Compact JSON; every value is a string of the characters the standard allows, label "1" = is AI-generated."""
    who = _ALLOWED.sub("_", producer.content_producer)
    what = _ALLOWED.sub("_", producer.produce_id)
    return json.dumps(
        {
            "Label": "1", "ContentProducer": who, "ProduceID": what, "ReservedCode1": "",
            "ContentPropagator": who, "PropagateID": what, "ReservedCode2": "",
        },
        separators=(",", ":"),
    )  # fmt: skip
