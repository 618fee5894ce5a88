"""Finished recordings on their way to the platform: one at a time per node, tried again until taken or refused for good."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import structlog

from workers.node.journal import RunDirectory, RunRecord
from workers.node.platform_client import PlatformClient, PlatformUnavailable, UploadRefused

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Job:
    run: RunDirectory
    record: RunRecord
    path: Path
    duration_s: float


class Uploader:
    """A queue of files and the task that empties it. What is done is written in the run's record, so nothing goes up twice."""

    def __init__(self, client: PlatformClient, *, first_delay_s: float = 1.0, max_delay_s: float = 30.0) -> None:
        self._client = client
        self._delays_s = (first_delay_s, max_delay_s)
        self._jobs: deque[_Job] = deque()
        self._wake = asyncio.Event()

    def add(self, run: RunDirectory, record: RunRecord, path: Path, duration_s: float) -> None:
        """Queue one finished file of a run; ignored unless it lies in the run's recordings folder."""
        if path.parent != run.recordings or path.name in record.uploaded or path.name in record.upload_refused:
            return
        if all(job.path != path for job in self._jobs):
            self._jobs.append(_Job(run, record, path, duration_s))
            self._wake.set()

    def add_remaining(self, run: RunDirectory, record: RunRecord) -> None:
        """The engine is gone: whatever it left is finished. Fragmented MP4 plays without its end."""
        if run.recordings.is_dir():
            for path in sorted(run.recordings.glob("*.mp4")):
                if path.stat().st_size > 0:
                    self.add(run, record, path, _duration_s(path))

    def is_done(self, run: RunDirectory) -> bool:
        """Whether nothing of this run waits."""
        return all(job.run.path != run.path for job in self._jobs)

    async def run(self) -> None:
        """Upload for ever."""
        delay_s = self._delays_s[0]
        while True:
            while not self._jobs:
                self._wake.clear()
                await self._wake.wait()
            job = self._jobs[0]
            try:
                await self._upload(job)
                delay_s = self._delays_s[0]
                self._jobs.popleft()
            except PlatformUnavailable as error:
                log.warning("upload waits", file=job.path.name, error=str(error), again_in_s=delay_s)
                self._jobs.rotate(-1)
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, self._delays_s[1])

    async def _upload(self, job: _Job) -> None:
        record, path = job.record, job.path
        try:
            await self._client.upload_recording(record.session, record.epoch, path, duration_s=job.duration_s)
        except FileNotFoundError:
            record.upload_refused.append(path.name)
            log.warning("recording vanished before its upload", file=path.name)
        except UploadRefused as refusal:
            record.upload_refused.append(path.name)
            log.warning("recording refused; it stays on this node", file=str(path), reason=str(refusal))
        else:
            record.uploaded.append(path.name)
            with contextlib.suppress(OSError):
                path.unlink()
            log.info("recording uploaded", file=path.name)
        job.run.save(record)


def _duration_s(path: Path) -> float:
    """Playing time as the file states it, 0 when it cannot be read: a recording of a killed engine may lack its index."""
    import av

    try:
        with av.open(str(path)) as container:
            if container.duration is not None:
                return float(container.duration) / float(av.time_base)
    except (av.FFmpegError, OSError, ValueError) as error:
        log.warning("recording has no readable duration", file=path.name, error=str(error))
    return 0.0
