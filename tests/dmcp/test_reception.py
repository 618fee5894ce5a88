"""Sequence numbers, clocks and rates, with a clock of our own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.dmcp.codes import Code, DmcpError
from gpu_engine.dmcp.reception import Arrival, Patience, Reception, SenderClock, TimestampRule, TokenBucket

pytestmark = pytest.mark.unit


def received(*sequences: int) -> tuple[Reception, list[Arrival]]:
    reception = Reception()
    return reception, [reception.take(s, 40.0 * i, 40.0 * i + 5.0) for i, s in enumerate(sequences)]


def test_losses_reordering_and_duplicates_are_told_apart() -> None:
    reception, arrivals = received(10, 11, 14, 12, 14, 15)

    assert [a.value for a in arrivals] == ["next", "next", "next", "reordered", "duplicate", "next"]
    assert (reception.received, reception.lost, reception.reordered, reception.duplicate) == (5, 1, 1, 1)
    assert reception.last_sequence == 15


def test_numbers_wrap() -> None:
    reception, arrivals = received(2**32 - 2, 2**32 - 1, 0, 1)

    assert {a.value for a in arrivals} == {"next"}
    assert (reception.lost, reception.last_sequence) == (0, 1)


def test_a_frame_from_before_the_first_does_not_end_the_count_of_losses() -> None:
    reception, arrivals = received(0, 2**32 - 1, 1, 4)

    assert [a.value for a in arrivals] == ["next", "reordered", "next", "next"]
    assert (reception.received, reception.lost, reception.last_sequence) == (4, 2, 4)


@given(st.lists(st.booleans(), min_size=2, max_size=200), st.integers(0, 2**32 - 1))
def test_what_is_dropped_between_two_frames_is_lost(kept: list[bool], first: int) -> None:
    kept = [True, *kept, True]
    reception, _ = received(*((first + i) % 2**32 for i, keep in enumerate(kept) if keep))

    assert (reception.received, reception.lost) == (sum(kept), len(kept) - sum(kept))


def test_jitter_is_that_of_rfc_3550() -> None:
    reception = Reception()
    for i, delay_ms in enumerate((5.0, 21.0, 5.0)):
        reception.take(i, 40.0 * i, 40.0 * i + delay_ms)

    assert reception.jitter_ms == pytest.approx(1.0 + (16.0 - 1.0) / 16.0)


def test_the_quickest_reading_tells_the_offset() -> None:
    clock = SenderClock()
    for sender_ms, here_ms in ((0, 1_030), (100, 1_104), (200, 1_290)):
        clock.read(sender_ms, here_ms)

    assert clock.offset_ms == 1_004
    for i in range(8):
        clock.read(1_000 + i, 2_020 + i)
    assert clock.offset_ms == 1_020


def test_only_times_of_the_present_are_believed() -> None:
    rule = TimestampRule(past_ms=2_000, future_ms=500)
    rule.check(1_000, 10_000, 10_010)
    rule.check(1_000, 10_000, 10_015)

    for ts_ms, here_ms, code in (
        (999, 10_030, Code.TIMESTAMP_BACKWARDS),
        (86_400_000, 10_000 + 86_400_000, Code.TIMESTAMP_FUTURE),
        (1_010, 7_900, Code.TIMESTAMP_LATE),
    ):
        with pytest.raises(DmcpError) as refused:
            rule.check(ts_ms, here_ms, 10_020)
        assert refused.value.code is code
    # A refused frame from tomorrow must not make today's frames look like yesterday's.
    rule.check(1_040, 10_040, 10_045)


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate_per_s=10.0, burst=3.0)

    assert [bucket.take(1.0, 0.0) for _ in range(5)] == [True, True, True, False, False]
    assert [bucket.take(1.0, 0.1), bucket.take(1.0, 0.1)] == [True, False]
    assert sum(bucket.take(1.0, 10.0) for _ in range(9)) == 3


def test_patience_ends_with_too_many_within_the_window() -> None:
    patience = Patience(3, 10.0)

    assert [patience.strain(t) for t in (0.0, 1.0, 20.0, 25.0, 29.0)] == [False, False, False, False, True]
