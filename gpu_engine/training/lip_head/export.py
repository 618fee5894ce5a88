"""The trained network as ONNX: dynamic batch, checked against torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch

from gpu_engine.inference.onnx import open_session
from gpu_engine.training.lip_head.model import LipHead

OPSET = 17
TOLERANCE = 2e-4


def export(head: LipHead, path: Path, rows: int, columns: int) -> float:
    """Write ``path`` (inputs ``face``, ``audio``; output ``mouth``); returns the largest difference from torch.

    Raises:
        RuntimeError: onnxruntime does not reproduce torch to ``TOLERANCE``.
    """
    head = head.eval().float().to(memory_format=torch.contiguous_format)
    sample = (torch.rand(2, 6, 96, 96), torch.randn(2, rows, columns))
    axes = {name: {0: "batch"} for name in ("face", "audio", "mouth")}
    torch.onnx.export(
        head, sample, str(path), input_names=["face", "audio"], output_names=["mouth"], dynamic_axes=axes,
        opset_version=OPSET, dynamo=False, do_constant_folding=True,
    )  # fmt: skip
    onnx.checker.check_model(str(path))
    session = open_session(path, cpu_only=True)
    worst = 0.0
    for batch in (1, 3, 8):
        face, audio = torch.rand(batch, 6, 96, 96), torch.randn(batch, rows, columns)
        with torch.inference_mode():
            wanted = head(face, audio).numpy()
        got = session.run(None, {"face": face.numpy(), "audio": audio.numpy()})[0]
        worst = max(worst, float(np.abs(wanted - got).max()))
    if worst > TOLERANCE:
        raise RuntimeError(f"{path}: onnxruntime differs from torch by {worst:.2e}, more than {TOLERANCE:.0e}")
    return worst
