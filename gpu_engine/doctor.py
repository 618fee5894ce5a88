"""What this machine can run, what is missing, and the way out: one finding a check."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TypedDict

MIN_FREE_DISK_BYTES = 2_000_000_000
MIN_MEMORY_BYTES = 3_000_000_000


class Finding(TypedDict):
    """One line of the report. ``status``: ok, warn or fail."""

    check: str
    status: str
    detail: str
    way_out: str


def examine() -> list[Finding]:
    """Run every check; a check that breaks is itself a finding."""
    findings: list[Finding] = []
    for name, check in _CHECKS.items():
        try:
            findings.append(check())
        except Exception as error:  # noqa: BLE001 - the doctor reports whatever is broken
            findings.append(_finding(name, "fail", f"{type(error).__name__}: {error}", "reinstall with `make demo`"))
    return findings


def print_report(findings: list[Finding]) -> int:
    """Write the report for a person; exit code 1 when something fails."""
    signs = {"ok": "✓", "warn": "!", "fail": "✗"}
    for finding in findings:
        sys.stdout.write(f"{signs[finding['status']]} {finding['check']:<14} {finding['detail']}\n")
        if finding["way_out"] and finding["status"] != "ok":
            sys.stdout.write(f"  → {finding['way_out']}\n")
    return 1 if any(f["status"] == "fail" for f in findings) else 0


def warm_up() -> int:
    """Compile and cache the renderer's kernels; exit code 0 when they work."""
    return print_report([_renderer(), _label()])


def _finding(check: str, status: str, detail: str, way_out: str = "") -> Finding:
    return Finding(check=check, status=status, detail=detail, way_out=way_out)


def _processor() -> Finding:
    cores = os.cpu_count() or 1
    detail = f"{cores} cores"
    if cores < 2:
        return _finding("processor", "warn", detail, "the demo wants two cores: speech and picture will compete on one")
    return _finding("processor", "ok", detail)


def _memory() -> Finding:
    import psutil

    available = psutil.virtual_memory().available
    detail = f"{available / 1e9:.1f} GB available"
    if available < MIN_MEMORY_BYTES:
        return _finding("memory", "warn", detail, "a session takes about 1.5 GB: close other programs")
    return _finding("memory", "ok", detail)


def _disk() -> Finding:
    free = shutil.disk_usage(".").free
    detail = f"{free / 1e9:.1f} GB free"
    if free < MIN_FREE_DISK_BYTES:
        return _finding("disk", "warn", detail, "a recording takes about 1.2 GB an hour: free some space or turn recording off")
    return _finding("disk", "ok", detail)


def _models() -> Finding:
    from gpu_engine.models import ModelError, require_kokoro

    try:
        models = require_kokoro()
    except ModelError as error:
        return _finding("speech model", "fail", str(error), "run `.venv/bin/python -m gpu_engine.models prepare`")
    return _finding("speech model", "ok", str(models))


def _runtime() -> Finding:
    installed = [name for name in ("onnxruntime", "onnxruntime-gpu") if _version(name)]
    if len(installed) == 2:
        return _finding(
            "onnxruntime", "fail", "onnxruntime and onnxruntime-gpu are both installed and overwrite each other",
            "pip uninstall both, then install one extra: [cpu] or [gpu]",
        )  # fmt: skip
    if not installed:
        return _finding("onnxruntime", "fail", "not installed", "pip install -e .[cpu]")
    return _finding("onnxruntime", "ok", f"{installed[0]} {_version(installed[0])}")


def _codecs() -> Finding:
    import av

    missing = [name for name in ("libx264", "libopus", "aac") if name not in av.codecs_available]
    if missing:
        return _finding("encoders", "fail", f"PyAV lacks {', '.join(missing)}", "reinstall PyAV from its wheel")
    return _finding("encoders", "ok", f"x264, Opus, AAC in PyAV {av.__version__}")


def _label() -> Finding:
    from gpu_engine.session.spec import Text
    from gpu_engine.stage.compositor import Stage, StageError

    for lang, text in (("zh", "AI生成 · 数字人"), ("en", "AI-generated · digital human")):
        try:
            Stage(1280, 720, lang, text).background()
        except StageError as error:
            return _finding("label font", "fail", str(error), "restore gpu_engine/stage/fonts")
    return _finding("label font", "ok", f"draws the AI label in {len(Text.model_fields)} languages")


def _renderer() -> Finding:
    import numpy as np

    from gpu_engine.avatar.library import open_renderer
    from gpu_engine.motion.vocabulary import rest_frame

    renderer = open_renderer("lin", 1280, 720)
    canvas = np.zeros((720, 1280, 3), dtype=np.uint8)
    renderer.render(rest_frame(), canvas)
    started = time.perf_counter()
    for _ in range(10):
        renderer.render(rest_frame(), canvas)
    frame_ms = (time.perf_counter() - started) * 100
    if frame_ms > 30:
        return _finding("renderer", "warn", f"{frame_ms:.1f} ms a frame at 720p", "use a smaller picture (show › video)")
    return _finding("renderer", "ok", f"{frame_ms:.1f} ms a frame at 720p on this processor")


def _gpu() -> Finding:
    from gpu_engine.device.gpus import read_gpus

    found = read_gpus()
    return _finding("GPU", "ok", ", ".join(gpu.name for gpu in found) or "none used: everything runs on the processor")


def _gpu_renderer() -> Finding:
    from gpu_engine.avatar.gl.context import open_context
    from gpu_engine.avatar.renderer import AvatarError

    try:
        context, device = open_context()
    except AvatarError as error:
        return _finding("GPU renderer", "ok", f"not available: {error}")
    context.release()
    if device.software:
        return _finding("GPU renderer", "ok", f"available for tests only: {device.renderer} draws on the processor")
    return _finding("GPU renderer", "ok", f"available on {device.renderer}; never verified on a GPU by this project's tests")


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


_CHECKS: dict[str, Callable[[], Finding]] = {
    "processor": _processor,
    "memory": _memory,
    "disk": _disk,
    "onnxruntime": _runtime,
    "speech model": _models,
    "encoders": _codecs,
    "label font": _label,
    "renderer": _renderer,
    "GPU": _gpu,
    "GPU renderer": _gpu_renderer,
}
