"""Mean duration of every phoneme symbol in Kokoro's own durations: writes gpu_engine/speech/phoneme_means.json.

Run with the speech model prepared: ``python -m tests.bench.measure_durations``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from gpu_engine.models import require_kokoro
from gpu_engine.speech import g2p
from gpu_engine.speech.normalise import normalise
from gpu_engine.speech.voice_table import style_table
from tests.bench.speech_texts import SENTENCES

VOICES = {"zh": ("zf_xiaoxiao", "zm_yunxi"), "en": ("af_heart", "am_michael")}
OUT = Path(__file__).resolve().parents[2] / "gpu_engine" / "speech" / "phoneme_means.json"


def main() -> None:
    import onnxruntime

    root = require_kokoro()
    vocab = json.loads((root / "vocab.json").read_text(encoding="utf-8"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    front = onnxruntime.InferenceSession(str(root / "front.onnx"), options)
    means: dict[str, dict[str, float]] = {}
    for lang, texts in SENTENCES.items():
        seen: dict[str, list[float]] = defaultdict(list)
        for text in texts:
            symbols = [s for s in g2p.phonemes(normalise(text, lang).spoken, lang) if s in vocab]
            tokens = np.array([[0, *(vocab[s] for s in symbols), 0]], dtype=np.int64)
            for voice in VOICES[lang]:
                style = style_table(voice)[len(symbols)]
                frames = front.run(None, {"tokens": tokens, "style": style, "speed": np.ones(1, np.float32)})[0][0]
                for symbol, count in zip(symbols[:-1], frames[1:-2], strict=True):
                    seen[symbol].append(25.0 * float(count))
        everything = [value for values in seen.values() for value in values]
        means[lang] = {"*": round(float(np.mean(everything)), 1)}
        means[lang] |= {symbol: round(float(np.mean(values)), 1) for symbol, values in sorted(seen.items()) if len(values) >= 4}
    note = "mean duration in ms of each phoneme symbol in the durations of Kokoro-82M v1.0; '*' is the mean of all"
    OUT.write_text(json.dumps({"note": note, "means_ms": means}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print({lang: len(table) for lang, table in means.items()}, {lang: table["*"] for lang, table in means.items()})


if __name__ == "__main__":
    main()
