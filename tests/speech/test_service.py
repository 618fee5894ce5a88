"""Turns of speech: order, cancelling, priorities, faults, cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.speech.cache import SpeechCache
from gpu_engine.speech.engine import Style
from gpu_engine.speech.service import ClauseAudio, SpeechBusy, SpeechFault, SpeechService
from tests.fakes.fake_speech import FakeSpeechEngine

pytestmark = pytest.mark.unit

STYLE = Style("zf_xiaoxiao")
TEN = "".join(f"这是第{n}句话。" for n in "一二三四五六七八九十")


async def collect(service: SpeechService, turn: str, text: str, priority: int = 10) -> list[ClauseAudio]:
    return [piece async for piece in service.speak(turn, text, "zh", STYLE, priority)]


async def until(condition: object, seconds: float = 5.0) -> None:
    assert callable(condition)
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "the condition did not come true"
        await asyncio.sleep(0.001)


async def test_ten_sentences_come_in_order_with_their_written_text() -> None:
    engine = FakeSpeechEngine()
    async with SpeechService(engine) as service:
        pieces = await collect(service, "t1", TEN)
    assert [p.text for p in pieces if p.first] == [f"这是第{n}句话。" for n in "一二三四五六七八九十"]
    assert [p.clause for p in pieces if p.last] == list(range(10))
    assert sum(p.pcm.size for p in pieces) == 48 * engine.length_ms(TEN)
    assert all(p.pause_ms == (320 if p.last else 0) for p in pieces)


async def test_pieces_of_one_clause_carry_offsets_that_join() -> None:
    async with SpeechService(FakeSpeechEngine()) as service:
        pieces = await collect(service, "t1", "这一句话正好有十二个字。")
    assert [p.offset_ms for p in pieces] == [0.0, 200.0, 400.0]
    assert [(p.first, p.last) for p in pieces] == [(True, False), (False, False), (False, True)]


async def test_numbers_are_spoken_as_words_and_shown_as_written() -> None:
    engine = FakeSpeechEngine()
    async with SpeechService(engine) as service:
        pieces = await collect(service, "t1", "原价¥1,299.00")
    assert engine.asked == ["原价一千二百九十九元"]
    assert pieces[0].text == "原价¥1,299.00"


@pytest.mark.parametrize("text", ["", "……", "！！！", "。", "🔥🔥", "\x00\x07", "   \n"])
async def test_nothing_to_say_is_skipped_and_later_text_still_speaks(text: str) -> None:
    async with SpeechService(FakeSpeechEngine()) as service:
        assert await collect(service, "t1", text) == []
        assert len(await collect(service, "t2", "你好。")) == 1


async def test_a_cancelled_turn_delivers_nothing_more_and_the_next_one_is_clean() -> None:
    engine = FakeSpeechEngine(gated=True)
    async with SpeechService(engine) as service:
        heard: list[ClauseAudio] = []

        async def listen() -> None:
            async for piece in service.speak("old", TEN, "zh", STYLE):
                heard.append(piece)

        listener = asyncio.create_task(listen())
        engine.allow(1)
        await until(lambda: len(heard) == 1)
        assert service.cancel("old")
        await asyncio.wait_for(listener, 5)
        engine.allow(50)
        new = await collect(service, "new", "新的回答。")
        assert not service.cancel("old")
    assert len(heard) == 1
    assert {p.text for p in new} == {"新的回答。"}
    # What the engine was in the middle of was not finished, and what waited was never begun.
    assert [spoken for spoken, _ in engine.windows] == ["这是第一句话。", *["新的回答。"] * 2]


async def test_cancel_before_the_first_audio_leaves_silence() -> None:
    engine = FakeSpeechEngine(gated=True)
    async with SpeechService(engine) as service:
        listener = asyncio.create_task(collect(service, "t1", TEN))
        await until(lambda: engine.asked == ["这是第一句话。"])
        service.cancel("t1")
        assert await asyncio.wait_for(listener, 5) == []
        engine.allow(1)


async def test_an_answer_overtakes_a_script_line_between_windows() -> None:
    engine = FakeSpeechEngine(gated=True)
    async with SpeechService(engine) as service:
        script = asyncio.create_task(collect(service, "script", "这是一句比较长的台词呀。", 10))
        await until(lambda: engine.asked == ["这是一句比较长的台词呀。"])
        answer = asyncio.create_task(collect(service, "answer", "九块九。", 30))
        await until(lambda: service.waiting == 1)
        engine.allow(20)
        await asyncio.gather(script, answer)
    assert [w for w, _ in engine.windows] == [
        "这是一句比较长的台词呀。",
        "九块九。",
        "这是一句比较长的台词呀。",
        "这是一句比较长的台词呀。",
    ]


async def test_presynthesis_yields_after_each_window_and_fills_the_cache(tmp_path: Path) -> None:
    engine = FakeSpeechEngine(gated=True)
    cache = SpeechCache(tmp_path)
    async with SpeechService(engine, cache) as service:
        assert service.presynthesise(["这是一句预先合成的话。"], "zh", STYLE) == 1
        assert service.presynthesise(["这是一句预先合成的话。"], "zh", STYLE) == 0
        await until(lambda: len(engine.asked) == 1)
        live = asyncio.create_task(collect(service, "t1", "马上说。", 10))
        await until(lambda: service.waiting == 1)
        engine.allow(20)
        await live
        await until(lambda: service.is_cached("这是一句预先合成的话。", "zh", STYLE))
        asked = len(engine.asked)
        pieces = await collect(service, "t2", "这是一句预先合成的话。")
    assert [w for w, _ in engine.windows][:2] == ["这是一句预先合成的话。", "马上说。"]
    assert [p.cached for p in pieces] == [True]
    assert len(engine.asked) == asked


async def test_an_engine_error_skips_that_clause_is_reported_and_never_spoken() -> None:
    engine = FakeSpeechEngine(fail_on="第三句")
    faults: list[SpeechFault] = []
    async with SpeechService(engine, on_fault=faults.append) as service:
        pieces = await collect(service, "t1", TEN)
        assert service.stats.faults == 1
    assert [f.text for f in faults] == ["这是第三句话。"]
    assert "fake engine refuses" in faults[0].message
    assert "这是第三句话。" not in [p.text for p in pieces]
    assert [p.text for p in pieces if p.first][-1] == "这是第十句话。"


async def test_a_clause_that_fails_midway_is_closed() -> None:
    engine = FakeSpeechEngine(fail_on="第一句", fail_at_window=1)
    async with SpeechService(engine) as service:
        pieces = await collect(service, "t1", "这是第一句话。这是第二句话。")
    first = [p for p in pieces if p.text == "这是第一句话。"]
    assert [p.last for p in first] == [False, True]
    assert first[-1].pcm.size == 0


async def test_a_failed_clause_is_not_cached(tmp_path: Path) -> None:
    engine = FakeSpeechEngine(fail_on="第一句", fail_at_window=1)
    cache = SpeechCache(tmp_path)
    async with SpeechService(engine, cache) as service:
        await collect(service, "t1", "这是第一句话。这是第二句话。")
        assert not service.is_cached("这是第一句话。", "zh", STYLE)
        assert service.is_cached("这是第二句话。", "zh", STYLE)


async def test_the_queue_is_bounded() -> None:
    engine = FakeSpeechEngine(gated=True)
    async with SpeechService(engine, max_waiting=2) as service:
        tasks = [asyncio.create_task(collect(service, "t0", "你好啊。"))]
        await until(lambda: len(engine.asked) == 1)
        tasks += [asyncio.create_task(collect(service, f"t{n}", "你好啊。")) for n in (1, 2)]
        await until(lambda: service.waiting == 2)
        with pytest.raises(SpeechBusy):
            await collect(service, "one too many", "你好啊。")
        engine.allow(50)
        await asyncio.gather(*tasks)


async def test_a_consumer_that_leaves_frees_the_worker() -> None:
    engine = FakeSpeechEngine()
    async with SpeechService(engine) as service:
        pieces = service.speak("t1", TEN, "zh", STYLE)
        await anext(pieces)
        await pieces.aclose()
        assert [p.text for p in await collect(service, "t2", "后来的话。") if p.first] == ["后来的话。"]


async def test_two_turns_have_their_own_sound() -> None:
    engine = FakeSpeechEngine()
    async with SpeechService(engine) as service:
        one, two = await asyncio.gather(collect(service, "a", "甲的声音。"), collect(service, "b", "乙的声音。"))
        again = await collect(service, "c", "甲的声音。")
    sound = [np.concatenate([p.pcm for p in pieces]) for pieces in (one, two, again)]
    assert np.array_equal(sound[0], sound[2])
    assert not np.array_equal(sound[0], sound[1])


async def test_what_was_made_in_haste_is_made_well_for_the_cache_afterwards(tmp_path: Path) -> None:
    engine = FakeSpeechEngine()
    async with SpeechService(engine, SpeechCache(tmp_path)) as service:
        await collect(service, "t1", "七十九元。", priority=30)
        await until(lambda: service.is_cached("七十九元。", "zh", STYLE))
        again = await collect(service, "t2", "七十九元。", priority=30)

    assert engine.urgent == [True, False]
    assert all(piece.cached for piece in again)


async def test_on_a_slow_machine_a_clause_comes_whole_instead_of_with_holes() -> None:
    async with SpeechService(FakeSpeechEngine()) as service:
        service.real_time_factor = 3.0
        pieces = await collect(service, "t1", "这一句话正好有十二个字。", priority=30)

    assert [(p.first, p.last, p.offset_ms, p.pcm.size) for p in pieces] == [(True, True, 0.0, 48 * 600)]
    assert len(pieces[0].phonemes) == 11


async def test_an_urgent_clause_does_not_wait_for_one_that_nobody_waits_for(tmp_path: Path) -> None:
    engine = FakeSpeechEngine(gated=True)
    async with SpeechService(engine, SpeechCache(tmp_path)) as service:
        service.presynthesise(["预先合成的一句话。"], "zh", STYLE)
        await until(lambda: engine.asked == ["预先合成的一句话"] or engine.asked == ["预先合成的一句话。"])
        urgent = asyncio.create_task(collect(service, "t1", "急的。", priority=30))
        await until(lambda: len(engine.interrupted) == 1)
        engine.allow(20)
        pieces = await urgent
        await until(lambda: service.is_cached("预先合成的一句话。", "zh", STYLE))

    assert next(w for w, _ in engine.windows).startswith("急的")
    assert pieces[-1].last
