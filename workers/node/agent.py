"""The node agent: takes commands, owns every session of the node, and keeps the platform informed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog

from workers.contracts import commands
from workers.contracts import node as wire
from workers.contracts.motion import GATEWAY_FACT
from workers.node import capacity, journal
from workers.node.celery_child import CeleryChild
from workers.node.journal import RunDirectory, RunRecord
from workers.node.lease import Lease
from workers.node.motion_gateway import MotionGateway
from workers.node.outgoing import Outgoing
from workers.node.platform_client import PlatformClient, PlatformUnavailable, SpecRefused
from workers.node.supervisor import SessionSupervisor, SupervisionOptions
from workers.node.uplink import Uplink
from workers.node.uploads import Uploader

log = structlog.get_logger(__name__)

VERSION = "0.1.0"
_MAX_SOCKET_PATH_BYTES = 107
_MAX_COMMAND_BYTES = 65_536
_HOUSEKEEPING_S = 1.0
_HTTP_USAGE_AFTER_S = 10.0


@dataclass(frozen=True)
class AgentOptions:
    """How one agent runs."""

    url: str
    node_id: str
    token: str
    root: Path
    """Sockets, journals and run directories; private to the agent."""
    capacity_sessions: int = 1
    run_celery: bool = True
    stop_sessions_on_exit: bool = False
    exit_grace_s: float = 9.0
    """With ``stop_sessions_on_exit``: for engines to end, then for usage and recordings to go up."""
    motion_listen: str = ""
    """HOST:PORT of the motion gateway (DMCP); '' runs none."""
    motion_url: str = ""
    """The gateway's address as clients see it, when a proxy stands in front of it."""
    supervision: SupervisionOptions = field(default_factory=SupervisionOptions)

    @property
    def socket(self) -> Path:
        """Where commands arrive."""
        return self.root / "agent.sock"

    @property
    def sessions(self) -> Path:
        """Parent of the run directories."""
        return self.root / "sessions"


class _Session:
    """One run with its supervisor task; also the uplink's view of it."""

    def __init__(self, supervisor: SessionSupervisor, task: asyncio.Task[None]) -> None:
        self.supervisor = supervisor
        self.task = task
        self.remaining_queued = False

    @property
    def record(self) -> RunRecord:
        return self.supervisor.record

    @property
    def lease(self) -> Lease:
        return self.supervisor.lease

    @property
    def owed(self) -> Outgoing:
        return self.supervisor.owed

    @property
    def key(self) -> tuple[str, int]:
        return self.record.session, self.record.epoch

    @property
    def wants_lease(self) -> bool:
        return not self.record.is_final and not self.supervisor.fenced

    @property
    def active(self) -> bool:
        """Whether it occupies a slot."""
        return not self.task.done()


class NodeAgent:
    """Everything of a node that is not an engine. Create, then ``await run()``."""

    def __init__(self, options: AgentOptions) -> None:
        self.options = options
        self._sessions: dict[tuple[str, int], _Session] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._leaving = asyncio.Event()
        self._hardware: dict[str, object] = {}
        self._instance = ""
        self.uplink = Uplink(options.url, options.token, self)
        self._client = PlatformClient(options.url, options.token)
        self._uploader = Uploader(self._client)
        self.gateway = MotionGateway(options.motion_listen, options.root, options.motion_url) if options.motion_listen else None

    def leave(self) -> None:
        """Stop accepting and exit: engines go on for the next agent, unless ``stop_sessions_on_exit``."""
        self._leaving.set()

    async def run(self) -> None:
        """Serve until :meth:`leave`.

        Raises:
            RuntimeError: another agent has this folder, or its path is too long for a unix socket.
        """
        self.options.sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._hardware = capacity.hardware(self.options.root)
        if self.gateway is not None and (address := self.gateway.bind()):
            self._hardware[GATEWAY_FACT] = address
        capacity.load(self.options.root)
        self._instance = journal.instance_of(self.options.root)
        server = await self._listen()
        services: list[asyncio.Task[None]] = []
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks = group
                self._adopt()
                services.append(group.create_task(self.uplink.run()))
                services.append(group.create_task(self._uploader.run()))
                services.append(group.create_task(self._keep_house()))
                if self.gateway is not None:
                    services.append(group.create_task(self.gateway.run()))
                if self.options.run_celery:
                    child = CeleryChild(self.options.node_id, self.options.socket, self.options.root / "celery.log")
                    services.append(group.create_task(child.run()))
                await self._leaving.wait()
                server.close()
                if self.gateway is not None:
                    self.gateway.leave()
                if self.options.stop_sessions_on_exit:
                    await self._stop_all()
                for task in (*services, *(session.task for session in self._sessions.values()), *self._calls):
                    task.cancel()
        finally:
            self.options.socket.unlink(missing_ok=True)
            await self._client.close()

    # --- commands ---------------------------------------------------------------------------------------------------

    async def _listen(self) -> asyncio.AbstractServer:
        path = self.options.socket
        if len(os.fsencode(path)) > _MAX_SOCKET_PATH_BYTES:
            raise RuntimeError(
                f"{path} is too long for a unix socket ({_MAX_SOCKET_PATH_BYTES} bytes): set LUMIHOST_VAR to a shorter path"
            )
        if path.exists():
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_unix_connection(str(path))
                writer.close()
                raise RuntimeError(f"another node agent listens on {path}: stop it first, or give this one another --root")
            path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._serve_command, str(path), limit=_MAX_COMMAND_BYTES)
        path.chmod(0o600)
        return server

    async def _serve_command(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                line = await reader.readline()
            try:
                reply = self.command(msgspec.json.decode(line, type=commands.Command))
            except (msgspec.DecodeError, journal.UnsafeSessionId) as error:
                reply = commands.CommandReply(False, str(error))
            writer.write(msgspec.json.encode(reply) + b"\n")
            await writer.drain()
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("command not served", error=f"{type(error).__name__}: {error}")
        finally:
            writer.close()

    def command(self, command: commands.Command) -> commands.CommandReply:
        """Accept a command; its work goes on in the session's own task."""
        if isinstance(command, commands.StopSession):
            return self._stop(command.session, command.epoch, command.reason)
        key = (command.session, command.epoch)
        newest = max((epoch for session, epoch in self._sessions if session == command.session), default=0)
        if newest > command.epoch:
            return commands.CommandReply(False, f"epoch {newest} of this session is here already")
        if key in self._sessions:
            return commands.CommandReply(True, "already here")
        older = [run for (held, _), run in self._sessions.items() if held == command.session and run.active]
        for run_of_older in older:
            run_of_older.supervisor.fence()
        run = RunDirectory.of(self.options.sessions, command.session, command.epoch)
        refusal = self._refusal(command.session)
        if refusal:
            self._refuse(run, command, refusal)
            return commands.CommandReply(False, refusal)
        run.create()
        record = run.load() or RunRecord(session=command.session, epoch=command.epoch)
        run.save(record)
        session = self._supervise(run, record, after=[other.task for other in older])
        # The command itself proves that the platform assigned this epoch just now; the spec is refused if not.
        session.lease.granted(wire.LEASE_TTL_S)
        log.info("session accepted", session=command.session, epoch=command.epoch)
        return commands.CommandReply(True)

    def _refusal(self, session: str) -> str:
        if self._leaving.is_set():
            return "the node is draining"
        busy = sum(1 for (other, _), run in self._sessions.items() if run.active and other != session)
        if busy >= self.options.capacity_sessions:
            return f"no free slot: {busy} of {self.options.capacity_sessions} in use"
        return ""

    def _refuse(self, run: RunDirectory, command: commands.StartSession, reason: str) -> None:
        """Tell the platform, so that it places the session elsewhere at once instead of waiting."""
        run.create()
        record = RunRecord(command.session, command.epoch, state=wire.NodeSessionState.REFUSED, reason=reason)
        run.save(record)
        self._supervise(run, record)
        log.warning("session refused", session=command.session, epoch=command.epoch, reason=reason)

    def _stop(self, session: str, epoch: int, reason: str, grace_s: float | None = None) -> commands.CommandReply:
        found = [run for (other, number), run in self._sessions.items() if other == session and number <= epoch]
        for run in found:
            run.supervisor.request_stop(reason, grace_s)
        return commands.CommandReply(bool(found), "" if found else f"session {session} is not on this node")

    # --- sessions ---------------------------------------------------------------------------------------------------

    def _supervise(self, run: RunDirectory, record: RunRecord, after: Sequence[asyncio.Task[None]] = ()) -> _Session:
        assert self._tasks is not None, "run() first"
        lease = Lease()
        owed = Outgoing(run, record, wake=self.uplink.wake)
        supervisor = SessionSupervisor(
            run=run, record=record, owed=owed, lease=lease, fetch_spec=self._client.spec,
            on_recording=lambda path, seconds: self._uploader.add(run, record, path, seconds), options=self.options.supervision,
        )  # fmt: skip
        session = _Session(supervisor, self._tasks.create_task(self._guard(supervisor, after)))
        self._sessions[session.key] = session
        return session

    async def _guard(self, supervisor: SessionSupervisor, after: Sequence[asyncio.Task[None]]) -> None:
        """Run once the tasks of older epochs are done: two engines never share a stream key. A defect in one session's
        supervision must not take the other sessions of the node with it."""
        if after:
            await asyncio.wait(after)
        try:
            await supervisor.run()
        except Exception as error:
            log.exception("supervision failed", session=supervisor.record.session, epoch=supervisor.record.epoch)
            supervisor.give_up(f"the node's supervision failed: {type(error).__name__}: {error}")

    def _adopt(self) -> None:
        """Take over what an earlier agent left: running engines, and ended runs that still owe something."""
        for run, record in journal.known_runs(self.options.sessions):
            if not record.settled_at_s:
                self._supervise(run, record)

    async def _keep_house(self) -> None:
        """Once a second: queue leftovers for upload, forget what is settled, deliver usage by HTTP when no socket works."""
        purged_s = 0.0
        while True:
            await asyncio.sleep(_HOUSEKEEPING_S)
            for key, session in list(self._sessions.items()):
                if not session.active:
                    await self._settle(key, session)
            if time.monotonic() - purged_s > 3600:
                purged_s = time.monotonic()
                await asyncio.to_thread(journal.purge_settled, self.options.sessions)
            if not self.uplink.connected and time.monotonic() - self.uplink.last_connected_s > _HTTP_USAGE_AFTER_S:
                await self._usage_by_http()

    async def _settle(self, key: tuple[str, int], session: _Session) -> None:
        run, record = session.supervisor.run_directory, session.record
        if not session.remaining_queued:
            session.remaining_queued = True
            self._uploader.add_remaining(run, record)
        fenced_and_paid = session.supervisor.fenced and not session.owed.unacked_usage(1)
        if (session.owed.settled or fenced_and_paid) and self._uploader.is_done(run):
            record.settled_at_s = time.time()
            run.save(record)
            del self._sessions[key]

    async def _usage_by_http(self) -> None:
        for session in list(self._sessions.values()):
            segments = session.owed.unacked_usage()
            if segments:
                try:
                    acked = await self._client.post_usage(wire.Usage(*session.key, segments))
                except PlatformUnavailable as error:
                    log.info("usage waits", error=str(error))
                    return
                session.owed.usage_acked(acked)

    async def _stop_all(self) -> None:
        """End every engine, then give usage and recordings the rest of the time to go up; they are kept if it is short."""
        deadline_s = time.monotonic() + self.options.exit_grace_s
        for session in self._sessions.values():
            session.supervisor.request_stop("the node was stopped", self.options.exit_grace_s * 0.6)
        running = [session.task for session in self._sessions.values() if session.active]
        if running:
            _, stubborn = await asyncio.wait(running, timeout=self.options.exit_grace_s * 0.75)
            if stubborn:
                # Nobody would watch them after us: a show without an agent must not go on pushing.
                for session in self._sessions.values():
                    if session.active:
                        log.warning("engine killed: it did not end in time", session=session.record.session)
                        session.supervisor.kill()
                await asyncio.wait(stubborn, timeout=2.0)
        while self._sessions and self.uplink.connected and time.monotonic() < deadline_s:
            for key, session in list(self._sessions.items()):
                if not session.active:
                    await self._settle(key, session)
            await asyncio.sleep(0.05)

    # --- the uplink's questions -------------------------------------------------------------------------------------

    def hello(self) -> wire.Hello:
        """Who we are and which engines we have."""
        held = tuple(
            wire.HeldSession(r.session, r.epoch, r.state, r.pid, r.reason, r.cursor)
            for r in (s.record for s in self._sessions.values() if not s.supervisor.fenced)
        )
        return wire.Hello(
            self.options.node_id,
            self.options.capacity_sessions,
            dict(self._hardware),
            VERSION,
            held,
            self._leaving.is_set(),
            self._instance,
        )

    def heartbeat(self) -> wire.Heartbeat:
        """Free slots and load."""
        busy = sum(1 for session in self._sessions.values() if session.active)
        return wire.Heartbeat(
            max(0, self.options.capacity_sessions - busy), self._leaving.is_set(), capacity.load(self.options.root)
        )

    def channels(self) -> Iterable[_Session]:
        """Every session that may still have something to say."""
        return list(self._sessions.values())

    def received(self, message: wire.PlatformMessage) -> None:
        """Act on a message from the platform."""
        if isinstance(message, wire.Welcome):
            if self.gateway is not None:
                self.gateway.take_keys(message.motion_keys)
            return
        if isinstance(message, wire.Call):
            self._start_call(message)
            return
        if isinstance(message, wire.Stop):
            self._stop(message.session, message.epoch, message.reason)
            return
        session = self._sessions.get((message.session, message.epoch))
        if session is None:
            return
        match message:
            case wire.Lease(ok=True):
                session.lease.granted(message.ttl_s)
                if message.tell_state:
                    session.owed.state_changed()
            case wire.Lease():
                session.supervisor.fence()
            case wire.UsageAck():
                session.owed.usage_acked(message.seq)
            case wire.EventAck():
                session.owed.event_acked(message.seq)
            case wire.StateAck():
                session.owed.state_acked(message.state)

    def _start_call(self, call: wire.Call) -> None:
        session = self._sessions.get((call.session, call.epoch))
        if session is None or self._tasks is None:
            self.uplink.reply(
                wire.CallReply(call.id, False, error=wire.CallError.UNKNOWN_SESSION, detail="the session is not on this node")
            )
            return
        task = self._tasks.create_task(self._call(session, call))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _call(self, session: _Session, call: wire.Call) -> None:
        params = call.params
        if call.method == "knowledge" and params.get("fetch"):
            try:
                params = {"knowledge": (await self._client.spec(call.session, call.epoch))["knowledge"]}
            except (PlatformUnavailable, SpecRefused) as error:
                self.uplink.reply(wire.CallReply(call.id, False, error=wire.CallError.UNAVAILABLE, detail=str(error)))
                return
        reply = await session.supervisor.call(call.method, params, call.deadline_ms / 1000)
        self.uplink.reply(wire.CallReply(call.id, not reply.error, reply.result, reply.error, reply.detail))
