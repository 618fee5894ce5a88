"""What the CPU renderer promises about its frames."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from gpu_engine.avatar import raster
from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import AvatarPack, load_pack
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.sheet import pose_frame
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHTS, MotionFrame, rest_frame
from tests.avatar.build import sheet_pack

pytestmark = pytest.mark.media

HEIGHT, WIDTH = 360, 640
Image = NDArray[np.uint8]


@pytest.fixture(scope="module")
def pack() -> AvatarPack:
    return load_pack("lin")


@pytest.fixture(scope="module")
def renderer(pack: AvatarPack) -> CpuRenderer:
    return CpuRenderer(pack, WIDTH, HEIGHT)


def draw(renderer: CpuRenderer, frame: MotionFrame, colour: tuple[int, int, int] = (200, 180, 160)) -> Image:
    canvas = np.empty((renderer.height, renderer.width, 3), np.uint8)
    canvas[:] = colour
    renderer.render(frame, canvas)
    return canvas


def box(renderer: CpuRenderer, part: str, grow: float = 0.0) -> tuple[slice, slice]:
    """Screen rows and columns of a mesh part as last drawn."""
    low, high = renderer.pack.part(part).verts
    points = renderer._vertices[low:high, :2]
    (x0, y0), (x1, y1) = points.min(0) - grow, points.max(0) + grow
    return slice(int(y0), int(y1) + 1), slice(int(x0), int(x1) + 1)


def test_same_frame_same_pixels(pack: AvatarPack, renderer: CpuRenderer) -> None:
    frame = pose_frame({"jawOpen": 0.3, "eyeLookLeft": 0.4}, (4, -2, 1))
    first = draw(renderer, frame)
    draw(renderer, pose_frame({"mouthPucker": 1.0}, (-5, 3, 0)))
    assert np.array_equal(first, draw(renderer, frame))
    assert np.array_equal(first, draw(CpuRenderer(pack, WIDTH, HEIGHT), frame))


def test_silence_is_still(renderer: CpuRenderer) -> None:
    assert np.array_equal(draw(renderer, rest_frame()), draw(renderer, rest_frame()))


def test_jaw_moves_the_mouth_and_leaves_the_brow(renderer: CpuRenderer) -> None:
    rest, opened = draw(renderer, rest_frame()), draw(renderer, pose_frame({"jawOpen": 0.4}))
    changed = np.abs(rest.astype(int) - opened).max(-1) > 8
    mouth, eye = box(renderer, "teeth_upper"), box(renderer, "eye_l", 4)
    assert changed[mouth].mean() > 0.15
    assert not changed[: eye[0].start].any()


def test_open_mouth_shows_bright_teeth(renderer: CpuRenderer) -> None:
    def teeth(image: Image) -> int:
        rows, cols = box(renderer, "teeth_upper")
        third = (cols.stop - cols.start) // 3
        patch = image[rows, cols.start + third : cols.stop - third].astype(int)
        # Enamel is bright and nearly grey; skin and lips are much redder than blue.
        return int(((patch.min(-1) > 110) & (patch[..., 2] - patch[..., 0] < 40)).sum())

    talk = {"jawOpen": 0.35, "mouthUpperUp": 0.25, "mouthSmileLeft": 0.4, "mouthSmileRight": 0.4}
    assert teeth(draw(renderer, pose_frame(talk))) >= teeth(draw(renderer, rest_frame())) + 25


@pytest.mark.parametrize("side", ["l", "r"])
def test_blink_covers_the_eyeball(pack: AvatarPack, side: str) -> None:
    renderer = CpuRenderer(pack, 1280, 720)
    name = {"l": "eyeBlinkLeft", "r": "eyeBlinkRight"}[side]

    def dark(image: Image) -> int:
        rows, cols = box(renderer, f"eye_{side}")
        return int((image[rows, cols].max(-1) < 60).sum())

    rest, shut = draw(renderer, rest_frame()), draw(renderer, pose_frame({name: 1.0}))
    # Iris and pupil go; what stays dark is the line of lashes.
    assert dark(shut) < 0.6 * dark(rest)
    rows, cols = box(renderer, f"eye_{side}")
    middle = (rows.start + rows.stop) // 2
    centre = (cols.start + cols.stop) // 2
    lid = shut[middle - 3 : middle + 1, centre - 2 : centre + 3].astype(int)
    assert (lid[..., 2] > lid[..., 0]).all(), "skin, not sclera or iris, where the pupil was"


def test_gaze_moves_the_iris_to_the_hosts_left(pack: AvatarPack) -> None:
    renderer = CpuRenderer(pack, 1280, 720)

    def iris_x(weights: dict[str, float]) -> float:
        image = draw(renderer, pose_frame(weights))
        rows, cols = box(renderer, "eye_l")
        height = (rows.stop - rows.start) // 4
        patch = image[rows.start + height : rows.stop - height, cols].max(-1)
        return float(np.nonzero(patch < 70)[1].mean())

    # The host's left is the viewer's right.
    assert iris_x({"eyeLookLeft": 0.7}) > iris_x({}) + 2
    assert iris_x({"eyeLookRight": 0.7}) < iris_x({}) - 2


def test_head_turn_moves_face_and_hair_together(renderer: CpuRenderer) -> None:
    draw(renderer, rest_frame())
    skin = slice(*renderer.pack.part("skin").verts)
    straight, grid = renderer._vertices[skin, 0].copy(), renderer._front[-1].vertices[:, 0].copy()
    draw(renderer, pose_frame({}, (8, 0, 0)))
    nose = int(renderer.pack.rest[skin, 2].argmax())
    assert renderer._vertices[skin, 0][nose] > straight[nose] + 2
    hair = renderer._front[-1].vertices[:, 0] - grid
    top, tips = hair[: len(hair) // 3], hair[-len(hair) // 12 :]
    assert float(top.max()) > 1.0
    assert float(np.abs(tips).max()) < float(np.abs(top).max()), "tips lag the crown"


def test_joint_angles_beyond_the_limit_are_held(renderer: CpuRenderer) -> None:
    draw(renderer, pose_frame({}, (16, 0, 0)))
    at_limit = renderer._vertices.copy()
    draw(renderer, pose_frame({}, (60, 0, 0)))
    assert np.allclose(renderer._vertices[:, :3], at_limit[:, :3], atol=0.01)


def test_breath_moves_the_clothes(renderer: CpuRenderer) -> None:
    frame = rest_frame()
    half = np.radians(1.0) / 2
    frame.joints[JOINT_INDEX["spine2"]] = [np.sin(half), 0, 0, np.cos(half)]
    rest, breath = draw(renderer, rest_frame()), draw(renderer, frame)
    assert (np.abs(rest.astype(int) - breath).max(-1) > 4).sum() > 100


@pytest.mark.parametrize("size", [(640, 360), (854, 480), (1280, 720), (1920, 1080), (360, 640), (720, 1280), (642, 362)])
def test_canvas_outside_the_host_is_untouched(pack: AvatarPack, size: tuple[int, int]) -> None:
    renderer = CpuRenderer(pack, *size)
    guard = np.full((size[1] + 2, size[0], 3), 77, np.uint8)
    canvas = guard[1:-1]
    renderer.render(pose_frame({"jawOpen": 0.5}, (8, 5, 5)), canvas)
    assert (guard[0] == 77).all()
    assert (guard[-1] == 77).all()
    assert (canvas[:2] == 77).all(), "head room above the hair"
    assert (canvas[-1] != 77).any(), "the body reaches the bottom edge"
    if size[0] > size[1]:
        assert (canvas[:, size[0] * 2 // 3 :] == 77).all(), "the right third is left to the product card"


def test_no_halo_round_the_outline(renderer: CpuRenderer) -> None:
    """Over black no pixel may be brighter, over white none darker, than its composite allows."""
    for turn in ((0.0, 0.0, 0.0), (8.0, 0.0, 0.0), (-8.0, 3.0, 2.0)):
        frame = pose_frame({}, turn)
        black, white = draw(renderer, frame, (0, 0, 0)).astype(int), draw(renderer, frame, (255, 255, 255)).astype(int)
        alpha = 255 - (white - black).max(-1)
        edge = (alpha > 25) & (alpha < 230)
        assert edge.sum() > 50
        hair_rows = edge[: HEIGHT // 2]
        colour = black[: HEIGHT // 2][hair_rows].max(-1) / (alpha[: HEIGHT // 2][hair_rows] / 255)
        # A white fringe would show as straight colours near white along the hair's edge.
        assert np.percentile(colour, 95) < 170
        assert (white >= black - 1).all()


def test_no_background_shows_between_hair_and_face(renderer: CpuRenderer) -> None:
    magenta = (255, 0, 255)
    for turn in ((0.0, 0.0, 0.0), (8.0, 0.0, 0.0), (-8.0, 0.0, 0.0)):
        image = draw(renderer, pose_frame({}, turn), magenta)
        row = int(renderer._vertices[slice(*renderer.pack.part("eye_l").verts), 1].mean())
        line = (image[row] == magenta).all(-1)
        inside = np.nonzero(~line)[0]
        assert not line[inside.min() : inside.max() + 1].any(), turn


def test_no_background_shows_through_the_mouth(renderer: CpuRenderer) -> None:
    frame = pose_frame({"jawOpen": 1.0, "mouthLowerDown": 0.5, "mouthSmileLeft": 0.6, "mouthSmileRight": 0.6})
    black, white = draw(renderer, frame, (0, 0, 0)), draw(renderer, frame, (255, 255, 255))
    rows, cols = box(renderer, "teeth_upper")
    assert np.array_equal(black[rows.start : rows.stop + 30, cols], white[rows.start : rows.stop + 30, cols])


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_weight_is_visible(renderer: CpuRenderer, name: str) -> None:
    rest = draw(renderer, rest_frame()).astype(int)
    # The tongue needs an open mouth to be seen, and closing one to close.
    base = {"jawOpen": 0.35} if name in ("tongueOut", "mouthClose") else {}
    if base:
        rest = draw(renderer, pose_frame(base)).astype(int)
    moved = draw(renderer, pose_frame({**base, name: 1.0})).astype(int)
    assert (np.abs(rest - moved).max(-1) > 10).sum() >= 12


def test_weights_outside_the_range_are_clamped(renderer: CpuRenderer) -> None:
    assert np.array_equal(draw(renderer, pose_frame({"jawOpen": 1.0})), draw(renderer, pose_frame({"jawOpen": 3.0})))


@pytest.mark.parametrize("size", [(641, 360), (640, 361), (64, 36), (8192, 4608)])
def test_sizes_that_cannot_be_drawn_are_refused(pack: AvatarPack, size: tuple[int, int]) -> None:
    with pytest.raises(AvatarError, match=f"canvas {size[0]}x{size[1]}"):
        CpuRenderer(pack, *size)


def test_unknown_framing_is_refused(pack: AvatarPack) -> None:
    with pytest.raises(AvatarError, match=r"no framing '1:1' \(has: 16:9, 9:16\)"):
        CpuRenderer(pack, 640, 640, framing="1:1")


def test_wrong_canvas_is_refused(renderer: CpuRenderer) -> None:
    with pytest.raises(AvatarError, match=r"canvas must be contiguous uint8\[360, 640, 3\]"):
        renderer.render(rest_frame(), np.zeros((HEIGHT, WIDTH, 4), np.uint8))


def test_warm_up_leaves_the_next_frame_unchanged(pack: AvatarPack) -> None:
    warmed, cold = CpuRenderer(pack, WIDTH, HEIGHT), CpuRenderer(pack, WIDTH, HEIGHT)
    warmed.warm_up()
    assert np.array_equal(draw(warmed, rest_frame()), draw(cold, rest_frame()))


# Skinned clothes, on a pack made of flat sheets


@pytest.fixture(scope="module")
def dressed(tmp_path_factory: pytest.TempPathFactory) -> CpuRenderer:
    path = tmp_path_factory.mktemp("packs") / "sheet.glb"
    path.write_bytes(sheet_pack())
    return CpuRenderer(load_pack(path), WIDTH, HEIGHT)


def centre(renderer: CpuRenderer, part: str) -> NDArray[np.float32]:
    low, high = renderer.pack.part(part).verts
    middle: NDArray[np.float32] = renderer._vertices[low:high, :3].mean(0)
    return middle


ARM = ("left_collar", "left_shoulder", "left_elbow", "left_wrist")


@pytest.mark.parametrize("joint", ARM)
def test_a_joint_carries_what_hangs_on_it_and_nothing_else(dressed: CpuRenderer, joint: str) -> None:
    below = {"left_collar": 0, "left_shoulder": 0, "left_elbow": 1, "left_wrist": 2}[joint]
    pieces = ("sleeve_left", "forearm_left", "hand_left")
    draw(dressed, rest_frame())
    before = {p: centre(dressed, p) for p in (*pieces, "torso", "sleeve_right", "skin")}
    draw(dressed, pose_frame({}, joints={joint: (0, 0, 30)}))
    moved = {p: float(np.abs(centre(dressed, p) - at).max()) for p, at in before.items()}
    assert all(moved[p] < 1e-3 for p in (*pieces[:below], "torso", "sleeve_right", "skin")), moved
    assert all(moved[p] > 1.0 for p in pieces[below:]), moved


def test_a_chain_of_joints_adds_up(dressed: CpuRenderer) -> None:
    """A forearm turned back by as much as its shoulder turned hangs as it did, elsewhere."""
    draw(dressed, rest_frame())
    low, high = dressed.pack.part("forearm_left").verts
    at_rest = dressed._vertices[low:high, :2].copy()
    draw(dressed, pose_frame({}, joints={"left_shoulder": (0, 0, 40), "left_elbow": (0, 0, -40)}))
    shift = dressed._vertices[low:high, :2] - at_rest
    assert float(np.abs(shift).max()) > 5
    assert float(shift.std(0).max()) < 0.3, "a shift, but for perspective"


def test_raised_arm_is_drawn_last(dressed: CpuRenderer) -> None:
    rest = draw(dressed, rest_frame())
    raised = draw(dressed, pose_frame({}, joints={"left_shoulder": (-60, 0, 120), "left_elbow": (0, 0, 40)}))
    assert (np.abs(rest.astype(int) - raised).max(-1) > 10).sum() > 200
    assert dressed._over.runs, "sleeves are drawn last"


def test_under_plates_stay_behind_the_mesh(dressed: CpuRenderer) -> None:
    frame = rest_frame()
    draw(dressed, frame)
    covered = dressed._depth > raster.FAR
    with_hair = draw(dressed, frame)
    plates, dressed._under = dressed._under, []
    bald = draw(dressed, frame)
    dressed._under = plates
    changed = (with_hair != bald).any(-1)
    assert changed.any()
    # Outlines mix with what lies behind them: one pixel inside is theirs.
    inner = cv2.erode(covered.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    assert not changed[inner].any()


def test_outlines_have_the_coverage_of_their_edge(dressed: CpuRenderer) -> None:
    """A slanted edge of a sleeve, drawn in one colour over black: pixels along it take all values, not two."""
    dark = draw(dressed, pose_frame({}, joints={"left_shoulder": (0, 0, 5)}), (0, 0, 0))
    middle = int(centre(dressed, "sleeve_left")[0])
    band = dark[265:345, middle:].astype(int).max(-1)
    full = int(band.max())
    between = ((band > 0.1 * full) & (band < 0.9 * full)).sum(1)
    assert full > 60
    assert (between > 0).mean() > 0.6, "most rows have a pixel that is partly covered"
    assert between.max() <= 2, "and none has a blur"


def test_rotation_of_no_length_and_numbers_that_are_none_turn_nothing(renderer: CpuRenderer) -> None:
    frame = rest_frame()
    frame.joints[JOINT_INDEX["head"]] = 0
    frame.joints[JOINT_INDEX["neck"]] = np.nan
    frame.joints[JOINT_INDEX["spine3"]] = np.inf
    frame.weights[3] = np.nan
    assert np.array_equal(draw(renderer, frame), draw(renderer, rest_frame()))


@pytest.mark.parametrize("turn", [(15.0, 0.0, 0.0), (-15.0, 0.0, 0.0), (0.0, 8.0, 0.0), (0.0, -8.0, 0.0), (15.0, 8.0, 0.0)])
def test_large_head_turns_leave_no_hole(pack: AvatarPack, turn: tuple[float, float, float]) -> None:
    """No background inside the head, and no gap between the face and the hair beside it; lone strands may stand off."""
    renderer = CpuRenderer(pack, 1280, 720)
    image = draw(renderer, pose_frame({}, turn), (255, 0, 255))
    background = (image == (255, 0, 255)).all(-1)
    eye = slice(*pack.part("eye_l").verts)
    top = int(renderer._vertices[eye, 1].mean()) - 60
    bottom = int(renderer._vertices[slice(*pack.part("teeth_lower").verts), 1].mean())
    for row in range(top, bottom, 3):
        face = np.nonzero(renderer._depth[row] > raster.FAR)[0]
        assert not background[row, face.min() : face.max() + 1].any(), (turn, row)
        for beside in (background[row, face.max() + 1 :][:40], background[row, : face.min()][::-1][:40]):
            hair = np.convolve(~beside, np.ones(8), "valid") == 8
            first = int(hair.argmax()) if hair.any() else 0
            assert not (0 < first <= 12 and beside[:first].any()), (turn, row)
