"""Measure what the vocoder's build needs: ``python -m gpu_engine.speech.calibration EXPORT.onnx``.

Writes ``kokoro_calibration.npz`` beside this file, which ``python -m gpu_engine.models prepare`` uses: the
normalisation statistics of
every shipped voice (whole clauses of it) and the 8-bit ranges of the convolutions (a window of each clause).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray

from gpu_engine.inference.onnx import open_session
from gpu_engine.models import require_kokoro
from gpu_engine.speech import g2p
from gpu_engine.speech.excitation import Excitation
from gpu_engine.speech.graph import CONTENT, ENERGY, EXCITATION, PITCH, float_convolutions, split_kokoro
from gpu_engine.speech.quantise import Ranges, fuse_normalisation, pack_ranges, quantisable, unpack_ranges, with_range_outputs
from gpu_engine.speech.statistics import (
    INPUT,
    Layout,
    normalised_tensors,
    pooled,
    with_given_statistics,
    with_statistics_outputs,
)
from gpu_engine.speech.voice_table import style_table, voices

CALIBRATION_FILE = Path(__file__).resolve().parent / "kokoro_calibration.npz"
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


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is measured once and shipped: layout and per-voice float32[2, K] statistics, ranges by convolution name."""

    layout: Layout
    statistics: dict[str, NDArray[np.float32]]
    ranges: dict[str, Ranges]


def load_calibration(path: Path = CALIBRATION_FILE) -> Calibration:
    """The shipped measurement."""
    with np.load(path) as arrays:
        tensors, channels = json.loads(str(arrays["layout"]))
        statistics = {key.removeprefix("voice|"): arrays[key] for key in arrays.files if key.startswith("voice|")}
        ranges = unpack_ranges({key.removeprefix("range|"): arrays[key] for key in arrays.files if key.startswith("range|")})
    return Calibration(Layout(tuple(tensors), tuple(channels)), statistics, ranges)


@dataclass(frozen=True, slots=True)
class _Clause:
    voice: str
    frames: int
    feed: dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.speech.calibration")
    parser.add_argument("export", type=Path, help="the pinned Kokoro-82M int8 export")
    options = parser.parse_args(arguments)
    pieces = split_kokoro(onnx.load(str(options.export)))
    model = fuse_normalisation(float_convolutions(pieces["vocoder"]))
    clauses = _clauses()
    layout, statistics = _measure_statistics(model, clauses)
    ranges = _measure_ranges(with_given_statistics(model, layout), clauses, statistics)
    arrays: dict[str, Any] = {"layout": json.dumps([layout.tensors, layout.channels])}
    arrays |= {f"voice|{name}": values for name, values in statistics.items()}
    arrays |= {f"range|{name}": values for name, values in pack_ranges(ranges).items()}
    np.savez_compressed(CALIBRATION_FILE, **arrays)
    print(f"{len(statistics)} voices, {len(layout.tensors)} normalisations, {len(ranges)} convolutions -> {CALIBRATION_FILE}")  # noqa: T201
    return 0


def _measure_statistics(model: onnx.ModelProto, clauses: list[_Clause]) -> tuple[Layout, dict[str, NDArray[np.float32]]]:
    probed, names = with_statistics_outputs(model)
    session = open_session(probed.SerializeToString(), cpu_only=True)
    found: dict[str, list[tuple[int, list[Any]]]] = {}
    for clause in clauses:
        found.setdefault(clause.voice, []).append((clause.frames, session.run(names, clause.feed)))
    first = found[clauses[0].voice][0][1]
    layout = Layout(tuple(normalised_tensors(model)), tuple(int(values.shape[0]) for values in first[0::2]))
    pools = {
        voice: pooled(
            [values[0::2] for _, values in runs], [values[1::2] for _, values in runs], [float(frames) for frames, _ in runs]
        )
        for voice, runs in found.items()
    }
    return layout, pools


def _measure_ranges(
    model: onnx.ModelProto, clauses: list[_Clause], statistics: dict[str, NDArray[np.float32]]
) -> dict[str, Ranges]:
    probed, names = with_range_outputs(model)
    session = open_session(probed.SerializeToString(), cpu_only=True)
    low_high: dict[str, Any] = {}
    for number, clause in enumerate(clauses):
        start = (10, max(0, clause.frames - _WINDOW), max(0, clause.frames // 2 - _WINDOW // 2))[number % 3]
        feed = _window(clause.feed, start, min(clause.frames, start + _WINDOW)) | {INPUT: statistics[clause.voice]}
        for name, values in zip(names, session.run(names, feed), strict=True):
            pick = np.maximum if name.endswith("ReduceMax") else np.minimum
            low_high[name] = values if name not in low_high else pick(low_high[name], values)
    return {
        node.name: Ranges(
            float(low_high[f"{node.input[0]}|ReduceMin"].min()),
            float(low_high[f"{node.input[0]}|ReduceMax"].max()),
            low_high[f"{node.output[0]}|ReduceMin"],
            low_high[f"{node.output[0]}|ReduceMax"],
        )
        for node in quantisable(model)
    }


def _window(feed: dict[str, Any], start: int, end: int) -> dict[str, Any]:
    return {
        CONTENT: feed[CONTENT][:, :, start:end],
        PITCH: feed[PITCH][:, 2 * start : 2 * end],
        ENERGY: feed[ENERGY][:, 2 * start : 2 * end],
        "style": feed["style"],
        EXCITATION: feed[EXCITATION][:, :, 120 * start : 120 * end + 1],
    }


def _clauses() -> list[_Clause]:
    root = require_kokoro()
    vocab = json.loads((root / "vocab.json").read_text(encoding="utf-8"))
    weights = np.load(root / "source.npz")
    excite = Excitation(weights["mix"], float(weights["bias"][0]))
    front = open_session(root / "front.onnx", cpu_only=True)
    clauses = []
    for number, (voice_id, info) in enumerate(voices().items()):
        lang: Literal["zh", "en"] = "zh" if info.lang == "zh" else "en"
        for text in _CLAUSES[lang][number % 2 :: 2]:
            symbols = [s for s in g2p.phonemes(text, lang) if s in vocab]
            style = style_table(voice_id)[len(symbols)]
            tokens = np.array([[0, *(vocab[s] for s in symbols), 0]], dtype=np.int64)
            _, content, pitch, energy = front.run(None, {"tokens": tokens, "style": style, "speed": np.ones(1, np.float32)})
            feed = {CONTENT: content, PITCH: pitch, ENERGY: energy, "style": style, EXCITATION: excite(pitch[0])}
            clauses.append(_Clause(voice_id, content.shape[2], feed))
    return clauses


if __name__ == "__main__":
    sys.exit(main())
