"""NVIDIA GPUs through nvidia-ml-py: what is there and how loaded it is. Never run on a GPU by this project's own tests."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU at one moment; memory in bytes, ``percent`` of the last sampling period busy."""

    index: int
    uuid: str
    name: str
    memory_bytes: int
    memory_used_bytes: int
    percent: int


def read_gpus() -> list[Gpu]:
    """Every GPU the driver shows; empty without nvidia-ml-py, without a driver, or without a GPU."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    found: list[Gpu] = []
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            found.append(
                Gpu(
                    index=index,
                    uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
                    name=str(pynvml.nvmlDeviceGetName(handle)),
                    memory_bytes=int(memory.total),
                    memory_used_bytes=int(memory.used),
                    percent=int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
                )
            )
    except pynvml.NVMLError as error:
        log.warning("GPU could not be read", error=str(error))
    finally:
        pynvml.nvmlShutdown()
    return found
