"""Overlay and NV12 in one pass: the reference against FFmpeg, the shader and the CUDA kernel against the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from gpu_engine.avatar.gl.light_bake import source
from gpu_engine.avatar.gl.nv12 import CudaNv12, nv12_reference
from gpu_engine.avatar.renderer import AvatarError

if TYPE_CHECKING:
    import moderngl


def pictures(width: int = 64, height: int = 32, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, (height, width, 4), dtype=np.uint8)
    overlay = np.zeros_like(picture)
    alpha = rng.integers(0, 256, (height // 2, width // 2), dtype=np.uint8)
    overlay[: height // 2, : width // 2, 3] = alpha
    overlay[: height // 2, : width // 2, :3] = rng.integers(0, alpha[..., None].astype(int) + 1)
    return picture, overlay


@pytest.mark.unit
def test_the_reference_agrees_with_ffmpeg_on_smooth_pictures() -> None:
    ramp = np.linspace(0, 255, 64)
    picture = np.zeros((32, 64, 4), np.uint8)
    picture[..., 0], picture[..., 1], picture[..., 2] = ramp, ramp[::-1], np.linspace(40, 220, 32)[:, None]

    planes = nv12_reference(picture, np.zeros_like(picture))

    want = (
        av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[..., :3]), format="bgr24").reformat(format="nv12").to_ndarray()
    )
    assert np.abs(planes.astype(int) - want).max() <= 3
    assert np.abs(planes.astype(int) - want).mean() < 0.7


@pytest.mark.unit
def test_black_and_white_land_on_the_limited_range() -> None:
    white, opaque = np.full((2, 4, 4), 255, np.uint8), np.zeros((2, 4, 4), np.uint8)
    opaque[..., 3] = 255

    assert nv12_reference(white, np.zeros_like(white)).tolist() == [[235] * 4, [235] * 4, [128] * 4]
    assert nv12_reference(white, opaque).tolist() == [[16] * 4, [16] * 4, [128] * 4]


@pytest.mark.unit
@pytest.mark.parametrize("shape", [(31, 64, 4), (32, 62, 4), (32, 64, 3)])
def test_sizes_that_have_no_nv12_are_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(AvatarError, match="NV12"):
        nv12_reference(np.zeros(shape, np.uint8), np.zeros(shape, np.uint8))


@pytest.mark.gl
def test_the_shader_gives_the_reference_byte_for_byte(gl: moderngl.Context) -> None:
    picture, overlay = pictures()
    height, width = picture.shape[:2]
    texture = gl.texture((width, height), 4, np.ascontiguousarray(picture[::-1][..., [2, 1, 0, 3]]).tobytes())
    cover, planes = gl.buffer(overlay.tobytes()), gl.buffer(reserve=width * height * 3 // 2)
    program = gl.compute_shader(source("nv12.comp"))
    program["size"] = (width, height)
    texture.use(0)
    cover.bind_to_storage_buffer(3)
    planes.bind_to_storage_buffer(4)

    program.run(-(-width // 64), -(-height // 32))

    got = np.frombuffer(planes.read(), np.uint8).reshape(height * 3 // 2, width)
    np.testing.assert_array_equal(got, nv12_reference(picture, overlay))


@pytest.mark.unit
def test_the_cuda_kernel_gives_the_reference_byte_for_byte() -> None:
    try:
        convert = CudaNv12()
    except AvatarError as error:
        pytest.skip(str(error))
    import cupy

    picture, overlay = pictures(1280, 720)
    got = cupy.asnumpy(convert(cupy.asarray(picture), cupy.asarray(overlay)))
    np.testing.assert_array_equal(got, nv12_reference(picture, overlay))
