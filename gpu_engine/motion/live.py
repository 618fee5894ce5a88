"""A live source of motion (a performer's capture, a partner's agent) drives the host: play-out, hand-over, telemetry.

The gateway writes frames into a ring, the body reads them here without waiting. Frames are played a little after they were
captured, by as much as their arrival varies, so that there is nearly always one on either side of the moment shown. Who
drives changes without a jump: at the moment of change the difference between what was shown and what is to be shown is
kept and eased away (inertialisation: Bollo, GDC 2018), so neither side needs to know of the other.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.easing import minimum_jerk
from gpu_engine.motion.ring import MOTION_RECORD, MotionFlag, RingReader, RingWriter, create_in_memory
from gpu_engine.motion.vocabulary import (
    JOINT_COUNT,
    JOINT_INDEX,
    LIP_WEIGHTS,
    WEIGHT_COUNT,
    WEIGHT_INDEX,
    MotionFrame,
    rest_frame,
)

IN_RING = "dmcp-in.ring"
OUT_RING = "dmcp-out.ring"
IN_CAPACITY = 256
OUT_CAPACITY = 64

HAND_OVER_MS = 400.0
"""How long the difference is eased away when the host changes hands."""
CATCH_UP_MS = 160.0
"""The same when only the lips change hands, or a source that had run dry comes back; longer, and words are mumbled."""
LOST_AFTER_MS = 500.0
"""Silence of the source after which the host goes on by itself."""
EXTRAPOLATE_MS = 60.0
"""A late source's movement runs out within about this time instead of stopping dead."""
MAX_SHARE = 2.5
"""Never further than one and a half frame intervals: two frames close together tell little of a speed."""
MIN_DELAY_MS, MAX_DELAY_MS = 10.0, 250.0
REANCHOR_MS = 100.0
_WINDOW_MS = 3_000.0
_GAP_MS = 200.0
_MOUTH_MOVES = 0.06
"""Spread of the jaw or lips within half a second that counts as speech when the source does not say."""
_MOUTH_WINDOW_MS = 500.0
_UNIT_OFF = 0.05
_PARTS = int(MotionFlag.FACE | MotionFlag.POSE | MotionFlag.HEAD)
_OWN, _SPEECH, _LIVE = int(MotionFlag.FACE | MotionFlag.POSE), int(MotionFlag.SPEECH), int(MotionFlag.LIVE)
_LIPS = np.array([WEIGHT_INDEX[name] for name in LIP_WEIGHTS], dtype=np.intp)
_HEAD = np.array([JOINT_INDEX["neck"], JOINT_INDEX["head"]], dtype=np.intp)
_IDENTITY = rest_frame().joints


class PlayOut:
    """A jitter buffer of motion frames on the source's own clock.

    The delay is the 95th percentile of (arrival − capture) over the last 3 s plus one frame interval, within
    ``MIN_DELAY_MS`` and ``MAX_DELAY_MS`` above the quickest frame. It is approached slowly (time runs at most 10 % fast,
    25 % slow), so that the host never stutters because of it. Only differences of the two clocks count: an offset between them
    is part of every frame alike.
    """

    def __init__(self) -> None:
        self._frames: deque[NDArray[np.void]] = deque(maxlen=64)
        self._transits: deque[tuple[float, float]] = deque(maxlen=512)
        self._at_ms = 0.0
        self.clear()

    def clear(self) -> None:
        """Forget everything: another source begins."""
        self._frames.clear()
        self._transits.clear()
        self._delay_ms: float | None = None
        self._target_ms = 0.0
        self._interval_ms = 40.0
        self.newest_arrival_ms = float("-inf")
        self.ran_dry = False
        """The last pose given was not between two frames."""

    @property
    def delay_ms(self) -> float:
        """Arrival to play-out of the quickest frame: what the smoothing costs."""
        if self._delay_ms is None or not self._transits:
            return 0.0
        return self._delay_ms - min(transit for _, transit in self._transits)

    def push(self, record: NDArray[np.void]) -> None:
        """A frame has come; one that is not later than the last is of no use and left out."""
        at_ms, arrived_ms = int(record["timestamp_ns"]) / 1e6, int(record["arrived_ns"]) / 1e6
        if self._frames:
            step_ms = at_ms - int(self._frames[-1]["timestamp_ns"]) / 1e6
            if step_ms <= 0.0:
                return
            self._interval_ms += 0.1 * (min(step_ms, _GAP_MS) - self._interval_ms)
        self._frames.append(record)
        self._transits.append((arrived_ms, arrived_ms - at_ms))
        while self._transits[0][0] < arrived_ms - _WINDOW_MS:
            self._transits.popleft()
        self.newest_arrival_ms = arrived_ms
        transits = sorted(transit for _, transit in self._transits)
        late = transits[min(len(transits) - 1, int(0.95 * len(transits)))]
        spread = min(max(late - transits[0] + self._interval_ms, MIN_DELAY_MS), MAX_DELAY_MS)
        self._target_ms = transits[0] + spread

    def at(self, now_ms: float, weights: NDArray[np.float32], joints: NDArray[np.float32]) -> int:
        """Write the pose for this moment into ``weights`` (float32[32]) and ``joints`` (float32[21, 4]).

        Returns the flags of the frame it lies after. At least one frame must have been pushed.
        """
        step_ms = now_ms - self._at_ms
        self._at_ms = now_ms
        if self._delay_ms is None:
            self._delay_ms = self._target_ms
        else:
            error = self._target_ms - self._delay_ms
            self._delay_ms += min(max(error, -0.1 * step_ms), 0.25 * step_ms)
        moment_ns = int((now_ms - self._delay_ms) * 1e6)
        frames = self._frames
        while len(frames) > 2 and int(frames[1]["timestamp_ns"]) <= moment_ns:
            frames.popleft()
        first = frames[0]
        self.ran_dry = False
        if len(frames) == 1:
            self.ran_dry = moment_ns > int(first["timestamp_ns"])
            weights[:], joints[:] = first["weights"], first["joints"]
            return int(first["flags"])
        second = frames[1]
        span_ns = int(second["timestamp_ns"]) - int(first["timestamp_ns"])
        share = (moment_ns - int(first["timestamp_ns"])) / span_ns
        if share > 1.0:
            self.ran_dry = True
            over_ms = (share - 1.0) * span_ns / 1e6
            share = 1.0 + EXTRAPOLATE_MS * (1.0 - math.exp(-over_ms / EXTRAPOLATE_MS)) * 1e6 / span_ns
            share = min(share, MAX_SHARE)
        share = max(share, 0.0)
        np.subtract(second["weights"], first["weights"], out=weights)
        weights *= np.float32(share)
        weights += first["weights"]
        np.clip(weights, 0.0, 1.0, out=weights)
        joints[:] = slerp(first["joints"], second["joints"], share)
        return int(second["flags"] if share >= 0.5 else first["flags"])


class LiveMotion:
    """One per body: what the live source says, mixed into the host's own motion, and telemetry of the result.

    Args:
        run_dir: both rings are made there.
        on_change: told ``"live"`` or ``"autonomous"`` with a reason, whenever the host changes hands; must not wait.
    """

    def __init__(
        self,
        run_dir: Path,
        on_change: Callable[[str, str], None] | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Make the rings.

        Raises:
            RingError: the run directory cannot be written.
        """
        self._descriptors = (
            create_in_memory(run_dir / IN_RING, MOTION_RECORD, IN_CAPACITY),
            create_in_memory(run_dir / OUT_RING, MOTION_RECORD, OUT_CAPACITY),
        )
        self._source = RingReader(run_dir / IN_RING, MOTION_RECORD)
        self._telemetry = RingWriter.join(run_dir / OUT_RING, MOTION_RECORD)
        self._record: NDArray[np.void] = np.zeros((), dtype=MOTION_RECORD)
        self._sequence = 0
        self._on_change = on_change
        self.play_out = PlayOut()
        self._blend = Inertia()
        self._live = False
        self._driven = 0
        self._lips_live = False
        self._clock_ns = clock_ns
        self._now_ms = 0.0
        self._media_offset_ms = float("inf")
        self._mouth: deque[tuple[float, float]] = deque(maxlen=64)
        self._weights = np.zeros(WEIGHT_COUNT, dtype=np.float32)
        self._joints = rest_frame().joints
        self._out = rest_frame()
        self.lost = 0
        """Records overwritten before they could be read."""

    @property
    def live(self) -> bool:
        """Whether a live source drives the host now."""
        return self._live

    def apply(self, own: MotionFrame, speaking: bool, media_ms: int) -> MotionFrame:
        """The frame to draw: the host's own, the live source's, or on the way from one to the other.

        Args:
            own: what the autonomous pipelines would do; not changed.
            speaking: a clip is being spoken.
            media_ms: media time of the frame; call in order of time.

        Returns:
            ``own`` itself while nothing is live, else a frame that is valid until the next call.
        """
        now_ms = self._now_ms = self._steady_ms(media_ms)
        was_live, driven, lips, dry = self._live, self._driven, self._lips_live, self.play_out.ran_dry
        released, fresh, restarted = self._read()
        reason = self._decide(now_ms, released, fresh)
        if not self._live and not was_live and self._blend.done:
            self._blend.remember(own)
            return own
        if self._live:
            self._target(own, speaking, now_ms)
        else:
            self._driven, self._lips_live = 0, False
            self._weights[:], self._joints[:] = own.weights, own.joints
        if self._live != was_live or self._driven != driven or restarted:
            self._blend.start(self._weights, self._joints, now_ms, HAND_OVER_MS)
        elif self._lips_live != lips or (dry and fresh):
            # Never steeper than the hand-over it falls into.
            self._blend.start(self._weights, self._joints, now_ms, CATCH_UP_MS if self._blend.done else HAND_OVER_MS)
        self._blend.apply(self._weights, self._joints, now_ms, self._out)
        if self._live != was_live and self._on_change is not None:
            self._on_change("live" if self._live else "autonomous", reason)
        return self._out

    def publish(self, frame: MotionFrame, speaking: bool) -> None:
        """Write the frame that is drawn to the telemetry ring; it bears the time of the last :meth:`apply`."""
        record = self._record
        record["timestamp_ns"] = record["arrived_ns"] = int(self._now_ms * 1e6)
        record["sequence"] = self._sequence
        record["flags"] = _OWN | (_SPEECH if speaking else 0) | (_LIVE if self._live else 0)
        record["weights"], record["joints"] = frame.weights, frame.joints
        self._telemetry.write(record)
        self._sequence = (self._sequence + 1) % 2**32

    def _steady_ms(self, media_ms: int) -> float:
        """This frame's monotonic time without the jitter of when it is drawn: media time moves exactly by frames."""
        here_ms = self._clock_ns() / 1e6
        if abs(here_ms - media_ms - self._media_offset_ms) > REANCHOR_MS:
            self._media_offset_ms = here_ms - media_ms
        return media_ms + self._media_offset_ms

    # --- the source -------------------------------------------------------------------------------------------------

    def _read(self) -> tuple[bool, bool, bool]:
        """Take what has come; (the source let go and nothing followed, there is a frame, another source's frame)."""
        batch = self._source.read()
        self.lost += batch.lost
        released = fresh = restarted = False
        for record in batch.records:
            flags = int(record["flags"])
            if flags & MotionFlag.RELEASE:
                released, fresh = True, False
                self._forget()
            elif flags & _PARTS and _sound(record):
                restarted = restarted or released
                released, fresh = False, True
                self.play_out.push(record)
                # Whoever wrote it, silence is counted from our own present.
                self.play_out.newest_arrival_ms = min(self.play_out.newest_arrival_ms, self._now_ms)
                self._mouth.append((int(record["arrived_ns"]) / 1e6, float(np.max(record["weights"][_LIPS]))))
        return released, fresh, restarted

    def _forget(self) -> None:
        self.play_out.clear()
        self._mouth.clear()

    def _decide(self, now_ms: float, released: bool, fresh: bool) -> str:
        silent_ms = now_ms - self.play_out.newest_arrival_ms
        if self._live and (released or silent_ms > LOST_AFTER_MS):
            self._live = False
            self._forget()
            return "released" if released else f"nothing came for {LOST_AFTER_MS:.0f} ms"
        if fresh and not self._live and silent_ms <= LOST_AFTER_MS:
            self._live = True
            return "taken"
        return ""

    def _target(self, own: MotionFrame, speaking: bool, now_ms: float) -> None:
        """The source's pose, with what it does not give and lips that are a clip's filled in from our own."""
        flags = self.play_out.at(now_ms, self._weights, self._joints)
        self._driven = flags & _PARTS
        self._lips_live = bool(flags & MotionFlag.FACE) and (not speaking or self._speaks(flags, now_ms))
        if not flags & MotionFlag.FACE:
            self._weights[:] = own.weights
        elif not self._lips_live:
            self._weights[_LIPS] = own.weights[_LIPS]
        if not flags & MotionFlag.POSE:
            head = self._joints[_HEAD] if flags & MotionFlag.HEAD else own.joints[_HEAD]
            self._joints[:] = own.joints
            self._joints[_HEAD] = head

    def _speaks(self, flags: int, now_ms: float) -> bool:
        if flags & (MotionFlag.SPEECH | MotionFlag.SILENT):
            return bool(flags & MotionFlag.SPEECH)
        recent = [opening for at_ms, opening in self._mouth if now_ms - at_ms <= _MOUTH_WINDOW_MS]
        return len(recent) > 2 and max(recent) - min(recent) > _MOUTH_MOVES


def _sound(record: NDArray[np.void]) -> bool:
    """Whether a host can be posed with it. A gateway has seen to that; but what is in the ring is another process's word."""
    joints: NDArray[np.float32] = record["joints"]
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(np.einsum("ij,ij->i", joints, joints) - 1.0)
    return bool(np.isfinite(record["weights"]).all() and float(off.max()) < _UNIT_OFF)


class Inertia:
    """Keeps a difference to a new target and eases it away with minimum jerk.

    The difference is to where the movement shown would have gone next, so that it neither jumps nor stops for a frame.
    """

    def __init__(self) -> None:
        self._shown = rest_frame()
        self._before = rest_frame()
        self._frames = 0
        self._weights = np.zeros(WEIGHT_COUNT, dtype=np.float32)
        self._joints = _IDENTITY.copy()
        self._start_ms = 0.0
        self._length_ms = 0.0
        self.done = True

    def remember(self, shown: MotionFrame) -> None:
        """A frame was shown."""
        self._shown, self._before = self._before, self._shown
        self._frames += 1
        self._shown.weights[:], self._shown.joints[:] = shown.weights, shown.joints

    def start(self, weights: NDArray[np.float32], joints: NDArray[np.float32], now_ms: float, length_ms: float) -> None:
        """The target is another one from now on: keep its difference to what was to be shown next."""
        shown, before = self._shown, self._before if self._frames > 1 else self._shown
        expected = np.clip(2.0 * shown.weights - before.weights, 0.0, 1.0)
        np.subtract(expected, weights, out=self._weights)
        turned = multiply(multiply(shown.joints, conjugate(before.joints)), shown.joints)
        self._joints = multiply(turned, conjugate(joints))
        self._start_ms, self._length_ms, self.done = now_ms, length_ms, False

    def apply(self, weights: NDArray[np.float32], joints: NDArray[np.float32], now_ms: float, out: MotionFrame) -> None:
        """Write the target plus what is left of the difference into ``out``."""
        left = 0.0 if self.done else 1.0 - minimum_jerk((now_ms - self._start_ms) / self._length_ms)
        if left <= 0.0:
            self.done = True
            out.weights[:], out.joints[:] = weights, joints
        else:
            np.multiply(self._weights, np.float32(left), out=out.weights)
            np.add(out.weights, weights, out=out.weights)
            np.clip(out.weights, 0.0, 1.0, out=out.weights)
            out.joints[:] = multiply(slerp(_IDENTITY, self._joints, left), joints)
        self.remember(out)


# --- quaternions, float32[n, 4] in (x, y, z, w) ---------------------------------------------------------------------------


def conjugate(q: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inverse of unit quaternions."""
    inverse: NDArray[np.float32] = q * np.array([-1, -1, -1, 1], dtype=np.float32)
    return inverse


def multiply(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotation ``b``, then ``a``."""
    out = np.empty((JOINT_COUNT, 4), dtype=np.float32)
    ax, ay, az, aw = a.T
    bx, by, bz, bw = b.T
    out[:, 0] = aw * bx + ax * bw + ay * bz - az * by
    out[:, 1] = aw * by - ax * bz + ay * bw + az * bx
    out[:, 2] = aw * bz + ax * by - ay * bx + az * bw
    out[:, 3] = aw * bw - ax * bx - ay * by - az * bz
    return out


def slerp(a: NDArray[np.float32], b: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """From ``a`` (share 0) to ``b`` (1) along the shorter arc; above 1 it goes on in that direction (Shoemake 1985)."""
    dot = np.einsum("ij,ij->i", a, b)
    sign = np.where(dot < 0.0, np.float32(-1.0), np.float32(1.0))
    angle = np.arccos(np.minimum(np.abs(dot), np.float32(1.0)))
    sine = np.sin(angle)
    near = sine < 1e-4
    sine = np.where(near, np.float32(1.0), sine)
    from_a = np.where(near, np.float32(1.0 - share), np.sin((1.0 - share) * angle) / sine)
    from_b = np.where(near, np.float32(share), np.sin(share * angle) / sine)
    mixed: NDArray[np.float32] = a * from_a[:, None] + b * (from_b * sign)[:, None]
    mixed /= np.sqrt(np.einsum("ij,ij->i", mixed, mixed))[:, None]
    return mixed
