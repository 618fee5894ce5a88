"""One engine of one (session, epoch): start it, watch it, start it again in the same epoch when it dies, end it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from gpu_engine.session.control import Event, Metrics, Reply
from workers.contracts.node import CallError, NodeSessionState
from workers.node.engine_link import EngineLink, EngineUnavailable
from workers.node.journal import RunDirectory, RunRecord, write_private
from workers.node.lease import Lease
from workers.node.outgoing import Outgoing
from workers.node.platform_client import PlatformUnavailable, SpecRefused
from workers.node.process import EngineProcess, kill_leftovers

log = structlog.get_logger(__name__)

SPEC_REFUSED_EXIT = 2
"""Exit code of ``python -m gpu_engine session`` for a show file it cannot use: starting again would not help."""

FetchSpec = Callable[[str, int], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class SupervisionOptions:
    """Times of supervision; all in seconds."""

    engine_command: tuple[str, ...] = (sys.executable, "-m", "gpu_engine", "session")
    init_timeout_s: float = 180.0
    """From spawn to an answering control socket; a first start compiles kernels and loads models."""
    ping_interval_s: float = 5.0
    ping_timeout_s: float = 5.0
    pings_missed_before_kill: int = 4
    stop_grace_s: float = 25.0
    """An engine drains what it is saying and finishes its recording."""
    fence_grace_s: float = 2.0
    terminate_grace_s: float = 3.0
    deaths_before_failure: int = 3
    deaths_window_s: float = 60.0
    restart_delays_s: tuple[float, ...] = (0.0, 1.0)
    min_free_disk_bytes: int = 500_000_000
    connect_interval_s: float = 0.1


@dataclass
class _Ending:
    """Why an engine is to be ended, once asked."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""
    fenced: bool = False
    deadline_s: float = float("inf")
    """Monotonic time by which the engine is to have ended by itself; a later wish may bring it forward, never put it off."""

    def within(self, grace_s: float) -> None:
        """Leave it this long from now, at most."""
        self.deadline_s = min(self.deadline_s, time.monotonic() + grace_s)


class SessionSupervisor:
    """Owns one run. :meth:`run` ends when the run is final (ended, failed) or fenced."""

    def __init__(
        self, *, run: RunDirectory, record: RunRecord, owed: Outgoing, lease: Lease, fetch_spec: FetchSpec,
        on_recording: Callable[[Path, float], None], options: SupervisionOptions,
    ) -> None:  # fmt: skip
        self.run_directory = run
        self.record = record
        self.lease = lease
        self.owed = owed
        self._fetch_spec = fetch_spec
        self._on_recording = on_recording
        self._options = options
        self._ending = _Ending(reason=record.stop_reason)
        if record.stop_reason:
            self._ending.within(options.stop_grace_s)
            self._ending.asked.set()
        self._link: EngineLink | None = None
        self._process: EngineProcess | None = None
        self._engine_reason = ""
        self._engine_ended = False
        self.fenced = False

    # --- asked from outside -----------------------------------------------------------------------------------------

    def request_stop(self, reason: str, grace_s: float | None = None) -> None:
        """End cleanly; remembered, so that a restarted agent ends it too."""
        self._ending.within(self._options.stop_grace_s if grace_s is None else grace_s)
        if not self._ending.asked.is_set():
            self._ending.reason = reason
            self.record.stop_reason = reason
            self.run_directory.save(self.record)
            self._ending.asked.set()

    def fence(self) -> None:
        """Another epoch owns the session: this engine goes at once and says nothing more."""
        self.lease.refuse()
        self.fenced = True
        self._ending.fenced = True
        self._ending.within(self._options.fence_grace_s)
        self._ending.reason = "another epoch owns the session"
        self._ending.asked.set()

    def give_up(self, reason: str) -> None:
        """Supervision itself failed: end the engine and the run."""
        kill_leftovers(self.run_directory.path, self.record.pid)
        self._set_state(NodeSessionState.FAILED, reason)

    def kill(self) -> None:
        """End the engine without asking; :meth:`run` then concludes as for any end that was asked for."""
        if self._process is not None:
            self._process.kill()

    async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> Reply:
        """Ask the engine; never raises, an engine that cannot answer is an error reply."""
        link = self._link
        if link is None:
            return Reply(0, error=CallError.UNAVAILABLE, detail="the engine is not running yet: try again in a moment")
        try:
            return await link.call(method, params, timeout_s)
        except EngineUnavailable as error:
            return Reply(0, error=error.code, detail=error.detail)

    # --- life -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Supervise until the run is over."""
        record = self.record
        process = EngineProcess.adopt(record.pid, record.pid_started_s, self.run_directory.path)
        if process is not None:
            log.info("engine adopted", session=record.session, epoch=record.epoch, pid=record.pid)
        elif record.pid:
            kill_leftovers(self.run_directory.path, record.pid)
            self._note_death("the engine died while no agent watched it")
        while not record.is_final and not self.fenced:
            if process is None:
                process = await self._start()
                if process is None:
                    continue
            self._process = process
            code = await self._attend(process)
            self._process = None
            process.kill()
            process.close()
            process = None
            self._conclude(code)
        self.run_directory.forget_secrets()

    async def _start(self) -> EngineProcess | None:
        """A new engine, or None when the run became final (or fenced) instead."""
        if not await self._may_start():
            return None
        try:
            spec = await self._spec()
            self._refuse_full_disk()
            self._engine_reason, self._engine_ended = "", False
            self.record.starts += 1
            write_private(self.run_directory.spec, json.dumps(self._placed_here(spec), ensure_ascii=False).encode())
            arguments = ["--spec", str(self.run_directory.spec), "--run-dir", str(self.run_directory.path)]
            process = EngineProcess.spawn(
                [*self._options.engine_command, *arguments], run_dir=self.run_directory.path,
                log=self.run_directory.log, env=_engine_environment(),
            )  # fmt: skip
        except SpecRefused as refusal:
            log.info("spec refused", session=self.record.session, epoch=self.record.epoch, detail=str(refusal))
            if self._ending.asked.is_set() and not self.fenced:
                self._set_state(NodeSessionState.ENDED, self._ending.reason)
            else:
                self.fence()
            return None
        except OSError as error:
            self._set_state(NodeSessionState.FAILED, f"the engine could not be started: {error}")
            return None
        self.record.pid, self.record.pid_started_s = process.pid, process.started_s
        self.record.clock_base_ms = 0
        self._set_state(NodeSessionState.STARTING, "")
        return process

    async def _may_start(self) -> bool:
        """Wait for the back-off and for a lease in force; false when the run is to end instead."""
        record = self.record
        delays = self._options.restart_delays_s
        if record.death_times_s:
            await self._wait_ending(delays[min(len(record.death_times_s), len(delays)) - 1])
        while not self._ending.asked.is_set() and not self.lease.may_open:
            await self._wait_ending(0.2)
        if self._ending.asked.is_set():
            if not self.fenced:
                self._set_state(NodeSessionState.ENDED, self._ending.reason)
            return False
        return True

    async def _wait_ending(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ending.asked.wait(), timeout_s)

    async def _spec(self) -> dict[str, Any]:
        """The show: fetched anew each start, so that prices are today's; the file of an earlier start while the
        platform is away."""
        delay_s = 0.5
        while True:
            try:
                return await self._fetch_spec(self.record.session, self.record.epoch)
            except PlatformUnavailable as error:
                if self.run_directory.spec.exists():
                    stored: dict[str, Any] = json.loads(self.run_directory.spec.read_bytes())
                    return stored
                log.warning("spec not available yet", session=self.record.session, error=str(error))
            await self._wait_ending(delay_s)
            if self._ending.asked.is_set():
                raise SpecRefused("the session was stopped before it started")
            delay_s = min(delay_s * 2, 4.0)

    def _placed_here(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Fill in what only the node knows: where recordings and the speech cache are, and the last cursor."""
        placed = dict(spec)
        if self.record.cursor is not None:
            keys = ("loop", "segment_index", "line_index", "sentence_index")
            placed["cursor"] = {key: int(self.record.cursor.get(key, 0)) for key in keys}
        outputs = []
        for output in spec.get("outputs", ()):
            if output.get("kind") == "recording":
                name = f"{self.record.session}.{self.record.epoch}.{self.record.starts}.mp4"
                output = {**output, "path": str(self.run_directory.recordings / name)}
            outputs.append(output)
        placed["outputs"] = outputs
        cache = self.run_directory.path.parent.parent / "cache" / str(spec.get("tenant_id", "local"))
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        placed["cache_dir"] = str(cache)
        return placed

    def _refuse_full_disk(self) -> None:
        free = shutil.disk_usage(self.run_directory.path).free
        if free < self._options.min_free_disk_bytes:
            raise OSError(
                f"only {free // 1_000_000} MB are free under {self.run_directory.path}, a show needs "
                f"{self._options.min_free_disk_bytes // 1_000_000} MB: free space or set LUMIHOST_VAR to another disk"
            )

    # --- attending a running engine ---------------------------------------------------------------------------------

    async def _attend(self, process: EngineProcess) -> int | None:
        """Until the process is gone, by itself or because it was to end; its exit code if known."""
        gone = asyncio.create_task(process.wait())
        link = asyncio.create_task(self._keep_link(process))
        ending = asyncio.create_task(self._ending.asked.wait())
        try:
            await asyncio.wait({gone, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await self._end(process, gone)
            code = await gone
            # The engine's last events may still be in the socket.
            await asyncio.wait({link}, timeout=0.5)
            return code
        finally:
            for task in (gone, link, ending):
                task.cancel()
            await asyncio.gather(gone, link, ending, return_exceptions=True)
            self._link = None

    async def _end(self, process: EngineProcess, gone: asyncio.Task[int | None]) -> None:
        ending = self._ending
        if not ending.fenced:
            self._set_state(NodeSessionState.STOPPING, ending.reason)
            reply = await self.call("stop", {"reason": ending.reason}, 2.0)
            if reply.error:
                process.terminate()
            while (left_s := ending.deadline_s - time.monotonic()) > 0:
                if await _gone_within(gone, min(left_s, 0.25)):
                    return
        process.terminate()
        patience_s = self._options.fence_grace_s if ending.fenced else self._options.terminate_grace_s
        if not await _gone_within(gone, patience_s):
            log.warning("engine killed", session=self.record.session, epoch=self.record.epoch, pid=process.pid)
            process.kill()

    async def _keep_link(self, process: EngineProcess) -> None:
        """Connect, read and ping; kill an engine that never came up or no longer answers."""
        started_s = time.monotonic()
        while process.running:
            try:
                link = await EngineLink.connect(self.run_directory.control_socket)
            except OSError:
                if time.monotonic() - started_s > self._options.init_timeout_s:
                    log.warning("engine did not come up", session=self.record.session, pid=process.pid)
                    self._engine_reason = f"the engine did not come up within {self._options.init_timeout_s:g} s"
                    process.kill()
                    return
                await asyncio.sleep(self._options.connect_interval_s)
                continue
            self._link = link
            pinger = asyncio.create_task(self._ping(link, process))
            try:
                await link.serve(on_event=self._on_event, on_metrics=self._on_metrics)
            finally:
                pinger.cancel()
                await asyncio.gather(pinger, return_exceptions=True)
                self._link = None
            started_s = time.monotonic()
            await asyncio.sleep(self._options.connect_interval_s)

    async def _ping(self, link: EngineLink, process: EngineProcess) -> None:
        missed = 0
        while True:
            try:
                reply = await link.call("status", {}, self._options.ping_timeout_s)
                missed = 0
                self._take_status(reply.result)
            except EngineUnavailable as error:
                if error.code != CallError.DEADLINE:
                    return
                missed += 1
                if missed >= self._options.pings_missed_before_kill:
                    log.warning("engine hangs", session=self.record.session, pid=process.pid)
                    self._engine_reason = "the engine hung and was ended"
                    process.kill()
                    return
            await asyncio.sleep(self._options.ping_interval_s)

    def _take_status(self, status: dict[str, Any]) -> None:
        state = status.get("state")
        if state == "live" and self.record.state in (NodeSessionState.STARTING, NodeSessionState.INTERRUPTED):
            self._set_state(NodeSessionState.LIVE, "")

    def _on_event(self, event: Event) -> None:
        now_ms = int(time.time() * 1000)
        base_ms = now_ms - event.at_ms
        if not self.record.clock_base_ms or base_ms < self.record.clock_base_ms:
            self.record.clock_base_ms = base_ms
        self.owed.event(event.seq, event.kind, event.data, self.record.clock_base_ms + event.at_ms)
        if event.kind == "state":
            self._on_state(event.data)
        elif event.kind == "cursor":
            self.record.cursor = event.data
            self.run_directory.save(self.record)
        elif event.kind == "recording" and event.data.get("finished"):
            self._on_recording(Path(str(event.data.get("path", ""))), float(event.data.get("seconds", 0.0)))

    def _on_state(self, data: dict[str, Any]) -> None:
        state, reason = data.get("state"), str(data.get("reason", ""))
        if state == "live" and self.record.state in (NodeSessionState.STARTING, NodeSessionState.INTERRUPTED):
            self._set_state(NodeSessionState.LIVE, "")
        elif state in ("ended", "failed"):
            self._engine_reason, self._engine_ended = reason, state == "ended"

    def _on_metrics(self, metrics: Metrics) -> None:
        if metrics.media_s < self.record.media_s:
            # A new engine counts from zero; what the ones before it made still happened.
            self.record.media_before_s += self.record.media_s
        self.record.media_s = metrics.media_s
        self.owed.metrics({**_builtins(metrics), "total_media_s": self.record.media_before_s + metrics.media_s})

    # --- conclusions ------------------------------------------------------------------------------------------------

    def _conclude(self, code: int | None) -> None:
        """The engine is gone: is the run over, or is it to be started again?"""
        if self.fenced:
            return
        if self._ending.asked.is_set():
            self._set_state(NodeSessionState.ENDED, self._ending.reason)
        elif code == 0 or (code is None and self._engine_ended):
            self._set_state(NodeSessionState.ENDED, self._engine_reason or "the show ended")
        elif code == SPEC_REFUSED_EXIT:
            self._set_state(NodeSessionState.FAILED, self.run_directory.log_tail() or "the engine refused the show file")
        else:
            self._note_death(self._engine_reason or f"the engine died ({_exit_text(code)})")

    def _note_death(self, reason: str) -> None:
        now_s = time.time()
        record, options = self.record, self._options
        record.death_times_s = [t for t in record.death_times_s if now_s - t < options.deaths_window_s] + [now_s]
        record.pid = 0
        if len(record.death_times_s) >= options.deaths_before_failure:
            tail = self.run_directory.log_tail()
            self._set_state(
                NodeSessionState.FAILED,
                f"{reason}; {len(record.death_times_s)} deaths within {options.deaths_window_s:g} s"
                + (f"; last words: {tail}" if tail else ""),
            )
        else:
            self._set_state(NodeSessionState.INTERRUPTED, reason)

    def _set_state(self, state: NodeSessionState, reason: str) -> None:
        self.record.state, self.record.reason = state, reason
        self.run_directory.save(self.record)
        log.info("session state", session=self.record.session, epoch=self.record.epoch, state=state, reason=reason)
        self.owed.state_changed()


async def _gone_within(gone: asyncio.Task[int | None], timeout_s: float) -> bool:
    done, _ = await asyncio.wait({gone}, timeout=timeout_s)
    return bool(done)


def _exit_text(code: int | None) -> str:
    if code is None:
        return "exit code unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _engine_environment() -> dict[str, str]:
    """The agent's environment without the platform's credentials: an engine needs none of them.

    Comment feeds follow no redirect: the platform has checked the address the merchant named, not where that one points.
    """
    secret = (
        "LUMIHOST_SECRET", "LUMIHOST_NODE_TOKEN", "LUMIHOST_INTERNAL", "LUMIHOST_BROKER", "LUMIHOST_REDIS", "LUMIHOST_DATABASE",
        "LUMIHOST_MASTER_KEYS", "DJANGO_", "DATABASE_URL", "STRIPE_",
    )  # fmt: skip
    kept = {key: value for key, value in os.environ.items() if not key.startswith(secret)}
    return {**kept, "WEBSOCKETS_MAX_REDIRECTS": "1"}


def _builtins(metrics: Metrics) -> dict[str, Any]:
    return {name: getattr(metrics, name) for name in metrics.__struct_fields__}
