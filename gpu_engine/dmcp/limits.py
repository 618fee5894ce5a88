"""What one gateway allows; every number of it is bounded on purpose."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_engine.dmcp.messages import LimitsOut


@dataclass(frozen=True)
class Limits:
    """Defaults of a gateway. Times in the unit of the name."""

    max_frame_bytes: int = 16_384
    hello_bytes: int = 4_096
    hello_timeout_s: float = 5.0
    frames_per_s: float = 120.0
    frames_burst: float = 60.0
    bytes_per_s: float = 512 * 1024.0
    bytes_burst: float = 256 * 1024.0
    flood_factor: float = 10.0
    takes_per_s: float = 2.0
    """Of one session: everybody in its room is told of each."""
    takes_burst: float = 10.0
    bad_frames: int = 20
    bad_frames_window_s: float = 10.0
    past_ms: float = 2_000.0
    future_ms: float = 500.0
    report_every_ms: int = 1_000
    connections: int = 12_000
    strangers: int = 1_000
    """Connections that have not said hello yet."""
    room: int = 2_000
    per_token: int = 8
    stuck_s: float = 15.0
    renew_grace_s: float = 30.0
    ended_after_s: float = 10.0
    """A session whose body is gone may come back within this time (its node restarts it)."""
    poll_s: float = 0.005
    drain_s: float = 3.0

    def as_told(self) -> LimitsOut:
        """The part a client needs to know."""
        return LimitsOut(
            self.frames_per_s, self.bytes_per_s, self.max_frame_bytes, self.past_ms, self.future_ms, self.bad_frames,
            self.bad_frames_window_s,
        )  # fmt: skip
