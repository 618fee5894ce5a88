"""One OpenGL context for all tests of the GPU renderer; Mesa's software rasteriser is enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from gpu_engine.avatar.gl.context import open_context
from gpu_engine.avatar.renderer import AvatarError

if TYPE_CHECKING:
    import moderngl


@pytest.fixture(scope="session")
def gl() -> Iterator[moderngl.Context]:
    """OpenGL 4.3 on EGL, or a skip that says what is missing."""
    try:
        context, _ = open_context()
    except AvatarError as error:
        pytest.skip(str(error))
    yield context
    context.release()
