"""A photograph becomes a pack that validates, draws, keeps its likeness and moves; nothing is left half-written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import cv2
import numpy as np
import pytest

from gpu_engine.avatar.__main__ import main
from gpu_engine.avatar.contents import examine
from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.glb import read_glb
from gpu_engine.avatar.landmarks.face import LIPS_INNER, OVAL, Face
from gpu_engine.avatar.onboarding.build import LIMITS_DEG, STAGES, build
from gpu_engine.avatar.onboarding.consent import ConsentError, read_consent
from gpu_engine.avatar.onboarding.onboard import CancelledError, Outcome, RefusedError, nearest_template, onboard, place
from gpu_engine.avatar.onboarding.photo import read_photo
from gpu_engine.avatar.onboarding.template import read_template
from gpu_engine.avatar.pack import AvatarPack, Framing, assemble, load_pack, pack_path
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.sheet import BLINK, VISEMES, pose_frame
from gpu_engine.avatar.validate import validate
from gpu_engine.avatar.writer import build_pack
from tests.onboarding.pictures import BACKGROUND, PRESENTER, SMILING, TEMPLATE, U8, found, frame, photo, portrait, smiling

pytestmark = pytest.mark.unit

CONSENT = {
    "subject": "person",
    "statement": "Test with a face that exists nowhere.",
    "granted_by": "Lumihost",
    "granted_on": "2026-01-05",
    "evidence_sha256": "ab" * 32,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[tuple[str, float]]]:
    told: list[tuple[str, float]] = []
    out = tmp_path_factory.mktemp("packs") / "host.glb"
    outcome = onboard(
        read_photo(SMILING),
        name="host",
        out=out,
        consent=CONSENT,
        template=TEMPLATE,
        progress=lambda stage, share: told.append((stage, share)),
    )
    return outcome, told


class Twin:
    """The presenter's picture made into a pack with another's head, drawn so that its pixels are the photograph's."""

    def __init__(self) -> None:
        self.photo, self.face = portrait(), found(portrait())
        built = build(
            read_template(pack_path(TEMPLATE)),
            self.photo,
            self.face,
            name="twin",
            display_name={"zh": "twin", "en": "twin"},
            consent=CONSENT,
            origin="test",
        )
        self.fit = built.fit
        pack = assemble(examine(read_glb(build_pack(built.source).encode()))[0])
        height, width = self.photo.shape[:2]
        scale = 1 / self.fit.scale
        self.pack: AvatarPack = replace(
            pack, framings={"photo": Framing(height, scale, pack.camera.canvas[0] / 2 * scale / width, 0)}
        )
        self.renderer = CpuRenderer(self.pack, width, height, "photo")

    def draw(self, weights: dict[str, float] | None = None, turn: tuple[float, float, float] = (0, 0, 0)) -> U8:
        canvas = np.full(self.photo.shape, BACKGROUND, np.uint8)
        self.renderer.render(pose_frame(weights or {}, turn), canvas)
        return canvas


@pytest.fixture(scope="module")
def twin() -> Twin:
    return Twin()


def face_mask(face: Face, shape: tuple[int, ...]) -> np.ndarray:
    mask = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(mask, [face.points[list(OVAL), :2].astype(np.int32)], 1)
    return mask > 0


def gap(a: Face, b: Face) -> float:
    return float(np.linalg.norm(a.points[:, :2] - b.points[:, :2], axis=1).mean() / a.eye_distance)


def test_the_pack_is_valid_and_says_whose_it_is(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    outcome, _ = made
    verdict = validate(outcome.path)
    assert verdict.problems == () and "52 targets that move" in verdict.summary
    pack = load_pack(outcome.path)
    assert pack.manifest["consent"] == CONSENT
    assert pack.name == "host" and outcome.size == outcome.path.stat().st_size < 12_000_000
    for joint, limit in LIMITS_DEG.items():
        assert pack.manifest["limits_deg"][joint] <= limit


def test_progress_names_every_stage_once_and_ends_at_one(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    _, told = made
    assert [stage for stage, _ in told] == ["check", *STAGES, "done"]
    assert [share for _, share in told] == sorted(share for _, share in told) and told[-1][1] == 1.0


def test_the_fit_meets_the_points(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    mean, worst = made[0].built.fit.error_px
    assert mean < 0.1 and worst < 0.5, "of 47 px between the eyes"


def test_an_open_smile_rests_with_closed_lips(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    outcome, _ = made
    assert outcome.built.fit.expression["mouthSmileLeft"] > 0.2
    renderer = CpuRenderer(load_pack(outcome.path), 1280, 720)
    canvas = np.full((720, 1280, 3), BACKGROUND, np.uint8)
    renderer.render(pose_frame({}), canvas)

    def opening(face: Face) -> float:
        lips = face.points[list(LIPS_INNER), :2]
        return float(np.linalg.norm(face.points[13, :2] - face.points[14, :2]) / np.linalg.norm(lips[0] - lips[10]))

    assert opening(found(canvas)) < 0.6 * opening(found(smiling()))


def test_both_framings_draw_the_person_from_the_lower_edge_up(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    pack = load_pack(made[0].path)
    for width, height in ((1280, 720), (720, 1280)):
        canvas = np.full((height, width, 3), BACKGROUND, np.uint8)
        CpuRenderer(pack, width, height).render(pose_frame({}), canvas)
        drawn = np.abs(canvas.astype(int) - BACKGROUND).max(2) > 24
        rows = np.nonzero(drawn.any(1))[0]
        assert rows.max() >= height - 3, "the picture's cut must not show"
        assert 0.02 * height < rows.min() < 0.35 * height


def test_at_rest_it_is_the_photograph(twin: Twin) -> None:
    inside = face_mask(twin.face, twin.photo.shape)
    difference = np.abs(twin.draw().astype(int) - twin.photo).mean(2)[inside]
    assert difference.mean() < 4 and np.percentile(difference, 99) < 50
    assert gap(twin.face, found(twin.draw())) < 0.012


@pytest.mark.parametrize("name", ["aa", "ou", "PP"])
def test_visemes_move_as_the_modelled_head_does(twin: Twin, name: str) -> None:
    assert gap(found(frame(VISEMES[name])), found(twin.draw(VISEMES[name]))) < 0.03


def test_a_blink_closes(twin: Twin) -> None:
    modelled, made_ = found(frame(BLINK)), found(twin.draw(BLINK))
    assert gap(modelled, made_) < 0.02
    x, y = twin.face.irises[0].centre
    r = max(2, int(twin.face.irises[0].radius * 0.4))
    lid = twin.draw(BLINK)[int(y) - r : int(y) + r, int(x) - r : int(x) + r].mean()
    eye = twin.draw()[int(y) - r : int(y) + r, int(x) - r : int(x) + r].mean()
    assert lid > eye + 40, "skin where the pupil was"


@pytest.mark.parametrize("turn", [(8.0, 0, 0), (-8.0, 0, 0), (0, 5.0, 0)])
def test_turns_follow_the_modelled_head_and_open_no_hole(twin: Twin, turn: tuple[float, float, float]) -> None:
    modelled, drawn = frame({}, turn), twin.draw({}, turn)
    assert gap(found(modelled), found(drawn)) < 0.03
    inside = cv2.erode(face_mask(found(drawn), drawn.shape).astype(np.uint8), np.ones((9, 9))) > 0
    assert (np.abs(drawn.astype(int) - BACKGROUND).max(2)[inside] > 6).mean() > 0.995


def test_the_command_makes_the_same_file_from_the_same_photograph(
    made: tuple[Outcome, list[tuple[str, float]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = record(
        tmp_path,
        who=CONSENT["granted_by"],
        statement=CONSENT["statement"],
        granted_on=CONSENT["granted_on"],
        evidence=CONSENT["evidence_sha256"],
    )
    out = tmp_path / "again.glb"
    words = ["onboard", str(SMILING), "--name", "host", "--consent", str(wanted), "--out", str(out), "--progress"]
    words += ["--template", TEMPLATE]
    assert main(words) == 0
    assert out.read_bytes() == made[0].path.read_bytes()
    said = capsys.readouterr()
    assert "100% done" in said.out and "MB, fit error" in said.out and "advice: The face is too small" in said.err


def test_the_nearest_head_is_the_template_unless_one_is_named() -> None:
    assert nearest_template(found(portrait())).name == PRESENTER
    assert nearest_template(found(smiling())).name == "amara"


def test_no_clothes_and_no_limbs_of_the_template_come_along(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    pack = load_pack(made[0].path)
    assert made[0].built.source.clothes == []
    assert {p.layer for p in made[0].built.source.head} == {"mesh"} and [p.name for p in pack.plates] == ["person"]


def test_a_refused_photograph_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        onboard(photo(np.full((400, 400, 3), 90, np.uint8)), name="nobody", out=tmp_path / "nobody.glb", consent=CONSENT)
    assert refused.value.report.findings[0].code == "no_face" and list(tmp_path.iterdir()) == []


def test_cancelling_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    out = tmp_path / "host.glb"
    out.write_bytes(b"old")
    asked = 0

    def at_the_second() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    with pytest.raises(CancelledError, match="not touched"):
        onboard(photo(smiling()), name="host", out=out, consent=CONSENT, cancelled=at_the_second)
    assert asked == 2 and out.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["host.glb"]
    with pytest.raises(CancelledError, match="not touched"):
        place(out, b"new", lambda: True)
    assert out.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["host.glb"]
    place(out, b"new", lambda: False)
    assert out.read_bytes() == b"new" and [p.name for p in tmp_path.iterdir()] == ["host.glb"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AvatarError, match="cannot be written"):
        place(tmp_path / "nowhere" / "host.glb", b"new", lambda: False)


def record(folder: Path, **changes: object) -> Path:
    (folder / "signed.txt").write_text("I agree.")
    entry = {"who": "Wang Fang", "statement": "May host my shop's shows.", "granted_on": "2026-05-31", "evidence": "signed.txt"}
    path = folder / "consent.json"
    path.write_text(json.dumps({k: v for k, v in {**entry, **changes}.items() if v is not None}))
    return path


def test_a_complete_consent_record_is_taken_over(tmp_path: Path) -> None:
    entry = read_consent(record(tmp_path), date(2026, 6, 1))
    assert entry == {
        "subject": "person",
        "statement": "May host my shop's shows.",
        "granted_by": "Wang Fang",
        "granted_on": "2026-05-31",
        "evidence_sha256": hashlib.sha256(b"I agree.").hexdigest(),
    }
    assert read_consent(record(tmp_path, evidence="AB" * 32), date(2026, 6, 1))["evidence_sha256"] == "ab" * 32


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"who": None}, "'who'"),
        ({"statement": " "}, "'statement'"),
        ({"granted_on": "last May"}, "not a date"),
        ({"granted_on": "2027-01-01"}, "future"),
        ({"evidence": "nothing.pdf"}, "cannot be read"),
        ({"evidence": 5}, "'evidence'"),
    ],
)
def test_an_incomplete_consent_record_names_the_field(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ConsentError, match=words):
        read_consent(record(tmp_path, **changes), date(2026, 6, 1))


def test_no_consent_no_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "host.glb"
    assert main(["onboard", str(SMILING), "--name", "host", "--out", str(out)]) == 1
    assert "--consent FILE" in capsys.readouterr().err and not out.exists()


def test_a_person_pack_without_evidence_does_not_validate(made: tuple[Outcome, list[tuple[str, float]]]) -> None:
    source = replace(made[0].built.source, consent={k: v for k, v in CONSENT.items() if k != "evidence_sha256"}, plates=[])
    assert any("consent.evidence_sha256" in line for line in validate(build_pack(source).encode()).problems)


def test_check_answers_in_words_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SMILING), "--language", "zh"]) == 0
    said = capsys.readouterr()
    assert "人脸太小" in said.err and "照片可用" in said.out
    assert main(["check", str(SMILING), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["usable"] is True and {f["code"] for f in answer["findings"]} == {"face_small", "mouth_open", "one_sided"}
    text = tmp_path / "note.jpg"
    text.write_text("no picture")
    assert main(["check", str(text), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "kind"
