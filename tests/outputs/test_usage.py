"""Which outputs took each second."""

from __future__ import annotations

import pytest

from gpu_engine.outputs.hub import AccessUnit
from gpu_engine.outputs.usage import AcceptedSeconds
from gpu_engine.session.packets import StreamInfo
from tests.outputs.test_hub import INFO, picture, sound

pytestmark = pytest.mark.unit

NEXT = StreamInfo(2, 320, 180, 25, 400, 48_000, b"\x11\x88", "{}")


class Report(list[tuple[int, int, list[str]]]):
    """Collects what is emitted."""

    def take(self, incarnation: int, second: int, outputs: list[str]) -> None:
        """One second."""
        self.append((incarnation, second, outputs))


def feed(usage: AcceptedSeconds, frames: range, taker: str = "", info: StreamInfo = INFO) -> list[AccessUnit]:
    """Pass frames; ``taker`` accepts each."""
    units = [picture(n, key=n % 25 == 0, info=info) for n in frames]
    for unit in units:
        usage.produced(unit)
        if taker:
            usage.accepted(taker, unit)
    return units


def test_each_second_is_reported_once_in_order_with_those_who_took_any_of_it() -> None:
    # Given a stream from 1.0 s to 7.0 s that one output takes whole and another only in its second second.
    report = Report()
    usage = AcceptedSeconds(report.take)
    units = feed(usage, range(50), "file")
    usage.accepted("push", units[30])
    feed(usage, range(50, 75))
    feed(usage, range(75, 151), "file")
    # When it ends, Then seconds 1 to 6 are told once, the untaken one with nobody.
    usage.finish()
    assert report == [
        (1, 1, ["file"]),
        (1, 2, ["file", "push"]),
        (1, 3, []),
        (1, 4, ["file"]),
        (1, 5, ["file"]),
        (1, 6, ["file"]),
    ]
    assert usage.accepted_s == 5


def test_an_outlet_that_joins_in_mid_second_says_nothing_of_that_second() -> None:
    # Given an outlet whose first picture is at 1.4 s and last at 4.0 s, Then it speaks of seconds 2 and 3 only.
    report = Report()
    usage = AcceptedSeconds(report.take)
    feed(usage, range(10, 76), "file")
    usage.finish()
    assert [second for _, second, _ in report] == [2, 3]


def test_seconds_with_missing_packets_are_not_told_and_the_rest_is() -> None:
    # Given a stream from 1.0 s whose frames of 2.4 s to 4.2 s never came.
    report = Report()
    usage = AcceptedSeconds(report.take)
    feed(usage, range(35), "file")
    feed(usage, range(80, 150), "file")
    usage.finish()
    # Then seconds 1, 5 and 6 were whole, and only they are told.
    assert report == [(1, 1, ["file"]), (1, 5, ["file"]), (1, 6, ["file"])]


def test_a_body_that_skips_pictures_under_load_has_still_made_the_second() -> None:
    # Given a second with one picture at its start, while the sound went on.
    report = Report()
    usage = AcceptedSeconds(report.take)
    for unit in feed(usage, range(1), "file"):
        assert unit.is_video
    for n in range(25):
        usage.produced(sound(n))
    feed(usage, range(25, 50), "file")
    usage.finish()
    # Then it is told like the next one.
    assert report == [(1, 1, ["file"]), (1, 2, ["file"])]


def test_a_late_acceptance_within_the_grace_counts_and_after_it_changes_nothing() -> None:
    # Given a second whose only taker is slow.
    report = Report()
    usage = AcceptedSeconds(report.take)
    units = feed(usage, range(74))
    # When it accepts before the grace is over, Then it counts.
    usage.accepted("slow", units[3])
    feed(usage, range(74, 100))
    assert report == [(1, 1, ["slow"])]
    # When it accepts after the report, Then the report stands.
    usage.accepted("slow", units[4])
    usage.finish()
    assert report[0] == (1, 1, ["slow"])
    assert [second for _, second, _ in report] == sorted({second for _, second, _ in report})


def test_a_new_incarnation_closes_the_old_ones_whole_seconds_and_counts_from_its_own_start() -> None:
    # Given a body that died at 3.5 s and its successor.
    report = Report()
    usage = AcceptedSeconds(report.take)
    feed(usage, range(63), "file")
    feed(usage, range(26), "file", NEXT)
    usage.finish()
    # Then the half second is not billed.
    assert report == [(1, 1, ["file"]), (1, 2, ["file"]), (2, 1, ["file"])]
