"""The show's picture: background, host, then captions, card and label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.hearing import Hearing
from gpu_engine.avatar.renderer import AvatarRenderer
from gpu_engine.body.stopwatch import Stopwatch
from gpu_engine.body.timeline import Scene
from gpu_engine.motion.live import LiveMotion
from gpu_engine.motion.mixer import Mixer
from gpu_engine.session.clock import FrameTime
from gpu_engine.session.spec import SessionSpec
from gpu_engine.stage.compositor import Stage, StageState


class ShowPicture:
    """Implements :class:`gpu_engine.body.loop.Picture` for one session."""

    def __init__(self, spec: SessionSpec, renderer: AvatarRenderer) -> None:
        self._stage = Stage(
            spec.video.width, spec.video.height, spec.lang, spec.label.in_lang(spec.lang), backdrop=spec.backdrop
        )
        self._background = self._stage.background()
        self._mixer = Mixer(spec.seed, tall=spec.video.height > spec.video.width)
        self._renderer = renderer
        self._hearing = renderer if isinstance(renderer, Hearing) else None
        self.live: LiveMotion | None = None
        """Set by a show in real time: a source outside may drive the host."""

    def report_to(self, on_event: Callable[[str, str], None]) -> None:
        """Have a renderer that draws from sound say what it falls back to: ``on_event(state, reason)``."""
        if self._hearing is not None:
            self._hearing.on_event = on_event

    def draw(self, canvas: NDArray[np.uint8], scene: Scene, time: FrameTime, watch: Stopwatch) -> None:
        """Fill ``canvas`` with frame ``time``."""
        motion = self._mixer.mix(
            time.media_ms, scene.lips, scene.emotion, scene.emphasis_ms, speaking=scene.speaking, gesture=scene.gesture
        )
        if self.live is not None:
            motion = self.live.apply(motion, scene.speaking, time.media_ms)
            self.live.publish(motion, scene.speaking)
        watch.lap("motion")
        np.copyto(canvas, self._background)
        if self._hearing is not None:
            self._hearing.hear(scene.sound, time.media_ms)
        self._renderer.render(motion, canvas)
        watch.lap("avatar")
        self._stage.compose(canvas, StageState(caption=scene.caption, card=scene.card, media_ms=time.media_ms))
        watch.lap("stage")
