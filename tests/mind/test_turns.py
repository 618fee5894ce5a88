"""How long a viewer waited, and what the operator sees of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gpu_engine.mind.composer import ClipProgress, Utterance
from gpu_engine.mind.turns import LatencyWindow, Turn
from gpu_engine.session.timeline import ClipKind, ClipStarted, Cut, CutMode
from tests.mind.shop import plain_show, spec_of
from tests.mind.stage_hand import on_air

pytestmark = pytest.mark.unit
MS = 1_000_000


def turn(**instants: int) -> Turn:
    clip = ClipProgress(Utterance("a1-1", "t1-1", ClipKind.ANSWER, 30, "x", "zh"))
    return Turn("t1-1", "answer", "x", clip, **{k: v * MS for k, v in instants.items()})


def test_waits_for_others_and_for_the_cut_are_told_apart_from_our_own_time() -> None:
    waited = turn(received_ns=100, chosen_ns=300, ready_ns=420, wait_ended_ns=1_020, started_ns=1_060).latency()
    assert (waited.total_ms, waited.queue_wait_ms, waited.cut_wait_ms, waited.first_word_ms) == (960, 200, 600, 160)
    free = turn(received_ns=100, chosen_ns=101, ready_ns=250, started_ns=290).latency()
    assert (free.total_ms, free.queue_wait_ms, free.cut_wait_ms, free.first_word_ms) == (190, 1, 0, 189)


def test_percentiles_are_of_the_last_answers() -> None:
    window = LatencyWindow(size=100)
    assert window.percentile(0.5) == -1.0
    for value in range(1, 301):
        window.add(float(value))
    assert (window.percentile(0.5), window.percentile(0.99)) == (251.0, 300.0)


async def test_turn_is_reported_from_plan_to_end_with_its_facts(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(8)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.ask("1号链接多少钱")
        await rig.body.advance(12_000)
        turns = rig.of("turn")
        assert [t["outcome"] for t in turns] == ["planned", "speaking", "spoken"]
        assert ["cup", "price", "129元", 1] in turns[0]["facts"]
        assert turns[0]["first_word_ms"] == -1
        said = turns[-1]
        started = next(r for r in rig.body.reports if isinstance(r, ClipStarted) and r.turn_id == said["turn_id"])
        assert started.clip_id.startswith("a")
        assert said["total_ms"] == pytest.approx(said["first_word_ms"] + said["cut_wait_ms"] + said["queue_wait_ms"], abs=0.2)
        assert rig.show.metrics()["first_word_p50_ms"] == said["first_word_ms"]
        outcomes = [c["outcome"] for c in rig.of("comment")]
        assert outcomes == ["queued", "answered"]
        assert rig.of("comment")[-1]["turn_id"] == said["turn_id"]


async def test_what_comes_next_and_likely_answers_are_made_ahead(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(12)), tmp_path) as rig:
        await rig.body.advance(9_000)
        assert plain_show(12).segments[0].lines[6].text in rig.voice.prepared
        assert any("129元" in text for text in rig.voice.prepared)
        likely = list(dict.fromkeys(t for t in rig.voice.prepared if "129元" in t and t.endswith("。")))
        await rig.ask("这个多少钱")
        await rig.body.advance(8_000)
        assert rig.body.spoken_texts("answer") == [likely[0]]


async def test_cut_point_is_not_let_go_by_for_an_answer_that_is_nearly_made(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(12)), tmp_path) as rig:
        await rig.body.advance(9_000)
        rig.voice.hold = asyncio.Event()
        await rig.ask("1号链接多少钱")
        for _ in range(100):
            if any(isinstance(m, Cut) for m in rig.body.sent):
                break
            await rig.body.advance(40)
        cut = next(m for m in rig.body.sent if isinstance(m, Cut))
        assert (cut.mode, cut.reason) == (CutMode.PHRASE, "a question")
        answer = next(b for b in rig.body.begun.values() if b.kind is ClipKind.ANSWER)
        assert answer.clip_id not in rig.body.audio_ms, "the cut was asked for before there was any sound"
        rig.voice.hold.set()
        rig.voice.hold = None
        await rig.body.advance(6_000)
        assert "129元" in rig.body.spoken_texts("answer")[0]


async def test_beginnings_of_answers_that_cannot_be_known_are_made_ahead(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(12)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.ask("保温杯什么材质")
        await rig.body.advance(8_000)
        said = rig.body.spoken_texts("answer")[0]
        assert said.partition("，")[0] + "，" in rig.voice.prepared
