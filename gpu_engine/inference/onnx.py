"""ONNX Runtime sessions as a live session needs them: few threads, none of them spinning, provider chosen and reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PREFERRED = ("CUDAExecutionProvider", "CPUExecutionProvider")
_OPTIONS: dict[str, dict[str, str]] = {
    "TensorrtExecutionProvider": {"trt_fp16_enable": "1", "trt_max_workspace_size": str(4 << 30)},
}


class InferenceError(RuntimeError):
    """The network cannot be opened; the message names what is missing and the way out."""


def open_session(
    model: Path | bytes, *, threads: int = 1, cpu_only: bool = False, providers: Sequence[str] | None = None
) -> Any:
    """An ``onnxruntime.InferenceSession`` for a file or a serialised model.

    Spinning threads would fight the renderer for the cores, so none spin. With ``cpu_only`` a GPU is not used even where
    there is one (networks whose 8-bit operators exist on the CPU alone). ``providers`` names execution providers in order of
    preference; those that this onnxruntime lacks are left out, and the CPU always stands behind them.

    Raises:
        InferenceError: onnxruntime is not installed, or refuses the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise InferenceError("onnxruntime is not installed: install one extra, [cpu] or [gpu]") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    available = onnxruntime.get_available_providers()
    wanted = _PREFERRED if providers is None else (*providers, "CPUExecutionProvider")
    chosen = [p for p in dict.fromkeys(wanted) if p in available and not (cpu_only and p != "CPUExecutionProvider")]
    source = str(model) if isinstance(model, Path) else model
    try:
        return onnxruntime.InferenceSession(source, options, providers=[(p, _OPTIONS.get(p, {})) for p in chosen])
    except Exception as error:
        name = model if isinstance(model, Path) else "a model in memory"
        raise InferenceError(f"onnxruntime refuses {name}: {error}") from error
