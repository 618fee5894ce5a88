"""A show that asks for a GPU gets a picture everywhere, and is told what drew it."""

from __future__ import annotations

import pytest

from gpu_engine.avatar.cpu import CpuRenderer
from gpu_engine.avatar.gl import context
from gpu_engine.avatar.gl import renderer as gl_renderer
from gpu_engine.avatar.library import open_renderer
from gpu_engine.avatar.renderer import AvatarError

pytestmark = pytest.mark.gl


def test_a_software_driver_is_not_used_for_a_show(monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        def release(self) -> None: ...

    device = context.GlDevice("Mesa/X.org", "llvmpipe (LLVM 15.0.6, 256 bits)", 450, 4)
    monkeypatch.setattr(context, "open_context", lambda: (Context(), device))
    told: list[str] = []

    renderer = open_renderer("lin", 320, 180, draw_on="gpu", tell=told.append)

    assert isinstance(renderer, CpuRenderer)
    assert len(told) == 1
    assert "llvmpipe" in told[0] and "CPU renderer draws instead" in told[0]


def test_without_opengl_the_cpu_draws_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here() -> None:
        raise AvatarError("no OpenGL 4.3 context on EGL")

    monkeypatch.setattr(context, "open_context", none_here)
    told: list[str] = []

    assert isinstance(open_renderer("lin", 320, 180, draw_on="gpu", tell=told.append), CpuRenderer)
    assert told == ["GPU renderer: no OpenGL 4.3 context on EGL; the CPU renderer draws instead"]


def test_a_driver_that_refuses_our_shaders_leaves_the_show_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    moderngl = pytest.importorskip("moderngl")
    released: list[bool] = []

    class Context:
        def release(self) -> None:
            released.append(True)

    def refused(*_: object) -> None:
        raise moderngl.Error("GLSL Compiler failed")

    opened = (Context(), context.GlDevice("NVIDIA", "NVIDIA L4/PCIe/SSE2", 460, 8))
    for module in (context, gl_renderer):
        monkeypatch.setattr(module, "open_context", lambda *_: opened)
    monkeypatch.setattr(gl_renderer, "LightBake", refused)
    told: list[str] = []

    assert isinstance(open_renderer("lin", 320, 180, draw_on="gpu", tell=told.append), CpuRenderer)
    assert len(told) == 1
    assert "does not start on NVIDIA L4/PCIe/SSE2: GLSL Compiler failed" in told[0]
    assert "the CPU renderer draws instead" in told[0]
    assert len(released) == 2


def test_a_show_that_does_not_ask_is_told_nothing() -> None:
    told: list[str] = []

    assert isinstance(open_renderer("lin", 320, 180, tell=told.append), CpuRenderer)
    assert told == []
