"""The GPU renderer on Mesa: the same host in the same place as the CPU renderer's, lit, shadowed and read back in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.gl.lights import DiscLight, LightRig
from gpu_engine.avatar.gl.nv12 import nv12_reference
from gpu_engine.avatar.gl.renderer import GlRenderer
from gpu_engine.avatar.pack import AvatarPack, load_pack
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.mixer import quaternion
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX, MotionFrame, rest_frame

pytestmark = pytest.mark.gl

WIDTH, HEIGHT = 320, 180
BACKDROP = (40, 200, 60)


@pytest.fixture(scope="module")
def pack() -> AvatarPack:
    return load_pack("lin")


@pytest.fixture(scope="module")
def renderer(pack: AvatarPack) -> Iterator[GlRenderer]:
    try:
        opened = GlRenderer(pack, WIDTH, HEIGHT)
    except AvatarError as error:
        pytest.skip(str(error))
    yield opened
    opened.release()


def backdrop() -> np.ndarray:
    return np.full((HEIGHT, WIDTH, 3), BACKDROP, np.uint8)


def posed(joint: str = "head", yaw_deg: float = 0.0, **weights: float) -> MotionFrame:
    frame = rest_frame()
    frame.joints[JOINT_INDEX[joint]] = quaternion(0.0, np.radians(yaw_deg), 0.0)
    for name, value in weights.items():
        frame.weights[WEIGHT_INDEX[name]] = value
    return frame


def drawn(renderer: GlRenderer | CpuRenderer, frame: MotionFrame) -> np.ndarray:
    canvas = backdrop()
    renderer.render(frame, canvas)
    return canvas


def mask(picture: np.ndarray) -> np.ndarray:
    return np.abs(picture.astype(int) - BACKDROP).max(2) > 24


@pytest.mark.parametrize("yaw_deg", [0.0, 8.0, -8.0])
def test_the_host_stands_where_the_cpu_renderer_puts_it(renderer: GlRenderer, pack: AvatarPack, yaw_deg: float) -> None:
    frame = posed(yaw_deg=yaw_deg)

    ours, theirs = mask(drawn(renderer, frame)), mask(drawn(CpuRenderer(pack, WIDTH, HEIGHT), frame))

    assert (ours & theirs).sum() / (ours | theirs).sum() > 0.97


def test_what_is_not_the_host_stays_as_it_was(renderer: GlRenderer) -> None:
    picture = drawn(renderer, rest_frame())

    assert (picture[:, WIDTH * 3 // 4 :] == BACKDROP).all()


@pytest.mark.parametrize("weight", ["jawOpen", "eyeBlinkLeft", "mouthSmileLeft", "browInnerUp", "eyeLookLeft", "mouthPucker"])
def test_every_kind_of_weight_moves_the_face_and_nothing_below_it(renderer: GlRenderer, weight: str) -> None:
    before, after = drawn(renderer, rest_frame()), drawn(renderer, posed(**{weight: 1.0}))

    changed = np.nonzero(np.abs(before.astype(int) - after).max(2) > 12)

    assert len(changed[0]) > 4
    assert changed[0].max() < HEIGHT * 0.6


def test_drawing_is_repeatable(renderer: GlRenderer) -> None:
    first = drawn(renderer, posed(yaw_deg=5.0))
    drawn(renderer, posed(yaw_deg=-5.0))

    np.testing.assert_array_equal(drawn(renderer, posed(yaw_deg=5.0)), first)


def test_light_follows_the_rig_on_the_next_frame(renderer: GlRenderer) -> None:
    studio = renderer.rig
    before = drawn(renderer, rest_frame())
    host = mask(before)
    try:
        renderer.rig = LightRig(lights=(), exposure=0.25)
        dark = drawn(renderer, rest_frame())
        renderer.rig = LightRig(lights=(DiscLight((0.0, 0.0, 1.0), 40.0, 10.0, (6.0, 0.0, 0.0)),))
        red = drawn(renderer, rest_frame())
    finally:
        renderer.rig = studio

    assert dark[host].mean() < 0.8 * before[host].mean()
    assert red[host][:, 2].mean() > red[host][:, 0].mean() + 20


def test_the_chin_shades_the_neck(renderer: GlRenderer) -> None:
    studio = renderer.rig
    key = studio.key
    assert key is not None
    shadowed = drawn(renderer, rest_frame()).astype(int)
    try:
        # The same light without a shadow map is part of the environment.
        renderer.rig = replace(studio, lights=tuple(replace(light, shadow=False) for light in studio.lights))
        open_light = drawn(renderer, rest_frame()).astype(int)
    finally:
        renderer.rig = studio

    darker = (open_light - shadowed).max(2)
    assert (darker > 25).sum() > 40


def test_weights_that_are_no_numbers_draw_the_rest_pose(renderer: GlRenderer) -> None:
    frame = rest_frame()
    frame.weights[WEIGHT_INDEX["jawOpen"]] = np.nan

    np.testing.assert_array_equal(drawn(renderer, frame), drawn(renderer, rest_frame()))


def test_planes_come_out_in_order_and_equal_the_picture(pack: AvatarPack) -> None:
    try:
        renderer = GlRenderer(pack, WIDTH, HEIGHT, delay=2)
    except AvatarError as error:
        pytest.skip(str(error))
    overlay = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    overlay[10:40, 200:300] = (80, 60, 20, 128)
    renderer.set_overlay(overlay)
    renderer.set_background(backdrop())
    frames = [posed(jawOpen=a) for a in (0.0, 0.3, 0.6, 0.9)]

    out = []
    for frame in frames:
        renderer.submit(frame)
        planes = renderer.pull()
        out.append(None if planes is None else planes.copy())

    assert [o is None for o in out] == [True, True, False, False]
    for frame, planes in zip(frames[:2], out[2:], strict=True):
        picture = np.full((HEIGHT, WIDTH, 4), 255, np.uint8)
        picture[..., :3] = drawn(renderer, frame)
        np.testing.assert_array_equal(planes, nv12_reference(picture, overlay))
    renderer.release()


@pytest.mark.parametrize(
    ("width", "height", "what"), [(322, 180, "multiple of 4"), (100, 100, "between 160"), (640, 361, "even")]
)
def test_sizes_it_cannot_draw_are_refused(pack: AvatarPack, width: int, height: int, what: str) -> None:
    with pytest.raises(AvatarError, match=what):
        GlRenderer(pack, width, height)


def test_lashes_darken_and_do_not_shine_where_they_are_thin(pack: AvatarPack) -> None:
    width, height = 1280, 720
    bare = replace(pack, parts=tuple(part for part in pack.parts if not part.name.startswith("lash")))
    pictures = []
    for shown in (pack, bare):
        try:
            renderer = GlRenderer(shown, width, height)
        except AvatarError as error:
            pytest.skip(str(error))
        canvas = np.full((height, width, 3), 90, np.uint8)
        renderer.render(rest_frame(), canvas)
        renderer.release()
        pictures.append(canvas.astype(int))

    change = pictures[0] - pictures[1]

    assert (change.min(2) < -8).sum() > 100
    assert change.max() < 24


def test_two_renderers_in_one_process_do_not_disturb_each_other(renderer: GlRenderer) -> None:
    before = drawn(renderer, posed(yaw_deg=4.0))
    other = GlRenderer(load_pack("amara"), WIDTH, HEIGHT)
    theirs = drawn(other, rest_frame())

    np.testing.assert_array_equal(drawn(renderer, posed(yaw_deg=4.0)), before)
    np.testing.assert_array_equal(drawn(other, rest_frame()), theirs)
    other.release()
    np.testing.assert_array_equal(drawn(renderer, posed(yaw_deg=4.0)), before)


@pytest.mark.parametrize("name", ["lin", "marco", "amara"])
def test_faces_are_as_bright_as_on_the_cpu(name: str) -> None:
    pack = load_pack(name)
    on_gpu = GlRenderer(pack, WIDTH, HEIGHT)

    ours, theirs = drawn(on_gpu, rest_frame()).astype(int), drawn(CpuRenderer(pack, WIDTH, HEIGHT), rest_frame()).astype(int)
    on_gpu.release()

    face = theirs[..., 2] > theirs[..., 0] + 15
    face[: HEIGHT // 4] = face[HEIGHT // 2 :] = False
    assert face.sum() > 500
    assert ours[face].mean() == pytest.approx(theirs[face].mean(), rel=0.15)


def test_a_full_ring_says_so(renderer: GlRenderer) -> None:
    renderer.submit(rest_frame())

    with pytest.raises(AvatarError, match="pull one"):
        renderer.submit(rest_frame())

    assert renderer.pull() is not None


@pytest.mark.parametrize("name", ["lin", "marco", "amara"])
def test_an_open_mouth_shows_teeth(name: str) -> None:
    on_gpu = GlRenderer(load_pack(name), 640, 360)
    frame = posed(jawOpen=0.35, mouthSmileLeft=0.4, mouthSmileRight=0.4, mouthUpperUp=0.3)
    canvas = np.full((360, 640, 3), BACKDROP, np.uint8)

    on_gpu.render(frame, canvas)

    teeth = on_gpu.pack.part("teeth_upper")
    centre = on_gpu.pack.rest[slice(*teeth.verts)].mean(0)
    depth = on_gpu.lens[3] - centre[2]
    x = int(on_gpu.lens[4] + (centre[0] - on_gpu.lens[1]) * on_gpu.lens[0] / depth)
    y = int(on_gpu.lens[5] - (centre[1] - on_gpu.lens[2]) * on_gpu.lens[0] / depth)
    on_gpu.release()
    mouth = canvas[y - 6 : y + 7, x - 10 : x + 11].astype(int)
    pale = (mouth.min(2) > 90) & (mouth.max(2) - mouth.min(2) < 60)
    assert pale.sum() > 12
