"""Opens an OpenGL context on EGL without a display and says what it runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_engine.avatar.renderer import AvatarError

if TYPE_CHECKING:
    import moderngl

REQUIRED = 430
"""OpenGL 4.3: compute shaders and storage buffers."""


@dataclass(frozen=True, slots=True)
class GlDevice:
    """What draws: names from the driver, ``software`` for Mesa's rasterisers, ``samples`` the most MSAA it offers."""

    vendor: str
    renderer: str
    version: int
    samples: int

    @property
    def software(self) -> bool:
        """Runs on the processor (correct, far too slow for a live show)."""
        return any(word in self.renderer.lower() for word in ("llvmpipe", "softpipe", "swrast"))


def open_context(device_index: int | None = None) -> tuple[moderngl.Context, GlDevice]:
    """A stand-alone context on EGL device ``device_index`` (``None`` = the driver's first) and its description.

    Raises:
        AvatarError: moderngl, EGL or OpenGL 4.3 is missing; the message says how to install it.
    """
    try:
        import moderngl
    except ImportError:
        raise AvatarError("the GPU renderer needs moderngl: pip install 'lumihost[gpu]'") from None
    options: dict[str, Any] = {"backend": "egl"} if device_index is None else {"backend": "egl", "device_index": device_index}
    try:
        context = moderngl.create_context(standalone=True, require=REQUIRED, **options)
    except Exception as error:  # noqa: BLE001 - the loader answers a missing library with whatever ctypes raises
        raise AvatarError(
            f"no OpenGL 4.3 context on EGL (device {device_index if device_index is not None else 'default'}): {error}; "
            "install the NVIDIA driver's EGL library (containers: NVIDIA_DRIVER_CAPABILITIES=graphics,video,compute) "
            "or Mesa's libegl1 and libgl1-mesa-dri"
        ) from None
    info = context.info
    device = GlDevice(str(info["GL_VENDOR"]), str(info["GL_RENDERER"]), int(context.version_code), int(context.max_samples))
    return context, device
