"""Open a renderer for a stock avatar's name, a pack's path or a neural head's ``head.json``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import AvatarPack, load_pack
from gpu_engine.avatar.renderer import AvatarError, AvatarRenderer


def open_renderer(
    name_or_path: str,
    width: int,
    height: int,
    *,
    fps: float = 25.0,
    real_time: bool = True,
    draw_on: Literal["cpu", "gpu"] = "cpu",
    tell: Callable[[str], None] = lambda reason: None,
) -> AvatarRenderer:
    """The renderer of an avatar for pictures of ``width`` x ``height`` px, ready to draw: of a pack the CPU renderer, its
    kernels compiled, or the GPU's; of a ``head.json`` the neural one, for a show of ``fps`` frames a second (which it gives up
    drawing mouths to keep when ``real_time``).

    A GPU that cannot be used does not stop a show: the CPU draws, and ``tell`` is given the reason.

    Raises:
        AvatarError: no such pack or head, or it is damaged.
    """
    if name_or_path.endswith(".json"):
        # Only here: a show with a pack needs none of it.
        from gpu_engine.avatar.neural.renderer import open_head

        return open_head(name_or_path, width, height, fps=fps, real_time=real_time)
    pack = load_pack(name_or_path)
    if draw_on == "gpu" and (on_gpu := _on_gpu(pack, width, height, tell)) is not None:
        return on_gpu
    renderer = CpuRenderer(pack, width, height)
    renderer.warm_up()
    return renderer


def _on_gpu(pack: AvatarPack, width: int, height: int, tell: Callable[[str], None]) -> AvatarRenderer | None:
    # Only here: moderngl is an extra.
    from gpu_engine.avatar.gl.context import open_context
    from gpu_engine.avatar.gl.renderer import GlRenderer

    try:
        context, device = open_context()
        context.release()
        if not device.software:
            return GlRenderer(pack, width, height, tint_from_background=True)
        tell(f"GPU renderer: {device.renderer} draws on the processor and is far too slow; the CPU renderer draws instead")
    except AvatarError as error:
        tell(f"GPU renderer: {error}; the CPU renderer draws instead")
    return None
