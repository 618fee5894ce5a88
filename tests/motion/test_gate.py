"""The emotion gate: weights sum to one, the shipped weights are what the recipe measured, features refuse nonsense."""

from __future__ import annotations

import hashlib
import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.motion.affect import (
    ACTS,
    CONTEXT_SIZE,
    SETTINGS,
    TEXT_SIZE,
    TOPICS,
    VOICE_SIZE,
    VoiceSketch,
    context_features,
    text_features,
    voice_features,
)
from gpu_engine.motion.gate import WEIGHTS_FILE, GateError, load_gate
from gpu_engine.training.emotion_gate.train import as_in_service, fold_of, load, predict, train, without_voice

pytestmark = pytest.mark.unit

ANY = st.floats(allow_nan=True, allow_infinity=True)
NO_CHAT = context_features("answer", {}, 0.0)


@given(
    act=st.sampled_from(ACTS),
    setting=st.sampled_from(SETTINGS),
    text=st.text(max_size=80),
    numbers=st.tuples(ANY, ANY, ANY, ANY),
    chat=st.dictionaries(st.sampled_from(TOPICS), ANY),
    activity=ANY,
)
def test_weights_sum_to_one_and_emotions_are_bounded_whatever_comes(
    act: str, setting: str, text: str, numbers: tuple[float, float, float, float], chat: dict[str, float], activity: float
) -> None:
    rows = text_features(text, act), voice_features(VoiceSketch(*numbers)), context_features(setting, chat, activity)
    found = load_gate().fuse(*rows)
    assert [len(r) for r in rows] == [TEXT_SIZE, VOICE_SIZE, CONTEXT_SIZE]
    assert sum(found.weights) == pytest.approx(1.0)
    assert min(found.weights) >= 1 / (1 + 2 * math.e) - 1e-9
    assert max(found.weights) <= math.e / (math.e + 2) + 1e-9
    for value in (found.emotion.valence, found.emotion.arousal, found.emotion.dominance):
        assert -1.0 <= value <= 1.0


def test_the_shipped_gate_feels_as_a_person_would() -> None:
    gate, usual = load_gate(), voice_features(VoiceSketch())
    excited, soft = voice_features(VoiceSketch(4, 4, 5, 1.15)), voice_features(VoiceSketch(-1, -1.5, -4, 0.88))
    call, sorry = text_features("三二一，上链接", "call"), text_features("非常抱歉，是我们的责任", "complaint")
    rush = context_features("cta", {"order": 0.4, "product": 0.5, "social": 0.1}, 0.9)
    trouble = context_features("answer", {"complaint": 0.5, "service": 0.3, "product": 0.2}, 0.5)
    assert gate.fuse(call, excited, rush).emotion.arousal > 0.7
    assert gate.fuse(sorry, soft, trouble).emotion.valence < -0.1
    assert gate.fuse(call, usual, rush).emotion.arousal < gate.fuse(call, excited, rush).emotion.arousal
    assert gate.fuse(sorry, usual, trouble).emotion.valence < gate.fuse(call, usual, rush).emotion.valence


def test_held_out_the_gate_beats_words_alone_and_thirds_where_the_voice_is_missing() -> None:
    data = load()
    fold = fold_of(data.groups, 5)
    seen, unseen = as_in_service(data.pick(fold != 0)), without_voice(data.pick(fold == 0))
    error = {}
    for how in ("gate", "thirds", "text alone"):
        found, weights = predict(train(seen, how, 0, epochs=250), unseen, how)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        error[how] = float(((found - unseen.labels) ** 2).mean())
    assert error["gate"] < error["thirds"] < error["text alone"]


def test_no_utterance_is_held_out_while_its_translation_is_seen() -> None:
    data = load()
    fold = fold_of(data.groups, 5)
    assert len(data.labels) >= 300
    for group in np.unique(data.groups):
        assert len(set(fold[data.groups == group])) == 1
    assert min(np.bincount(fold)) > 50


def test_the_gradients_are_those_of_the_loss() -> None:
    from gpu_engine.training.emotion_gate.train import _gradients

    data, rng = load().pick(np.arange(332) < 40), np.random.default_rng(0)
    shapes = [(TEXT_SIZE, 4), (VOICE_SIZE, 4), (CONTEXT_SIZE, 4), (4,), (4,), (4,), (12, 3), (3,), (4, 3), (3,)]
    theta = [rng.normal(0, 0.4, s) for s in shapes]

    def loss() -> float:
        from gpu_engine.motion.gate import Gate

        model = Gate(tuple(theta[:3]), tuple(theta[3:6]), *theta[6:], temperature=0.5)  # type: ignore[arg-type]
        return float(((model.batch(*data.sources)[0] - data.labels) ** 2).mean())

    for p, g in zip(theta, _gradients(data, theta, "gate", 0.5), strict=True):
        at = tuple(int(rng.integers(n)) for n in p.shape)
        p[at] += 1e-5
        above = loss()
        p[at] -= 2e-5
        below = loss()
        p[at] += 1e-5
        assert g[at] == pytest.approx((above - below) / 2e-5, rel=1e-3, abs=1e-7)


def test_one_utterance_takes_less_than_a_millisecond() -> None:
    gate = load_gate()
    spent = []
    for n in range(200):
        start = time.perf_counter()
        gate.fuse(text_features(f"今天只要{n}元", "price"), voice_features(None), NO_CHAT)
        spent.append(time.perf_counter() - start)
    assert sorted(spent)[100] < 1e-3


def test_the_card_names_the_weights_that_are_shipped() -> None:
    card = Path(train.__code__.co_filename).with_name("README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(WEIGHTS_FILE.read_bytes()).hexdigest() in card


@pytest.mark.parametrize(("act", "setting"), [("shout", "answer"), ("price", "nowhere")])
def test_unknown_acts_and_settings_are_refused(act: str, setting: str) -> None:
    with pytest.raises(ValueError, match="use one of"):
        (text_features("x", act), context_features(setting, {}, 0.0))


@pytest.mark.parametrize("damage", ["missing", "json", "sizes", "nan"])
def test_wrong_weights_are_refused_by_name(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "gate.json"
    held = json.loads(WEIGHTS_FILE.read_text())
    if damage == "sizes":
        held["sizes"] = [1, 2, 3]
    elif damage == "nan":
        held["out"][0][0] = float("nan")
    if damage != "missing":
        path.write_text("{" if damage == "json" else json.dumps(held))
    with pytest.raises(GateError, match=r"gate\.json"):
        load_gate(path)
