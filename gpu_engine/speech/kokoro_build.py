"""Build the files that :class:`gpu_engine.speech.kokoro.KokoroEngine` runs from the pinned export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx

from gpu_engine.speech.graph import split_kokoro


def build(export: bytes, vocab: dict[str, int], out: Path, say: Callable[[str], None]) -> None:
    """Write front.onnx, source.onnx and vocoder.onnx to ``out``."""
    for name, piece in split_kokoro(onnx.load_model_from_string(export)).items():
        onnx.save(piece, str(out / f"{name}.onnx"))
        say(f"  {name}.onnx")
