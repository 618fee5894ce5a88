"""What a receiver keeps of one sender: sequence numbers, losses, jitter, the sender's clock and its rates."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

from gpu_engine.dmcp.codes import Code, DmcpError

_MODULUS = 2**32
_HALF = 2**31
_SEEN = 128


class Arrival(Enum):
    """How a sequence number relates to those before it."""

    NEXT = "next"
    REORDERED = "reordered"
    DUPLICATE = "duplicate"


@dataclass(slots=True)
class Reception:
    """Counts of one sender as in RFC 3550 (appendix A.3, A.8): expected minus received is lost, jitter is smoothed by 1/16."""

    received: int = 0
    reordered: int = 0
    duplicate: int = 0
    refused: int = 0
    jitter_ms: float = 0.0
    _first: int | None = None
    _highest: int = 0
    _transit_ms: float | None = None
    _seen: deque[int] | None = None

    @property
    def lost(self) -> int:
        """Frames that were numbered and never came."""
        return 0 if self._first is None else max(0, self._highest - self._first + 1 - self.received)

    @property
    def last_sequence(self) -> int:
        """The highest number seen, −1 before the first."""
        return -1 if self._first is None else self._highest % _MODULUS

    def take(self, sequence: int, ts_ms: float, arrived_ms: float) -> Arrival:
        """Count a frame; numbers wrap at 2^32."""
        if self._first is None:
            self._first = self._highest = sequence
            self._seen = deque([sequence], maxlen=_SEEN)
            self._count(ts_ms, arrived_ms)
            return Arrival.NEXT
        assert self._seen is not None
        ahead = (sequence - self._highest) % _MODULUS
        extended = self._highest + (ahead if ahead < _HALF else ahead - _MODULUS)
        if extended in self._seen:
            self.duplicate += 1
            return Arrival.DUPLICATE
        self._seen.append(extended)
        self._count(ts_ms, arrived_ms)
        if extended < self._highest:
            self._first = min(self._first, extended)
            self.reordered += 1
            return Arrival.REORDERED
        self._highest = extended
        return Arrival.NEXT

    def _count(self, ts_ms: float, arrived_ms: float) -> None:
        self.received += 1
        transit_ms = arrived_ms - ts_ms
        if self._transit_ms is not None:
            self.jitter_ms += (abs(transit_ms - self._transit_ms) - self.jitter_ms) / 16.0
        self._transit_ms = transit_ms


class SenderClock:
    """Turns a sender's timestamps into the receiver's time.

    The offset is the smallest (receiver's time − sender's time) of the last readings, as the quickest message was delayed
    least (Cristian 1989); it includes that message's one-way delay, so a frame never seems to come from the future by it.
    """

    READINGS = 8

    def __init__(self) -> None:
        self._readings: deque[float] = deque(maxlen=self.READINGS)

    def read(self, sender_ms: float, here_ms: float) -> None:
        """The sender said what time it is."""
        self._readings.append(here_ms - sender_ms)

    @property
    def offset_ms(self) -> float:
        """To be added to the sender's time; 0 before the first reading."""
        return min(self._readings, default=0.0)


@dataclass(slots=True)
class TimestampRule:
    """Which timestamps are believed. Times in the receiver's milliseconds."""

    past_ms: float = 2_000.0
    future_ms: float = 500.0
    _last_ms: float = float("-inf")

    def check(self, ts_ms: int, here_ms: float, now_ms: float) -> None:
        """Accept a frame's time and remember it.

        Args:
            ts_ms: as sent; here_ms: the same moment in the receiver's time; now_ms: the present.

        Raises:
            DmcpError: backwards, from the future, or too late to be of use.
        """
        if here_ms - now_ms > self.future_ms:
            raise DmcpError(
                Code.TIMESTAMP_FUTURE, f"ts {ts_ms} is {here_ms - now_ms:.0f} ms ahead (limit {self.future_ms:.0f}): send pings"
            )
        if now_ms - here_ms > self.past_ms:
            raise DmcpError(Code.TIMESTAMP_LATE, f"ts {ts_ms} is {now_ms - here_ms:.0f} ms old (limit {self.past_ms:.0f})")
        if ts_ms < self._last_ms:
            raise DmcpError(Code.TIMESTAMP_BACKWARDS, f"ts {ts_ms} is before {self._last_ms:.0f} of the frame before")
        self._last_ms = ts_ms


class TokenBucket:
    """At most ``rate_per_s`` on average and ``burst`` at once."""

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._level = burst
        self._at_s: float | None = None

    def take(self, amount: float, now_s: float) -> bool:
        """Whether ``amount`` more is within the rate; what is not taken is not counted."""
        if self._at_s is not None:
            self._level = min(self._burst, self._level + (now_s - self._at_s) * self._rate_per_s)
        self._at_s = now_s
        if self._level < amount:
            return False
        self._level -= amount
        return True


class Patience:
    """At most ``limit`` refusals within ``window_s``."""

    def __init__(self, limit: int, window_s: float) -> None:
        self._times_s: deque[float] = deque(maxlen=limit)
        self._window_s = window_s

    def strain(self, now_s: float) -> bool:
        """Count a refusal; true when there were too many."""
        self._times_s.append(now_s)
        return len(self._times_s) == self._times_s.maxlen and now_s - self._times_s[0] <= self._window_s
