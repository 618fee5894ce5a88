"""One session: starts mind, body and outlet, keeps them, answers the control socket, writes the usage journal.

``run`` returns 0 when the show was stopped or reached its end, :data:`BODY_DIED` or :data:`NO_PROGRESS` when it failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil
import structlog
from pydantic import ValidationError

from gpu_engine.session.accounting import UsageAccount
from gpu_engine.session.child import RequestRefused
from gpu_engine.session.children import MODULES, Children
from gpu_engine.session.control import ControlMessage, Event, Metrics, Reply, Request
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame
from gpu_engine.session.spec import Cursor, Knowledge, SessionSpec
from gpu_engine.session.state_files import StateFiles, cap_logs

log = structlog.get_logger(__name__)

BODY_DIED = 70
NO_PROGRESS = 71
"""A virtual run whose mind or outlet cannot be started: it would wait for ever."""
VIRTUAL_RESTARTS = 4
EVENT_RING = 2_000
STOP_TIMEOUT_S = 10.0
LEAVE_TIMEOUT_S = 3.0
"""Given to the outlet to finish its files and count its last seconds when the body has died."""
METRICS_EVERY_S = 1.0
CAP_LOGS_EVERY_S = 60.0
EVENTS_PER_INCARNATION = 1_000_000_000
MAX_CLIENT_BACKLOG_BYTES = 8 * 1024 * 1024

_MIND_METHODS = frozenset({"comment", "say", "cut", "pin", "pause", "resume", "next_segment", "knowledge"})
_OUTLET_METHODS = frozenset({"whep_offer", "whep_close"})
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[ControlMessage] = msgspec.msgpack.Decoder(ControlMessage)

Listener = Callable[[Event | Metrics], None]


class Supervisor:
    """The parent process of one session. ``listener`` also receives every event and metrics record (the console).

    Raises:
        RunDirectoryTaken: another supervisor runs in ``run_dir``.
    """

    def __init__(
        self,
        spec: SessionSpec,
        run_dir: Path,
        listener: Listener | None = None,
        modules: Mapping[str, str] = MODULES,
        orphan_after_s: float | None = None,
    ) -> None:
        self._orphan_after_s = orphan_after_s
        self._attended_at = time.monotonic()
        self._spec = spec
        self._run_dir = run_dir
        self._files = StateFiles(run_dir)
        self._files.take()
        self._usage = UsageAccount(run_dir / "usage.jsonl", spec.video.height)
        self.incarnation = self._files.next_incarnation(self._usage.last_incarnation)
        self._cursor = self._files.load_cursor(spec.cursor)
        self._knowledge = spec.knowledge
        self._children = Children(run_dir, self._arguments, self._on_event, self._on_metrics, modules)
        self._parts: dict[str, dict[str, Any]] = {"body": {}, "mind": {}, "outlet": {}}
        self._ring: deque[Event] = deque(maxlen=EVENT_RING)
        self._seq = self.incarnation * EVENTS_PER_INCARNATION
        self._clients: set[asyncio.StreamWriter] = set()
        self._listener = listener
        self._started = time.monotonic()
        self._state = "starting"
        self._stop_requested = asyncio.Event()
        self._stop_reason = ""
        self._failure = ""
        self._processes: dict[int, psutil.Process] = {}

    def request_stop(self, reason: str) -> None:
        """Ask for an orderly end."""
        self._stop_reason = self._stop_reason or reason
        self._stop_requested.set()

    async def run(self) -> int:
        """Run to the end of the session."""
        servers = [
            await asyncio.start_unix_server(self._children.accept, socket_path(self._run_dir / "supervisor.sock")),
            await asyncio.start_unix_server(self._serve_client, socket_path(self._run_dir / "control.sock")),
        ]
        self._event("state", {"state": "starting", "reason": ""})
        body = asyncio.create_task(self._children.keep("body"))
        others = [asyncio.create_task(self._children.keep(name)) for name in ("outlet", "mind")]
        chores = [asyncio.create_task(chore) for chore in (self._tick(), self._keep_journal(), self._keep_logs_small())]
        stopper = asyncio.create_task(self._stop_requested.wait())
        try:
            await asyncio.wait({body, stopper}, return_when=asyncio.FIRST_COMPLETED)
            if not body.done():
                await self._stop_body(body)
            code = body.result()
            self._children.stopping = True
            if code != 0:
                self._children.terminate("outlet")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(others[0]), STOP_TIMEOUT_S if code == 0 else LEAVE_TIMEOUT_S)
            self._children.kill_all()
            await asyncio.gather(*others)
            await self._children.all_said(1.0)
            await self._close_journal()
            if code != 0 and not self._stop_requested.is_set():
                self._failure = f"the body died (exit code {code})"
            failed = bool(self._failure)
            reason = self._failure or self._stop_reason or "the show ended"
            self._event("state", {"state": "failed" if failed else "ended", "reason": reason})
            await self._drain_clients()
            return 0 if not failed else NO_PROGRESS if self._stop_requested.is_set() else BODY_DIED
        finally:
            self._children.kill_all()
            for task in (*chores, stopper, body, *others):
                task.cancel()
            for server in servers:
                server.close()
            for name in ("supervisor.sock", "control.sock", "mind.sock", "outlet.sock"):
                (self._run_dir / name).unlink(missing_ok=True)
            self._files.release()

    async def _stop_body(self, body: asyncio.Task[int]) -> None:
        self._event("state", {"state": "stopping", "reason": self._stop_reason})
        self._children.stopping = True
        if not self._children.connected("body"):
            # Still getting ready: nothing was shown that could be finished.
            self._children.kill_all()
            await body
            return
        try:
            with contextlib.suppress(RequestRefused):
                await self._children.ask("body", "stop", {"reason": self._stop_reason}, timeout_s=2.0)
            await asyncio.wait_for(asyncio.shield(body), STOP_TIMEOUT_S)
        except TimeoutError:
            log.warning("the body did not stop in time; killing it")
            self._children.kill("body")
            await body

    def _arguments(self, name: str) -> list[str]:
        self._files.write_effective(self._spec, self._cursor, self._knowledge)
        arguments = ["--spec", str(self._files.effective_spec), "--run-dir", str(self._run_dir)]
        return [*arguments, "--incarnation", str(self.incarnation)] if name == "body" else arguments

    # --- what the children report -----------------------------------------------------------------------------------

    def _on_event(self, child: str, kind: str, data: dict[str, Any]) -> None:
        if kind == "accepted":
            self._usage.accept(int(data["incarnation"]), int(data["second"]), [str(o) for o in data["outputs"]])
            return
        if kind == "spoken" and child != "body":
            return
        if kind == "state" and data.get("state") == self._state:
            return
        if kind == "cursor":
            self._save_cursor(data)
        self._event(kind, data)
        if kind == "process" and data["what"] == "died" and self._spec.clock == "virtual":
            self._give_up_if_hopeless(child, int(data["code"]))

    def _give_up_if_hopeless(self, child: str, code: int) -> None:
        if child != "body" and self._children.restarts(child) >= VIRTUAL_RESTARTS:
            self._failure = f"the {child} cannot be kept running (exit code {code}): see {self._run_dir / child}.log"
            self.request_stop(self._failure)

    def _save_cursor(self, data: dict[str, Any]) -> None:
        try:
            self._cursor = Cursor(
                loop=data["loop"], segment_index=data["segment_index"], line_index=data["line_index"],
                sentence_index=data["sentence_index"],
            )  # fmt: skip
            self._files.save_cursor(self._cursor.model_dump())
        except (KeyError, ValidationError, OSError) as error:
            log.warning("cursor not saved", error=str(error))

    def _on_metrics(self, child: str, part: dict[str, Any]) -> None:
        self._parts[child].update(part)

    def _event(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "state":
            self._state = str(data.get("state", self._state))
        self._seq += 1
        event = Event(self._seq, int((time.monotonic() - self._started) * 1000), kind, data)
        self._ring.append(event)
        self._publish(event)

    def _publish(self, message: Event | Metrics) -> None:
        if self._listener is not None:
            try:
                self._listener(message)
            except OSError as error:
                # The terminal or pipe that watched is gone; the show is not.
                log.warning("nobody watches any more", error=str(error))
                self._listener = None
        payload = _encode(message)
        for writer in list(self._clients):
            if writer.is_closing() or writer.transport.get_write_buffer_size() > MAX_CLIENT_BACKLOG_BYTES:
                # Not close(): that would keep what the client does not read until it does.
                self._clients.discard(writer)
                writer.transport.abort()
                continue
            write_frame(writer, payload)

    async def _drain_clients(self) -> None:
        for writer in list(self._clients):
            writer.transport.set_write_buffer_limits(high=0)
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.drain(), 1.0)
            writer.close()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(METRICS_EVERY_S)
            self._publish(self.metrics())
            self._end_if_orphaned()

    def _end_if_orphaned(self) -> None:
        """A show outlives its agent's restart and an outage of the platform, but not an agent that never comes back."""
        now = time.monotonic()
        if self._clients:
            self._attended_at = now
        elif self._orphan_after_s is not None and now - self._attended_at > self._orphan_after_s:
            self.request_stop(f"no node agent for {self._orphan_after_s:g} s")

    async def _keep_journal(self) -> None:
        """Write closed usage segments in a thread: a slow disk must not delay comments, a full one loses nothing."""
        failing = False
        while True:
            await asyncio.sleep(METRICS_EVERY_S)
            try:
                await asyncio.to_thread(self._usage.write)
                failing = False
            except OSError as error:
                if not failing:
                    log.error("usage journal not written, trying on", error=str(error))
                    reason = f"usage journal: {error.strerror or error}: free some space on the disk of {self._run_dir}"
                    self._event("drop", {"what": "usage write (tried again)", "count": self._usage.waiting, "reason": reason})
                failing = True

    async def _close_journal(self) -> None:
        try:
            await asyncio.to_thread(self._usage.close)
        except OSError as error:
            log.error("usage seconds lost", segments=self._usage.waiting, error=str(error))

    async def _keep_logs_small(self) -> None:
        while True:
            await asyncio.to_thread(cap_logs, self._run_dir)
            await asyncio.sleep(CAP_LOGS_EVERY_S)

    def metrics(self) -> Metrics:
        """The latest values of all three processes."""
        body, mind, outlet = self._parts["body"], self._parts["mind"], self._parts["outlet"]
        cpu, rss = self._process_load()
        return Metrics(
            media_s=body.get("media_s", 0.0), fps=body.get("fps", 0.0), late_frames=body.get("late_frames", 0),
            frame_ms=body.get("frame_ms", -1.0), stage_ms=body.get("stage_ms", {}), av_offset_ms=body.get("av_offset_ms", 0.0),
            first_word_ms=mind.get("first_word_ms", -1.0), first_word_p50_ms=mind.get("first_word_p50_ms", -1.0),
            first_word_p99_ms=mind.get("first_word_p99_ms", -1.0), inbox=mind.get("inbox", 0),
            buffered_ms=body.get("buffered_ms", 0), viewers=outlet.get("viewers", 0),
            bitrate_kbps=outlet.get("bitrate_kbps", 0.0), cpu_percent=cpu, rss_mb=rss, accepted_s=self._usage.accepted_s,
            produced_s=body.get("produced_s", 0), outputs=outlet.get("outputs", {}),
        )  # fmt: skip

    def _process_load(self) -> tuple[dict[str, float], dict[str, float]]:
        cpu: dict[str, float] = {}
        rss: dict[str, float] = {}
        alive = self._children.pids()
        for name, pid in alive.items():
            if not pid:
                continue
            with contextlib.suppress(psutil.Error):
                process = self._processes.setdefault(pid, psutil.Process(pid))
                cpu[name] = process.cpu_percent()
                rss[name] = round(process.memory_info().rss / 1e6, 1)
        for pid in set(self._processes) - set(alive.values()):
            del self._processes[pid]
        return cpu, rss

    # --- the control socket -----------------------------------------------------------------------------------------

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Everything still in the ring first (a client that comes back misses nothing recent), then live."""
        for event in list(self._ring):
            write_frame(writer, _encode(event))
        self._clients.add(writer)
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    message = _decoder.decode(await read_frame(reader))
                    if isinstance(message, Request):
                        group.create_task(self._answer(message, writer))
        except* (LinkError, msgspec.DecodeError):
            pass
        finally:
            self._clients.discard(writer)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        try:
            reply = Reply(request.id, result=await self._call(request.method, request.params))
        except RequestRefused as refusal:
            reply = Reply(request.id, error=refusal.code, detail=refusal.detail)
        except Exception as error:
            log.exception("request failed", method=request.method)
            reply = Reply(request.id, error="internal", detail=f"{type(error).__name__}: {error}")
        if not writer.is_closing():
            write_frame(writer, _encode(reply))

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "knowledge":
            try:
                self._knowledge = Knowledge.model_validate(params.get("knowledge"))
            except ValidationError as error:
                raise RequestRefused("bad_request", f"knowledge: {error.errors()[0]['msg']}") from error
        if method in _MIND_METHODS:
            return await self._children.ask("mind", method, params)
        if method in _OUTLET_METHODS:
            return await self._children.ask("outlet", method, params)
        if method == "status":
            return {
                "state": self._state, "media_s": self._parts["body"].get("media_s", 0.0),
                "cursor": self._cursor.model_dump(), "pids": self._children.pids(), "incarnation": self.incarnation,
            }  # fmt: skip
        if method == "stop":
            self.request_stop(str(params.get("reason", "stopped")))
            return {}
        raise RequestRefused("not_found", f"no method '{method}'")
