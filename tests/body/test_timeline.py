"""The body's timeline: order, cuts, gaps, underruns, what was heard."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.body.timeline import CUT_FADE_SAMPLES, Timeline
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX
from gpu_engine.session.timeline import (
    Caption,
    Card,
    ClipBegin,
    ClipChunk,
    ClipDrop,
    ClipEnded,
    ClipKind,
    ClipSeal,
    ClipStarted,
    Cut,
    CutMode,
    Emotion,
    EndReason,
    Gesture,
    GestureKind,
    MindMessage,
    Priority,
)

pytestmark = pytest.mark.unit

BLOCK = 1920
BLOCK_MS = 40


def tone(ms: int, value: int = 1000) -> bytes:
    return np.full(ms * 48, value, dtype="<i2").tobytes()


def lips(ms: int, jaw: int) -> bytes:
    rows = np.zeros((ms // 20, WEIGHT_COUNT), dtype=np.uint8)
    rows[:, WEIGHT_INDEX["jawOpen"]] = jaw
    return rows.tobytes()


def put(
    timeline: Timeline,
    clip_id: str,
    ms: int,
    *,
    priority: int = Priority.SCRIPT,
    value: int = 1000,
    cut_ms: tuple[int, ...] = (),
    interruptible: bool = True,
    gap_ms: int = 0,
    seal: bool = True,
    at_ms: int = 0,
) -> None:
    timeline.begin(
        ClipBegin(clip_id, f"t-{clip_id}", ClipKind.SCRIPT, priority, interruptible=interruptible, gap_after_ms=gap_ms), at_ms
    )
    timeline.chunk(ClipChunk(clip_id, tone(ms, value), lips(ms, 128), (Caption(0, clip_id),), cut_ms))
    if seal:
        timeline.seal(ClipSeal(clip_id))


class Player:
    """Pulls blocks and keeps what was heard and reported."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.now_ms = 1000
        self.audio: list[np.ndarray] = []
        self.reports: list[object] = []

    def play(self, ms: int) -> None:
        for _ in range(ms // BLOCK_MS):
            block = np.empty(BLOCK, dtype=np.int16)
            self.reports += self.timeline.pull(block, self.now_ms, 0)
            self.audio.append(block)
            self.now_ms += BLOCK_MS

    def ended(self) -> list[tuple[str, EndReason, int]]:
        return [(r.clip_id, r.reason, r.played_ms) for r in self.reports if isinstance(r, ClipEnded)]

    def started(self) -> list[tuple[str, int]]:
        return [(r.clip_id, r.media_ms) for r in self.reports if isinstance(r, ClipStarted)]


def test_clips_of_one_priority_play_in_order_without_a_hole() -> None:
    timeline = Timeline()
    put(timeline, "a", 100, value=100)
    put(timeline, "b", 100, value=200)
    player = Player(timeline)

    player.play(240)

    heard = np.concatenate(player.audio)
    assert (heard[: 100 * 48] == 100).all()
    assert (heard[100 * 48 : 200 * 48] == 200).all()
    assert (heard[200 * 48 :] == 0).all()
    assert player.started() == [("a", 1000), ("b", 1100)]
    assert player.ended() == [("a", EndReason.COMPLETED, 100), ("b", EndReason.COMPLETED, 100)]


def test_an_answer_waits_for_the_playing_clip_and_goes_before_the_script() -> None:
    timeline = Timeline()
    put(timeline, "a", 200)
    put(timeline, "b", 200)
    player = Player(timeline)
    player.play(80)
    put(timeline, "answer", 80, priority=Priority.ANSWER)

    player.play(520)

    assert [c for c, _ in player.started()] == ["a", "answer", "b"]


def test_a_phrase_cut_ends_at_the_next_cut_point() -> None:
    timeline = Timeline()
    put(timeline, "a", 1000, cut_ms=(200, 480, 1000))
    player = Player(timeline)
    player.play(240)

    ack = timeline.cut(Cut(7, CutMode.PHRASE, "question"), player.now_ms)
    player.play(400)

    assert ack.accepted and ack.number == 7 and ack.at_media_ms == 1480
    assert player.ended() == [("a", EndReason.CUT, 480)]


def test_a_cut_now_fades_out_within_thirty_milliseconds() -> None:
    timeline = Timeline()
    put(timeline, "a", 1000)
    player = Player(timeline)
    player.play(200)

    timeline.cut(Cut(1, CutMode.NOW, "takeover"), player.now_ms)
    player.play(80)

    block = player.audio[5]
    assert block[0] == 1000
    assert (np.diff(block[:CUT_FADE_SAMPLES].astype(int)) <= 0).all()
    assert (block[CUT_FADE_SAMPLES:] == 0).all()
    assert player.ended() == [("a", EndReason.CUT, 230)]


def test_a_legal_notice_refuses_to_be_cut() -> None:
    timeline = Timeline()
    put(timeline, "notice", 400, interruptible=False)
    player = Player(timeline)
    player.play(80)

    ack = timeline.cut(Cut(1, CutMode.NOW, "takeover"), player.now_ms)
    player.play(400)

    assert not ack.accepted and ack.why == "not interruptible"
    assert player.ended() == [("notice", EndReason.COMPLETED, 400)]


def test_a_cut_while_nothing_plays_is_answered_idle_and_ends_a_gap() -> None:
    timeline = Timeline()
    put(timeline, "a", 80, gap_ms=5000)
    put(timeline, "b", 80)
    player = Player(timeline)
    player.play(400)

    ack = timeline.cut(Cut(1, CutMode.PHRASE, "question"), player.now_ms)
    player.play(80)

    assert not ack.accepted and ack.why == "idle"
    assert [c for c, _ in player.started()] == ["a", "b"]


def test_a_gap_holds_the_script_back_and_lets_an_answer_through() -> None:
    timeline = Timeline()
    put(timeline, "a", 80, gap_ms=1000)
    put(timeline, "b", 80)
    player = Player(timeline)
    player.play(400)
    assert [c for c, _ in player.started()] == ["a"]

    put(timeline, "answer", 80, priority=Priority.ANSWER)
    player.play(200)

    assert [c for c, _ in player.started()][:2] == ["a", "answer"]


def test_an_underrun_stops_the_clip_and_never_the_media_clock() -> None:
    timeline = Timeline()
    put(timeline, "a", 60, seal=False)
    player = Player(timeline)
    player.play(200)
    assert timeline.playhead(player.now_ms).starved
    assert player.ended() == []

    timeline.chunk(ClipChunk("a", tone(40, 77), b""))
    timeline.seal(ClipSeal("a"))
    player.play(80)

    assert (player.audio[5][: 40 * 48] == 77).all()
    assert player.ended() == [("a", EndReason.COMPLETED, 100)]
    assert timeline.underrun_ms == 140


def test_an_announced_answer_keeps_the_script_from_starting_for_a_while_only() -> None:
    timeline = Timeline()
    timeline.begin(ClipBegin("answer", "t", ClipKind.ANSWER, Priority.ANSWER), 1000)
    put(timeline, "script", 80)
    player = Player(timeline)

    player.play(1000)
    assert player.started() == []
    player.play(400)

    assert player.started() == [("script", 2200)]


def test_dropping_a_waiting_clip_reports_it_and_leaves_the_rest() -> None:
    timeline = Timeline()
    put(timeline, "a", 80)
    put(timeline, "old-price", 80)
    put(timeline, "c", 80)
    timeline.drop(ClipDrop(("old-price", "never-heard-of"), "price changed"), 1000)
    player = Player(timeline)

    player.play(240)

    assert [c for c, _ in player.started()] == ["a", "c"]
    assert ("old-price", EndReason.DROPPED, 0) in player.ended()


def test_what_was_heard_is_the_captions_that_were_reached() -> None:
    timeline = Timeline()
    timeline.begin(ClipBegin("a", "t", ClipKind.SCRIPT, Priority.SCRIPT), 0)
    timeline.chunk(ClipChunk("a", tone(1000), b"", (Caption(0, "first,"), Caption(500, "second.")), (500, 1000)))
    timeline.seal(ClipSeal("a"))
    player = Player(timeline)
    player.play(80)
    timeline.cut(Cut(1, CutMode.PHRASE, ""), player.now_ms)
    player.play(800)

    (end,) = [r for r in player.reports if isinstance(r, ClipEnded)]
    assert end.text == "first,"


def test_the_scene_shows_lips_caption_and_card_of_the_playing_clip_only() -> None:
    timeline = Timeline()
    timeline.begin(ClipBegin("a", "t", ClipKind.SCRIPT, Priority.SCRIPT, card=Card(product_id="p", title="茶", price="¥79")), 0)
    timeline.chunk(ClipChunk("a", tone(200), lips(200, 255), (Caption(0, "你好"),)))
    timeline.seal(ClipSeal("a"))
    player = Player(timeline)
    player.play(40)

    during = timeline.scene(player.now_ms, 20)
    player.play(400)
    after = timeline.scene(player.now_ms, 20)

    assert during.speaking and during.caption == "你好" and during.card.price == "¥79"
    assert during.lips is not None and during.lips[WEIGHT_INDEX["jawOpen"]] == pytest.approx(1.0)
    assert not after.speaking and after.lips is None and after.caption == "" and after.card.title == "茶"


def test_chunks_for_unknown_or_sealed_clips_and_double_begins_are_refused_and_counted() -> None:
    timeline = Timeline()
    put(timeline, "a", 40)
    timeline.chunk(ClipChunk("a", tone(40), b""))
    timeline.chunk(ClipChunk("ghost", tone(40), b""))
    timeline.begin(ClipBegin("a", "t", ClipKind.SCRIPT, Priority.SCRIPT), 0)
    timeline.seal(ClipSeal("ghost"))

    assert timeline.refused == 4


def test_all_clips_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_engine.body.timeline.MAX_WAITING_SAMPLES", 48 * 100)
    timeline = Timeline()
    put(timeline, "a", 60)
    put(timeline, "b", 60, seal=False)
    put(timeline, "c", 40)

    assert timeline.refused == 1
    assert timeline.playhead(0).buffered_ms == 100


def test_the_first_frame_of_a_clip_shows_the_lips_of_its_own_middle() -> None:
    timeline = Timeline()
    timeline.begin(ClipBegin("a", "t", ClipKind.SCRIPT, Priority.SCRIPT), 0)
    timeline.chunk(ClipChunk("a", tone(120), lips(20, 0) + lips(20, 100) + lips(80, 200), emphasis_ms=(500,)))
    timeline.seal(ClipSeal("a"))
    player = Player(timeline)

    player.play(40)
    first = timeline.scene(1040, -20)

    assert first.lips is not None
    assert round(float(first.lips[WEIGHT_INDEX["jawOpen"]]) * 255) == 100
    assert first.emphasis_ms == timeline.scene(1040, 20).emphasis_ms == (1500,)


def test_gestures_are_seen_in_media_time_and_the_heard_voice_changes_the_face_from_its_chunk_on() -> None:
    timeline = Timeline()
    begin = ClipBegin("a", "", ClipKind.SCRIPT, 10, gesture=(Gesture(GestureKind.GREET, 200),), emotion=Emotion(0.1, 0.0, 0.0))
    timeline.begin(begin, 0)
    timeline.chunk(ClipChunk("a", tone(80), b""))
    timeline.chunk(ClipChunk("a", tone(80), b"", emotion=Emotion(0.7, 0.4, 0.2)))
    timeline.seal(ClipSeal("a"))
    player = Player(timeline)

    player.play(40)
    assert timeline.scene(1_040, 0).gesture == (Gesture(GestureKind.GREET, 1_200),)
    assert timeline.scene(1_040, 0).emotion.valence == 0.1
    player.play(60)
    assert timeline.scene(1_100, 0).emotion.valence == 0.7
    player.play(100)
    assert timeline.scene(1_200, 0).gesture == ()


def test_a_header_of_an_older_mind_is_read_without_gestures() -> None:
    old = msgspec.msgpack.encode({"type": "begin", "clip_id": "a", "turn_id": "", "kind": "script", "priority": 10})
    begin = msgspec.msgpack.decode(old, type=MindMessage)
    assert isinstance(begin, ClipBegin)
    assert begin.gesture == ()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 400), st.sampled_from(list(Priority)), st.integers(0, 200)), min_size=1, max_size=8),
    st.lists(st.integers(0, 40), max_size=4),
)
def test_every_clip_ends_exactly_once_and_no_sample_is_lost(clips: list[tuple[int, Priority, int]], cuts: list[int]) -> None:
    timeline = Timeline()
    for number, (ms, priority, gap_ms) in enumerate(clips):
        put(timeline, f"c{number}", ms, priority=priority, gap_ms=gap_ms, cut_ms=(ms // 2, ms))
    player = Player(timeline)
    for block in range(120):
        if block in cuts:
            timeline.cut(Cut(block, CutMode.PHRASE, ""), player.now_ms)
        player.play(BLOCK_MS)

    ended = player.ended()
    assert sorted(c for c, _, _ in ended) == sorted(f"c{n}" for n in range(len(clips)))
    heard = int((np.concatenate(player.audio) != 0).sum())
    assert abs(heard - sum(played for _, _, played in ended) * 48) <= 48 * len(clips)
