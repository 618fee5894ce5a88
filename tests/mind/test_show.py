"""A show from start to end against a body: script, answers, interruptions, the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_engine.session.spec import Line, Segment, SegmentKind
from tests.mind.shop import lines, plain_show, show_of, spec_of
from tests.mind.stage_hand import on_air

pytestmark = pytest.mark.unit


def script_texts(count: int) -> list[str]:
    return [line.text for line in lines(count)]


async def test_script_is_spoken_in_order_after_the_ai_disclosure(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(5)), tmp_path) as rig:
        await rig.body.advance(30_000)
        assert "AI" in rig.body.spoken_texts("announcement")[0]
        assert rig.body.spoken_texts("script") == script_texts(5)
        assert rig.body.timeline.underrun_ms == 0


async def test_price_question_is_answered_and_the_script_returns_to_its_sentence(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        before = rig.body.spoken_texts("script")
        await rig.ask("这个多少钱")
        await rig.body.advance(40_000)
        answers = rig.body.spoken_texts("answer")
        assert len(answers) == 1
        assert "129元" in answers[0]
        heard = rig.body.spoken_texts("script")
        assert heard[: len(before)] == before
        assert list(dict.fromkeys(heard)) == script_texts(8)
        assert heard.count(before[-1]) == 2, "the cut sentence is said again from its start"
        assert len(heard) == 9


async def test_line_that_may_not_be_interrupted_is_completed_first(tmp_path: Path) -> None:
    notice = Line(
        id="legal", text="郑重提示，请大家理性消费，按需购买，具体规则以商品页面公示的内容为准。", interruptible=False
    )
    show = show_of(Segment(id="a", kind=SegmentKind.ANNOUNCEMENT, lines=(notice, *lines(3))), loop=False)
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(6_500)
        assert rig.body.spoken_texts("script") == [notice.text]
        await rig.ask("1号链接多少钱")
        await rig.body.advance(20_000)
        first = next(e for e in rig.body.ended() if rig.body.begun[e.clip_id].text == notice.text)
        assert first.reason == "completed"
        order = [b.kind for b, _ in rig.body.started()]
        assert order.index("answer") == order.index("script") + 1
