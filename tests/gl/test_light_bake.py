"""Maps baked by compute shaders against the NumPy references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gpu_engine.avatar.gl.light_bake import LightBake
from gpu_engine.avatar.gl.lights import DiscLight, LightRig, cube_directions, irradiance, reflection

if TYPE_CHECKING:
    import moderngl

pytestmark = pytest.mark.gl

SAMPLE_LEVEL = """#version 430
layout(local_size_x = 1) in;
uniform samplerCube map;
uniform float level;
layout(std430, binding = 0) readonly buffer In { vec4 directions[]; };
layout(std430, binding = 1) writeonly buffer Out { vec4 colours[]; };
void main() { uint i = gl_GlobalInvocationID.x; colours[i] = textureLod(map, directions[i].xyz, level); }
"""


def read_level(gl: moderngl.Context, cube: moderngl.TextureCube, directions: np.ndarray, level: float) -> np.ndarray:
    flat = np.concatenate([directions.reshape(-1, 3), np.zeros((directions.size // 3, 1))], 1).astype(np.float32)
    source, target = gl.buffer(flat.tobytes()), gl.buffer(reserve=flat.nbytes)
    program = gl.compute_shader(SAMPLE_LEVEL)
    cube.use(0)
    program["level"] = level
    source.bind_to_storage_buffer(0)
    target.bind_to_storage_buffer(1)
    program.run(len(flat))
    return np.frombuffer(target.read(), np.float32).reshape(-1, 4)[:, :3]


def test_irradiance_equals_the_reference(gl: moderngl.Context) -> None:
    rig = LightRig()
    bake = LightBake(gl, irradiance_px=8, reflection_px=16, levels=3)

    bake.bake(rig)

    want = irradiance(rig, cube_directions(8)).reshape(-1, 3)
    assert read_level(gl, bake.irradiance, cube_directions(8), 0.0) == pytest.approx(want, abs=2e-3)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_each_roughness_level_equals_the_reference(gl: moderngl.Context, level: int) -> None:
    rig = LightRig()
    bake = LightBake(gl, irradiance_px=8, reflection_px=16, levels=3)

    bake.bake(rig)

    directions = cube_directions(16 >> level)
    want = reflection(rig, directions, level / 2).reshape(-1, 3)
    got = read_level(gl, bake.reflection, directions, float(level))
    # A texel whose sample falls on a disc's edge may differ in single precision; nearly all must not.
    assert np.quantile(np.abs(got - want), 0.99) < 0.02
    assert np.abs(got - want).mean() < 0.005


def test_a_changed_rig_changes_the_next_bake(gl: moderngl.Context) -> None:
    bake = LightBake(gl, irradiance_px=8, reflection_px=16, levels=3)
    red = LightRig(lights=(DiscLight((1.0, 0.0, 0.0), 40.0, 5.0, (9.0, 0.0, 0.0)),))

    bake.bake(LightRig(lights=()))
    before = read_level(gl, bake.irradiance, np.array([1.0, 0.0, 0.0]), 0.0)[0]
    bake.bake(red)
    after = read_level(gl, bake.irradiance, np.array([1.0, 0.0, 0.0]), 0.0)[0]

    assert after[0] - before[0] > 2.0
    assert after[1:] == pytest.approx(before[1:], abs=1e-3)


def test_levels_that_do_not_fit_are_refused(gl: moderngl.Context) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        LightBake(gl, reflection_px=16, levels=6)
