"""Columns of sound: known tones give known rows, and streaming gives what the whole recording gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gpu_engine.avatar.neural.features import Decimator, FeatureSpec, FeatureStream, mel_filters, pitch, resample_48k
from gpu_engine.avatar.neural.manifest import AudioFeature
from gpu_engine.avatar.neural.sound import ColumnEar, RecordedSound
from tests.neural import heads

pytestmark = pytest.mark.unit

PROSODY = FeatureSpec("logmel+prosody")
FEATURE = AudioFeature(kind="logmel+prosody", n_fft=512, bands=64, window=24, look_ahead=12)


def tone(hz: float, seconds: float, level: float = 0.5) -> NDArray[np.float32]:
    t = np.arange(int(seconds * 16_000)) / 16_000
    return np.asarray(level * np.sin(2 * np.pi * hz * t), np.float32)


@pytest.mark.parametrize("kind", ["log-mel", "mel-wav2lip", "logmel+prosody"])
def test_streaming_in_any_pieces_gives_the_same_columns(kind: str) -> None:
    spec = FeatureSpec(kind)  # type: ignore[arg-type]
    sound = resample_48k(heads.speech(1.5), 16_000)
    whole = FeatureStream(spec).push(sound)
    stream, rng, pieces, at = FeatureStream(spec), np.random.default_rng(5), [], 0
    while at < len(sound):
        size = int(rng.integers(1, 1400))
        pieces.append(stream.push(sound[at : at + size]))
        at += size
    assert np.allclose(np.concatenate(pieces), whole, atol=1e-5)
    assert stream.columns == len(whole) == (len(sound) - stream.lag_samples) // 160 + 1


def test_a_fork_looks_ahead_without_touching_the_stream() -> None:
    stream, sound = FeatureStream(PROSODY), resample_48k(heads.speech(1.0), 16_000)
    stream.push(sound[:8000])
    expected = stream.fork().push(sound[8000:])
    stream.fork().push(np.zeros(4000, np.float32))
    assert np.array_equal(stream.push(sound[8000:]), expected)


@pytest.mark.parametrize("hz", [80.0, 140.0, 220.0, 400.0])
def test_pitch_of_a_voice_like_sound(hz: float) -> None:
    sound = sum(tone(hz * k, 0.4, 0.4 / k) for k in range(1, 8))
    frames = np.stack([sound[i : i + 640] for i in range(0, 5000, 160)]).astype(np.float32)
    found, strength = pitch(frames, 16_000)
    assert np.abs(found - hz).max() < 0.04 * hz
    assert strength.min() > 0.8


def test_noise_and_silence_have_no_pitch() -> None:
    noise = np.random.default_rng(3).normal(0, 0.2, (40, 640)).astype(np.float32)
    assert (pitch(noise, 16_000)[0] > 0).mean() < 0.1
    assert pitch(np.zeros((3, 640), np.float32), 16_000)[0].tolist() == [0, 0, 0]


def test_prosody_rows_follow_pitch_level_and_duration() -> None:
    quiet = np.zeros(8000, np.float32)
    rows = FeatureStream(PROSODY).push(np.concatenate([quiet, tone(180, 0.5, 0.5), quiet]))
    f0, energy, duration = rows[:, 64], rows[:, 65], rows[:, 66]
    assert f0[30] == 0.0 and abs(f0[75] - 1.5) < 0.05
    # A sine of amplitude 0.5 has a mean square of 1/8.
    assert energy[30] == pytest.approx(-2.0, abs=1e-3) and energy[75] == pytest.approx((np.log10(0.125) + 4) / 2, abs=0.02)
    assert duration[53] < 0.2 < duration[75] < duration[90]


def test_mel_of_a_tone_peaks_in_its_band() -> None:
    spec = FeatureSpec("log-mel", bands=80)
    filters = mel_filters(spec)
    assert filters.shape == (80, 257)
    band = int(np.argmax(FeatureStream(spec).push(tone(1000, 0.5))[20]))
    centre_hz = float((filters[band] * np.arange(257) * 31.25).sum() / filters[band].sum())
    assert abs(centre_hz - 1000) < 60


def test_wav2lip_scale_ends_at_minus_four_in_silence_and_stays_within_four() -> None:
    spec = FeatureSpec("mel-wav2lip", hop=200, n_fft=800, bands=80)
    assert FeatureStream(spec).push(np.zeros(4000, np.float32)).max() == -4.0
    loud = FeatureStream(spec).push(tone(300, 0.5, 1.0))
    assert loud.min() >= -4.0 and 1.0 < loud.max() <= 4.0


def test_decimation_keeps_the_time_of_an_impulse_and_takes_out_what_would_alias() -> None:
    pcm = np.zeros(48_000, np.int16)
    pcm[24_000] = 30_000
    assert int(np.argmax(resample_48k(pcm, 16_000))) == 8_000
    t = np.arange(48_000) / 48_000
    high = (20_000 * np.sin(2 * np.pi * 12_000 * t)).astype(np.int16)
    assert np.abs(resample_48k(high, 16_000)[200:-200]).max() < 0.002
    with pytest.raises(ValueError, match="multiples of 3"):
        Decimator(3).push(np.zeros(4, np.int16))
    with pytest.raises(ValueError, match="must divide 48000"):
        resample_48k(pcm, 22_050)


# --- windows of a playing clip ----------------------------------------------------------------------------------------


def whole_windows(pcm: NDArray[np.int16], frames: range) -> NDArray[np.float32]:
    """What the training recipe makes of a finished recording."""
    columns = FeatureStream(PROSODY).push(resample_48k(np.concatenate([pcm, np.zeros(24_000, np.int16)]), 16_000))
    at = np.clip(np.array([4 * i + 2 for i in frames])[:, None] + np.arange(-12, 12), 0, len(columns) - 1)
    return columns[at].transpose(0, 2, 1)


def test_a_playing_clip_is_heard_as_the_recording_was_in_training() -> None:
    pcm = heads.speech(2.0)
    ear, sound = ColumnEar(FEATURE), RecordedSound(pcm)
    expected = whole_windows(pcm, range(3, 50))
    for i in range(3, 50):
        sound.at = round((i + 0.5) * 1920)
        assert np.allclose(ear.windows(sound, [sound.at])[0], expected[i - 3], atol=1e-4), f"frame {i}"
    assert ear.look_ahead_ms == pytest.approx(110 + 320 / 16 + 0.5)


def test_a_clip_that_is_still_being_made_is_heard_as_it_comes() -> None:
    pcm = heads.speech(2.0)
    ear, sound = ColumnEar(FEATURE), RecordedSound(pcm)
    expected = whole_windows(pcm, range(50))
    for i in range(3, 45):
        sound.at = round((i + 0.5) * 1920)
        sound.stop = min(len(pcm), sound.at + 7_000)
        assert np.allclose(ear.windows(sound, [sound.at])[0], expected[i], atol=1e-4), f"frame {i}"


def test_what_is_not_there_yet_is_silence_and_is_heard_when_it_comes() -> None:
    pcm = heads.speech(1.0)
    short = whole_windows(pcm[:12_000], range(5, 6))[0]
    ear, sound = ColumnEar(FEATURE), RecordedSound(pcm)
    sound.at, sound.stop = round(5.5 * 1920), 12_000
    assert np.allclose(ear.windows(sound, [sound.at])[0], short, atol=2e-3)
    sound.stop = len(pcm)
    assert np.allclose(ear.windows(sound, [sound.at])[0], whole_windows(pcm, range(5, 6))[0], atol=1e-4)


def test_after_a_cut_nothing_of_what_was_cut_is_heard() -> None:
    pcm = heads.speech(2.0)
    ear, sound = ColumnEar(FEATURE), RecordedSound(pcm)
    sound.at = round(20.5 * 1920)
    ear.windows(sound, [sound.at])
    sound.stop = sound.at
    expected = whole_windows(pcm[: sound.stop], range(20, 21))[0]
    got = ear.windows(sound, [sound.at])[0]
    # The duration row remembers a little less after a restart.
    assert np.allclose(got[:66], expected[:66], atol=2e-3)


def test_an_hour_long_clip_keeps_few_columns() -> None:
    ear, sound = ColumnEar(FEATURE), RecordedSound(heads.speech(20.0))
    for i in range(0, 490, 3):
        sound.at = round((i + 0.5) * 1920)
        ear.windows(sound, [sound.at])
    assert len(ear._columns) <= 512


def test_another_clip_starts_afresh() -> None:
    first, second = heads.speech(1.0), heads.speech(1.0, seed=9)[2_000:]
    ear = ColumnEar(FEATURE)
    ear.windows(RecordedSound(first, serial=1), [40_000])
    sound = RecordedSound(second, serial=2)
    assert np.allclose(ear.windows(sound, [round(4.5 * 1920)])[0], whole_windows(second, range(4, 5))[0], atol=1e-4)
