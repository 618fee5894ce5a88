"""Open a renderer for a stock avatar's name, a pack's path or a neural head's ``head.json``."""

from __future__ import annotations

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import load_pack
from gpu_engine.avatar.renderer import AvatarRenderer


def open_renderer(name_or_path: str, width: int, height: int, *, fps: float = 25.0) -> AvatarRenderer:
    """The renderer of an avatar for pictures of ``width`` x ``height`` px, ready to draw: of a pack the CPU renderer, its
    kernels compiled; of a ``head.json`` the neural one, for a show of ``fps`` frames a second.

    Raises:
        AvatarError: no such pack or head, or it is damaged.
    """
    if name_or_path.endswith(".json"):
        # Only here: a show with a pack needs none of it.
        from gpu_engine.avatar.neural.renderer import open_head

        return open_head(name_or_path, width, height, fps=fps)
    renderer = CpuRenderer(load_pack(name_or_path), width, height)
    renderer.warm_up()
    return renderer
