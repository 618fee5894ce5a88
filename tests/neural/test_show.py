"""A neural head in a show: the timeline gives it the sound it plays, the picture passes it on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu_engine.avatar.library import open_renderer
from gpu_engine.avatar.neural.renderer import NeuralRenderer
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.body.picture import ShowPicture
from gpu_engine.body.stopwatch import Stopwatch
from gpu_engine.body.timeline import Timeline
from gpu_engine.session.clock import FrameGrid
from gpu_engine.session.spec import load_spec
from gpu_engine.session.timeline import ClipBegin, ClipChunk, ClipKind, ClipSeal, Cut, CutMode, Priority
from tests.neural import heads

pytestmark = pytest.mark.media

SHOW = Path(__file__).parents[2] / "docs" / "examples" / "show.json"


def begin(timeline: Timeline, clip_id: str = "c1") -> None:
    timeline.begin(ClipBegin(clip_id, "t1", ClipKind.SCRIPT, Priority.SCRIPT, "zh"), 0)


def chunk(timeline: Timeline, pcm: np.ndarray, clip_id: str = "c1") -> None:  # type: ignore[type-arg]
    timeline.chunk(ClipChunk(clip_id, pcm.astype("<i2").tobytes(), b""))


def test_a_scene_reads_the_clip_around_its_frame_across_pieces() -> None:
    timeline, out = Timeline(), np.zeros(1920, np.int16)
    pcm = np.arange(1, 24_001, dtype=np.int16)
    begin(timeline)
    for start in range(0, 24_000, 5_000):
        chunk(timeline, pcm[start : start + 5_000])
    assert timeline.scene(0, 20).sound is None
    for i in range(6):
        timeline.pull(out, i * 40, 0)
        sound = timeline.scene(i * 40 + 40, -20).sound
        assert sound is not None
        assert (sound.serial, sound.at, sound.stop) == (1, i * 1920 + 960, 24_000)
        assert np.array_equal(sound.read(sound.at - 960, sound.at + 960), out)
        assert np.array_equal(sound.read(0, 24_000), pcm)
    assert sound.read(-3, 2).tolist() == [0, 0, 0, 1, 2]
    assert sound.read(23_999, 24_003).tolist() == [24_000, 0, 0, 0]


def test_a_cut_ends_what_can_be_read() -> None:
    timeline, out = Timeline(), np.zeros(1920, np.int16)
    begin(timeline)
    chunk(timeline, np.ones(48_000, np.int16))
    timeline.pull(out, 0, 0)
    sound = timeline.scene(40, -20).sound
    assert sound is not None and sound.stop == 48_000
    timeline.cut(Cut(1, CutMode.NOW, "test"), 40)
    assert sound.stop == 1920 + 30 * 48
    assert sound.read(0, 48_000).sum() == sound.stop


def test_a_session_with_a_head_json_speaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LUMIHOST_ONNX_PROVIDERS", "CPUExecutionProvider")
    spec = load_spec(SHOW).model_copy(update={"avatar": str(heads.wav2lip(tmp_path))})
    width, height = spec.video.width, spec.video.height
    renderer = open_renderer(spec.avatar, width, height, fps=spec.video.fps)
    assert isinstance(renderer, NeuralRenderer)
    assert renderer.network.providers.configured == ("CPUExecutionProvider",)
    picture, grid, timeline, watch = ShowPicture(spec, renderer), FrameGrid(spec.video.fps), Timeline(), Stopwatch()
    events: list[tuple[str, str]] = []
    picture.report_to(lambda state, reason: events.append((state, reason)))
    begin(timeline)
    pcm = heads.speech(0.6)
    for start in range(0, len(pcm), 12_000):
        chunk(timeline, pcm[start : start + 12_000])
    timeline.seal(ClipSeal("c1"))
    canvas, out = np.zeros((height, width, 3), np.uint8), np.zeros(grid.samples_per_frame, np.int16)
    drawn = []
    for i in range(22):
        now = grid.at(i)
        scene = timeline.scene(now.media_ms, 500 // spec.video.fps)
        timeline.pull(out, now.media_ms, 0)
        if not scene.speaking:
            scene = timeline.scene(now.media_ms + 40, -20)
        watch.start()
        before = renderer.drawn_frames
        picture.draw(canvas, scene, now, watch)
        drawn.append(renderer.drawn_frames - before)
    assert drawn == [1] * 15 + [0] * 7
    assert events == [] and renderer.held_frames == 0


def test_a_head_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match=r"head\.json is missing"):
        open_renderer(str(tmp_path / "head.json"), 320, 240)
