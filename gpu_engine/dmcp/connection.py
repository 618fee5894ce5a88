"""One WebSocket connection of the gateway: hello, then frames in and telemetry out, every quantity bounded."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import TYPE_CHECKING, Any

import structlog
from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport

from gpu_engine.dmcp import messages as m
from gpu_engine.dmcp.codes import Code, DmcpError
from gpu_engine.dmcp.motion import Motion, decode_binary, decode_json
from gpu_engine.dmcp.reception import Arrival, Patience, Reception, SenderClock, TimestampRule, TokenBucket
from gpu_engine.dmcp.token import Claims, TokenRefused

if TYPE_CHECKING:
    from gpu_engine.dmcp.gateway import Gateway
    from gpu_engine.dmcp.room import Room

log = structlog.get_logger(__name__)

_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)
_UNSENT_BYTES = 4_096
"""What the kernel may hold back for a slow watcher; more would be a backlog of old states."""
_CLOSE_PATIENCE_S = 1.0
MAX_RATE = 60


class Connection(WSListener):
    """State of one connection; all of it on the gateway's one thread."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self.claims: Claims | None = None
        self.room: Room | None = None
        self.binary = False
        self.reception = Reception()
        self._gateway = gateway
        self._transport: WSTransport | None = None
        self._closing = False
        self._parts: list[bytes] = []
        self._parts_kind = WSMsgType.TEXT
        limits = gateway.limits
        self._frames = TokenBucket(limits.frames_per_s, limits.frames_burst)
        self._bytes = TokenBucket(limits.bytes_per_s, limits.bytes_burst)
        self._flood = TokenBucket(limits.flood_factor * limits.frames_per_s, limits.flood_factor * limits.frames_burst)
        self._patience = Patience(limits.bad_frames, limits.bad_frames_window_s)
        self._told_rate_s = float("-inf")
        self._clock = SenderClock()
        self._times = TimestampRule(limits.past_ms, limits.future_ms)
        self._unnumbered = 0
        self._interval_s = 0.0
        self._next_due_s = 0.0
        self._paused = False
        self._blocked_since_s: float | None = None
        self._hello_timer: asyncio.TimerHandle | None = None
        self.expires_s = float("inf")

    # --- life -------------------------------------------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        """Wait for the hello."""
        self._transport = transport
        sock = transport.underlying_transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
        loop = asyncio.get_running_loop()
        self._hello_timer = loop.call_later(self._gateway.limits.hello_timeout_s, self._no_hello)
        self._gateway.arrived(self)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """Leave the room; a controller's host goes back to its own pipelines."""
        self._closing = True
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        self._gateway.left(self)
        self._transport = None

    def _no_hello(self) -> None:
        self.close(Code.HELLO_TIMEOUT, f"no hello within {self._gateway.limits.hello_timeout_s:g} s")

    def close(self, code: Code, detail: str) -> None:
        """Say why, then end the connection."""
        transport = self._transport
        if self._closing or transport is None:
            return
        self._closing = True
        self._gateway.counters.count_close(code)
        level = log.info if code in (Code.DRAINING, Code.SESSION_ENDED) else log.warning
        level("closed", code=code.value, reason=detail, **self.who())
        transport.send(WSMsgType.TEXT, m.encode(m.Error(code.value, code.title, detail, closing=True)))
        transport.send_close(code.value, code.title.encode())  # type: ignore[arg-type]
        # Time for the words to arrive: a socket closed on unread data is reset, and they with it.
        asyncio.get_running_loop().call_later(_CLOSE_PATIENCE_S, self._drop)

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.disconnect(graceful=False)

    def who(self) -> dict[str, Any]:
        """For the log: who this is, never the token itself."""
        claims = self.claims
        peer = self._transport.underlying_transport.get_extra_info("peername") if self._transport is not None else None
        about: dict[str, Any] = {"peer": f"{peer[0]}:{peer[1]}" if peer else "?"}
        if claims is not None:
            about |= {"session": claims.session, "role": claims.role, "token": claims.nonce}
        return about

    # --- frames in --------------------------------------------------------------------------------------------------

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Count it, answer pings and closes, and take messages that are whole."""
        kind = frame.msg_type
        if kind == WSMsgType.CLOSE:
            self._answer_close(transport, frame.get_close_code())
            return
        if self._closing:
            return
        if not self._flood.take(1.0, time.monotonic()):
            self.close(Code.FLOODING, f"over {self._gateway.limits.flood_factor:g} times the permitted frames a second")
            return
        if kind == WSMsgType.PING and transport.underlying_transport.get_write_buffer_size() == 0:
            # To a peer that does not read, pongs would pile up; the newest ping is enough to answer (RFC 6455, 5.5.3).
            transport.send_pong(frame.get_payload_as_bytes())
        if kind in (WSMsgType.PING, WSMsgType.PONG):
            return
        payload = frame.get_payload_as_bytes()
        if kind == WSMsgType.CONTINUATION or not frame.fin or self._parts:
            whole = self._joined(kind, payload, frame.fin)
            if whole is None:
                return
            kind, payload = self._parts_kind, whole
        self._take(kind == WSMsgType.TEXT, payload)

    def _answer_close(self, transport: WSTransport, code: WSCloseCode) -> None:
        if not self._closing:
            self._closing = True
            # A page's `close()` gives no code, and what stands for that must not be sent back (RFC 6455, 7.4).
            transport.send_close(WSCloseCode.OK if code == WSCloseCode.NO_INFO else code)
        transport.disconnect()

    def _joined(self, kind: WSMsgType, payload: bytes, fin: bool) -> bytes | None:
        if (kind == WSMsgType.CONTINUATION) != bool(self._parts):
            self.close(Code.MALFORMED, "a fragment without a beginning, or a message inside another")
            return None
        if kind != WSMsgType.CONTINUATION:
            self._parts_kind = kind
        self._parts.append(payload)
        limit = self._gateway.limits.max_frame_bytes
        if sum(map(len, self._parts)) > limit or len(self._parts) > 64:
            self.close(Code.MALFORMED, f"a fragmented message of over {limit} bytes or 64 fragments")
            return None
        if not fin:
            return None
        whole, self._parts = b"".join(self._parts), []
        return whole

    def _take(self, is_text: bool, payload: bytes) -> None:
        now_s = time.monotonic()
        counters = self._gateway.counters
        counters.messages_in += 1
        counters.bytes_in += len(payload)
        try:
            if self.claims is None:
                self._hello(is_text, payload)
                return
            if not self._within_rates(len(payload), now_s):
                return
            if not is_text:
                self._motion(decode_binary(payload), now_s)
            elif m.is_motion(payload):
                self._motion(decode_json(payload, self.claims.session), now_s)
            else:
                self._control(m.decode_from_client(payload))
        except DmcpError as error:
            self._refuse(error, now_s)
        except Exception:
            # Ours, not the peer's: the WebSocket layer ends the connection (1011), and is silent in our log.
            log.exception("message not handled", **self.who())
            raise

    def _within_rates(self, size: int, now_s: float) -> bool:
        limits = self._gateway.limits
        if not self._bytes.take(size, now_s):
            self._over_rate(Code.BYTE_RATE_EXCEEDED, f"more than {limits.bytes_per_s:.0f} bytes a second", now_s)
            return False
        if not self._frames.take(1.0, now_s):
            self._over_rate(Code.FRAME_RATE_EXCEEDED, f"more than {limits.frames_per_s:g} frames a second", now_s)
            return False
        return True

    def _over_rate(self, code: Code, detail: str, now_s: float) -> None:
        """Told once a second, so that a fast sender does not double its own traffic."""
        self.reception.refused += 1
        self._gateway.counters.count_refusal(code)
        if now_s - self._told_rate_s >= 1.0:
            self._told_rate_s = now_s
            self.send(m.Error(code.value, code.title, f"{detail}: the surplus is dropped"))

    def _refuse(self, error: DmcpError, now_s: float) -> None:
        self._gateway.counters.count_refusal(error.code)
        self.reception.refused += 1
        if self.claims is None:
            self.close(error.code, error.detail)
            return
        self.send(m.Error(error.code.value, error.code.title, error.detail[:300], error.sequence))
        if self._patience.strain(now_s):
            limits = self._gateway.limits
            self.close(
                Code.TOO_MANY_BAD_FRAMES, f"{limits.bad_frames} refused messages within {limits.bad_frames_window_s:g} s"
            )

    # --- hello ------------------------------------------------------------------------------------------------------

    def _hello(self, is_text: bool, payload: bytes) -> None:
        limits = self._gateway.limits
        if not is_text or len(payload) > limits.hello_bytes:
            raise DmcpError(Code.HELLO_EXPECTED, f"the first message is a hello in JSON of at most {limits.hello_bytes} bytes")
        try:
            hello = m.decode_from_client(payload)
        except DmcpError as error:
            raise DmcpError(Code.HELLO_EXPECTED, f"the first message is a hello: {error.detail}") from None
        if not isinstance(hello, m.Hello):
            raise DmcpError(Code.HELLO_EXPECTED, "the first message is a hello")
        claims = self._claims(hello.token)
        if claims.session != hello.sid:
            raise DmcpError(
                Code.SESSION_MISMATCH, f"the token is for another session than '{hello.sid[:64]}': ask for one of that session"
            )
        if claims.role != hello.role:
            raise DmcpError(Code.ROLE_NOT_GRANTED, f"the token grants '{claims.role}', not '{hello.role}'")
        room = self._gateway.enter(self, claims)
        self.claims, self.room, self.binary = claims, room, hello.encoding == "binary"
        self._gateway.known(self)
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        self._set_expiry(claims)
        self._clock.read(hello.clock_ms, time.monotonic_ns() / 1e6)
        log.info("joined", client=hello.client[:60], encoding=hello.encoding, **self.who())
        self.send(
            m.Welcome(
                claims.session, claims.role, int(time.time() * 1000), self._told_offset_ms(), claims.expires_s * 1000,
                hello.encoding, limits.as_told(), room.holder_for(self), limits.report_every_ms,  # type: ignore[arg-type]
            )
        )  # fmt: skip

    def _claims(self, token: str) -> Claims:
        try:
            return self._gateway.verify(token)
        except TokenRefused as refusal:
            raise DmcpError(Code.TOKEN_EXPIRED if refusal.expired else Code.TOKEN_INVALID, str(refusal)) from None

    def _set_expiry(self, claims: Claims) -> None:
        self.expires_s = time.monotonic() + claims.expires_s - time.time() + self._gateway.limits.renew_grace_s

    # --- control messages -------------------------------------------------------------------------------------------

    def _control(self, message: m.ClientMessage) -> None:
        assert self.claims is not None and self.room is not None
        match message:
            case m.Ping():
                self._clock.read(message.t, time.monotonic_ns() / 1e6)
                self.send(m.Pong(message.id, message.t, int(time.time() * 1000)))
            case m.Take():
                self._must_control("take")
                self.room.take(self, force=message.force)
                self.reception, self._times = Reception(), TimestampRule(self._times.past_ms, self._times.future_ms)
            case m.Release():
                self._must_control("release")
                self.room.release(self)
            case m.Rate():
                self._set_rate(message.fps)
            case m.Renew():
                self._renew(message.token)
            case m.ClientReport():
                self._gateway.counters.telemetry_lost += max(0, min(message.lost, 10_000))
            case m.Hello():
                raise DmcpError(Code.MALFORMED, "hello was said already")

    def _must_control(self, what: str) -> None:
        assert self.claims is not None
        if self.claims.role != "control":
            raise DmcpError(Code.MAY_NOT_CONTROL, f"'{what}' needs a token of the role 'control'; this one is for watching")

    def _set_rate(self, fps: int) -> None:
        if not 0 <= fps <= MAX_RATE:
            raise DmcpError(Code.RATE_OUT_OF_RANGE, f"{fps} frames a second: use 1 to {MAX_RATE}, or 0 to pause")
        self._paused = fps == 0
        # A fifth of slack: frames of 25 a second asked for at 25 must not be thinned by the poll's own grid.
        self._interval_s = 0.8 / fps if fps else 0.0
        self.send(m.RateIs(fps))

    def _renew(self, token: str) -> None:
        assert self.claims is not None
        claims = self._claims(token)
        if claims.session != self.claims.session or claims.tenant != self.claims.tenant:
            raise DmcpError(Code.SESSION_MISMATCH, "the new token is for another session")
        if claims.role != self.claims.role:
            raise DmcpError(Code.ROLE_NOT_GRANTED, f"the new token grants '{claims.role}', not '{self.claims.role}'")
        self._set_expiry(claims)
        self.send(m.Renewed(claims.expires_s * 1000))

    # --- motion in --------------------------------------------------------------------------------------------------

    def _motion(self, motion: Motion, now_s: float) -> None:
        self._must_control("motion")
        room = self.room
        assert room is not None
        if room.controller is not self:
            raise DmcpError(Code.NOT_IN_CONTROL, "send take first", motion.sequence)
        now_ns = time.monotonic_ns()
        # On the monotonic clock: a step of the wall clock must not make a sender's frames look late or early.
        here_ms = motion.ts_ms + self._clock.offset_ms
        if motion.sequence is None:
            motion.sequence = self._unnumbered
            self._unnumbered = (self._unnumbered + 1) % 2**32
        arrival = self.reception.take(motion.sequence, motion.ts_ms, now_ns / 1e6)
        if arrival is not Arrival.NEXT:
            # Overtaken by a newer pose: counted, and of no more use.
            return
        try:
            self._times.check(motion.ts_ms, here_ms, now_ns / 1e6)
        except DmcpError as error:
            error.sequence = motion.sequence
            raise
        room.drive(motion, int(here_ms * 1e6), now_ns)
        self._gateway.counters.motion_in += 1

    # --- out --------------------------------------------------------------------------------------------------------

    def send(self, message: m.GatewayMessage) -> None:
        """Send a control message. Who does not read them is cut off by :meth:`inspect`."""
        if self._transport is not None and not self._closing:
            self._transport.send(WSMsgType.TEXT, m.encode(message))

    def told_control(self, holder: str) -> None:
        """Control changed hands."""
        self.send(m.Control(holder))  # type: ignore[arg-type]

    def report(self) -> None:
        """The controller's loss report."""
        r = self.reception
        self.send(
            m.Report(
                r.received, r.lost, r.reordered, r.duplicate, r.refused, round(r.jitter_ms, 2), r.last_sequence,
                self._told_offset_ms(),
            )
        )  # fmt: skip

    def _told_offset_ms(self) -> float:
        """Between Unix times, as clients know it; we reckon with the monotonic clock."""
        return round(self._clock.offset_ms + (time.time_ns() - time.monotonic_ns()) / 1e6, 1)

    def due(self, now_s: float) -> bool:
        """Whether this member wants a telemetry frame now."""
        return not self._paused and not self._closing and now_s >= self._next_due_s

    def send_motion(self, payload: bytes, now_s: float) -> int:
        """Send a telemetry frame, unless earlier bytes still wait: then the next, newer one will do. Returns 1 if sent."""
        transport = self._transport
        if transport is None:
            return 0
        if transport.underlying_transport.get_write_buffer_size() > 0:
            self._gateway.counters.conflated += 1
            return 0
        self._next_due_s = now_s + self._interval_s
        transport.send(WSMsgType.BINARY if self.binary else WSMsgType.TEXT, payload)
        self._gateway.counters.telemetry_out += 1
        return 1

    def inspect(self, now_s: float) -> None:
        """Once a second: end what is stuck or whose token has run out."""
        transport = self._transport
        if transport is None or self._closing:
            return
        if transport.underlying_transport.get_write_buffer_size() == 0:
            self._blocked_since_s = None
        elif self._blocked_since_s is None:
            self._blocked_since_s = now_s
        elif now_s - self._blocked_since_s > self._gateway.limits.stuck_s:
            self._closing = True
            self._gateway.counters.count_close(Code.TOO_SLOW)
            log.warning("closed", code=Code.TOO_SLOW.value, reason="it does not read", **self.who())
            transport.disconnect(graceful=False)
            return
        if now_s > self.expires_s:
            self.close(Code.TOKEN_EXPIRED, "the token's time is over: renew in time, or connect with a new one")
