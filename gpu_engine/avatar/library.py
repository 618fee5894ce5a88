"""Open a renderer for a stock avatar's name or a pack's folder."""

from __future__ import annotations

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.pack import load_pack
from gpu_engine.avatar.renderer import AvatarRenderer


def open_renderer(name_or_path: str, width: int, height: int) -> AvatarRenderer:
    """The CPU renderer of an avatar pack for pictures of ``width`` x ``height`` px, its kernels compiled.

    Raises:
        AvatarError: no such pack, or it is damaged.
    """
    renderer = CpuRenderer(load_pack(name_or_path), width, height)
    renderer.warm_up()
    return renderer
