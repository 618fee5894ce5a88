"""What the gateway counts, and how Prometheus reads it (text exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gpu_engine.dmcp.codes import Code


@dataclass
class Counters:
    """Since the start of the process."""

    accepted: int = 0
    messages_in: int = 0
    bytes_in: int = 0
    motion_in: int = 0
    telemetry_out: int = 0
    telemetry_lost: int = 0
    conflated: int = 0
    refusals: Counter[Code] = field(default_factory=Counter)
    closes: Counter[Code] = field(default_factory=Counter)

    def count_refusal(self, code: Code) -> None:
        """A message was refused."""
        self.refusals[code] += 1

    def count_close(self, code: Code) -> None:
        """A connection was ended by us."""
        self.closes[code] += 1

    def exposition(self, *, connections: int, strangers: int, rooms: int, controllers: int) -> bytes:
        """The page for ``/metrics``; no session is named on it."""
        lines: list[str] = []

        def put(name: str, kind: str, text: str, *values: tuple[str, int]) -> None:
            lines.extend((f"# HELP dmcp_{name} {text}", f"# TYPE dmcp_{name} {kind}"))
            lines.extend(f"dmcp_{name}{labels} {value}" for labels, value in values)

        put("connections", "gauge", "Open connections.", ("", connections))
        put("strangers", "gauge", "Connections that have not said hello.", ("", strangers))
        put("rooms", "gauge", "Sessions with a connection.", ("", rooms))
        put("controllers", "gauge", "Sessions driven from outside.", ("", controllers))
        put("accepted_total", "counter", "Connections accepted.", ("", self.accepted))
        put("messages_in_total", "counter", "Messages received.", ("", self.messages_in))
        put("bytes_in_total", "counter", "Payload bytes received.", ("", self.bytes_in))
        put("motion_in_total", "counter", "Motion frames passed to bodies.", ("", self.motion_in))
        put("telemetry_out_total", "counter", "Telemetry frames sent.", ("", self.telemetry_out))
        put("telemetry_lost_total", "counter", "Telemetry frames watchers reported as lost.", ("", self.telemetry_lost))
        put("conflated_total", "counter", "Telemetry frames left out for a slow watcher.", ("", self.conflated))
        for name, counts in (("refusals_total", self.refusals), ("closes_total", self.closes)):
            values = [(f'{{code="{code.value}",name="{code.title}"}}', number) for code, number in sorted(counts.items())]
            put(name, "counter", "By code (docs/dmcp.md).", *values)
        return ("\n".join(lines) + "\n").encode()
