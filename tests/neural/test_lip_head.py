"""The recipe of the shipped head, as far as it needs no torch: what is held out, footage, loop, measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu_engine.avatar.neural.crops import similarity
from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_INDEX
from gpu_engine.session.timeline import SAMPLE_RATE_HZ
from gpu_engine.speech.engine import PhonemeSpan
from gpu_engine.training.lip_head.assemble import motion
from gpu_engine.training.lip_head.data import Footage, LipBasis, Shot, fit_basis, fit_linear, windows
from gpu_engine.training.lip_head.footage import SIZE, TEMPLATE, Studio, film
from gpu_engine.training.lip_head.measure import EnergyMouth, measure
from gpu_engine.training.lip_head.speech import Spoken, read, write
from gpu_engine.training.lip_head.texts import HELD_OUT_VOICE, VOICES, Utterance, plan
from tests.neural import heads

pytestmark = pytest.mark.unit

CHECKOUT = Path(__file__).parents[2]


def test_no_held_out_sentence_and_no_held_out_voice_is_learnt_from() -> None:
    planned = list(plan(CHECKOUT))
    learnt = {u.text for u in planned if u.role == "train"}
    held = {u.text for u in planned if u.role != "train"}
    assert len(learnt) > 250 and len(held) > 60 and not learnt & held
    assert {u.voice for u in planned if u.role == "voice"} == {HELD_OUT_VOICE}
    assert {u.voice for u in planned if u.role != "voice"} == {v for voices in VOICES.values() for v in voices}
    assert HELD_OUT_VOICE not in {u.voice for u in planned if u.role != "voice"}


def test_speech_is_kept_whole(tmp_path: Path) -> None:
    said = Utterance("train", "zh", "zf_xiaoxiao", "大家好")
    spoken = Spoken(said, np.arange(10, dtype=np.int16), (PhonemeSpan("t", 1.0, 2.5),))
    write(spoken, tmp_path / "a.npz")
    again = read(tmp_path / "a.npz")
    assert (again.utterance, again.phonemes, again.pcm.tolist()) == (said, spoken.phonemes, list(range(10)))


def test_the_loop_closes_and_its_mouth_stays_shut() -> None:
    frames = motion(100, 30)
    steps = [np.abs(a.joints - b.joints).max() for a, b in zip(frames, [*frames[1:], frames[0]], strict=True)]
    assert len(frames) == 100
    assert steps[-1] <= 1.5 * max(steps[:-1])
    lips = [WEIGHT_INDEX[name] for name in LIP_WEIGHTS]
    assert max(frame.weights[lips].max() for frame in frames) == 0.0


def test_windows_lie_around_the_middle_of_their_frames() -> None:
    columns = np.arange(100, dtype=np.float32)[:, None].repeat(2, axis=1)
    found = windows(columns, np.array([0, 10], np.int32))
    assert found.shape == (2, 2, 24)
    assert found[1, 0].tolist() == list(range(30, 54))
    assert found[0, 0].tolist() == [0.0] * 11 + list(range(1, 14))


def test_footage_pairs_rest_and_speech_in_one_pose() -> None:
    pcm = heads.speech(0.6)
    phonemes = (PhonemeSpan("m", 0, 120), PhonemeSpan("a", 120, 420), PhonemeSpan("m", 420, 600))
    spoken = Spoken(Utterance("train", "en", "af_heart", "mam"), pcm, phonemes)
    assert len(pcm) / SAMPLE_RATE_HZ == spoken.seconds
    studio = Studio("lin", 640, 360)
    clip = film(studio, spoken, 3, 2)
    assert clip.rest.shape == clip.speaking.shape == (len(clip.index), SIZE, SIZE, 3)
    change = np.abs(clip.speaking.astype(int) - clip.rest).max(axis=3)
    widest = int(np.argmax(clip.opening))
    assert change[widest, 30:70, 24:72].max() > 40
    assert change[:, 30:70, 24:72].mean() > 5 * change[:, :8].mean()
    mapped = studio.landmarks() @ similarity(studio.landmarks(), TEMPLATE)[:, :2].T
    offset = similarity(studio.landmarks(), TEMPLATE)[:, 2]
    assert np.abs(mapped + offset - TEMPLATE).max() < 10.0


def fake_footage(seed: int = 1) -> tuple[Footage, np.ndarray]:  # type: ignore[type-arg]
    """A mouth that is a dark bar as high as it is open; the sound's energy has nothing to do with it."""
    rng = np.random.default_rng(seed)
    opening = np.abs(np.sin(np.arange(240) / 5.0)).astype(np.float32) * 0.4
    rest = np.full((240, 96, 96, 3), 180, np.uint8)
    speaking = rest.copy()
    for i, value in enumerate(opening):
        speaking[i, 46 : 46 + round(float(value) * 40), 30:66] = 20
    audio = rng.normal(0, 1, (240, 67, 24)).astype(np.float32)
    shut = tuple((float(i) / 25, float(i + 2) / 25) for i in np.nonzero(opening < 0.02)[0] if i < 120)
    shots = (
        Shot("sentences", 0, 120, np.arange(120, dtype=np.int32), shut),
        Shot("train", 120, 240, np.arange(120, dtype=np.int32), ()),
    )
    return Footage(rest, speaking, audio, opening, shots), opening


def basis_of(data: Footage) -> LipBasis:
    return fit_basis(data, 6)


def test_the_true_pictures_measure_perfectly_and_a_mouth_at_rest_does_not() -> None:
    data, opening = fake_footage()
    basis, rows = basis_of(data), data.rows("sentences")
    assert np.corrcoef(basis.opening(basis.code(data.rest[rows], data.speaking[rows])), opening[:120])[0, 1] > 0.98
    perfect = measure(data, basis, rows, data.speaking[rows])
    assert (perfect.opening_r, perfect.lip_l1, perfect.closure_hits) == (pytest.approx(1.0), 0.0, 1.0)
    assert perfect.false_shut == 0.0 and perfect.closures > 3
    still = measure(data, basis, rows, data.rest[rows])
    assert still.lip_l1 > 5 and still.closure_hits == 1.0 and still.false_shut == 1.0
    late = measure(data, basis, rows, np.roll(data.speaking[rows], 4, axis=0))
    assert late.opening_r < 0.7 and late.closure_hits < 1.0


def test_a_linear_painter_gives_back_what_it_was_fitted_to() -> None:
    data, _ = fake_footage()
    basis, rows = basis_of(data), data.rows("train")
    codes = basis.code_in_parts(data.rest, data.speaking, rows)
    weights, bias = fit_linear(data, basis, codes, rows)
    drawn = (codes / basis.scale) @ weights.T + bias
    true = (data.speaking[rows].transpose(0, 3, 1, 2).astype(np.float32) - 180).reshape(len(rows), -1) / 255
    assert np.abs(drawn - true).mean() < 0.01


def test_an_energy_mouth_follows_energy() -> None:
    rng = np.random.default_rng(2)
    audio = rng.normal(0, 0.1, (400, 67, 24)).astype(np.float32)
    level = rng.uniform(-1, 1, 400).astype(np.float32)
    audio[:, 65] += level[:, None]
    codes = np.stack([level, -2 * level], axis=1)
    found = EnergyMouth.fit(audio, codes).codes(audio)
    assert np.corrcoef(found[:, 0], level)[0, 1] > 0.98 and np.corrcoef(found[:, 1], -level)[0, 1] > 0.98
