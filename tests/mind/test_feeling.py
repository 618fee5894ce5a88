"""What an utterance is felt with: header first, then the voice; the chat's mood; the operator's event."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.mind.composer import ClipProgress, Composer, Utterance
from gpu_engine.mind.feeling import ChatMood, Feeling, Occasion, answer_occasion, script_occasion
from gpu_engine.mind.intent import Intent
from gpu_engine.motion.affect import ACTS, SETTINGS, TOPICS
from gpu_engine.motion.gate import Fusion
from gpu_engine.session.spec import Lang, SegmentKind
from gpu_engine.session.timeline import ClipBegin, ClipChunk, ClipKind, Emotion, MindMessage
from gpu_engine.speech.engine import PhonemeSpan
from gpu_engine.speech.service import ClauseAudio
from tests.fakes.fake_voice import FakeLips, FakeVoice
from tests.mind.shop import plain_show, spec_of
from tests.mind.stage_hand import on_air

pytestmark = pytest.mark.unit


class HummingVoice(FakeVoice):
    """Two clauses of one second, the second an octave higher."""

    async def speak(self, clip_id: str, text: str, lang: Lang, priority: int) -> AsyncIterator[ClauseAudio]:
        """See the base class."""
        for number, f0_hz in enumerate((140.0, 280.0)):
            phase = 2 * np.pi * f0_hz * np.arange(48_000) / 48_000
            pcm = (sum(np.sin(k * phase) / k for k in range(1, 9)) * 5_000).astype(np.int16)
            sounds = tuple(PhonemeSpan("a", 100.0 * n, 100.0 * n + 100) for n in range(10))
            yield ClauseAudio(number, text, pcm, sounds, 0.0, True, True, 0, False, 0)


async def compose(said: Utterance, feeling: Feeling | None) -> tuple[list[MindMessage], list[Fusion]]:
    sent: list[MindMessage] = []
    felt: list[Fusion] = []
    composer = Composer(HummingVoice(), FakeLips, sent.append, feeling=feeling, on_felt=lambda _, f: felt.append(f))
    await composer.compose(ClipProgress(said), lambda: None)
    return sent, felt


def line(occasion: Occasion | None) -> Utterance:
    return Utterance("a", "", ClipKind.SCRIPT, 10, "三二一，上链接", "zh", emotion=Emotion(0.1, 0.2, 0.3), occasion=occasion)


async def test_the_header_feels_without_the_voice_and_the_chunks_with_it() -> None:
    sent, felt = await compose(line(Occasion("call", "cta")), Feeling(lambda: 0))
    begin, first, second, _ = sent
    assert isinstance(begin, ClipBegin)
    assert isinstance(first, ClipChunk)
    assert isinstance(second, ClipChunk)
    assert first.emotion is not None
    assert second.emotion is not None
    assert second.emotion.arousal > first.emotion.arousal, "an octave higher is livelier"
    assert begin.emotion != first.emotion
    assert [f.emotion for f in felt] == [first.emotion], "told once, when the voice was first heard"
    assert sum(felt[0].weights) == pytest.approx(1.0)


async def test_without_an_occasion_the_planned_emotion_stands() -> None:
    sent, felt = await compose(line(None), Feeling(lambda: 0))
    assert isinstance(sent[0], ClipBegin)
    assert sent[0].emotion == Emotion(0.1, 0.2, 0.3)
    assert [c.emotion for c in sent if isinstance(c, ClipChunk)] == [None, None]
    assert felt == []


async def test_the_operator_sees_the_weights_of_every_utterance(tmp_path: Path) -> None:
    async with on_air(spec_of(plain_show(4)), tmp_path) as rig:
        await rig.body.advance(20_000)
        seen = rig.of("emotion_gate")
    assert len({e["clip_id"] for e in seen}) == len(seen) >= 4
    for event in seen:
        assert event["text"] + event["voice"] + event["context"] == pytest.approx(1.0, abs=2e-3)


def test_a_chat_that_turns_angry_is_noticed_and_forgotten() -> None:
    mood = ChatMood()
    for n in range(40):
        mood.hear(Intent.PRICE, n * 500)
    calm, _ = mood.now(20_000)
    for n in range(30):
        mood.hear(Intent.COMPLAINT, 20_000 + n * 500)
    angry, busy = mood.now(35_000)
    assert calm["product"] == pytest.approx(1.0)
    assert angry["complaint"] > 0.5
    assert sum(angry.values()) == pytest.approx(1.0)
    assert busy > 0.7
    assert mood.now(600_000)[1] < 0.05


def test_before_the_first_comment_there_is_no_topic() -> None:
    assert ChatMood().now(5_000) == ({}, 0.0)


def test_every_intent_and_segment_has_an_act_the_gate_knows() -> None:
    for intent in Intent:
        assert answer_occasion(intent, "answer").act in ACTS
        assert answer_occasion(intent, "check_with_shop").act in ("decline", "complaint")
    for kind in SegmentKind:
        found = script_occasion(kind, "你们用多大的？", begins=True)
        assert found.act in ACTS
        assert found.setting in SETTINGS
    assert script_occasion(SegmentKind.HOOK, "你们用多大的？", begins=True).act == "question"
    assert script_occasion(SegmentKind.OPENING, "大家好", begins=True).act == "greeting"
    assert set(TOPICS) == set(ChatMood().__dict__["_counts"])
