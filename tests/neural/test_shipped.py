"""The head that ships: whole, small, with its card; it opens on sound, shuts in silence, and its border is not seen."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import gpu_engine.avatar.neural
from gpu_engine.avatar.neural.manifest import load_head, sha256_of
from gpu_engine.avatar.neural.renderer import NeuralRenderer
from gpu_engine.avatar.neural.sound import RecordedSound
from gpu_engine.motion.vocabulary import rest_frame
from tests.neural import heads

pytestmark = pytest.mark.media

FOLDER = Path(gpu_engine.avatar.neural.__file__).parent / "heads" / "lin"


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> NeuralRenderer:
    cv2.setNumThreads(1)
    return NeuralRenderer(load_head(FOLDER / "head.json"), 1280, 720, cache=tmp_path_factory.mktemp("cache"), clock=lambda: 0.0)


def test_it_is_small_and_its_card_names_its_hash() -> None:
    head = load_head(FOLDER / "head.json")
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 8_000_000
    assert head.path(head.loop).stat().st_size < 1_500_000
    assert f"SHA-256 `{sha256_of(head.path(head.network))}`" in (FOLDER / "CARD.md").read_text("utf-8")
    assert (head.licence.spdx, head.consent.subject) == ("Apache-2.0", "synthetic")


def test_its_loop_closes(renderer: NeuralRenderer) -> None:
    crops = renderer.loop.crops.astype(np.float32)
    steps = [float(np.abs(a - b).mean()) for a, b in zip(crops, np.roll(crops, -1, axis=0), strict=True)]
    assert renderer.loop.seam.mode == "cut" and renderer.loop.seam.period == 250
    assert steps[-1] < 1.5 * max(steps[:-1])


def test_it_opens_on_a_vowel_and_shuts_in_silence(renderer: NeuralRenderer) -> None:
    row, at = 40, 24_000
    windows = renderer.ear.windows(RecordedSound(heads.speech(1.0), serial=7), [at + 3_000])
    silent = renderer.ear.windows(RecordedSound(np.zeros(48_000, np.int16), serial=8), [at])
    crop = renderer.loop.crops[row]
    speaking, resting = renderer.network.draw([crop, crop], [row, row], np.concatenate([windows, silent]))
    lips = np.s_[30:66, 24:72]
    moved, still = (np.abs(mouth[lips].astype(int) - crop[lips]).mean() for mouth in (speaking, resting))
    assert moved > 4.0
    assert still < 2.0


def test_the_border_of_what_is_pasted_is_not_seen(renderer: NeuralRenderer) -> None:
    sound, silent = RecordedSound(heads.speech(1.0), serial=9), np.zeros((720, 1280, 3), np.uint8)
    spoken = silent.copy()
    for frame in range(12):
        sound.at = round((frame + 0.5) * 1920)
        renderer.hear(sound, frame * 40.0)
        renderer.render(rest_frame(), spoken)
    row = renderer.loop.index(440.0)
    renderer.loop.show(row, silent)
    change = np.abs(spoken.astype(int) - silent).max(axis=2).astype(np.float32)
    back = cv2.invertAffineTransform(renderer.loop.maps[row].astype(np.float64))
    ring = np.array([[x, y, 1.0] for t in np.linspace(4, 91, 60) for x, y in ((t, 4), (t, 91), (4, t), (91, t))])
    at = np.rint(ring @ back.T).astype(int)
    assert change.max() > 20
    assert change[at[:, 1], at[:, 0]].max() <= 4
