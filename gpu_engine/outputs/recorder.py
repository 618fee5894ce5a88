"""The recording: one MP4 part per stretch of unbroken stream, written by a thread of its own.

``show.mp4``, then ``show.part2.mp4`` … when the body or the outlet was restarted, the picture's parameters changed, or the
disk was full for a while. An existing file is never touched.
"""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import structlog

from gpu_engine.outputs import h264
from gpu_engine.outputs.hub import AccessUnit, EncodedHub
from gpu_engine.outputs.mp4 import FragmentedMp4
from gpu_engine.outputs.reports import Reports
from gpu_engine.session.packets import Media
from gpu_engine.session.spec import RecordingOutput

log = structlog.get_logger(__name__)

MIN_FREE_BYTES = 64 * 1024 * 1024
RETRY_S = 5.0
_FREE_CHECK_MS = 2_000
_MAX_PARTS = 10_000


class DiskFull(OSError):
    """Not enough room to go on; the message says where, how much there is and how much is wanted."""


class Recorder:
    """Writes one RecordingOutput until the stream ends."""

    kind = "recording"

    def __init__(
        self, output: RecordingOutput, hub: EncodedHub, reports: Reports, *, min_free_bytes: int = MIN_FREE_BYTES
    ) -> None:
        self.id = output.id
        self._path = Path(output.path)
        self._hub = hub
        self._reports = reports
        self._min_free_bytes = min_free_bytes
        self._queue = hub.subscribe(self.id, (Media.H264, Media.AAC), limit_ms=10_000, limit_bytes=32 * 1024 * 1024)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"record-{self.id}")
        self._file: FragmentedMp4 | None = None
        self._not_on_disk: list[AccessUnit] = []
        self._free_checked_ms = 0
        self._written: list[AccessUnit] = []
        self._parts: list[dict[str, Any]] = []
        # A finished part may have been moved away by now; its name stays its own.
        self._used: set[Path] = set()

    async def run(self) -> None:
        """Record until the stream ends. A disk that fails ends a part, never anything else; it is tried again."""
        try:
            self._reports.state(self.id, self.kind, "connecting")
            while batch := await self._queue.get_batch():
                await self._record(batch)
            await self.close()
        finally:
            self._hub.unsubscribe(self._queue)

    async def _record(self, batch: list[AccessUnit]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._write, batch)
        except (OSError, ValueError, av.error.FFmpegError) as error:
            detail = _explain(self._path, error)
            log.warning("recording stopped", output=self.id, detail=detail)
            await loop.run_in_executor(self._thread, self._abandon)
            self._tell_written()
            self._reports.state(self.id, self.kind, "down", detail)
            await self._hub.wait_ended(RETRY_S)
            self._queue.restart()
        else:
            self._tell_written()

    async def close(self) -> None:
        """Finish the open part."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._finish)
        except (OSError, av.error.FFmpegError) as error:
            self._reports.state(self.id, self.kind, "down", _explain(self._path, error))
        else:
            self._tell_written()
            self._reports.state(self.id, self.kind, "finished")
        finally:
            self._thread.shutdown(wait=False)

    # --- on the recorder's thread ---------------------------------------------------------------------------------

    def _write(self, batch: list[AccessUnit]) -> None:
        for unit in batch:
            if self._file is not None and self._is_another_stream(unit):
                self._finish()
            if self._file is None:
                if not (unit.is_video and unit.packet.key):
                    continue
                self._require_room()
                self._file = FragmentedMp4(self._free_path(), unit)
                self._used.add(self._file.path)
                self._report_part(finished=False)
            self._not_on_disk.append(unit)
            if self._file.write([unit]):
                self._settle(self._not_on_disk[:-1])
                self._not_on_disk = [unit]
        if self._file is not None and self._file.seconds * 1000 - self._free_checked_ms >= _FREE_CHECK_MS:
            self._free_checked_ms = round(self._file.seconds * 1000)
            self._require_room()

    def _is_another_stream(self, unit: AccessUnit) -> bool:
        assert self._file is not None
        if unit.info.incarnation != self._file.info.incarnation:
            return True
        if not (unit.is_video and unit.packet.key):
            return False
        sets = h264.parameter_sets(h264.split_nals(unit.packet.data))
        return sets is not None and sets != self._file.parameter_sets

    def _require_room(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._path.parent).free
        if free < self._min_free_bytes:
            raise DiskFull(
                f"{self._path.parent} has {free // 1_048_576} MiB free, a recording needs {self._min_free_bytes // 1_048_576}: "
                "free some space or record elsewhere"
            )

    def _free_path(self) -> Path:
        for number in range(1, _MAX_PARTS):
            path = self._path if number == 1 else self._path.with_suffix(f".part{number}{self._path.suffix}")
            if path not in self._used and not path.exists():
                return path
        raise OSError(f"{self._path} has {_MAX_PARTS - 1} parts already: choose another path")

    def _finish(self) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        file.close()
        self._settle(self._not_on_disk)
        self._not_on_disk = []
        self._free_checked_ms = 0
        self._report_part(finished=True, file=file)

    def _abandon(self) -> None:
        """Close a part that could not be written to the end; what reached the disk stays and plays."""
        try:
            self._finish()
        except (OSError, av.error.FFmpegError) as error:
            log.warning("recording part not finished", output=self.id, error=str(error))
        self._not_on_disk = []
        self._free_checked_ms = 0

    # --- told to the outlet on its own thread ------------------------------------------------------------------------

    def _settle(self, units: list[AccessUnit]) -> None:
        self._written.extend(units)

    def _report_part(self, *, finished: bool, file: FragmentedMp4 | None = None) -> None:
        part = file or self._file
        assert part is not None
        self._parts.append(
            {
                "id": self.id,
                "path": str(part.path),
                "started_media_s": part.start_ms / 1000,
                "seconds": part.seconds if finished else 0.0,
                "bytes": part.bytes_written,
                "finished": finished,
            }
        )

    def _tell_written(self) -> None:
        for part in self._parts:
            self._reports.event("recording", **part)
            if not part["finished"]:
                self._reports.state(self.id, self.kind, "up")
        for unit in self._written:
            self._reports.accepted(self.id, unit)
        self._parts.clear()
        self._written.clear()


def _explain(path: Path, error: Exception) -> str:
    if isinstance(error, DiskFull | ValueError):
        return str(error)
    reason = getattr(error, "strerror", None) or str(error)
    return f"recording to {path} failed: {reason}: check the disk and the folder's permissions"
