"""The command line: what it refuses, and that no key is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_engine.__main__ import main
from gpu_engine.session.spec import RunOfShow, Segment, SegmentKind, SessionSpec

pytestmark = pytest.mark.unit


@pytest.fixture
def show(tmp_path: Path) -> str:
    path = tmp_path / "show.json"
    path.write_text(SessionSpec(show=RunOfShow(segments=(Segment(id="s", kind=SegmentKind.OPENING),))).model_dump_json())
    return str(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "show.avi"], "neither an .mp4"),
        (["--out", "rtmp://host"], "must look like rtmp://host/app/key"),
        (["--out", "a.mp4", "--duration", "-5"], "duration_s"),
        (["--out", "a.mp4", "--comment", "soon:hello"], "SECONDS:TEXT"),
        ([], "no output"),
    ],
)
def test_options_that_cannot_be_used_are_refused_in_words(
    show: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--spec", show, *options]) == 2
    assert words in capsys.readouterr().err


def test_a_stream_key_with_slashes_is_not_printed(
    show: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def no_session(*_: object) -> int:
        return 0

    monkeypatch.setattr("gpu_engine.__main__._supervise", no_session)
    assert main(["run", "--spec", show, "--out", "rtmp://push.example/live/s3cret?sign=s3/cr3t"]) == 0
    out = capsys.readouterr().out
    assert "rtmp://push.example/live/…" in out
    assert "s3cret" not in out
    assert "s3/" not in out


def test_a_frame_rate_that_divides_no_clock_is_refused(show: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(show)
    path.write_text(path.read_text().replace('"fps":25', '"fps":23'))
    assert main(["run", "--spec", show, "--out", "a.mp4"]) == 2
    assert "use 10, 12, 15, 20, 24, 25, 30, 50 or 60" in capsys.readouterr().err


def test_a_presenter_that_does_not_exist_is_refused_before_anything_starts(
    show: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(show)
    path.write_text(path.read_text().replace('"avatar":"lin"', '"avatar":"nobody"'))

    assert main(["run", "--spec", show, "--out", str(tmp_path / "a.mp4")]) == 2

    said = capsys.readouterr()
    assert "avatar pack 'nobody' not found" in said.err and "amara" in said.err
    assert "running" not in said.out
    assert not (tmp_path / "a.mp4").exists()


@pytest.mark.parametrize(
    ("given", "zh", "en"),
    [
        ({}, "zf_xiaoxiao", "af_heart"),
        ({"avatar": "lin"}, "zf_xiaoxiao", "af_heart"),
        ({"avatar": "marco"}, "zm_yunxi", "am_michael"),
        ({"avatar": "amara"}, "zf_xiaobei", "af_bella"),
        ({"avatar": "/packs/own.glb"}, "zf_xiaoxiao", "af_heart"),
        ({"avatar": "marco", "voice": {"zh": "zf_xiaobei", "en": "af_bella"}}, "zf_xiaobei", "af_bella"),
    ],
)
def test_a_presenter_speaks_with_its_own_voice_unless_the_show_names_one(given: dict[str, object], zh: str, en: str) -> None:
    show = {"segments": [{"id": "s", "kind": "opening"}]}

    spec = SessionSpec.model_validate({"show": show, **given})

    assert (spec.voice.zh, spec.voice.en) == (zh, en)
