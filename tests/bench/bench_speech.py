"""Speech on one thread: first audio, real-time factor, what the ASR hears, windows against the undivided clause.

``python -m tests.bench.bench_speech``; the table has the goal beside each figure, the JSON goes to var/bench/speech.json.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.models import models_dir, require_kokoro, require_whisper
from gpu_engine.speech.engine import Style
from gpu_engine.speech.kokoro import KokoroEngine
from gpu_engine.speech.normalise import normalise
from gpu_engine.speech.spectrum import log_mel_distance
from gpu_engine.speech.splitter import split_clauses
from tests.bench.speech_texts import SENTENCES

OUT = Path("var/bench/speech.json")
VOICES = {"zh": "zf_xiaoxiao", "en": "af_heart"}
SPOKEN_PRICES = (
    ("这款面膜到手价只要19.9元。", "zh", r"19\.9|十九点九|19点9"),
    ("原价1,299元，现在699元。", "zh", r"1,?299.*699"),
    ("The price is $19.99 today.", "en", r"19\.99"),
    ("It was $1,299 and now it is $699.", "en", r"1,?299.*699"),
)


def speak(engine: KokoroEngine, spoken: str, lang: str) -> tuple[Any, float, float]:
    """(PCM, wall ms to the first piece, CPU seconds)."""
    started, cpu = time.perf_counter(), time.process_time()
    first_ms, pieces = 0.0, []
    for chunk in engine.synthesize(spoken, lang, Style(VOICES[lang]), lambda: False):
        first_ms = first_ms or (time.perf_counter() - started) * 1000
        pieces.append(chunk.pcm)
    return np.concatenate(pieces), first_ms, time.process_time() - cpu


def measure() -> list[tuple[str, str, str]]:
    """Rows of (what, figure, goal)."""
    started = time.perf_counter()
    engine = KokoroEngine()
    engine.warm()
    rows = [("load and warm up", f"{time.perf_counter() - started:.1f} s", "-")]
    for lang in ("zh", "en"):
        texts = [normalise(c.text, lang).spoken for t in SENTENCES[lang][:5] for c in split_clauses(t, lang)]
        runs = [speak(engine, text, lang) for text in texts]
        firsts = [first for _, first, _ in runs]
        seconds = sum(pcm.size for pcm, _, _ in runs) / 48_000
        factor = sum(cpu for _, _, cpu in runs) / seconds
        rows.append(
            (
                f"{lang}: first audio of a clause, wall p50 / max of {len(runs)}",
                f"{np.median(firsts):.0f} / {max(firsts):.0f} ms",
                "150 ms",
            )
        )
        rows.append((f"{lang}: CPU seconds a second of speech, one thread", f"{factor:.2f}", "0.50"))
    whole = KokoroEngine(windowed=False)
    for lang in ("zh", "en"):
        text = normalise(SENTENCES[lang][2], lang).spoken
        windows, entire = speak(engine, text, lang)[0], speak(whole, text, lang)[0]
        rows.append(
            (
                f"{lang}: windows against the undivided clause, log-mel",
                f"{log_mel_distance(entire / 32768, windows / 32768, 48_000):.2f} dB",
                "1 dB",
            )
        )
    return [
        *rows,
        ("vocoder on this machine", str(json.loads((require_kokoro() / "vocoder.json").read_text())["real_time_factor"]), "-"),
        recognised(engine),
    ]


def recognised(engine: KokoroEngine) -> tuple[str, str, str]:
    """How many of the spoken prices the recogniser writes as they were."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(require_whisper()), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)
    right = 0
    for text, lang, pattern in SPOKEN_PRICES:
        pcm = speak(engine, normalise(text, lang).spoken, lang)[0].astype(np.float32) / 32768  # type: ignore[arg-type]
        wave = np.convolve(pcm, np.ones(3, dtype=np.float32) / 3, mode="same")[::3]
        segments, _ = model.transcribe(wave, language=lang, beam_size=5)
        right += bool(re.search(pattern, "".join(s.text for s in segments)))
    return ("prices the recogniser writes right", f"{right} of {len(SPOKEN_PRICES)}", f"{len(SPOKEN_PRICES)}")


def main() -> None:
    load = os.getloadavg()[0]
    rows = measure()
    print(f"speech, models in {models_dir().name}, {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at start")
    for what, figure, goal in rows:
        print(f"  {what:62} {figure:>40}   goal {goal}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        json.dumps(
            {"machine": platform.machine(), "cores": os.cpu_count(), "load": load, "rows": rows}, ensure_ascii=False, indent=1
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
