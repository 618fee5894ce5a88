"""The three processes of a session: spawn, watch, ask, restart.

Mind and outlet are restarted with back-off for as long as the show runs. The body is not: without it there is no show, and
whoever started the session starts it again at the cursor it had reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import structlog

from gpu_engine.session.child import ChildEvent, ChildMessage, ChildMetrics, Hello, RequestRefused
from gpu_engine.session.control import Reply, Request
from gpu_engine.session.link import LinkError, read_frame, write_frame
from gpu_engine.session.state_files import open_log

log = structlog.get_logger(__name__)

RESTART_BACKOFF_S = (0.1, 0.3, 1.0, 2.0, 5.0)
HEALTHY_AFTER_S = 30.0
PING_EVERY_S = 2.0
HUNG_AFTER_S = 15.0
INIT_TIMEOUT_S = 120.0
"""A first start compiles kernels (20 s on two busy cores) before the process connects."""
REQUEST_TIMEOUT_S = 10.0
MAX_UNREAD_BYTES = 32 * 1024 * 1024
NOT_STARTED = 127
"""Exit code noted when a process could not be spawned at all."""

MODULES: Mapping[str, str] = {"body": "gpu_engine.body", "mind": "gpu_engine.mind", "outlet": "gpu_engine.outputs"}
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[ChildMessage] = msgspec.msgpack.Decoder(ChildMessage)

OnEvent = Callable[[str, str, dict[str, Any]], None]
OnMetrics = Callable[[str, dict[str, Any]], None]


@dataclass(slots=True)
class Child:
    """One process and its link."""

    name: str
    process: asyncio.subprocess.Process | None = None
    writer: asyncio.StreamWriter | None = None
    pending: dict[int, asyncio.Future[Reply]] = field(default_factory=dict)
    started_at: float = 0.0
    heard_at: float = 0.0
    restarts: int = 0

    @property
    def pid(self) -> int:
        """Process id, 0 when not running."""
        return self.process.pid if self.process and self.process.returncode is None else 0


class Children:
    """Spawns and links the children of one session. ``arguments`` gives each its command-line arguments at every start."""

    def __init__(
        self,
        run_dir: Path,
        arguments: Callable[[str], list[str]],
        on_event: OnEvent,
        on_metrics: OnMetrics,
        modules: Mapping[str, str] = MODULES,
    ) -> None:
        self._run_dir = run_dir
        self._arguments = arguments
        self._on_event = on_event
        self._on_metrics = on_metrics
        self._modules = modules
        self._ids = itertools.count(1)
        self._children = {name: Child(name) for name in modules}
        self._served: set[asyncio.Task[Any]] = set()
        self._none_may_live = False
        self.stopping = False

    def pids(self) -> dict[str, int]:
        """Process id by name, 0 when not running."""
        return {name: child.pid for name, child in self._children.items()}

    def restarts(self, name: str) -> int:
        """How often in a row the child was started again without staying up."""
        return self._children[name].restarts

    def connected(self, name: str) -> bool:
        """Whether the child has said hello and its link is open."""
        return self._children[name].writer is not None

    # --- links ------------------------------------------------------------------------------------------------------

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one child's connection until it closes."""
        child: Child | None = None
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        try:
            hello = _decoder.decode(await read_frame(reader))
            if not isinstance(hello, Hello) or hello.name not in self._children:
                return
            child = self._children[hello.name]
            child.writer = writer
            child.heard_at = time.monotonic()
            while True:
                message = _decoder.decode(await read_frame(reader))
                child.heard_at = time.monotonic()
                self._take(child, message)
        except (LinkError, msgspec.DecodeError) as error:
            log.info("child link closed", child=child.name if child else "?", why=str(error))
        finally:
            self._served.discard(task)
            writer.close()
            if child is not None and child.writer is writer:
                child.writer = None
                for future in child.pending.values():
                    if not future.done():
                        future.set_result(Reply(0, error="unavailable", detail=f"the {child.name} went away"))
                child.pending.clear()

    async def all_said(self, limit_s: float) -> None:
        """Wait until what ended children had sent has been taken."""
        if self._served:
            await asyncio.wait(set(self._served), timeout=limit_s)

    def _take(self, child: Child, message: ChildMessage) -> None:
        if isinstance(message, Reply):
            future = child.pending.pop(message.id, None)
            if future is not None and not future.done():
                future.set_result(message)
            return
        try:
            if isinstance(message, ChildEvent):
                self._on_event(child.name, message.kind, message.data)
            elif isinstance(message, ChildMetrics):
                self._on_metrics(child.name, message.part)
        except Exception:
            # One report that cannot be used must not cost the link, and with it the child.
            log.exception("report not taken", child=child.name)

    async def ask(self, name: str, method: str, params: dict[str, Any], timeout_s: float = REQUEST_TIMEOUT_S) -> dict[str, Any]:
        """Call a child's method.

        Raises:
            RequestRefused: the child is restarting ('unavailable'), too slow ('unavailable') or refused.
        """
        child = self._children[name]
        if child.writer is None:
            raise RequestRefused("unavailable", f"the {name} is starting again: try again in a moment")
        if child.writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            raise RequestRefused("unavailable", f"the {name} does not read its requests: try again in a moment")
        request = Request(next(self._ids), method, params)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        child.pending[request.id] = future
        write_frame(child.writer, _encode(request))
        try:
            reply = await asyncio.wait_for(future, timeout_s)
        except TimeoutError:
            raise RequestRefused("unavailable", f"the {name} did not answer '{method}' within {timeout_s:g} s") from None
        finally:
            child.pending.pop(request.id, None)
        if reply.error:
            raise RequestRefused(reply.error, reply.detail)
        return reply.result

    # --- processes --------------------------------------------------------------------------------------------------

    async def keep(self, name: str) -> int:
        """Run one child; restart it unless it is the body or we are stopping. Returns its last exit code."""
        child = self._children[name]
        while True:
            code = await self._run_once(child)
            if self.stopping or name == "body" or (name == "outlet" and code == 0):
                return code
            if time.monotonic() - child.started_at > HEALTHY_AFTER_S:
                child.restarts = 0
            delay_s = RESTART_BACKOFF_S[min(child.restarts, len(RESTART_BACKOFF_S) - 1)]
            child.restarts += 1
            await asyncio.sleep(delay_s)
            if self.stopping:
                return code
            self._on_event(name, "process", {"name": name, "what": "restarted", "pid": 0, "code": code})

    async def _run_once(self, child: Child) -> int:
        child.started_at = child.heard_at = time.monotonic()
        try:
            command = [sys.executable, "-m", self._modules[child.name], *self._arguments(child.name)]
            with open_log(self._run_dir / f"{child.name}.log") as log_file:
                child.process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=log_file, stderr=log_file, env=dict(os.environ)
                )
        except OSError as error:
            log.error("process not started", child=child.name, error=str(error))
            self._on_event(child.name, "process", {"name": child.name, "what": "died", "pid": 0, "code": NOT_STARTED})
            return NOT_STARTED
        if self._none_may_live:
            self._kill(child.process)
        child.started_at = child.heard_at = time.monotonic()
        self._on_event(child.name, "process", {"name": child.name, "what": "started", "pid": child.process.pid, "code": 0})
        watchdog = asyncio.create_task(self._watch(child))
        try:
            code = await child.process.wait()
        finally:
            watchdog.cancel()
        if not self.stopping:
            what = "died" if code else "ended"
            self._on_event(child.name, "process", {"name": child.name, "what": what, "pid": child.process.pid, "code": code})
        return code

    async def _watch(self, child: Child) -> None:
        """Kill a child that never connects or stops answering; its stacks go to its log first."""
        while True:
            await asyncio.sleep(PING_EVERY_S)
            silent_s = time.monotonic() - child.heard_at
            if child.writer is None:
                if time.monotonic() - child.started_at > INIT_TIMEOUT_S:
                    self._kill_hung(child, "did not connect")
                continue
            with contextlib.suppress(RequestRefused):
                await self.ask(child.name, "ping", {}, timeout_s=PING_EVERY_S)
                continue
            if silent_s > HUNG_AFTER_S:
                self._kill_hung(child, f"silent for {silent_s:.0f} s")

    def _kill_hung(self, child: Child, why: str) -> None:
        if child.process is None or child.process.returncode is not None:
            return
        log.error("killing a hung process", child=child.name, why=why)
        with contextlib.suppress(ProcessLookupError):
            child.process.send_signal(signal.SIGUSR1)
        asyncio.get_running_loop().call_later(0.5, self._kill, child.process)

    @staticmethod
    def _kill(process: asyncio.subprocess.Process | None) -> None:
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    def kill(self, name: str) -> None:
        """SIGKILL one child."""
        self._kill(self._children[name].process)

    def kill_all(self) -> None:
        """SIGKILL every child, and any that is being started at this moment."""
        self.stopping = self._none_may_live = True
        for child in self._children.values():
            self._kill(child.process)

    def terminate(self, name: str) -> None:
        """SIGTERM: the child finishes what it has and leaves."""
        process = self._children[name].process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
