"""The outlet: receives the body's packets, runs every output, answers the supervisor.

All sockets here are asyncio's own, so no destination can block another: an RTMP peer that says nothing, reads nothing or
vanishes costs its own task a deadline. Files are written by threads. The process as a whole is what may be killed and
restarted; the body goes on without it.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import structlog

from gpu_engine.outputs.hub import AccessUnit, EncodedHub
from gpu_engine.outputs.recorder import Recorder
from gpu_engine.outputs.reports import State
from gpu_engine.outputs.rtmp_push import RtmpPush
from gpu_engine.outputs.usage import GRACE_MS, VIRTUAL_GRACE_MS, AcceptedSeconds
from gpu_engine.outputs.webrtc import WebrtcFanout
from gpu_engine.session.child import ChildLink, Handler, RequestRefused
from gpu_engine.session.link import LinkError, read_frame, socket_path, write_frame
from gpu_engine.session.packets import BodyPacket, EndOfStream, KeyframeRequest, Packet, StreamInfo
from gpu_engine.session.spec import Output, RecordingOutput, RtmpOutput, SessionSpec

log = structlog.get_logger(__name__)

RECONNECT_FIRST_S = 0.05
RECONNECT_LIMIT_S = 1.0
FINISH_LIMIT_S = 8.0
_READ_LIMIT_BYTES = 1024 * 1024
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[BodyPacket] = msgspec.msgpack.Decoder(BodyPacket)


class RunningOutput(Protocol):
    """What the outlet asks of an output."""

    id: str
    kind: str

    async def run(self) -> None:
        """Serve until the hub ends, then finish."""


class SupervisorLink(Protocol):
    """The part of :class:`ChildLink` the outlet uses."""

    def emit(self, kind: str, /, **data: Any) -> None:
        """Report an event."""

    def metrics(self, **part: Any) -> None:
        """Report metric values."""


class Outlet:
    """One session's outputs. ``run`` returns when the stream has ended and every output has finished."""

    def __init__(self, spec: SessionSpec, run_dir: Path, link: SupervisorLink) -> None:
        self._spec = spec
        self._run_dir = run_dir
        self._link = link
        self._body: asyncio.StreamWriter | None = None
        self._states: dict[str, tuple[State, str]] = {}
        self._bytes = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.hub = EncodedHub(on_keyframe_request=self._request_keyframe, on_drop=self._dropped, clock=time.monotonic)
        self.usage = AcceptedSeconds(self._report_second, grace_ms=VIRTUAL_GRACE_MS if spec.clock == "virtual" else GRACE_MS)
        self.outputs: list[RunningOutput] = [self._make(output) for output in spec.outputs]

    def _make(self, output: Output) -> RunningOutput:
        if isinstance(output, RecordingOutput):
            return Recorder(output, self.hub, self)
        if isinstance(output, RtmpOutput):
            return RtmpPush(output, self.hub, self)
        return WebrtcFanout(output, self.hub, self)

    # --- requests from the supervisor ----------------------------------------------------------------------------------

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Methods of ``session.control`` that the outlet answers."""
        return {"whep_offer": self._whep_offer, "whep_close": self._whep_close, "ping": self._ping}

    async def _ping(self, params: dict[str, Any]) -> dict[str, Any]:
        """The supervisor asks whether this loop still turns."""
        return {}

    def _webrtc(self) -> WebrtcFanout:
        for output in self.outputs:
            if isinstance(output, WebrtcFanout):
                return output
        raise RequestRefused("not_found", "this show has no WebRTC output: add one to its outputs")

    async def _whep_offer(self, params: dict[str, Any]) -> dict[str, Any]:
        viewer_id, sdp = params.get("viewer_id"), params.get("sdp")
        if not isinstance(viewer_id, str) or not viewer_id or not isinstance(sdp, str):
            raise RequestRefused("bad_request", "whep_offer needs viewer_id and sdp, both text")
        return {"sdp": await self._webrtc().offer(viewer_id, sdp)}

    async def _whep_close(self, params: dict[str, Any]) -> dict[str, Any]:
        await self._webrtc().close_viewer(str(params.get("viewer_id", "")))
        return {}

    # --- reports of the outputs (see reports.Reports) --------------------------------------------------------------------

    def state(self, output_id: str, kind: str, state: State, detail: str = "") -> None:
        """Tell the supervisor once about each change of state."""
        if self._states.get(output_id) == (state, detail):
            return
        self._states[output_id] = (state, detail)
        log.info("output", id=output_id, kind=kind, state=state, detail=detail)
        self._link.emit("output", id=output_id, kind=kind, state=state, detail=detail)

    def accepted(self, output_id: str, unit: AccessUnit) -> None:
        """Count towards billable seconds."""
        self.usage.accepted(output_id, unit)

    def _report_second(self, incarnation: int, second: int, outputs: list[str]) -> None:
        self._link.emit("accepted", incarnation=incarnation, second=second, outputs=outputs)

    def event(self, kind: str, /, **data: Any) -> None:
        """Pass an event on."""
        self._link.emit(kind, **data)

    def _dropped(self, sink_id: str, count: int) -> None:
        log.warning("output fell behind", id=sink_id, dropped=count)
        self._link.emit("drop", what=f"output {sink_id}", count=count, reason="it takes packets too slowly")

    # --- the stream ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Receive and serve until the body says the stream has ended, then let every output finish."""
        self._tasks = [asyncio.create_task(self._guard(output), name=output.id) for output in self.outputs]
        metrics = asyncio.create_task(self._report_metrics())
        try:
            await self._receive()
            await self.finish()
        finally:
            metrics.cancel()
            for task in self._tasks:
                task.cancel()

    async def finish(self) -> None:
        """End the stream for every output, wait for them (a bounded time), and report the last seconds."""
        self.hub.end()
        if self._body is not None:
            self._body.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=FINISH_LIMIT_S)
            for task in late:
                log.warning("output did not finish in time", id=task.get_name(), limit_s=FINISH_LIMIT_S)
        self.usage.finish()
        self._report_once()

    async def _guard(self, output: RunningOutput) -> None:
        """One output that breaks is reported and harms no other."""
        try:
            await output.run()
        except Exception as error:
            log.exception("output failed", id=output.id)
            self.state(output.id, output.kind, "down", f"internal error: {type(error).__name__}: {error}")

    async def _receive(self) -> None:
        """Read the body's packets through as many connections as it takes, until the stream has ended.

        It also ends when this outlet must leave: an old outlet must not take the link of the next body.
        """
        wait_s = RECONNECT_FIRST_S
        path = socket_path(self._run_dir / "outlet.sock")
        while not self.hub.ended:
            try:
                reader, self._body = await asyncio.open_unix_connection(path, limit=_READ_LIMIT_BYTES)
            except OSError:
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, RECONNECT_LIMIT_S)
                continue
            wait_s = RECONNECT_FIRST_S
            try:
                if await self._receive_from(reader):
                    return
            except LinkError:
                log.info("body left, connecting again")
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                log.error("body sent what is not a packet", error=str(error))
            finally:
                self._body.close()
                self._body = None
            await asyncio.sleep(RECONNECT_FIRST_S)

    async def _receive_from(self, reader: asyncio.StreamReader) -> bool:
        info: StreamInfo | None = None
        lossless = self._spec.clock == "virtual"
        while True:
            message = _decoder.decode(await read_frame(reader))
            if isinstance(message, Packet):
                if info is None:
                    raise LinkError("the body sent a packet before its StreamInfo")
                unit = AccessUnit(info, message)
                self._bytes += len(message.data)
                self.usage.produced(unit)
                self.hub.publish(unit)
                if lossless:
                    await self.hub.wait_for_room()
            elif isinstance(message, EndOfStream):
                log.info("stream ended", reason=message.reason)
                return True
            else:
                info = message
                self.hub.body_connected(info)

    def _request_keyframe(self, reason: str) -> None:
        if self._body is not None and not self._body.is_closing():
            write_frame(self._body, _encoder.encode(KeyframeRequest(reason)))

    async def _report_metrics(self) -> None:
        before_s = time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            now_s = time.monotonic()
            self._report_once(now_s - before_s)
            before_s = now_s

    def _report_once(self, interval_s: float = 0.0) -> None:
        viewers = sum(output.viewer_count for output in self.outputs if isinstance(output, WebrtcFanout))
        kbps = self._bytes * 8 / 1000 / interval_s if interval_s else 0.0
        self._bytes = 0
        self._link.metrics(
            viewers=viewers,
            bitrate_kbps=round(kbps, 1),
            outputs={output_id: state for output_id, (state, _) in self._states.items()},
            accepted_s=self.usage.accepted_s,
        )


async def serve(spec: SessionSpec, run_dir: Path) -> bool:
    """Run the outlet under its supervisor; files are finished and connections closed when this returns.

    Returns True when the stream has ended, False when a signal (SIGTERM) or the loss of the supervisor ended it early.
    """
    link = ChildLink("outlet")
    await link.connect(run_dir)
    outlet = Outlet(spec, run_dir, link)
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    stream = asyncio.create_task(outlet.run())
    requests = asyncio.create_task(link.serve(outlet.handlers))
    signalled = asyncio.create_task(terminated.wait())
    await asyncio.wait((stream, requests, signalled), return_when=asyncio.FIRST_COMPLETED)
    early = not stream.done()
    if early:
        log.info("finishing files and leaving", reason="SIGTERM" if signalled.done() else "the supervisor is gone")
        await outlet.finish()
        stream.cancel()
    await link.drain()
    for task in (requests, signalled):
        task.cancel()
    if stream.done() and not stream.cancelled():
        stream.result()
    return not early
