"""Audio against picture on a finished recording: beeps through the real body, encoder, outlet and muxer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import av
import numpy as np
import pytest

from gpu_engine.session.spec import RecordingOutput, RunOfShow, Segment, SegmentKind, SessionSpec
from gpu_engine.session.supervisor import Supervisor
from tests.fakes.fake_mind_beeps import BEEP_MS, BEEPS
from tests.media.measure import LABEL_720P, mouth_opening, pictures, sound_onsets_s

pytestmark = pytest.mark.media

MODULES = {"body": "gpu_engine.body", "mind": "tests.fakes.fake_mind_beeps", "outlet": "gpu_engine.outputs"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("av")
    spec = SessionSpec(
        clock="virtual", duration_s=BEEPS + 1.0, outputs=(RecordingOutput(path=str(folder / "show.mp4")),),
        show=RunOfShow(segments=(Segment(id="s", kind=SegmentKind.OPENING),)),
    )  # fmt: skip
    assert asyncio.run(Supervisor(spec, folder, modules=MODULES).run()) == 0
    return folder / "show.mp4"


def test_the_mouth_opens_within_forty_milliseconds_of_the_sound(recording: Path) -> None:
    onsets = sound_onsets_s(recording)
    times, frames = pictures(recording)
    opening = mouth_opening(frames)
    opened = opening > opening.max() / 3
    offsets_ms = []
    for onset in onsets:
        after = np.flatnonzero(opened & (times > onset - 0.3) & (times < onset + 0.3))
        offsets_ms.append((times[after[0]] - onset) * 1000)

    assert len(onsets) == BEEPS
    assert max(abs(o) for o in offsets_ms) <= 40, offsets_ms


def test_the_mouth_rests_in_silence(recording: Path) -> None:
    onsets = sound_onsets_s(recording)
    times, frames = pictures(recording)
    opening = mouth_opening(frames)
    speaking = np.zeros(len(times), dtype=bool)
    for onset in onsets:
        speaking |= (times > onset - 0.15) & (times < onset + BEEP_MS / 1000 + 0.15)

    assert np.percentile(opening[~speaking], 95) < 0.35 * np.percentile(opening[speaking], 90)


def test_every_frame_is_there_once(recording: Path) -> None:
    times, _ = pictures(recording)

    assert len(times) == (BEEPS + 1) * 25
    assert np.allclose(np.diff(times), 0.04, atol=1e-4)


def test_the_label_is_in_every_decoded_frame_and_large_enough(recording: Path) -> None:
    _, frames = pictures(recording)
    label = frames[:, LABEL_720P[0], LABEL_720P[1]]
    ink_rows = ((label > 225).sum(axis=2) >= 2).sum(axis=1)
    plate = (label < 90).mean(axis=(1, 2))

    assert ink_rows.min() >= 0.05 * 720
    assert plate.min() > 0.3
    assert np.abs(label.astype(int) - label[0].astype(int)).mean(axis=(1, 2)).max() < 4


def test_the_file_says_that_it_is_generated(recording: Path) -> None:
    with av.open(str(recording)) as container:
        label = json.loads(container.metadata["AIGC"])

    assert label["Label"] == "1"
    assert set(label) >= {"ContentProducer", "ProduceID", "ContentPropagator", "PropagateID"}
