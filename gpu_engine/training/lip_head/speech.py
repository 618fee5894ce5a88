"""Speaks the planned sentences with the product's own voice engine and keeps sound and phoneme times."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.speech.engine import PhonemeSpan, SpeechEngine, Style
from gpu_engine.speech.normalise import normalise
from gpu_engine.training.lip_head.texts import Role, Utterance

REST_MS = 320
"""Silence put before and after every sentence: the head must learn to be at rest."""
SPEEDS = (1.0, 1.0, 0.92, 1.1)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One spoken sentence: int16[n] mono 48 kHz, ``REST_MS`` of silence on both sides; phoneme times count from its start."""

    utterance: Utterance
    pcm: NDArray[np.int16]
    phonemes: tuple[PhonemeSpan, ...]

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.pcm) / 48_000


def speak(engine: SpeechEngine, utterance: Utterance, speed: float) -> Spoken:
    """Synthesise one sentence."""
    spoken = normalise(utterance.text, utterance.lang).spoken
    pcm: list[NDArray[np.int16]] = [np.zeros(REST_MS * 48, np.int16)]
    phonemes: list[PhonemeSpan] = []
    for chunk in engine.synthesize(spoken, utterance.lang, Style(utterance.voice, speed), lambda: False):
        pcm.append(chunk.pcm)
        phonemes += [PhonemeSpan(p.symbol, p.start_ms + REST_MS, p.end_ms + REST_MS) for p in chunk.phonemes]
    return Spoken(utterance, np.concatenate([*pcm, pcm[0]]), tuple(phonemes))


def write(spoken: Spoken, path: Path) -> None:
    """Keep one sentence as .npz."""
    said = spoken.utterance
    about = {"role": said.role, "lang": said.lang, "voice": said.voice, "text": said.text}
    np.savez(
        path, pcm=spoken.pcm, about=json.dumps(about, ensure_ascii=False),
        symbols=np.array([p.symbol for p in spoken.phonemes]),
        times=np.array([(p.start_ms, p.end_ms) for p in spoken.phonemes], np.float64).reshape(-1, 2),
    )  # fmt: skip


def read(path: Path) -> Spoken:
    """The sentence that :func:`write` kept."""
    with np.load(path) as data:
        about = json.loads(str(data["about"]))
        spans = tuple(PhonemeSpan(str(s), float(a), float(b)) for s, (a, b) in zip(data["symbols"], data["times"], strict=True))
        return Spoken(Utterance(**about), data["pcm"], spans)


def synthesise(
    engine: SpeechEngine, planned: list[Utterance], folder: Path, minutes: dict[Role, float], say: Callable[[str], None]
) -> list[Path]:
    """Speak until every role has its minutes; sentences already there are kept. Returns the files in order."""
    folder.mkdir(parents=True, exist_ok=True)
    left = {role: value * 60.0 for role, value in minutes.items()}
    files: list[Path] = []
    for number, utterance in enumerate(planned):
        role = utterance.role
        if left[role] <= 0:
            continue
        path = folder / f"{number:04d}.npz"
        if not path.exists():
            write(speak(engine, utterance, SPEEDS[number % len(SPEEDS)]), path)
        left[role] -= read(path).seconds
        files.append(path)
        if len(files) % 20 == 0:
            to_go = ", ".join(f"{r} {max(0.0, seconds) / 60:.1f} min to go" for r, seconds in left.items())
            say(f"speech: {len(files)} sentences, {to_go}")
    return files
