"""A neural head draws over its recording: what shows in silence and in speech, and what happens when it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpu_engine.avatar.neural.hearing import Hearing
from gpu_engine.avatar.neural.manifest import load_head
from gpu_engine.avatar.neural.renderer import EASE_FRAMES, NeuralRenderer
from gpu_engine.avatar.neural.sound import RecordedSound
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import rest_frame
from tests.neural import heads

pytestmark = pytest.mark.media

REST = rest_frame()


class FakeClock:
    """Advances by ``step_s`` at every look."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


@pytest.fixture(scope="module")
def head_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return heads.wav2lip(tmp_path_factory.mktemp("head"))


def open_renderer(path: Path, tmp_path: Path, **options: object) -> NeuralRenderer:
    size = (heads.WIDTH, heads.HEIGHT)
    return NeuralRenderer(load_head(path), *size, cache=tmp_path, **{"clock": FakeClock(), **options})  # type: ignore[arg-type]


def events_of(renderer: NeuralRenderer) -> list[tuple[str, str]]:
    events: list[tuple[str, str]] = []
    renderer.on_event = lambda state, reason: events.append((state, reason))
    return events


def draw(renderer: NeuralRenderer, sound: RecordedSound | None, frame: int) -> NDArray[np.uint8]:
    canvas = np.zeros((heads.HEIGHT, heads.WIDTH, 3), np.uint8)
    if sound is not None:
        sound.at = round((frame + 0.5) * 1920)
    renderer.hear(sound, frame * 40.0)
    renderer.render(REST, canvas)
    return canvas


def test_silence_shows_the_recording_and_runs_no_network(head_path: Path, tmp_path: Path) -> None:
    renderer = open_renderer(head_path, tmp_path)
    assert isinstance(renderer, Hearing)
    for frame in range(3):
        canvas = draw(renderer, None, frame)
        recorded, _ = heads.picture(renderer.loop.seam.first + frame)
        assert np.abs(canvas.astype(int) - recorded).mean() < 2.5
    assert renderer.drawn_frames == 0


def test_speech_changes_the_mouth_and_nothing_outside_the_crop(head_path: Path, tmp_path: Path) -> None:
    renderer, plain = open_renderer(head_path, tmp_path), open_renderer(head_path, tmp_path)
    sound = RecordedSound(heads.speech(2.0))
    for frame in range(EASE_FRAMES + 3):
        spoken, silent = draw(renderer, sound, frame), draw(plain, None, frame)
    change = np.abs(spoken.astype(int) - silent).max(axis=2)
    assert renderer.drawn_frames == EASE_FRAMES + 3
    assert change.max() >= 4
    rows, columns = np.nonzero(change)
    assert rows.min() > 80 and rows.max() < 200 and columns.min() > 80 and columns.max() < 240


def test_the_mouth_comes_and_goes_within_the_ease_frames(head_path: Path, tmp_path: Path) -> None:
    renderer, plain = open_renderer(head_path, tmp_path), open_renderer(head_path, tmp_path)
    sound = RecordedSound(heads.speech(2.0))

    def change(heard: RecordedSound | None, frame: int) -> int:
        return int(np.abs(draw(renderer, heard, frame).astype(int) - draw(plain, None, frame)).sum())

    rising = [change(sound, frame) for frame in range(6)]
    falling = [change(None, frame) for frame in range(6, 6 + EASE_FRAMES)]
    assert rising[0] < rising[2]
    assert falling[-1] == 0 and falling[0] > 0


def test_hours_into_the_show_costs_the_same_frame(head_path: Path, tmp_path: Path) -> None:
    renderer = open_renderer(head_path, tmp_path)
    period_ms = renderer.loop.seam.period * 40.0
    cycles = int(5 * 3_600_000 / period_ms)
    for frame in (0, 7, 39):
        early, late = draw(renderer, None, frame), np.zeros((heads.HEIGHT, heads.WIDTH, 3), np.uint8)
        renderer.hear(None, frame * 40.0 + cycles * period_ms)
        renderer.render(REST, late)
        assert np.array_equal(early, late)


@pytest.mark.parametrize("batch", [2, 4, 8])
def test_frames_drawn_ahead_are_those_drawn_one_by_one(head_path: Path, tmp_path: Path, batch: int) -> None:
    one, many = open_renderer(head_path, tmp_path), open_renderer(head_path, tmp_path, batch=batch)
    runs = []
    drawn = many.network.draw
    many.network.draw = lambda *a: (runs.append(len(a[0])), drawn(*a))[1]  # type: ignore[method-assign]
    pcm = heads.speech(2.0)
    sounds = RecordedSound(pcm), RecordedSound(pcm)
    for frame in range(24):
        a, b = draw(one, sounds[0], frame), draw(many, sounds[1], frame)
        assert np.abs(a.astype(int) - b).max() <= 1, f"frame {frame}"
    assert set(runs) == {batch} and len(runs) == 24 / batch


def test_a_cut_discards_what_was_drawn_ahead(head_path: Path, tmp_path: Path) -> None:
    renderer = open_renderer(head_path, tmp_path, batch=8)
    sound = RecordedSound(heads.speech(2.0))
    draw(renderer, sound, 0)
    assert len(renderer._ahead) == 7
    sound.stop = round(1.5 * 1920) + 500
    cut = draw(renderer, sound, 1)
    fresh = open_renderer(head_path, tmp_path)
    other = RecordedSound(sound.pcm[: sound.stop])
    draw(fresh, other, 0)
    assert np.abs(cut.astype(int) - draw(fresh, other, 1)).max() <= 1


def test_an_open_mouth_in_the_recording_is_drawn_in_silence(tmp_path: Path) -> None:
    path = heads.wav2lip(tmp_path, loop=None, open_from=30)
    heads.write_head(tmp_path, loop=heads.ref(tmp_path, "loop.mp4", fps=25, first=8, last=90, open_frames=list(range(30, 40))))
    renderer = open_renderer(path, tmp_path)
    drawn = []
    for frame in range(60):
        before = renderer.drawn_frames
        draw(renderer, None, frame)
        drawn.append(renderer.drawn_frames - before)
    assert [8 + i for i, count in enumerate(drawn) if count] == list(range(30, 40))


def test_values_that_are_not_finite_hold_the_recording_and_are_reported(tmp_path: Path) -> None:
    renderer = open_renderer(heads.wav2lip(tmp_path, special="nan"), tmp_path)
    plain = open_renderer(tmp_path / "head.json", tmp_path)
    sound, events = RecordedSound(heads.speech(2.0)), events_of(renderer)
    for frame in range(8):
        assert np.array_equal(draw(renderer, sound, frame), draw(plain, None, frame))
    ((state, reason),) = events
    assert state == "held" and "not finite" in reason and "3 times" in reason
    assert renderer.held_frames == 8
    with pytest.raises(AvatarError, match="not finite"):
        renderer.warm_up()


def test_a_network_slower_than_the_show_holds_and_is_tried_again(head_path: Path, tmp_path: Path) -> None:
    clock = FakeClock(step_s=0.02)
    renderer = open_renderer(head_path, tmp_path, clock=clock)
    sound, events = RecordedSound(heads.speech(40.0)), events_of(renderer)
    for frame in range(14):
        draw(renderer, sound, frame)
    ((state, reason),) = events
    assert state == "held" and "takes 40 ms a frame, more than 32 ms" in reason
    held = renderer.held_frames
    assert held >= 2
    clock.step_s = 0.0001
    for frame in range(14, 14 + 270):
        draw(renderer, sound, frame)
    assert [state for state, _ in events] == ["held", "drawing"]
    assert renderer.held_frames - held < 255 and renderer.drawn_frames > 12


def test_a_virtual_show_waits_for_a_slow_network(head_path: Path, tmp_path: Path) -> None:
    renderer = open_renderer(head_path, tmp_path, clock=FakeClock(step_s=0.02), real_time=False)
    sound, events = RecordedSound(heads.speech(1.0)), events_of(renderer)
    for frame in range(16):
        draw(renderer, sound, frame)
    assert (renderer.drawn_frames, renderer.held_frames, events) == (16, 0, [])


def test_another_canvas_than_agreed_is_refused(head_path: Path, tmp_path: Path) -> None:
    renderer = open_renderer(head_path, tmp_path)
    with pytest.raises(AvatarError, match=r"uint8\[240, 320, 3\], is uint8\[240, 322, 3\]"):
        renderer.render(REST, np.zeros((240, 322, 3), np.uint8))


@pytest.mark.parametrize(("width", "height"), [(640, 480), (180, 320), (426, 240)])
def test_other_canvases_are_covered_with_the_face_in_view(head_path: Path, tmp_path: Path, width: int, height: int) -> None:
    renderer = NeuralRenderer(load_head(head_path), width, height, cache=tmp_path)
    sound = RecordedSound(heads.speech(1.0))
    canvases = []
    for heard in (None, sound):
        canvas = np.zeros((height, width, 3), np.uint8)
        for frame in range(5):
            sound.at = round((frame + 0.5) * 1920)
            renderer.hear(heard, frame * 40.0)
            renderer.render(REST, canvas)
        canvases.append(canvas)
    assert canvases[0].min() > 0
    changed = np.nonzero(np.abs(canvases[1].astype(int) - canvases[0]).max(axis=2) > 2)
    scale = max(width / 320, height / 240)
    assert abs(changed[1].mean() - width / 2) < 20 * scale
    assert 30 * scale < np.ptp(changed[1]) < 110 * scale
