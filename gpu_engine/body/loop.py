"""The body's loop: every 1/fps seconds one audio block and one picture, from the timeline to the encoder.

It never waits for the mind or the outlet. A picture that is late by more than one frame is skipped and counted; audio is
never skipped. In a virtual run there is no schedule: the loop advances as far as the mind has passed it
(:class:`gpu_engine.session.timeline.Pass`) and as fast as the outlet takes the packets.
"""

from __future__ import annotations

import gc
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_engine.body.encoder import AudioEncoder, VideoEncoder
from gpu_engine.body.links import MindPort, OutletPort, SupervisorPort
from gpu_engine.body.stopwatch import FrameRate, Stopwatch
from gpu_engine.body.timeline import Scene, Timeline
from gpu_engine.session.clock import FrameGrid, FrameTime, RealPacer, VirtualPacer
from gpu_engine.session.packets import StreamInfo
from gpu_engine.session.spec import SessionSpec
from gpu_engine.session.timeline import (
    ClipBegin,
    ClipChunk,
    ClipDrop,
    ClipEnded,
    ClipSeal,
    ClipStarted,
    Cut,
    MindMessage,
    Pass,
    ShowCard,
)

PLAYHEAD_EVERY_MS = 200
COMFORT_NOISE_AMPLITUDE = 3
VIRTUAL_OUTLET_HIGH_BYTES = 1024 * 1024
PEER_WAIT_S = 10.0


class Picture(Protocol):
    """Draws one frame of the show."""

    def draw(self, canvas: NDArray[np.uint8], scene: Scene, time: FrameTime, watch: Stopwatch) -> None:
        """Fill ``canvas`` (uint8[height, width, 3], BGR)."""
        ...


@dataclass(slots=True)
class Counters:
    """What the loop did so far."""

    frames: int = 0
    late_frames: int = 0
    produced_s: int = 0


class BodyLoop:
    """Owns the timeline and the encoders of one session."""

    def __init__(
        self, spec: SessionSpec, run_dir: Path, incarnation: int, picture: Picture, supervisor: SupervisorPort, aigc: str
    ) -> None:
        self._spec = spec
        self._picture = picture
        self._supervisor = supervisor
        self._grid = FrameGrid(spec.video.fps)
        self._virtual = spec.clock == "virtual"
        self._pacer = VirtualPacer() if self._virtual else RealPacer(spec.video.fps)
        self._timeline = Timeline()
        self._video = VideoEncoder(spec.video)
        self._audio = AudioEncoder()
        self._mind = MindPort(run_dir)
        self._outlet = OutletPort(run_dir)
        self._info = StreamInfo(
            incarnation, spec.video.width, spec.video.height, spec.video.fps, spec.video.bitrate_kbps, 48_000,
            self._audio.aac_config, aigc,
        )  # fmt: skip
        self._canvas = np.zeros((spec.video.height, spec.video.width, 3), dtype=np.uint8)
        self._pcm = np.zeros(self._grid.samples_per_frame, dtype=np.int16)
        self._noise = np.random.default_rng(spec.seed).integers(
            -COMFORT_NOISE_AMPLITUDE, COMFORT_NOISE_AMPLITUDE + 1, size=48_000, dtype=np.int16
        )
        self._watch = Stopwatch()
        self._rate = FrameRate()
        self._passed_ms = 0
        self._stop_reason = ""
        self._last_playhead_ms = -PLAYHEAD_EVERY_MS
        self._last_video_end_ms = 0
        self._told_dropped: dict[str, int] = {}
        self.counters = Counters()

    def run(self) -> str:
        """Run until asked to stop or until the spec's duration; returns the reason."""
        self._wait_for_peers()
        # What was loaded stays: a full collection over it takes four frames' time (measured: 170 ms), over the rest none.
        gc.collect()
        gc.freeze()
        self._pacer.start()
        self._supervisor.emit("state", state="live", reason="")
        frame = 0
        while True:
            now = self._grid.at(frame)
            self._poll(now)
            if self._spec.duration_s is not None and frame >= self._spec.duration_s * self._grid.fps:
                self._stop_reason = self._stop_reason or "duration reached"
            if self._stop_reason or self._supervisor.gone:
                break
            if self._virtual and not self._may_advance(now):
                continue
            wait_s = self._pacer.seconds_until(frame)
            if wait_s > 0:
                time.sleep(wait_s)
                self._poll(now)
            self._produce(now, late=wait_s < -1.0 / self._grid.fps)
            frame += 1
        return self._finish()

    # --- one frame --------------------------------------------------------------------------------------------------

    def _produce(self, now: FrameTime, *, late: bool) -> None:
        due_ns = self._pacer.due_ns(now.index)
        self._watch.start()
        pull_ns = time.monotonic_ns()
        scene = self._timeline.scene(now.media_ms, 500 // self._grid.fps)
        for report in self._timeline.pull(self._pcm, now.media_ms, pull_ns):
            self._mind.send(report)
            if isinstance(report, ClipEnded):
                self._supervisor.emit(
                    "spoken", clip_id=report.clip_id, turn_id=report.turn_id, text=report.text, media_ms=report.media_ms,
                    played_ms=report.played_ms, reason=str(report.reason), cursor=report.cursor,
                )  # fmt: skip
            elif isinstance(report, ClipStarted):
                self._supervisor.emit("clip_started", clip_id=report.clip_id, turn_id=report.turn_id, media_ms=report.media_ms)
        if not scene.speaking:
            # A clip that has just started: seen from the frame's end, half a frame back.
            scene = self._timeline.scene(now.media_ms + 1000 // self._grid.fps, -500 // self._grid.fps)
        noise_at = now.audio_pts % (48_000 - len(self._pcm))
        noise = self._noise[noise_at : noise_at + len(self._pcm)]
        np.add(self._pcm, noise, out=self._pcm, where=np.abs(self._pcm >> 1) < 16_000)
        for packet in self._audio.encode(self._pcm, now.audio_pts, due_ns):
            self._outlet.send(packet)
        self._watch.lap("audio")
        if late:
            self.counters.late_frames += 1
        else:
            self._picture.draw(self._canvas, scene, now, self._watch)
            if self._outlet.keyframe_wanted:
                self._video.request_keyframe()
                self._outlet.keyframe_wanted = False
            for packet in self._video.encode(self._canvas, now.video_pts, due_ns):
                self._outlet.send(packet)
            self._watch.lap("encode")
            self.counters.frames += 1
            self._rate.tick(now.media_ms / 1000 if self._virtual else time.monotonic())
            self._last_video_end_ms = now.media_ms
        self._outlet.poll(self._info)
        if now.media_ms - self._last_playhead_ms >= PLAYHEAD_EVERY_MS:
            self._last_playhead_ms = now.media_ms
            self._mind.send(self._timeline.playhead(now.media_ms))
        if (now.index + 1) % self._grid.fps == 0:
            self.counters.produced_s += 1
            self._report(now)

    def _report(self, now: FrameTime) -> None:
        playhead = self._timeline.playhead(now.media_ms)
        self._supervisor.metrics(
            media_s=now.media_ms / 1000, fps=round(self._rate.value(), 2), late_frames=self.counters.late_frames,
            frame_ms=round(self._watch.frame_ms, 2), stage_ms={k: round(v, 2) for k, v in self._watch.stage_ms.items()},
            av_offset_ms=float(self._last_video_end_ms - now.media_ms), buffered_ms=playhead.buffered_ms,
            produced_s=self.counters.produced_s, underrun_ms=self._timeline.underrun_ms,
            outlet_dropped=self._outlet.dropped_frames, timeline_refused=self._timeline.refused,
        )  # fmt: skip
        self._report_drops()

    def _report_drops(self) -> None:
        dropped = {"packets to the outlet": self._outlet.dropped_frames, "reports to the mind": self._mind.dropped}
        for what, total in dropped.items():
            count = total - self._told_dropped.get(what, 0)
            if count:
                self._supervisor.emit("drop", what=what, count=count, reason="it reads too slowly, or has just come back")
        self._told_dropped = dropped

    # --- peers ------------------------------------------------------------------------------------------------------

    def _poll(self, now: FrameTime) -> None:
        for request in self._supervisor.poll():
            if request.method == "stop":
                self._stop_reason = str(request.params.get("reason", "stopped"))
                self._supervisor.reply(request)
            elif request.method == "ping":
                self._supervisor.reply(request)
            else:
                self._supervisor.reply(request, "not_found", f"body has no method '{request.method}'")
        self._outlet.poll(self._info)
        for message in self._mind.poll(self._timeline.playhead(now.media_ms)):
            self._apply(message, now.media_ms)

    def _apply(self, message: MindMessage, now_ms: int) -> None:
        match message:
            case ClipBegin():
                self._timeline.begin(message, now_ms)
            case ClipChunk():
                self._timeline.chunk(message)
            case ClipSeal():
                self._timeline.seal(message)
            case ClipDrop():
                self._timeline.drop(message, now_ms)
            case Cut():
                self._mind.send(self._timeline.cut(message, now_ms))
            case Pass():
                self._passed_ms = max(self._passed_ms, message.until_ms)
            case ShowCard():
                self._timeline.show_card(message.card)

    def _may_advance(self, now: FrameTime) -> bool:
        if now.media_ms < self._passed_ms and self._outlet.queued_bytes < VIRTUAL_OUTLET_HIGH_BYTES and self._outlet.connected:
            return True
        time.sleep(0.001)
        return False

    def _wait_for_peers(self) -> None:
        deadline = time.monotonic() + PEER_WAIT_S
        start = self._grid.at(0)
        while time.monotonic() < deadline and not self._supervisor.gone:
            self._poll(start)
            if self._stop_reason or (self._outlet.connected and self._mind.connected):
                return
            select.select([], [], [], 0.01)

    def _finish(self) -> str:
        reason = self._stop_reason or "supervisor gone"
        said = False
        deadline = time.monotonic() + 5.0
        while self._outlet.connected and time.monotonic() < deadline:
            said = said or self._outlet.finish(reason)
            if said and not self._outlet.queued_bytes:
                break
            self._outlet.poll(self._info)
            time.sleep(0.005)
        self._supervisor.emit("state", state="stopping", reason=reason)
        self._supervisor.flush()
        return reason
