"""One session's room: at most one controller, any number of watchers, and the two rings to its body."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import structlog
from numpy.typing import NDArray

from gpu_engine.dmcp.codes import Code, DmcpError
from gpu_engine.dmcp.limits import Limits
from gpu_engine.dmcp.motion import Motion, encode_binary, encode_json
from gpu_engine.dmcp.reception import TokenBucket
from gpu_engine.dmcp.runs import SessionRings, run_directory
from gpu_engine.motion.ring import MOTION_RECORD, MotionFlag, RingError

if TYPE_CHECKING:
    from gpu_engine.dmcp.connection import Connection

log = structlog.get_logger(__name__)


class Room:
    """Created with its first connection, forgotten with its last.

    Raises:
        DmcpError: no such session runs here.
    """

    def __init__(self, session: str, runs: Path, limits: Limits) -> None:
        self.session = session
        self.members: set[Connection] = set()
        self.controller: Connection | None = None
        self._runs = runs
        self._limits = limits
        self._rings = self._open()
        if self._rings is None:
            raise DmcpError(Code.SESSION_UNKNOWN, f"session '{session}' does not run on this gateway")
        self._gone_at_s: float | None = None
        self._seen = self._rings.from_body.written
        self._record: NDArray[np.void] = np.zeros((), dtype=MOTION_RECORD)
        self._takes = TokenBucket(limits.takes_per_s, limits.takes_burst)

    # --- control ----------------------------------------------------------------------------------------------------

    def holder_for(self, connection: Connection) -> str:
        """Who holds control, as this connection is told."""
        return "none" if self.controller is None else "you" if self.controller is connection else "other"

    def take(self, connection: Connection, *, force: bool) -> None:
        """Give control to a connection.

        Raises:
            DmcpError: another one holds it and ``force`` was not said, or it changes hands too often.
        """
        if self.controller is connection:
            connection.told_control("you")
            return
        if self.controller is not None and not force:
            raise DmcpError(Code.CONTROL_HELD, "another connection drives this session: send take with force to take it over")
        if not self._takes.take(1.0, time.monotonic()):
            raise DmcpError(
                Code.TAKEN_TOO_OFTEN, f"'{self.session}' changes hands too often: wait {1 / self._limits.takes_per_s:g} s"
            )
        if self.controller is not None:
            self._let_go()
        self.controller = connection
        self._tell()

    def release(self, connection: Connection) -> None:
        """Take control away, if this connection has it: the body goes back to its own pipelines at once."""
        if self.controller is not connection:
            return
        self.controller = None
        self._let_go()
        self._tell()

    def _let_go(self) -> None:
        """Tell the body that what comes next, if anything, is another source's."""
        self._record["flags"] = int(MotionFlag.RELEASE)
        self._record["timestamp_ns"] = self._record["arrived_ns"] = time.monotonic_ns()
        if self._rings is not None:
            self._rings.to_body.write(self._record)

    def drive(self, motion: Motion, captured_ns: int, arrived_ns: int) -> None:
        """Put a checked frame into the body's ring; times on this machine's monotonic clock."""
        if self._rings is None:
            return
        record = self._record
        record["timestamp_ns"], record["arrived_ns"] = captured_ns, arrived_ns
        record["sequence"] = motion.sequence or 0
        record["flags"] = int(motion.flags & ~(MotionFlag.LIVE | MotionFlag.RELEASE))
        record["weights"], record["joints"] = motion.weights, motion.joints
        self._rings.to_body.write(record)

    def _tell(self) -> None:
        for member in list(self.members):
            member.told_control(self.holder_for(member))

    # --- telemetry --------------------------------------------------------------------------------------------------

    def poll(self, now_s: float) -> int:
        """Send the newest frame to whoever is due, each form encoded once; returns how many it was sent to."""
        rings = self._rings
        if rings is None or not self.members or rings.from_body.written == self._seen:
            return 0
        self._seen = rings.from_body.written
        record = rings.from_body.latest()
        if record is None:
            return 0
        motion = self._outgoing(record)
        text: bytes | None = None
        binary: bytes | None = None
        sent = 0
        for member in list(self.members):
            if not member.due(now_s):
                continue
            if member.binary:
                binary = binary or encode_binary(motion)
                sent += member.send_motion(binary, now_s)
            else:
                text = text or encode_json(self.session, motion)
                sent += member.send_motion(text, now_s)
        return sent

    def _outgoing(self, record: NDArray[np.void]) -> Motion:
        wall_ms = (time.time_ns() - time.monotonic_ns() + int(record["timestamp_ns"])) // 1_000_000
        return Motion(
            wall_ms, int(record["sequence"]), MotionFlag(int(record["flags"])),
            np.array(record["weights"]), np.array(record["joints"]),
        )  # fmt: skip

    # --- the body ---------------------------------------------------------------------------------------------------

    def follow_body(self, now_s: float) -> bool:
        """Once a second: find the body that runs now; false when the session has been without one for too long."""
        if self._rings is not None and self._rings.current and self._newest() in (None, self._rings.directory):
            self._gone_at_s = None
            return True
        self._rings = self._open()
        if self._rings is not None:
            self._gone_at_s = None
            self._seen = self._rings.from_body.written
            log.info("body found", session=self.session, run=self._rings.directory.name)
            return True
        if self._gone_at_s is None:
            self._gone_at_s = now_s
            log.info("body gone", session=self.session)
        return now_s - self._gone_at_s < self._limits.ended_after_s

    def _newest(self) -> Path | None:
        return run_directory(self._runs, self.session)

    def _open(self) -> SessionRings | None:
        directory = self._newest()
        if directory is None:
            return None
        try:
            return SessionRings(directory)
        except RingError as error:
            log.warning("rings not opened", session=self.session, error=str(error))
            return None
