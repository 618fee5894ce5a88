"""The composed frame: label always and lawful, captions and card inside the safe area, nothing stalls or crashes."""

from __future__ import annotations

import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from gpu_engine.session.timeline import Card
from gpu_engine.stage.compositor import Stage, StageError, StageState
from gpu_engine.stage.layout import Rect, layout
from gpu_engine.stage.sprites import fit_picture, initials, label_sprite

pytestmark = pytest.mark.unit

ZH_LABEL, EN_LABEL = "AI生成 · 数字人", "AI-generated · digital human"
SIZES = [(1280, 720), (720, 1280), (640, 360), (1920, 1080), (720, 720), (360, 640)]
CARD = Card("p3", "轻盈保温杯 316不锈钢 500ml", "¥199", "¥299", "仅剩 23 件", 3)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(640, 360, "zh", ZH_LABEL)


def flat(size: tuple[int, int], grey: int) -> NDArray[np.uint8]:
    return np.full((size[1], size[0], 3), grey, dtype=np.uint8)


def shown(stage: Stage, size: tuple[int, int], state: StageState, grey: int = 90) -> NDArray[np.uint8]:
    """The frame a second after ``state`` began."""
    canvas = flat(size, grey)
    for later in (0, 40, 1000):
        canvas = flat(size, grey)
        stage.compose(canvas, StageState(state.caption, state.card, state.media_ms + later))
    return canvas


def changed(canvas: NDArray[np.uint8], grey: int = 90) -> Rect:
    ys, xs = np.nonzero((np.abs(canvas.astype(int) - grey) > 24).any(axis=2))
    return Rect(int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)


def luminance(grey: NDArray[np.float64]) -> NDArray[np.float64]:
    """WCAG 2.2 relative luminance of sRGB BGR bytes."""
    c = grey / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    value: NDArray[np.float64] = linear @ np.array([0.0722, 0.7152, 0.2126])
    return value


@pytest.mark.parametrize("label", [ZH_LABEL, EN_LABEL, "人工智能生成"])
@pytest.mark.parametrize("size", SIZES)
def test_label_characters_are_five_percent_of_the_short_side(label: str, size: tuple[int, int]) -> None:
    canvas = shown(Stage(*size, "zh", label), size, StageState(), grey=128)
    box = changed(canvas, 128)
    plan = layout(*size)
    plate = canvas[box.top : box.bottom, box.left : box.right].min(axis=2)
    rows = (plate > 140).any(axis=1)
    runs, length = [], 0
    for lit in [*rows.tolist(), False]:
        if lit:
            length += 1
        elif length:
            runs.append(length)
            length = 0
    assert len(runs) in (1, 2)
    assert min(runs) >= 0.05 * min(size)
    assert plan.safe.contains(box)
    assert box.left < 0.1 * size[0]
    assert box.top < 0.1 * size[1]


@pytest.mark.parametrize("grey", [0, 90, 255])
def test_label_contrast_holds_on_any_picture(grey: int) -> None:
    size = (1280, 720)
    canvas = shown(Stage(*size, "zh", ZH_LABEL), size, StageState(), grey)
    sprite = label_sprite(ZH_LABEL, layout(*size))
    h, w = sprite.colour.shape[0], sprite.colour.shape[1] // 3
    plate = canvas[sprite.top : sprite.top + h, sprite.left : sprite.left + w].reshape(-1, 3).astype(np.float64)
    levels = luminance(plate)
    ground = np.median(levels)
    assert (levels.max() + 0.05) / (ground + 0.05) >= 4.5


def test_label_is_there_whatever_the_state(stage: Stage) -> None:
    size = (640, 360)
    sprite = label_sprite(ZH_LABEL, layout(*size))
    h, w = sprite.colour.shape[0], sprite.colour.shape[1] // 3
    region = np.s_[sprite.top : sprite.top + h, sprite.left : sprite.left + w]
    solid = sprite.keep.reshape(h, w, 3)[..., 0] < 60
    expected = shown(Stage(*size, "zh", ZH_LABEL), size, StageState())[region]
    monster = Card("x", "长" * 500, "¥" * 90, "¥" * 90, "注" * 400, 999_999)
    for at, state in enumerate(
        [StageState(), StageState("字" * 3000), StageState("", monster), StageState("W" * 500, CARD), StageState("\x00🎉")]
    ):
        for step in range(8):
            canvas = flat(size, 90)
            stage.compose(canvas, StageState(state.caption, state.card, at * 1000 + step * 40))
            np.testing.assert_array_equal(canvas[region][solid], expected[solid])


@pytest.mark.parametrize("label", ["", "数字人", "AI 主播", "generated", "Live"])
def test_a_label_that_does_not_say_ai_generated_is_refused(label: str) -> None:
    with pytest.raises(StageError, match="must name AI and generation"):
        Stage(640, 360, "zh", label)


def test_a_label_the_font_cannot_draw_is_refused_naming_the_characters() -> None:
    with pytest.raises(StageError, match="no glyph for '🤖𠮷'"):
        Stage(640, 360, "zh", "AI生成 🤖𠮷🤖")


def test_missing_font_is_refused_naming_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_engine.stage import text

    monkeypatch.setattr(text, "FONT_DIR", tmp_path)
    text.coverage.cache_clear()
    try:
        with pytest.raises(StageError, match=r"LumihostSansSC-Bold\.otf.*reinstall"):
            Stage(640, 360, "zh", ZH_LABEL)
    finally:
        text.coverage.cache_clear()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "caption",
    [
        "好",
        "这款保温杯采用316不锈钢内胆，早上装的热水，到了晚上还是温的，今天直播间只要一百九十九。",
        "Two drops in the morning and your skin stays bright all day, and yes, it is fine for sensitive skin.",
        "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrik" * 4,
    ],
)
def test_captions_stay_in_their_place(size: tuple[int, int], caption: str) -> None:
    plan = layout(*size)
    bare = shown(Stage(*size, "zh", ZH_LABEL), size, StageState())
    canvas = shown(Stage(*size, "zh", ZH_LABEL), size, StageState(caption))
    ys, xs = np.nonzero((canvas != bare).any(axis=2))
    box = Rect(int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)
    assert plan.caption.contains(box)
    assert plan.safe.contains(plan.caption)
    assert not plan.caption.top < plan.card.bottom


@pytest.mark.parametrize("size", SIZES)
def test_card_shows_in_the_safe_area_and_leaves_no_trace(size: tuple[int, int]) -> None:
    stage = Stage(*size, "zh", ZH_LABEL)
    bare = shown(stage, size, StageState())
    with_card = shown(stage, size, StageState("", CARD, 5_000))
    gone = shown(stage, size, StageState("", Card(), 10_000))
    box = layout(*size).card
    ys, xs = np.nonzero((np.abs(with_card.astype(int) - bare) > 24).any(axis=2))
    assert layout(*size).safe.contains(Rect(int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1))
    assert with_card[box.top + box.height // 2, box.left + 4].min() > 200
    np.testing.assert_array_equal(gone, bare)


def test_list_price_is_struck_and_price_is_larger() -> None:
    size = (1280, 720)
    stage = Stage(*size, "zh", ZH_LABEL)
    plain = shown(stage, size, StageState("", Card("p", "杯", "¥199"), 0))
    struck = shown(stage, size, StageState("", Card("p", "杯", "¥199", "¥299"), 5_000))
    ys, xs = np.nonzero((plain != struck).any(axis=2))
    row = struck[round((ys.min() + ys.max()) / 2) - 3 : round((ys.min() + ys.max()) / 2) + 4, xs.min() : xs.max() + 1]
    line = (row.max(axis=2) < 170).all(axis=1).any()
    red = (plain[..., 2] > 180) & (plain[..., 1] < 90)
    red[: layout(*size).card.top + 230] = False
    price_height = np.ptp(np.nonzero(red)[0]) + 1
    assert line
    assert price_height > 1.5 * (np.ptp(ys) + 1)


def test_caption_and_card_change_in_two_frames(stage: Stage) -> None:
    def card_corner(at: int, state: StageState) -> NDArray[np.uint8]:
        canvas = flat((640, 360), 90)
        stage.compose(canvas, StageState(state.caption, state.card, at))
        box = layout(640, 360).card
        return canvas[box.top + 20, box.left + 2].copy()

    shown(stage, (640, 360), StageState(media_ms=90_000))
    both = StageState("新品", CARD)
    assert (card_corner(100_000, both) == 90).all()
    card_corner(100_040, both)
    assert (card_corner(100_500, both) > 200).all()


def test_fades_are_gradual_and_end(stage: Stage) -> None:
    shown(stage, (640, 360), StageState(media_ms=200_000))
    box = layout(640, 360).card
    levels = []
    for step in range(12):
        canvas = flat((640, 360), 90)
        stage.compose(canvas, StageState("", CARD, 210_000 + step * 40))
        levels.append(int(canvas[box.top + box.height // 2, box.left + 3].min()))
    assert levels[0] == 90
    assert levels == sorted(levels)
    assert 90 < levels[3] < levels[-1]
    assert levels[-1] == levels[-3]


def test_picture_file_is_shown_when_loaded_and_a_broken_one_is_named(tmp_path: Path) -> None:
    size = (640, 360)
    good, bad, worse = tmp_path / "good.png", tmp_path / "bad.png", tmp_path / "worse.png"
    Image.new("RGB", (300, 500), (10, 200, 30)).save(good)
    bad.write_bytes(b"not a picture")
    # A chunk in the middle whose name is none: Pillow raises SyntaxError when it decodes.
    noise = Image.effect_noise((300, 300), 90).convert("RGB")
    noise.save(worse)
    data = bytearray(worse.read_bytes())
    second = data.index(b"IDAT", data.index(b"IDAT") + 4)
    data[second : second + 4] = b"\xa5\xea\x80\xdd"
    worse.write_bytes(data)
    stage, at, deadline = Stage(*size, "en", EN_LABEL), 0, time.monotonic() + 20
    box = layout(*size).card
    spot = (box.top + 60, box.left + box.width // 2)
    green = False
    while not green and time.monotonic() < deadline:
        canvas = flat(size, 90)
        stage.compose(canvas, StageState("", Card("g", "Cup", "$1", image=str(good)), at))
        green, at = bool(canvas[spot][1] > 180 > 60 > canvas[spot][2]), at + 40
    assert green
    for path in (bad, worse):
        while str(path) not in stage.pictures_failed and time.monotonic() < deadline:
            stage.compose(flat(size, 90), StageState("", Card("b", "Cup", "$1", image=str(path)), at))
            at += 40
    assert list(stage.pictures_failed) == [str(bad), str(worse)]


def test_a_strip_one_pixel_wide_fills_the_card_without_being_enlarged_whole() -> None:
    strip = Image.new("RGB", (1, 60_000), (10, 20, 30))
    strip.paste((200, 20, 30), (0, 29_000, 1, 31_000))
    filled = fit_picture(strip, (300, 200))
    assert (filled.size, filled.getpixel((150, 100))) == ((300, 200), (200, 20, 30))


def test_wrong_canvas_is_refused(stage: Stage) -> None:
    with pytest.raises(StageError, match=r"640x360"):
        stage.compose(flat((320, 180), 0), StageState())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    caption=st.text(max_size=300),
    title=st.text(max_size=80),
    price=st.text(max_size=30),
    old=st.text(max_size=30),
    note=st.text(max_size=80),
    link=st.integers(0, 10**9),
)
def test_any_text_is_composed(stage: Stage, caption: str, title: str, price: str, old: str, note: str, link: int) -> None:
    state = StageState(caption, Card("p", title, price, old, note, link))
    canvas = shown(stage, (640, 360), state)
    assert canvas.shape == (360, 640, 3)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("轻盈保温杯", "轻盈"),
        ("Hydra Glow Serum", "HG"),
        ("★ 棉T恤", "棉"),
        ("C", "C"),
        ("", "·"),
        ("🎁", "·"),
        ("900W 吹风机", "9吹"),
    ],
)
def test_initials(title: str, expected: str) -> None:
    assert initials(title) == expected


@pytest.mark.parametrize("size", [(640, 360), (360, 640)])
def test_background_is_a_picture_and_always_the_same(size: tuple[int, int]) -> None:
    first, second = Stage(*size, "zh", ZH_LABEL).background(), Stage(*size, "zh", ZH_LABEL).background()
    assert first.shape == (size[1], size[0], 3)
    assert first.dtype == np.uint8
    assert first.flags.c_contiguous
    assert first.std() > 15
    np.testing.assert_array_equal(first, second)


def test_label_survives_encoding_at_low_quality() -> None:
    size = (1280, 720)
    canvas = shown(Stage(*size, "zh", ZH_LABEL), size, StageState("字幕", CARD))
    ok, packed = cv2.imencode(".jpg", canvas, [cv2.IMWRITE_JPEG_QUALITY, 30])
    assert ok
    decoded = cv2.imdecode(packed, cv2.IMREAD_COLOR)
    sprite = label_sprite(ZH_LABEL, layout(*size))
    h, w = sprite.colour.shape[0], sprite.colour.shape[1] // 3
    region = np.s_[sprite.top : sprite.top + h, sprite.left : sprite.left + w]
    assert np.abs(decoded[region].astype(int) - canvas[region]).mean() < 8


def test_card_pictures_of_other_kinds_or_of_endless_scans_are_not_decoded(tmp_path: Path) -> None:
    postscript, scans = tmp_path / "card.png", tmp_path / "scans.jpg"
    postscript.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n")
    Image.new("RGB", (64, 64)).save(scans, progressive=True)
    raw = scans.read_bytes()
    scan = raw[raw.rindex(b"\xff\xda") : raw.rindex(b"\xff\xd9")]
    scans.write_bytes(raw[: raw.rindex(b"\xff\xd9")] + scan * 200 + b"\xff\xd9")
    stage, at, deadline = Stage(640, 360, "en", EN_LABEL), 0, time.monotonic() + 20

    for path in (postscript, scans):
        while str(path) not in stage.pictures_failed and time.monotonic() < deadline:
            stage.compose(flat((640, 360), 90), StageState("", Card("b", "Cup", "$1", image=str(path)), at))
            at += 40

    assert "cannot identify" in stage.pictures_failed[str(postscript)]
    assert "scans" in stage.pictures_failed[str(scans)]
