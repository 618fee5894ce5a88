"""Overlay and NV12 in one pass over the picture: a NumPy reference and its CuPy twin.

NV12 is what NVENC takes: a full-size luma plane, then interleaved U and V at half size. BT.601, limited range, 8-bit
fixed-point coefficients (ITU-R BT.601-7); chroma is the mean of 2 x 2 pixels. ``shaders/nv12.comp`` computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.renderer import AvatarError

U8 = NDArray[np.uint8]

KERNEL = r"""
extern "C" __global__ void overlay_nv12(
    const uchar4* picture, const uchar4* overlay, unsigned char* planes, int width, int height) {
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    int sum_r = 0, sum_g = 0, sum_b = 0;
    for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 2; ++column) {
            int at = (y + row) * width + x + column;
            uchar4 p = picture[at], o = overlay[at];          // BGRA
            int keep = 255 - o.w;
            int b = p.x * keep + 128, g = p.y * keep + 128, r = p.z * keep + 128;
            b = o.x + ((b + (b >> 8)) >> 8); g = o.y + ((g + (g >> 8)) >> 8); r = o.z + ((r + (r >> 8)) >> 8);
            planes[at] = (66 * r + 129 * g + 25 * b + 128 + 4096) >> 8;
            sum_r += r; sum_g += g; sum_b += b;
        }
    unsigned char* chroma = planes + width * height + (y / 2) * width + x;
    chroma[0] = (-38 * sum_r - 74 * sum_g + 112 * sum_b + 512 + 131072) >> 10;
    chroma[1] = (112 * sum_r - 94 * sum_g - 18 * sum_b + 512 + 131072) >> 10;
}
"""


def _check(picture: Any, overlay: Any) -> tuple[int, int]:
    height, width = picture.shape[:2]
    if picture.shape != (height, width, 4) or overlay.shape != picture.shape:
        raise AvatarError(f"NV12: picture {picture.shape} and overlay {overlay.shape} must both be (height, width, 4)")
    if height % 2 or width % 4:
        raise AvatarError(f"NV12: {width}x{height}: the width must be a multiple of 4 and the height even")
    return int(width), int(height)


def nv12_reference(picture: U8, overlay: U8) -> U8:
    """uint8[height * 3 // 2, width] of ``overlay`` (premultiplied BGRA) over ``picture`` (BGRA), both uint8[height, width, 4].

    Raises:
        AvatarError: shapes differ, or the size is not a multiple of 4 x 2.
    """
    width, height = _check(picture, overlay)
    keep = 255 - overlay[..., 3:].astype(np.int32)
    below = picture[..., :3].astype(np.int32) * keep + 128
    bgr = overlay[..., :3].astype(np.int32) + ((below + (below >> 8)) >> 8)
    b, g, r = bgr[..., 0], bgr[..., 1], bgr[..., 2]
    planes = np.empty((height * 3 // 2, width), np.uint8)
    planes[:height] = (66 * r + 129 * g + 25 * b + 128 + 4096) >> 8
    b, g, r = (c.reshape(height // 2, 2, width // 2, 2).sum((1, 3)) for c in (b, g, r))
    planes[height:, 0::2] = (-38 * r - 74 * g + 112 * b + 512 + 131072) >> 10
    planes[height:, 1::2] = (112 * r - 94 * g - 18 * b + 512 + 131072) >> 10
    return planes


class CudaNv12:
    """The same on a CUDA device; arrays stay there."""

    def __init__(self) -> None:
        """Compile the kernel. Raises AvatarError when CuPy or a device is missing."""
        try:
            import cupy
        except ImportError:
            raise AvatarError("NV12 on CUDA needs CuPy: pip install 'lumihost[gpu]'") from None
        try:
            if cupy.cuda.runtime.getDeviceCount() == 0:
                raise AvatarError("NV12 on CUDA: the driver shows no device")
            self._kernel = cupy.RawKernel(KERNEL, "overlay_nv12")
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise AvatarError(f"NV12 on CUDA: {error}") from None
        self._cupy = cupy

    def __call__(self, picture: Any, overlay: Any, out: Any | None = None) -> Any:
        """As :func:`nv12_reference`, with CuPy arrays; asynchronous on the current stream."""
        width, height = _check(picture, overlay)
        out = self._cupy.empty((height * 3 // 2, width), np.uint8) if out is None else out
        grid = (-(-width // 32), -(-height // 32))
        self._kernel(grid, (16, 16), (picture, overlay, out, np.int32(width), np.int32(height)))
        return out
