"""A price is changed on air: whoever asks from then on hears the new one, and repeated questions are not lost in merging."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu_engine.chat.inbox import QUIET_MS
from tests.mind.shop import plain_show, spec_of
from tests.mind.stage_hand import Rig, on_air
from tests.mind.test_changes import with_price

pytestmark = pytest.mark.unit


@dataclass
class Clock:
    """The parts of :mod:`time` a show uses, ahead by ``offset_s``."""

    offset_s: float = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic() + self.offset_s

    def monotonic_ns(self) -> int:
        """Nanoseconds."""
        return time.monotonic_ns() + round(self.offset_s * 1e9)


async def asked_at(rig: Rig, text: str, user: str, *, then_ms: int = 14_000) -> str:
    """The answer heard to a question, '' when none was given."""
    before = len(rig.body.spoken_texts("answer"))
    await rig.ask(text, user=user)
    await rig.body.advance(then_ms)
    return "".join(rig.body.spoken_texts("answer")[before:])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The show's wall clock, moved by the test."""
    moved = Clock()
    monkeypatch.setattr("gpu_engine.mind.studio.time", moved)
    monkeypatch.setattr("gpu_engine.mind.show.time", moved)
    return moved


@pytest.mark.parametrize("user", ["mei", "another"])
async def test_the_same_question_after_a_price_change_hears_the_new_price(tmp_path: Path, user: str) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        assert "129元" in await asked_at(rig, "1号链接多少钱", "mei")
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        answer = await asked_at(rig, "1号链接多少钱", user)
        assert "99元" in answer
        assert "129" not in answer


async def test_question_asked_while_the_old_price_is_being_said_is_answered_with_the_new_one(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.ask("1号链接多少钱", user="mei")
        while not rig.body.spoken_texts("answer"):
            await rig.body.advance(40)
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        changed = len(rig.of("comment"))
        await rig.ask("1号链接多少钱", user="bo")
        await rig.body.advance(25_000)
        assert "99元" in rig.body.spoken_texts("answer")[-1]
        assert rig.of("comment")[changed]["outcome"] == "queued"
        counts = rig.show.inbox.counts
        assert counts.received == counts.answered + counts.merged + counts.dropped_total


async def test_an_unrelated_change_does_not_repeat_what_was_just_answered(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        assert "199.9元" in await asked_at(rig, "3号链接多少钱", "mei")
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        assert await asked_at(rig, "3号链接多少钱", "bo") == ""
        assert rig.of("comment")[-1]["reason"] == "answered a moment ago"


async def test_another_viewer_who_asks_the_same_later_is_answered(tmp_path: Path, clock: Clock) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        assert "129元" in await asked_at(rig, "1号链接多少钱", "mei")
        clock.offset_s += QUIET_MS / 1000 - 1
        assert await asked_at(rig, "1号链接多少钱", "bo") == ""
        clock.offset_s += 1.1
        assert "129元" in await asked_at(rig, "1号链接多少钱", "li")


async def test_old_price_that_was_still_heard_is_put_right(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(20)), tmp_path) as rig:
        await rig.body.advance(9_000)
        await rig.ask("1号链接多少钱", user="mei")
        while not rig.body.spoken_texts("answer"):
            await rig.body.advance(40)
        await rig.call("knowledge", knowledge=with_price(9_900).model_dump())
        await rig.body.advance(25_000)
        answers = rig.body.spoken_texts("answer")
        assert len(answers) == 2
        assert "99元" in answers[1]
        assert [c["outcome"] for c in rig.of("comment")] == ["queued", "answered"]


async def test_the_first_place_of_the_script_is_reported_before_it_is_heard(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(3)), tmp_path) as rig:
        first = {"loop": 0, "segment_index": 0, "line_index": 0, "sentence_index": 0, "segment_id": "points", "title": "保温杯"}
        assert rig.of("cursor") == [first]
        await rig.body.advance(40_000)
        places = [(c["line_index"], c["sentence_index"]) for c in rig.of("cursor")]
        assert places[:3] == [(0, 0), (1, 0), (2, 0)]
        assert len(places) == len(set(places)) == 4
