"""An asyncio client: ``async with DmcpClient.connect(url, session, token) as client: async for motion in client: …``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from gpu_engine.dmcp import SUBPROTOCOL
from gpu_engine.dmcp import messages as m
from gpu_engine.dmcp.codes import Code, DmcpError
from gpu_engine.dmcp.motion import Motion, decode_binary, decode_json, encode_binary, encode_json
from gpu_engine.dmcp.reception import Reception
from gpu_engine.dmcp.token import Role
from gpu_engine.motion.ring import MotionFlag
from gpu_engine.motion.vocabulary import MotionFrame

PING_EVERY_S = 5.0
ANSWER_TIMEOUT_S = 5.0
_MAX_MESSAGE_BYTES = 65_536


class Refused(ConnectionError):
    """The gateway did not let us in, or did not do what was asked; ``code`` says why."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


class Closed(ConnectionError):
    """The connection has ended; ``code`` is the WebSocket's close code (4000 and up: docs/dmcp.md)."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


class DmcpClient:
    """One connection. Telemetry is conflated: who reads slowly gets the newest frame, and ``reception`` counts the rest."""

    def __init__(self, socket: ClientConnection, session: str, encoding: m.Encoding) -> None:
        """Use :meth:`connect`."""
        self.session = session
        self.reception = Reception()
        self.welcome: m.Welcome | None = None
        self.holder = "none"
        self.last_report: m.Report | None = None
        self.errors: list[m.Error] = []
        """The last refusals, newest last."""
        self.unreadable = 0
        """Messages that were not understood and left out."""
        self._socket = socket
        self._encoding = encoding
        self._newest: Motion | None = None
        self._arrived = asyncio.Event()
        self._answers: dict[type[Any], asyncio.Future[Any]] = {}
        self._sequence = 0
        self._ended: Closed | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, url: str, session: str, token: str, *, role: Role = "watch", encoding: m.Encoding = "binary", name: str = ""
    ) -> AsyncIterator[DmcpClient]:
        """Connect, say hello and wait for the welcome; closes at the end of the block.

        Raises:
            Refused: by version, token, session or for want of room. OSError: nobody listens there.
        """
        try:
            socket = await connect(
                url, subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None, max_size=_MAX_MESSAGE_BYTES, proxy=None
            )
        except InvalidStatus as error:
            raise Refused(error.response.status_code, (error.response.body or b"").decode("utf-8", "replace")[:300]) from error
        except InvalidHandshake as error:
            raise Refused(0, f"{url} is no DMCP gateway: {error}") from error
        client = cls(socket, session, encoding)
        client._tasks = [asyncio.create_task(client._receive())]
        try:
            hello = m.Hello(token, session, role, int(time.time() * 1000), encoding, name)
            client.welcome = await client._ask(hello, m.Welcome)
            client.holder = client.welcome.holder
            client._tasks.append(asyncio.create_task(client._keep_clock()))
            yield client
        finally:
            for task in client._tasks:
                task.cancel()
            await asyncio.gather(*client._tasks, return_exceptions=True)
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(socket.close(), 2.0)

    # --- watching ---------------------------------------------------------------------------------------------------

    async def next_motion(self) -> Motion:
        """The newest frame not returned yet.

        Raises:
            Closed: the connection has ended.
        """
        while self._newest is None:
            if self._ended is not None:
                raise self._ended
            self._arrived.clear()
            await self._arrived.wait()
        motion, self._newest = self._newest, None
        return motion

    async def __aiter__(self) -> AsyncIterator[Motion]:
        while True:
            try:
                yield await self.next_motion()
            except Closed:
                return

    async def set_rate(self, fps: int) -> None:
        """Ask for telemetry at 1 to 60 frames a second; 0 pauses it."""
        await self._ask(m.Rate(fps), m.RateIs)

    # --- driving ----------------------------------------------------------------------------------------------------

    async def take(self, *, force: bool = False) -> None:
        """Take control.

        Raises:
            Refused: another connection has it (try ``force``), or the token is for watching.
        """
        if self.holder == "you":
            return
        # Word of another's change may come before our answer.
        while self.holder != "you":
            await self._ask(m.Take(force), m.Control)
        self._sequence = 0

    async def release(self) -> None:
        """Give control back."""
        if self.holder == "you":
            await self._ask(m.Release(), m.Control)

    async def send_motion(
        self, frame: MotionFrame, *, ts_ms: int | None = None, flags: MotionFlag = MotionFlag.FACE | MotionFlag.POSE
    ) -> int:
        """Send one frame; returns its sequence number.

        Args:
            ts_ms: Unix time of the pose (default: now).
            flags: what of the frame counts, and whether the mouth speaks.

        Raises:
            Closed: the connection has ended.
        """
        sequence = self._sequence
        motion = Motion(int(time.time() * 1000) if ts_ms is None else ts_ms, sequence, flags, frame.weights, frame.joints)
        self._sequence = (self._sequence + 1) % 2**32
        if self._encoding == "binary":
            await self._send(encode_binary(motion))
        else:
            await self._send(encode_json(self.session, motion).decode())
        return sequence

    async def send_raw(self, message: str | bytes) -> None:
        """Send a message as it is."""
        await self._send(message)

    # --- connection -------------------------------------------------------------------------------------------------

    async def renew(self, token: str) -> None:
        """Present a newer token, so that the connection may stay open."""
        await self._ask(m.Renew(token), m.Renewed)

    async def ping(self) -> float:
        """Round trip in milliseconds."""
        start_s = time.perf_counter()
        await self._ask(m.Ping(0, int(time.time() * 1000)), m.Pong)
        return (time.perf_counter() - start_s) * 1000.0

    async def _ask(self, message: m.ClientMessage, answer: type[Any]) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[answer] = future
        try:
            await self._send(m.encode(message).decode())
            return await asyncio.wait_for(future, ANSWER_TIMEOUT_S)
        except TimeoutError:
            raise Refused(0, f"no answer to {type(message).__name__.lower()} within {ANSWER_TIMEOUT_S:g} s") from None
        finally:
            self._answers.pop(answer, None)

    async def _send(self, message: str | bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            raise self._ended or _closed(error) from None

    async def _receive(self) -> None:
        try:
            async for message in self._socket:
                # A later 1.x may say what we do not know (docs/dmcp.md); it must not end the reading.
                try:
                    self._take(message)
                except DmcpError:
                    self.unreadable += 1
            self._end(Closed(self._socket.close_code or 1006, self._socket.close_reason or "closed"))
        except ConnectionClosed as error:
            self._end(_closed(error))

    def _take(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self._motion(decode_binary(message))
            return
        text = message.encode()
        if m.is_motion(text):
            self._motion(decode_json(text, self.session))
            return
        answer = m.decode_from_gateway(text)
        if isinstance(answer, m.Error):
            self.errors = [*self.errors[-99:], answer]
            waiting = next(iter(self._answers.values()), None)
            if waiting is not None and not waiting.done() and answer.seq is None:
                waiting.set_exception(Refused(answer.code, answer.detail))
            return
        if isinstance(answer, m.Control):
            self.holder = answer.holder
        elif isinstance(answer, m.Report):
            self.last_report = answer
        future = self._answers.get(type(answer))
        if future is not None and not future.done():
            future.set_result(answer)

    def _motion(self, motion: Motion) -> None:
        self.reception.take(motion.sequence or 0, motion.ts_ms, time.time() * 1000)
        self._newest = motion
        self._arrived.set()

    def _end(self, closed: Closed) -> None:
        self._ended = closed
        self._arrived.set()
        for future in self._answers.values():
            if not future.done():
                future.set_exception(Refused(closed.code, str(closed)))

    async def _keep_clock(self) -> None:
        """Pings keep the gateway's estimate of our clock fresh."""
        while True:
            await asyncio.sleep(PING_EVERY_S)
            with contextlib.suppress(Closed):
                await self._send(m.encode(m.Ping(0, int(time.time() * 1000))).decode())


def _closed(error: ConnectionClosed) -> Closed:
    received = error.rcvd
    if received is None:
        return Closed(1006, "the connection broke")
    names = {code.value: code for code in Code}
    return Closed(received.code, received.reason or (names[received.code].title if received.code in names else "closed"))


__all__ = ["Closed", "DmcpClient", "DmcpError", "Refused"]
