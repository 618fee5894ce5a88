"""Measure the ranges for the 8-bit vocoder: ``python -m gpu_engine.speech.calibration EXPORT.onnx``.

Writes ``kokoro_ranges.npz`` beside this file, which ``python -m gpu_engine.models prepare`` uses. Two windows of three
clauses in each of six voices, Chinese and English.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx

from gpu_engine.models import require_kokoro
from gpu_engine.speech import g2p
from gpu_engine.speech.excitation import Excitation
from gpu_engine.speech.graph import CONTENT, ENERGY, EXCITATION, PITCH, float_convolutions, split_kokoro
from gpu_engine.speech.quantise import Ranges, fuse_normalisation, pack_ranges, quantisable, with_range_outputs
from gpu_engine.speech.voice_table import style_table, voices

RANGES_FILE = Path(__file__).resolve().parent / "kokoro_ranges.npz"
_WINDOW = 56
_CLAUSES: dict[Literal["zh", "en"], tuple[str, ...]] = {
    "zh": (
        "大家好，欢迎来到直播间！",
        "原价一百九十九元，今天到手只要七十九元。",
        "这款面料亲肤透气，可以机洗，放心购买吧！",
        "敏感肌可以用吗？可以的，配方里没有酒精。",
        "三号链接，库存还有一千二百三十四件。",
        "充电十分钟，听歌三小时，谢谢大家的支持。",
        "今晚八点半我们还有一轮福利，记得回来看看。",
        "孩子两岁以上就可以玩，零件比较大。",
        "有白色、蓝色和粉色，喜欢的朋友直接下单。",
    ),
    "en": (
        "Hello everyone, and welcome to our live room!",
        "It was forty nine dollars, and now it is only nineteen ninety nine.",
        "The fabric is pure cotton, soft on the skin, and easy to wash.",
        "Is it good for sensitive skin? Yes, there is no alcohol in it.",
        "We have one thousand two hundred pieces left in stock.",
        "Charge it for ten minutes and listen for three hours.",
        "At eight thirty we have another round of offers, so please come back.",
        "If you like a loose fit, please take one size up.",
        "White, blue and pink are all here, thank you for your support!",
    ),
}


def main(arguments: list[str] | None = None) -> int:
    """Command line entry."""
    import onnxruntime

    parser = argparse.ArgumentParser(prog="python -m gpu_engine.speech.calibration")
    parser.add_argument("export", type=Path, help="the pinned Kokoro-82M int8 export")
    options = parser.parse_args(arguments)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    model = fuse_normalisation(float_convolutions(split_kokoro(onnx.load(str(options.export)))["vocoder"]))
    probed, names = with_range_outputs(model)
    session = onnxruntime.InferenceSession(probed.SerializeToString(), session_options)
    low_high: dict[str, Any] = {}
    for feed in _feeds(session_options):
        for name, values in zip(names, session.run(names, feed), strict=True):
            pick = np.maximum if name.endswith("ReduceMax") else np.minimum
            low_high[name] = values if name not in low_high else pick(low_high[name], values)
    ranges = {
        node.name: Ranges(
            float(low_high[f"{node.input[0]}|ReduceMin"].min()),
            float(low_high[f"{node.input[0]}|ReduceMax"].max()),
            low_high[f"{node.output[0]}|ReduceMin"],
            low_high[f"{node.output[0]}|ReduceMax"],
        )
        for node in quantisable(model)
    }
    np.savez_compressed(RANGES_FILE, **pack_ranges(ranges))  # type: ignore[arg-type]
    print(f"{len(ranges)} convolutions -> {RANGES_FILE}")  # noqa: T201
    return 0


def _feeds(session_options: Any) -> list[dict[str, Any]]:
    import onnxruntime

    root = require_kokoro()
    vocab = json.loads((root / "vocab.json").read_text(encoding="utf-8"))
    weights = np.load(root / "source.npz")
    excite = Excitation(weights["mix"], float(weights["bias"][0]))
    front = onnxruntime.InferenceSession(str(root / "front.onnx"), session_options)
    feeds = []
    for number, (voice_id, info) in enumerate(voices().items()):
        lang: Literal["zh", "en"] = "zh" if info.lang == "zh" else "en"
        for text in _CLAUSES[lang][number % 3 :: 3]:
            symbols = [s for s in g2p.phonemes(text, lang) if s in vocab]
            style = style_table(voice_id)[len(symbols)]
            tokens = np.array([[0, *(vocab[s] for s in symbols), 0]], dtype=np.int64)
            _, content, pitch, energy = front.run(None, {"tokens": tokens, "style": style, "speed": np.ones(1, np.float32)})
            excitation = excite(pitch[0])
            frames = content.shape[2]
            for start in (10, max(0, frames - _WINDOW)):
                end = min(frames, start + _WINDOW)
                feeds.append(
                    {
                        CONTENT: content[:, :, start:end],
                        PITCH: pitch[:, 2 * start : 2 * end],
                        ENERGY: energy[:, 2 * start : 2 * end],
                        "style": style,
                        EXCITATION: excitation[:, :, 120 * start : 120 * end + 1],
                    }
                )
    return feeds


if __name__ == "__main__":
    sys.exit(main())
