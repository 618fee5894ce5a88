"""Build the files that :class:`gpu_engine.speech.kokoro.KokoroEngine` runs from the pinned export.

Two vocoders can be made of it: the export's own (8 bits, ranges found while running) and the static one of
:mod:`gpu_engine.speech.quantise`, two and a half times as fast where the processor multiplies bytes well (VNNI, AMX,
recent ARM). Both
are tried on this machine against the float one; the static one is taken when it is true and faster here. Each is written twice:
``vocoder`` with fixed statistics for clauses of ordinary length, ``vocoder_short`` which normalises by window for short ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from gpu_engine.inference.onnx import open_session
from gpu_engine.speech.calibration import load_calibration
from gpu_engine.speech.excitation import Excitation
from gpu_engine.speech.graph import CONTENT, ENERGY, EXCITATION, PITCH, GraphError, float_convolutions, split_kokoro
from gpu_engine.speech.quantise import fuse_normalisation, quantise
from gpu_engine.speech.spectrum import log_mel_distance
from gpu_engine.speech.statistics import INPUT, with_given_statistics
from gpu_engine.speech.voice_table import style_table

_MIX = "onnx::MatMul_6993"
_BIAS = "decoder.decoder.generator.m_source.l_linear.bias"
_PROBE = "ta↘ʨja→ xau↓, xwa→njiŋ↗ lai↗tau↘ ʈʂɨ↗pwo→ʨjɛ→n."
_PROBE_VOICE = "zf_xiaoxiao"
_LARGEST_DISTANCE_DB = 4.0


@dataclass(frozen=True, slots=True)
class _Trial:
    wave: NDArray[np.float32]
    seconds: float


def build(export: bytes, vocab: dict[str, int], out: Path, say: Callable[[str], None]) -> None:
    """Write front.onnx, vocoder.onnx and vocoder_short.onnx, vocoder.json (which kind, why), source.npz and statistics.npz.

    Raises:
        GraphError: the export is not the pinned one.
    """
    pieces = split_kokoro(onnx.load_model_from_string(export))
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in pieces["source"].graph.initializer}
    if _MIX not in constants or _BIAS not in constants:
        raise GraphError("the excitation weights are not in this export: use the pinned Kokoro-82M int8 file")
    mix, bias = constants[_MIX].ravel(), constants[_BIAS].ravel()
    np.savez(out / "source.npz", mix=mix, bias=bias)
    onnx.save(pieces["front"], str(out / "front.onnx"))
    say("  front.onnx")
    measured = load_calibration()
    np.savez(out / "statistics.npz", **measured.statistics)  # type: ignore[arg-type]
    by_window = {
        "static": fuse_normalisation(float_convolutions(pieces["vocoder"])),
        "dynamic": fuse_normalisation(pieces["vocoder"]),
    }
    floating = with_given_statistics(by_window["static"], measured.layout)
    by_window["static"] = quantise(by_window["static"], measured.ranges)
    static = quantise(floating, measured.ranges)
    dynamic = with_given_statistics(by_window["dynamic"], measured.layout)
    feed = _probe(pieces["front"], vocab, Excitation(mix, float(bias[0]))) | {INPUT: measured.statistics[_PROBE_VOICE]}
    reference = _try(floating, feed)
    trials = {"static": _try(static, feed), "dynamic": _try(dynamic, feed)}
    distance = {kind: log_mel_distance(reference.wave, trial.wave, 24_000) for kind, trial in trials.items()}
    take_static = distance["static"] <= _LARGEST_DISTANCE_DB and trials["static"].seconds < trials["dynamic"].seconds
    kind = "static" if take_static else "dynamic"
    onnx.save(static if take_static else dynamic, str(out / "vocoder.onnx"))
    onnx.save(by_window[kind], str(out / "vocoder_short.onnx"))
    seconds = reference.wave.size / 24_000
    report = {
        "kind": kind,
        "distance_to_float_db": {name: round(value, 2) for name, value in distance.items()},
        "real_time_factor": {
            name: round(trial.seconds / seconds, 3) for name, trial in (trials | {"float": reference}).items()
        },
    }
    (out / "vocoder.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    say(
        f"  vocoder.onnx: {kind} int8; on this machine {report['real_time_factor']} of real time, {report['distance_to_float_db']} dB from float"  # noqa: E501
    )


def _probe(front: onnx.ModelProto, vocab: dict[str, int], excite: Excitation) -> dict[str, Any]:
    symbols = [s for s in _PROBE if s in vocab]
    style = style_table(_PROBE_VOICE)[len(symbols)]
    tokens = np.array([[0, *(vocab[s] for s in symbols), 0]], dtype=np.int64)
    feed = {"tokens": tokens, "style": style, "speed": np.ones(1, dtype=np.float32)}
    _, content, pitch, energy = open_session(front.SerializeToString(), cpu_only=True).run(None, feed)
    return {CONTENT: content, PITCH: pitch, ENERGY: energy, "style": style, EXCITATION: excite(pitch[0])}


def _try(model: onnx.ModelProto, feed: dict[str, Any]) -> _Trial:
    session = open_session(model.SerializeToString(), cpu_only=True)
    best, wave = float("inf"), np.zeros(0, dtype=np.float32)
    for _ in range(2):
        started = time.process_time()
        wave = session.run(None, feed)[0]
        best = min(best, time.process_time() - started)
    return _Trial(wave, best)
