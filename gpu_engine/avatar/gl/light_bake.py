"""Bakes the rig's irradiance and reflection maps on the GPU, every frame, with compute shaders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpu_engine.avatar.gl.lights import LightRig

if TYPE_CHECKING:
    import moderngl

SHADERS = Path(__file__).parent / "shaders"
GROUP = 16
"""Work groups are 16 x 16."""


def source(*names: str) -> str:
    """Shader text: the version line and then the named files of ``shaders/`` in order."""
    return "#version 430\n" + "\n".join((SHADERS / name).read_text("utf-8") for name in names)


class LightBake:
    """The two maps on the GPU.

    Attributes:
        irradiance: rgba16f cube map, E/pi.
        reflection: rgba16f cube map; mip ``i`` of ``levels`` holds roughness ``i / (levels - 1)``.
    """

    def __init__(self, context: moderngl.Context, irradiance_px: int = 16, reflection_px: int = 128, levels: int = 6) -> None:
        """
        Args:
            irradiance_px, reflection_px: side of a cube face, powers of two.
            levels: roughness steps, 2 or more; the smallest keeps at least 2 px a side.
        """
        if levels < 2 or reflection_px >> (levels - 1) < 2:
            raise ValueError(f"{levels} roughness levels do not fit a cube of {reflection_px} px")
        self._context, self.levels = context, levels
        self._irradiance_px, self._reflection_px = irradiance_px, reflection_px
        self.irradiance = context.texture_cube((irradiance_px, irradiance_px), 4, dtype="f2")
        self.reflection = context.texture_cube((reflection_px, reflection_px), 4, dtype="f2")
        self.reflection.build_mipmaps(0, levels - 1)
        self.reflection.filter = (context.LINEAR_MIPMAP_LINEAR, context.LINEAR)
        self.irradiance.filter = (context.LINEAR, context.LINEAR)
        self._rig = context.buffer(reserve=LightRig().packed().nbytes)
        self._irradiance_program = context.compute_shader(source("environment.glsl", "irradiance.comp"))
        self._reflection_program = context.compute_shader(source("environment.glsl", "reflection.comp"))

    def bake(self, rig: LightRig) -> None:
        """Fill both maps for ``rig`` and leave the rig bound as uniform block 0."""
        self._rig.write(rig.packed().tobytes())
        self._rig.bind_to_uniform_block(0)
        self.irradiance.bind_to_image(0, read=False, write=True)
        self._irradiance_program["size"] = self._irradiance_px
        groups = -(-self._irradiance_px // GROUP)
        self._irradiance_program.run(groups, groups, 6)
        for level in range(self.levels):
            side = self._reflection_px >> level
            self.reflection.bind_to_image(0, read=False, write=True, level=level)
            self._reflection_program["size"] = side
            self._reflection_program["roughness"] = level / (self.levels - 1)
            groups = -(-side // GROUP)
            self._reflection_program.run(groups, groups, 6)
        self._context.memory_barrier()

    def release(self) -> None:
        """Free the maps."""
        for thing in (self.irradiance, self.reflection, self._rig, self._irradiance_program, self._reflection_program):
            thing.release()
