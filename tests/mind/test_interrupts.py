"""Interruptions: the operator's words, cuts, pauses, and what must never be heard afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gpu_engine.mind import script_runner
from gpu_engine.session.child import RequestRefused
from gpu_engine.session.spec import Line, Segment, SegmentKind
from gpu_engine.session.timeline import ClipKind
from tests.fakes.fake_timeline import settle
from tests.mind.shop import lines, plain_show, show_of, spec_of
from tests.mind.stage_hand import Rig, on_air

pytestmark = pytest.mark.unit


async def answers_in_cut(rig: Rig, reason: str = "test") -> bool:
    """Ask for silence while the body's clock runs on."""
    task = asyncio.create_task(rig.call("cut", reason=reason))
    for _ in range(25):
        await rig.body.advance(40)
        if task.done():
            break
    return bool((await task)["accepted"])


async def test_operator_is_heard_at_once_and_hands_back(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        asked_ms = rig.body.media_ms
        await rig.call("say", text="各位，我是店长，马上抽奖。", lang="zh", actor="boss")
        await rig.body.advance(20_000)
        started = {b.kind: at for b, at in rig.body.started() if b.kind is ClipKind.SAY}
        assert started[ClipKind.SAY] - asked_ms <= 200
        heard = rig.body.spoken_texts("script")
        assert list(dict.fromkeys(heard)) == [line.text for line in lines(8)][: len(set(heard))]
        assert rig.of("turn")[-1]["outcome"] == "spoken"


async def test_cut_before_the_first_sound_means_nothing_is_heard(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        rig.voice.hold = asyncio.Event()
        await rig.call("say", text="这句话不该被听到，一个字都不要。", lang="zh", actor="boss")
        assert await answers_in_cut(rig)
        rig.voice.hold.set()
        await rig.body.advance(10_000)
        assert rig.body.spoken_texts("say") == []
        assert "这句话不该被听到，一个字都不要。" in rig.voice.closed_early
        assert [t["outcome"] for t in rig.of("turn") if t["kind"] == "say"][-1] == "dropped"


async def test_ten_operator_lines_then_a_cut_leave_nothing_waiting(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        for number in range(10):
            await rig.call("say", text=f"第{number}条通知，请大家留意一下直播间公告。", lang="zh", actor="boss")
        await rig.body.advance(1_000)
        assert await answers_in_cut(rig)
        await rig.call("say", text="现在开始重要通知。", lang="zh", actor="boss")
        asked_ms = rig.body.media_ms
        await rig.body.advance(4_000)
        said = [(b.text, at) for b, at in rig.body.started() if b.kind is ClipKind.SAY]
        assert len(said) == 2
        assert said[-1][0] == "现在开始重要通知。"
        assert said[-1][1] - asked_ms <= 200


async def test_cut_is_effective_at_the_output_within_300_ms(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        rig.body.keep_audio = True
        before = len(rig.body.heard_samples)
        await rig.call("pause")
        assert await answers_in_cut(rig)
        await rig.body.advance(2_000)
        loud = [i for i, block in enumerate(rig.body.heard_samples[before:]) if abs(block).max() > 50]
        assert (max(loud, default=-1) + 1) * 40 <= 300


async def test_late_speech_of_a_cancelled_turn_is_discarded(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        rig.voice.hold = asyncio.Event()
        await rig.ask("1号链接多少钱")
        await settle()
        assert await answers_in_cut(rig)
        rig.voice.hold.set()
        rig.voice.hold = None
        await rig.call("say", text="请看新的内容。", lang="zh", actor="boss")
        await rig.body.advance(6_000)
        assert rig.body.spoken_texts("answer") == []
        assert rig.body.spoken_texts("say") == ["请看新的内容。"]


async def test_legal_notice_is_completed_before_the_operator_speaks(tmp_path: Path) -> None:
    notice = Line(
        id="legal", text="郑重提示，请大家理性消费，按需购买，具体规则以商品页面公示的内容为准。", interruptible=False
    )
    show = show_of(Segment(id="a", kind=SegmentKind.ANNOUNCEMENT, lines=(notice, *lines(3))), loop=False)
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(6_000)
        await rig.call("say", text="店长有话说。", lang="zh", actor="boss")
        await rig.body.advance(12_000)
        texts = rig.body.spoken_texts()
        assert texts.index("店长有话说。") == texts.index(notice.text) + 1
        ended = next(e for e in rig.body.ended() if rig.body.begun[e.clip_id].text == notice.text)
        assert ended.reason == "completed"


async def test_paused_script_stays_paused_when_a_comment_is_answered(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.call("pause")
        await rig.body.advance(8_000)
        heard = rig.body.spoken_texts("script")
        await rig.ask("这个多少钱")
        await rig.body.advance(15_000)
        assert len(rig.body.spoken_texts("answer")) == 1
        assert rig.body.spoken_texts("script") == heard
        await rig.call("resume")
        await rig.body.advance(40_000)
        assert list(dict.fromkeys(rig.body.spoken_texts("script"))) == [line.text for line in lines(8)]


async def test_twenty_lines_and_five_interruptions_keep_their_order(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        for question in ("1号链接多少钱", "3号链接多少钱", "怎么发货", "1号还有货吗", "保温杯什么材质"):
            await rig.body.advance(11_000)
            await rig.ask(question)
        await rig.body.advance(90_000)
        heard = rig.body.spoken_texts("script")
        assert list(dict.fromkeys(heard)) == [line.text for line in lines(20)]
        repeated = [t for t in set(heard) if heard.count(t) > 1]
        assert len(repeated) <= 5
        assert all(heard.count(t) == 2 for t in repeated)
        assert len(rig.body.spoken_texts("answer")) == 5


async def test_next_segment_leaves_at_the_next_phrase(tmp_path: Path) -> None:
    show = show_of(
        Segment(id="a", kind=SegmentKind.POINTS, lines=lines(10, prefix="甲段第", segment="a")),
        Segment(id="b", kind=SegmentKind.POINTS, lines=lines(3, prefix="乙段第", segment="b")),
        loop=False,
    )
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(9_000)
        before = len(rig.body.spoken_texts("script"))
        await rig.call("next_segment")
        await rig.body.advance(30_000)
        assert rig.body.spoken_texts("script")[before:] == [line.text for line in lines(3, prefix="乙段第", segment="b")]


async def test_a_clip_that_cannot_be_spoken_is_skipped_and_the_next_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_runner, "FAILURE_WAIT_S", 0.0)
    async with on_air(spec_of(plain_show(4)), tmp_path) as rig:
        rig.voice.fail_on = "第二句"
        await rig.body.advance(25_000)
        assert rig.body.spoken_texts("script") == [line.text for i, line in enumerate(lines(4)) if i != 1]
        assert any(d["what"] == "clip" for d in rig.of("drop"))


async def test_a_voice_that_refuses_everything_neither_spins_nor_races_through_the_script(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(200)), tmp_path) as rig:
        rig.voice.fail_on = "句"
        for _ in range(20):
            await rig.body.advance(1_000)

        assert 1 <= len(rig.of("drop")) <= 4


async def test_an_answer_that_cannot_be_spoken_is_reported_and_the_script_goes_on(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(6)), tmp_path) as rig:
        await rig.body.advance(9_000)
        rig.voice.fail_on = "129"
        await rig.ask("1号链接多少钱")
        await rig.body.advance(30_000)
        assert rig.of("comment")[-1]["outcome"] == "dropped"
        assert rig.body.spoken_texts("script") == [line.text for line in lines(6)]


@pytest.mark.parametrize("text", ["", "   ", "\u200b\u200b", "<b></b>", "好" * 501])
async def test_nothing_or_too_much_to_say_is_refused(tmp_path: Path, text: str) -> None:
    async with on_air(spec_of(plain_show(3)), tmp_path) as rig:
        with pytest.raises(RequestRefused) as refused:
            await rig.call("say", text=text, lang="zh", actor="boss")
        assert refused.value.code == "bad_request"


async def test_operator_words_that_break_the_law_are_refused_with_word_and_rule(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(3)), tmp_path) as rig:
        with pytest.raises(RequestRefused) as refused:
            await rig.call("say", text="这是全国销量第一的国家级产品", lang="zh", actor="boss")
        assert refused.value.code == "refused"
        assert "国家级" in refused.value.detail
        assert {g["rule"] for g in rig.of("gate")} >= {"广告法9(3) 国家级"}


async def test_answers_in_a_row_are_bounded_before_the_script_advances(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        for question in (
            "1号链接多少钱",
            "3号链接多少钱",
            "1号还有货吗",
            "3号还有货吗",
            "保温杯什么材质",
            "台灯多少瓦",
            "保温杯容量多大",
        ):
            await rig.ask(question)
        await rig.body.advance(120_000)
        kinds = [str(b.kind) for b, _ in rig.body.started()]
        first = kinds.index("answer")
        longest = run = 0
        for kind in kinds[first:]:
            run = run + 1 if kind == "answer" else (run if kind == "bridge" else 0)
            longest = max(longest, run)
        assert kinds.count("answer") == 7
        assert longest == 3


async def test_rest_of_a_question_gap_comes_back_after_an_answer(tmp_path: Path) -> None:
    show = show_of(
        Segment(id="a", kind=SegmentKind.QA, lines=lines(1, prefix="甲段第", segment="a"), gap_s=20),
        Segment(id="b", kind=SegmentKind.POINTS, lines=lines(2, prefix="乙段第", segment="b")),
        loop=False,
    )
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(13_000)
        gap_starts = next(e.media_ms for e in rig.body.ended() if e.cursor == (0, 0, 0, 0))
        await rig.ask("1号链接多少钱")
        await rig.body.advance(30_000)
        second = next(at for b, at in rig.body.started() if b.cursor == (0, 1, 0, 0))
        assert len(rig.body.spoken_texts("answer")) == 1
        assert rig.body.spoken_texts("bridge") == []
        assert second - gap_starts == pytest.approx(20_000, abs=400)


async def test_pinned_card_is_shown_and_answers_to_this_mean_it(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(12)), tmp_path) as rig:
        await rig.body.advance(9_000)
        assert rig.body.card.product_id == "cup"
        assert (rig.body.card.price, rig.body.card.list_price) == ("¥129", "¥199")
        await rig.call("pin", product_id="lamp")
        await rig.body.advance(200)
        assert rig.body.card.price == "¥199.9"
        await rig.ask("这个多少钱")
        await rig.body.advance(12_000)
        assert "199.9元" in rig.body.spoken_texts("answer")[0]
        with pytest.raises(RequestRefused, match="no product 'nothing'"):
            await rig.call("pin", product_id="nothing")


@pytest.mark.parametrize(
    ("text", "spoken"),
    [("保温杯今天129元", True), ("面霜今天59.9元", True), ("保温杯今天59.9元", False), ("今天只要59.9元", False)],
)
async def test_an_operator_may_only_name_the_price_of_what_is_talked_about(tmp_path: Path, text: str, spoken: bool) -> None:
    async with on_air(spec_of(plain_show(3)), tmp_path) as rig:
        await rig.call("pin", product_id="cup")
        if spoken:
            assert (await rig.call("say", text=text, lang="zh", actor="boss"))["turn_id"]
        else:
            with pytest.raises(RequestRefused):
                await rig.call("say", text=text, lang="zh", actor="boss")
