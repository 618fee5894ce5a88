"""Build the files that :class:`gpu_engine.speech.kokoro.KokoroEngine` runs from the pinned export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from gpu_engine.speech.graph import GraphError, split_kokoro

_MIX = "onnx::MatMul_6993"
_BIAS = "decoder.decoder.generator.m_source.l_linear.bias"


def build(export: bytes, vocab: dict[str, int], out: Path, say: Callable[[str], None]) -> None:
    """Write front.onnx, vocoder.onnx and source.npz (weights of the excitation) to ``out``.

    Raises:
        GraphError: the export is not the pinned one.
    """
    pieces = split_kokoro(onnx.load_model_from_string(export))
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in pieces["source"].graph.initializer}
    if _MIX not in constants or _BIAS not in constants:
        raise GraphError("the excitation weights are not in this export: use the pinned Kokoro-82M int8 file")
    np.savez(out / "source.npz", mix=constants[_MIX].ravel(), bias=constants[_BIAS].ravel())
    for name in ("front", "vocoder"):
        onnx.save(pieces[name], str(out / f"{name}.onnx"))
        say(f"  {name}.onnx")
