"""The virtual clock: the mind passes the body on, runs are repeatable, scheduled comments come at their media time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_engine.mind.pass_clock import PassClock
from gpu_engine.session.clock import FrameGrid
from gpu_engine.session.spec import ScheduledComment, Segment, SegmentKind, SessionSpec
from tests.mind.shop import lines, show_of, spec_of
from tests.mind.stage_hand import on_air

pytestmark = pytest.mark.unit


def rehearsal() -> SessionSpec:
    show = show_of(
        Segment(id="a", kind=SegmentKind.POINTS, product_id="cup", lines=lines(6, prefix="甲段第", segment="a")),
        Segment(id="q", kind=SegmentKind.QA, product_id="cup", lines=lines(1, prefix="问段第", segment="q"), gap_s=15),
        Segment(id="b", kind=SegmentKind.POINTS, product_id="lamp", lines=lines(6, prefix="乙段第", segment="b")),
    )
    asked = ((12.0, "这个多少钱"), (12.1, "1号有货吗"), (40.0, "台灯多少瓦"), (55.0, "怎么发货"), (90.0, "面霜多少钱"))
    return spec_of(show, clock="virtual", comments=tuple(ScheduledComment(at_s=at, text=text, user=text) for at, text in asked))


async def run(tmp_path: Path, until_ms: int) -> tuple[list[tuple[str, str, int]], list[dict[str, object]]]:
    async with on_air(rehearsal(), tmp_path) as rig:
        await rig.body.run_to(until_ms)
        told = [(str(begin.kind), begin.text, at) for begin, at in rig.body.started()]
        return told, [dict(c) for c in rig.of("comment") if c["outcome"] != "queued"]


async def test_two_runs_say_the_same_at_the_same_media_times(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, comments = await run(tmp_path / "a", 120_000)
    second, again = await run(tmp_path / "b", 120_000)
    assert first == second
    assert comments == again
    assert [c["outcome"] for c in comments] == ["answered"] * 5


async def test_scheduled_comments_are_answered_after_their_media_time(tmp_path: Path) -> None:
    told, _ = await run(tmp_path, 120_000)
    answers = [(text, at) for kind, text, at in told if kind == "answer"]
    price_at = next(at for text, at in answers if "129元" in text)
    power_at = next(at for text, at in answers if "12瓦" in text)
    assert 12_000 <= price_at <= 16_000
    assert 40_000 <= power_at <= 46_000


async def test_an_hour_is_spoken_without_a_hole_in_the_script(tmp_path: Path) -> None:
    show = show_of(Segment(id="a", kind=SegmentKind.POINTS, lines=lines(9, segment="a"), gap_s=2))
    async with on_air(spec_of(show, clock="virtual"), tmp_path) as rig:
        await rig.body.run_to(600_000)
        assert rig.body.timeline.underrun_ms == 0
        starts = [at for begin, at in rig.body.started()]
        ends = {e.clip_id: e.media_ms for e in rig.body.ended()}
        holes = [at - ends[a.clip_id] for (a, _), at in zip(rig.body.started(), starts[1:], strict=False) if a.clip_id in ends]
        assert max(holes) <= 2_000
        assert min(holes) >= 0
        spoken = rig.body.spoken_texts("script")
        assert len(spoken) > 140
        assert spoken[:18] == [line.text for line in lines(9, segment="a")] * 2


@pytest.mark.parametrize("fps", [10, 24, 25, 30, 60])
def test_every_step_ends_on_a_reporting_frame(fps: int) -> None:
    grid, clock = FrameGrid(fps), PassClock(fps)
    passed = clock.attached(grid.at(0).media_ms)
    last_report, frame, steps = -200, 0, 0
    while steps < 60:
        now = grid.at(frame).media_ms
        if now >= passed:
            pytest.fail(f"at {fps} fps the body stands at {now} ms with nothing reported")
        frame += 1
        if now - last_report >= 200:
            last_report = now
            if clock.arrived(now):
                assert grid.at(frame).media_ms >= passed, "a frame after the last report would be left over"
                passed = clock.next(now + (steps % 7) * 333)
                steps += 1
