"""The renderer of a neural head: recorded frames, and over them the mouth that the network draws from the sound."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from gpu_engine.avatar.neural.hearing import Sound
from gpu_engine.avatar.neural.loop import RecordedLoop
from gpu_engine.avatar.neural.manifest import Head, load_head
from gpu_engine.avatar.neural.network import HeadNetwork, NetworkFault
from gpu_engine.avatar.neural.paste import Paster
from gpu_engine.avatar.neural.sound import RATE_HZ, RecordedSound, open_ear
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import MotionFrame

log = structlog.get_logger(__name__)

Image = NDArray[np.uint8]

STAGES = ("loop", "features", "inference", "paste")
EASE_FRAMES = 3
"""Frames in which the drawn mouth takes over from the recorded one, and gives back."""
BUDGET_SHARE = 0.8
"""Share of a frame's time that features and inference may take before the head only holds recorded frames."""
_JUDGED_FRAMES = 12
_HOLD_MS = 10_000.0
_LONGEST_HOLD_MS = 160_000.0
_MAX_FAULTS = 3


@dataclass(slots=True, eq=False)
class _Drawn:
    """A mouth drawn ahead: for which clip, sample and frame of the loop, and how far the clip reached then."""

    serial: int
    at: int
    row: int
    known: int
    mouth: Image


class NeuralRenderer:
    """Implements ``AvatarRenderer`` and ``Hearing``. The recording moves by itself; motion frames are not looked at.

    In silence the recorded mouth shows, except where the recording's own mouth is open: there the network draws it shut, by
    hearing silence. When the network is slower than the show, fails, or gives nonsense, recorded frames are held and an event
    says so; it is tried again later.

    Attributes:
        stage_ms: milliseconds of the last frame by stage (``STAGES``).
        drawn_frames, held_frames: frames with a drawn mouth, and speaking frames that had to do without.
        on_event: called with 'held' or 'drawing' and a reason.
    """

    def __init__(
        self,
        head: Head,
        width: int,
        height: int,
        *,
        fps: float = 25.0,
        real_time: bool = True,
        batch: int | None = None,
        threads: int = 1,
        providers: Sequence[str] = (),
        cache: Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """
        Args:
            fps: frames a second of the show.
            real_time: hold recorded frames when the network is too slow for it.
            batch: frames drawn at once, 1 to 8; by default the manifest's. More is cheaper a frame and less even.
            cache: folder for the stored loop; by default the user's cache.

        Raises:
            AvatarError: the head's files, shapes or recording cannot be used.
        """
        self.head, self.width, self.height = head, width, height
        self._fps, self._clock, self._real_time = fps, clock, real_time
        self._batch = batch or head.batch
        if not 1 <= self._batch <= 8:
            raise AvatarError(f"batch {self._batch}: a neural head draws 1 to 8 frames at once")
        self.network = HeadNetwork(head, threads=threads, providers=providers)
        self.ear = open_ear(head.audio_feature, head.folder, threads, providers)
        self.loop = RecordedLoop(head, width, height, cache)
        self._paster = Paster(head)
        self._sound: Sound | None = None
        self._silence = RecordedSound(np.zeros(0, np.int16), serial=0)
        self._media_ms = 0.0
        self._share = 0.0
        self._ahead: deque[_Drawn] = deque(maxlen=8)
        self._last_mouth: tuple[int, Image] | None = None
        self._spent: deque[float] = deque(maxlen=_JUDGED_FRAMES)
        self._held_until_ms = -1.0
        self._hold_ms = _HOLD_MS
        self._faults = 0
        self.on_event: Callable[[str, str], None] | None = None
        self.stage_ms = dict.fromkeys(STAGES, 0.0)
        self.drawn_frames = self.held_frames = 0

    @property
    def look_ahead_ms(self) -> float:
        """Sound that a frame needs to be known ahead of its middle; beyond what exists silence is assumed."""
        return float(self.ear.look_ahead_ms + (self._batch - 1) * 1000.0 / self._fps)

    def hear(self, sound: Sound | None, media_ms: float) -> None:
        """The sound of the frame at ``media_ms``; call before :meth:`render`."""
        self._sound, self._media_ms = sound, media_ms

    def warm_up(self) -> None:
        """Draw one mouth off-screen, so that the first live frame pays for no allocation."""
        for size in sorted({1, self._batch}):
            window = self.ear.windows(self._silence, [0] * size)
            rows = [i % len(self.loop.crops) for i in range(size)]
            try:
                self.network.draw([self.loop.crops[row] for row in rows], rows, window)
            except NetworkFault as fault:
                raise AvatarError(f"{fault} on silence: this network cannot be used") from fault

    def render(self, frame: MotionFrame, canvas: Image) -> None:
        """Show the loop's frame over ``canvas`` (uint8[height, width, 3] BGR, C-contiguous), with the drawn mouth.

        Raises:
            AvatarError: ``canvas`` has another size or layout.
        """
        del frame
        if canvas.shape != (self.height, self.width, 3) or canvas.dtype != np.uint8 or not canvas.flags.c_contiguous:
            raise AvatarError(
                f"canvas must be contiguous uint8[{self.height}, {self.width}, 3], is {canvas.dtype}{list(canvas.shape)}"
            )
        start = self._clock()
        self.stage_ms = dict.fromkeys(STAGES, 0.0)
        row = self.loop.index(self._media_ms)
        self.loop.show(row, canvas)
        shown = self._clock()
        self.stage_ms["loop"] = (shown - start) * 1e3
        sound = self._sound
        opened = bool(self.loop.opened[row])
        wanted = sound is not None or opened
        mouth = self._mouth(sound or self._silence, row) if wanted else None
        step = 1.0 / EASE_FRAMES
        self._share = min(1.0, self._share + step) if mouth is not None else max(0.0, self._share - step)
        begin = self._clock()
        if mouth is not None:
            self._last_mouth = (row, mouth)
            self.drawn_frames += 1
        elif wanted:
            self.held_frames += 1
        if self._share > 0.0 and self._last_mouth is not None:
            self._paster.paste(canvas, self.loop.maps[row], self.loop.crops[row], self._last_mouth[1], self._share)
        self.stage_ms["paste"] = (self._clock() - begin) * 1e3

    # --- drawing ahead ------------------------------------------------------------------------------------------------

    def _mouth(self, sound: Sound, row: int) -> Image | None:
        """The mouth of this frame, from what was drawn ahead or drawn now; ``None`` when the head holds."""
        if self._media_ms < self._held_until_ms:
            return None
        if self._held_until_ms >= 0.0:
            self._held_until_ms = -1.0
            self._spent.clear()
            self._tell("drawing", "the network is tried again")
        step = round(RATE_HZ / self._fps)
        while self._ahead:
            drawn = self._ahead.popleft()
            if self._still_good(drawn, sound, row, step):
                self._judge(0.0)
                return drawn.mouth
        count = self._batch if sound.stop - sound.at > self._reach() else 1
        ats = [sound.at + i * step for i in range(count)]
        rows = [row] + [self.loop.index(self._media_ms + i * 1000.0 / self._fps) for i in range(1, count)]
        begin = self._clock()
        try:
            windows = self.ear.windows(sound, ats)
            heard = self._clock()
            mouths = self.network.draw([self.loop.crops[r] for r in rows], rows, windows)
        except (NetworkFault, AvatarError) as fault:
            self._faults += 1
            if self._faults >= _MAX_FAULTS:
                self._hold(f"{fault} ({self._faults} times)")
            return None
        done = self._clock()
        self._faults = 0
        self.stage_ms["features"], self.stage_ms["inference"] = (heard - begin) * 1e3, (done - heard) * 1e3
        for at, r, mouth in zip(ats[1:], rows[1:], mouths[1:], strict=True):
            self._ahead.append(_Drawn(sound.serial, at, r, min(sound.stop, at + self._reach()), mouth))
        self._judge((done - begin) * 1e3)
        return np.asarray(mouths[0], np.uint8)

    def _still_good(self, drawn: _Drawn, sound: Sound, row: int, step: int) -> bool:
        """A frame drawn before the sound it needs existed, or before a cut, is worth nothing."""
        now_known = min(sound.stop, drawn.at + self._reach())
        same = drawn.serial == sound.serial and drawn.row == row and drawn.known == now_known
        return same and abs(drawn.at - sound.at) <= step // 4

    def _reach(self) -> int:
        return int(self.ear.look_ahead_ms * RATE_HZ / 1000.0) + 1

    def _judge(self, spent_ms: float) -> None:
        self._spent.append(spent_ms)
        if len(self._spent) < _JUDGED_FRAMES or not self._real_time:
            return
        mean, budget = sum(self._spent) / len(self._spent), BUDGET_SHARE * 1000.0 / self._fps
        if mean > budget:
            self._hold(f"the network takes {mean:.0f} ms a frame, more than {budget:.0f} ms")
        else:
            self._hold_ms = _HOLD_MS

    def _hold(self, reason: str) -> None:
        self._held_until_ms = self._media_ms + self._hold_ms
        self._tell("held", f"head '{self.head.name}': {reason}; recorded frames for {self._hold_ms / 1000:.0f} s")
        self._hold_ms = min(2 * self._hold_ms, _LONGEST_HOLD_MS)
        self._ahead.clear()
        self._spent.clear()
        self._faults = 0

    def _tell(self, state: str, reason: str) -> None:
        if self.on_event is not None:
            self.on_event(state, reason)


def providers_from_environment() -> tuple[str, ...]:
    """Execution providers of ``LUMIHOST_ONNX_PROVIDERS`` (comma-separated, in order of preference); none: the default order."""
    return tuple(name.strip() for name in os.environ.get("LUMIHOST_ONNX_PROVIDERS", "").split(",") if name.strip())


def open_head(path: str | Path, width: int, height: int, *, fps: float = 25.0, real_time: bool = True) -> NeuralRenderer:
    """The renderer of a ``head.json``, warmed up, on the providers of the environment.

    Raises:
        AvatarError: naming the file, the field and the way out.
    """
    renderer = NeuralRenderer(
        load_head(path), width, height, fps=fps, real_time=real_time, providers=providers_from_environment()
    )
    log.info("neural head", head=renderer.head.name, **{k: list(v) for k, v in asdict(renderer.network.providers).items()})
    renderer.warm_up()
    return renderer
