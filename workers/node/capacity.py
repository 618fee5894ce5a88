"""What this machine is and how loaded it is, for placement and for the console's tiles."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from gpu_engine.device.gpus import read_gpus


def hardware(disk: Path) -> dict[str, Any]:
    """Fixed facts: processor, memory, free disk under ``disk`` (bytes) and GPUs, as measured here."""
    return {
        "cpu": _cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "disk_free_bytes": psutil.disk_usage(str(disk)).free,
        "system": f"{platform.system()} {platform.release()}",
        "gpus": [{key: gpu[key] for key in ("index", "uuid", "name", "memory_bytes")} for gpu in gpus()],
    }


def load(disk: Path) -> dict[str, Any]:
    """Figures of this moment: processor percent since the last call, memory and disk left, per-GPU use."""
    memory = psutil.virtual_memory()
    return {
        "cpu_percent": psutil.cpu_percent(),
        "memory_available_bytes": memory.available,
        "disk_free_bytes": psutil.disk_usage(str(disk)).free,
        "gpus": [{key: gpu[key] for key in ("index", "percent", "memory_used_bytes")} for gpu in gpus()],
    }


def gpus() -> list[dict[str, Any]]:
    """One entry per NVIDIA GPU; see :func:`gpu_engine.device.gpus.read_gpus`."""
    return [asdict(gpu) for gpu in read_gpus()]


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()
