"""Pitch, level and rate from PCM, in one piece or in many."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_engine.motion.prosody import Ear, UsualVoice

pytestmark = pytest.mark.unit


def voice(f0_hz: np.ndarray | float, seconds: float, level: float = 0.2) -> np.ndarray:
    """A pulse-like periodic sound, int16 at 48 kHz."""
    n = int(seconds * 48_000)
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(f0_hz, n)) / 48_000
    wave = sum(np.sin(k * phase) / k for k in range(1, 14))
    return (wave / np.abs(wave).max() * level * 32_767).astype(np.int16)


@pytest.mark.parametrize("f0_hz", [90.0, 130.0, 210.0, 340.0])
def test_a_steady_pitch_is_found(f0_hz: float) -> None:
    ear = Ear()
    ear.hear(voice(f0_hz, 1.0), 8)
    heard = ear.clause()
    assert heard is not None
    assert heard.f0_hz == pytest.approx(f0_hz, rel=0.01)
    assert heard.range_st < 0.2
    assert heard.sounds_s == pytest.approx(8.0)


def test_a_glide_of_an_octave_has_its_range() -> None:
    ear = Ear()
    ear.hear(voice(np.geomspace(120, 240, 96_000), 2.0), 8)
    heard = ear.clause()
    assert heard is not None
    assert heard.range_st == pytest.approx(0.8 * 12, abs=0.6)


def test_twice_the_amplitude_is_six_decibels() -> None:
    levels = []
    for amplitude in (0.1, 0.2):
        ear = Ear()
        ear.hear(voice(150.0, 1.0, amplitude), 5)
        heard = ear.clause()
        assert heard is not None
        levels.append(heard.level_db)
    assert levels[1] - levels[0] == pytest.approx(6.02, abs=0.05)


@pytest.mark.parametrize(
    "sound", [np.zeros(48_000, np.int16), np.random.default_rng(5).normal(0, 3_000, 48_000).astype(np.int16)]
)
def test_silence_and_noise_are_no_voice(sound: np.ndarray) -> None:
    ear = Ear()
    ear.hear(sound, 0)
    assert ear.clause() is None
    assert Ear().clause() is None


@pytest.mark.parametrize("piece", [37, 960, 4_801, 20_000])
def test_pieces_are_heard_as_the_whole(piece: int) -> None:
    pcm = voice(np.geomspace(140, 200, 60_000), 1.25)
    whole, parts = Ear(), Ear()
    whole.hear(pcm, 10)
    for n, at in enumerate(range(0, len(pcm), piece)):
        parts.hear(pcm[at : at + piece], 10 if n == 0 else 0)
    assert parts.clause() == whole.clause()


def test_a_higher_louder_faster_clause_is_seen_beside_the_usual_and_each_language_has_its_own() -> None:
    usual, ear = UsualVoice(), Ear()

    def say(f0_hz: float, level: float, sounds: int, lang: str) -> object:
        ear.hear(voice(f0_hz, 1.0, level), sounds)
        heard = ear.clause()
        assert heard is not None
        return usual.sketch(heard, lang)

    first = say(200, 0.1, 10, "zh")
    excited = say(252, 0.2, 12, "zh")
    other = say(252, 0.2, 12, "en")
    assert (first.pitch_st, first.energy_db, first.rate) == (0.0, 0.0, 1.0)
    assert excited.pitch_st == pytest.approx(4.0, abs=0.1)
    assert excited.energy_db == pytest.approx(6.0, abs=0.1)
    assert excited.rate == pytest.approx(1.2)
    assert other.pitch_st == 0.0
