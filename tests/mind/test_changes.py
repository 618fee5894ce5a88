# ruff: noqa: E501 - cases read better one a line
"""Facts that change and minds that die: nothing old is said again, nothing is said twice over."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_engine.session.child import RequestRefused
from gpu_engine.session.spec import Cursor, Knowledge, Line, Segment, SegmentKind
from gpu_engine.session.timeline import ClipChunk, ClipSeal
from tests.mind.shop import SHOP, lines, plain_show, show_of, spec_of
from tests.mind.stage_hand import on_air

pytestmark = pytest.mark.unit


def with_price(minor: int, version: int = 2) -> Knowledge:
    cup = SHOP.products[0].model_copy(update={"price_minor": minor})
    return SHOP.model_copy(update={"version": version, "products": (cup, *SHOP.products[1:])})


def price_show() -> Segment:
    said = (
        Line(id="a", text="先给大家看看这款杯子的做工和细节。"),
        Line(id="b", text="今天直播间的价格是{price}，喜欢可以拍。"),
        Line(id="c", text="杯盖还能当杯子用，出门很方便的。"),
        Line(id="d", text="再说一遍，现在是{price}，库存{stock}件。"),
    )
    return Segment(id="price", kind=SegmentKind.PRICE, product_id="cup", lines=said)


async def test_new_price_reaches_waiting_sentences_and_the_old_one_is_never_heard(tmp_path: Path) -> None:
    async with on_air(spec_of(show_of(price_show(), loop=False)), tmp_path) as rig:
        await rig.body.advance(5_000)
        waiting = [b.text for b in rig.body.begun.values()]
        assert any("129元" in t for t in waiting), "the old price was already made"
        assert not any("129元" in t for t in rig.body.spoken_texts())
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        await rig.body.advance(30_000)
        heard = rig.body.spoken_texts("script")
        assert heard == [
            "先给大家看看这款杯子的做工和细节。",
            "今天直播间的价格是99元，喜欢可以拍。",
            "杯盖还能当杯子用，出门很方便的。",
            "再说一遍，现在是99元，库存36件。",
        ]
        assert rig.body.card.price == "¥99"
        facts = next(b.facts for b, _ in rig.body.started() if "99元" in b.text)
        assert [(f.field, f.value, f.version) for f in facts] == [("price", "99元", 2)]


async def test_sentence_that_is_being_said_with_an_old_price_is_said_again(tmp_path: Path) -> None:
    show = show_of(
        Segment(
            id="p", kind=SegmentKind.PRICE, product_id="cup",
            lines=(Line(id="a", text="这款杯子，今天直播间的价格，只要{price}，喜欢可以拍，数量不多，大家抓紧看看。"), *lines(3)),
        ),
        loop=False,
    )  # fmt: skip
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(5_200)
        assert "129元" in rig.body.spoken_texts("script")[-1]
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        await rig.body.advance(25_000)
        heard = rig.body.spoken_texts("script")
        assert "99元" in heard[1]
        assert heard[2:] == [line.text for line in lines(3)]


async def test_answer_in_the_making_is_made_again_with_the_new_price(tmp_path: Path) -> None:
    show = show_of(
        Segment(
            id="x", kind=SegmentKind.POINTS, product_id="cup",
            lines=(Line(id="a", text="郑重提示，请大家理性消费，按需购买，规则以商品页面公示的内容为准。", interruptible=False), *lines(4)),
        ),
        loop=False,
    )  # fmt: skip
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(6_000)
        await rig.ask("1号链接多少钱")
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        await rig.body.advance(20_000)
        answers = rig.body.spoken_texts("answer")
        assert len(answers) == 1
        assert "99元" in answers[0]
        assert "129元" not in answers[0]
        assert rig.of("comment")[-1]["outcome"] == "answered"


async def test_hard_coded_price_that_is_no_longer_true_is_not_spoken(tmp_path: Path) -> None:
    show = show_of(
        Segment(
            id="p",
            kind=SegmentKind.PRICE,
            product_id="cup",
            lines=(*lines(2), Line(id="h", text="记住了，只要129元。"), *lines(2, prefix="后")),
        ),
        loop=False,
    )
    async with on_air(spec_of(show), tmp_path) as rig:
        await rig.body.advance(4_000)
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        await rig.body.advance(30_000)
        assert not any("129" in t for t in rig.body.spoken_texts())
        assert len(rig.body.spoken_texts("script")) == 4
        assert {g["rule"] for g in rig.of("gate")} == {"unsupported_money"}


async def test_knowledge_that_is_none_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(3)), tmp_path) as rig:
        with pytest.raises(RequestRefused) as refused:
            await rig.call("knowledge", knowledge={"products": [{"id": "x"}]})
        assert refused.value.code == "bad_request"
        assert "products" in refused.value.detail
        assert rig.show.director.knowledge is SHOP


async def test_restarted_mind_goes_on_where_the_body_is(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(10)), tmp_path) as rig:
        await rig.body.advance(12_000)
        saved = rig.of("cursor")[-1]
        await rig.restart_mind(
            spec_of(
                plain_show(10),
                cursor=Cursor(**{k: saved[k] for k in ("loop", "segment_index", "line_index", "sentence_index")}),
            )
        )
        await rig.body.advance(60_000)
        assert rig.body.spoken_texts("script") == [line.text for line in lines(10)]
        assert rig.body.connections == 2


@pytest.mark.parametrize("absent_ms", [200, 3_000, 6_000, 25_000])
async def test_what_the_body_played_while_there_was_no_mind_is_not_repeated(tmp_path: Path, absent_ms: int) -> None:
    async with on_air(spec_of(plain_show(10)), tmp_path) as rig:
        await rig.body.advance(10_000)
        saved = rig.of("cursor")[-1]
        await rig.stop()
        await rig.body.advance(absent_ms)
        await rig.restart_mind(
            spec_of(
                plain_show(10),
                cursor=Cursor(**{k: saved[k] for k in ("loop", "segment_index", "line_index", "sentence_index")}),
            )
        )
        await rig.body.advance(60_000)
        assert rig.body.spoken_texts("script") == [line.text for line in lines(10)]


async def test_mind_killed_during_an_answer_repeats_at_most_the_cut_sentence(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(10)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.ask("1号链接多少钱")
        await rig.body.advance(3_500)
        assert rig.body.spoken_texts("answer")
        saved = rig.of("cursor")[-1]
        await rig.restart_mind(
            spec_of(
                plain_show(10),
                cursor=Cursor(**{k: saved[k] for k in ("loop", "segment_index", "line_index", "sentence_index")}),
            )
        )
        await rig.body.advance(70_000)
        heard = rig.body.spoken_texts("script")
        assert list(dict.fromkeys(heard)) == [line.text for line in lines(10)]
        assert len(heard) <= 11


async def test_clip_left_unfinished_by_a_dead_mind_is_said_again(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(6)), tmp_path) as rig:
        await rig.body.advance(5_600)
        first = next(c for c in rig.body.begun.values() if c.cursor == (0, 0, 0, 0))
        clip = rig.body.timeline._clips[first.clip_id]
        clip.sealed = False
        saved = rig.of("cursor")[-1]
        assert saved["line_index"] == 0
        await rig.restart_mind()
        await rig.body.advance(40_000)
        heard = rig.body.spoken_texts("script")
        assert heard[0] == heard[1] == lines(1)[0].text
        assert list(dict.fromkeys(heard)) == [line.text for line in lines(6)]


async def test_every_clip_that_sounds_was_sealed_and_carries_sound_and_lips(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(4)), tmp_path) as rig:
        await rig.body.advance(20_000)
        sealed = {m.clip_id for m in rig.body.sent if isinstance(m, ClipSeal)}
        chunks = [m for m in rig.body.sent if isinstance(m, ClipChunk)]
        assert {b.clip_id for b, _ in rig.body.started()} <= sealed
        for chunk in chunks:
            samples = len(chunk.pcm) // 2
            assert abs(len(chunk.lips) / 32 - samples / 960) <= 1.0
            assert all(ms >= 0 for ms in (*chunk.cut_ms, *chunk.emphasis_ms))
        text = "".join(c.text for m in chunks for c in m.captions)
        assert lines(1)[0].text in text
