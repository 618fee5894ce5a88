"""What is charged is a function of the set of segments: order, repetition and lost messages change nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumihost.metering.fold import HOUR_MS, Segment, billable_seconds

pytestmark = pytest.mark.unit

T0_MS = 1_796_000_400_000
"""2026-11-30 01:00:00 UTC, a full hour."""


def run_of(
    seconds: int, *, epoch: int = 1, incarnation: int = 1, start_ms: int = T0_MS, step: int = 5, jitter_ms: int = 0
) -> list[Segment]:
    """A run of consecutive segments as an engine writes them; wall clocks jitter, media seconds do not."""
    rng = random.Random(epoch * 1000 + incarnation)
    return [
        Segment(
            epoch, incarnation, at, min(at + step, seconds), start_ms + at * 1000 + rng.randint(-jitter_ms, jitter_ms), 720
        )
        for at in range(0, seconds, step)
    ]  # fmt: skip


def total(segments: list[Segment], fences_ms: dict[int, int] | None = None) -> int:
    return sum(billable_seconds(segments, fences_ms).values())


def test_two_hours_are_7200_seconds_and_each_hour_3600() -> None:
    by_hour = billable_seconds(run_of(7200, jitter_ms=40))
    assert sum(by_hour.values()) == 7200
    assert {hour: pytest.approx(count, abs=1) for hour, count in by_hour.items() if count > 1} == {
        (T0_MS, 720): 3600,
        (T0_MS + HOUR_MS, 720): 3600,
    }


def test_a_repeated_media_second_of_one_run_counts_once() -> None:
    assert total([Segment(1, 1, 0, 10, T0_MS, 720), Segment(1, 1, 5, 12, T0_MS + 5000, 720)]) == 12


def test_a_hole_is_not_charged() -> None:
    assert total([Segment(1, 1, 0, 10, T0_MS, 720), Segment(1, 1, 30, 40, T0_MS + 30_000, 720)]) == 20


def test_two_epochs_at_the_same_wall_time_are_charged_once() -> None:
    old, new = run_of(100, epoch=1), run_of(100, epoch=2, start_ms=T0_MS + 60_000)
    assert total(old + new) == 160


def test_an_overlap_below_half_a_second_does_not_swallow_a_second() -> None:
    old, new = run_of(10, epoch=1), run_of(10, epoch=2, start_ms=T0_MS + 9_600)
    assert total(old + new) == 20


def test_a_restarted_engine_counts_from_zero_and_both_runs_are_charged() -> None:
    first, second = run_of(60, incarnation=1), run_of(60, incarnation=2, start_ms=T0_MS + 63_000)
    assert total(first + second) == 120


def test_a_fenced_epoch_earns_nothing_after_its_fence() -> None:
    assert total(run_of(100), {1: T0_MS + 30_000}) == 30
    assert total(run_of(100), {1: T0_MS - 1}) == 0


def test_renditions_are_counted_apart() -> None:
    segments = [Segment(1, 1, 0, 10, T0_MS, 720), Segment(1, 1, 10, 15, T0_MS + 10_000, 1080)]
    assert billable_seconds(segments) == {(T0_MS, 720): 10, (T0_MS, 1080): 5}


segments_of_a_session = st.lists(
    st.builds(
        lambda epoch, incarnation, at, length, skew: Segment(
            epoch, incarnation, at, at + length, T0_MS + epoch * 20_000 + incarnation * 7_000 + at * 1000 + skew, 720
        ),
        st.integers(1, 3), st.integers(1, 2), st.integers(0, 120), st.integers(1, 30), st.integers(-300, 300),
    ),
    max_size=25,
)  # fmt: skip


@given(segments_of_a_session, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(segments: list[Segment], rng: random.Random) -> None:
    expected = billable_seconds(segments)
    again = segments + [segment for segment in segments if rng.random() < 0.5]
    rng.shuffle(again)
    assert billable_seconds(again) == expected


@given(segments_of_a_session)
def test_never_less_than_the_first_run_nor_more_than_all_media(segments: list[Segment]) -> None:
    media: dict[tuple[int, int], set[int]] = {}
    for s in segments:
        media.setdefault((s.epoch, s.incarnation), set()).update(range(s.from_s, s.to_s))
    first_run = len(media[min(media)]) if media else 0
    assert first_run <= total(segments) <= sum(len(seconds) for seconds in media.values())


@given(st.integers(1, 200), st.integers(0, 200_000))
def test_two_whole_runs_cost_their_union(seconds: int, offset_ms: int) -> None:
    """Exact against counting each wall half-second by hand."""
    old, new = run_of(seconds, epoch=1), run_of(seconds, epoch=2, start_ms=T0_MS + offset_ms)
    old_end_ms = T0_MS + seconds * 1000
    starts_ms = [T0_MS + offset_ms + k * 1000 for k in range(seconds)]
    overlapped = sum(1 for start_ms in starts_ms if min(old_end_ms, start_ms + 1000) - start_ms >= 500)
    assert total(old + new) == 2 * seconds - overlapped
