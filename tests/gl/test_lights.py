"""The light rig: physical sense of the references, and the GPU's bakes against them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpu_engine.avatar.gl.lights import (
    DiscLight,
    LightRig,
    cube_directions,
    irradiance,
    radiance,
    reflection,
    rig_before,
    sphere_points,
)

pytestmark = pytest.mark.unit

DARK = (0.0, 0.0, 0.0)
UP = np.array([[0.0, 1.0, 0.0]])


def test_a_uniform_sky_gives_its_own_radiance_in_every_direction() -> None:
    rig = LightRig(lights=(), sky=(0.5, 0.25, 1.0), horizon=(0.5, 0.25, 1.0), floor=(0.5, 0.25, 1.0))

    normals = sphere_points(50)

    assert irradiance(rig, normals) == pytest.approx(np.tile([0.5, 0.25, 1.0], (50, 1)), rel=0.02)
    assert reflection(rig, normals, 0.6) == pytest.approx(np.tile([0.5, 0.25, 1.0], (50, 1)), rel=1e-6)


def test_irradiance_of_a_disc_follows_the_cosine_law() -> None:
    disc = DiscLight((0.0, 1.0, 0.0), radius_deg=30.0, softness_deg=0.0, radiance=(2.0, 2.0, 2.0))
    rig = LightRig(lights=(disc,), sky=DARK, horizon=DARK, floor=DARK)

    exact = 2.0 * math.sin(math.radians(30.0)) ** 2  # L sin^2 r over a facing surface, E / pi

    assert irradiance(rig, UP, samples=20_000)[0, 0] == pytest.approx(exact, rel=0.02)
    tilted = np.array([[math.sin(math.radians(40)), math.cos(math.radians(40)), 0.0]])
    assert irradiance(rig, tilted, samples=20_000)[0, 0] == pytest.approx(exact * math.cos(math.radians(40)), rel=0.02)
    assert irradiance(rig, -UP)[0, 0] == 0.0


def test_the_key_light_is_left_to_the_shadow_map() -> None:
    key = DiscLight((0.0, 0.0, 1.0), radius_deg=20.0, softness_deg=4.0, radiance=(9.0, 9.0, 9.0), shadow=True)
    rig = LightRig(lights=(key,), sky=DARK, horizon=DARK, floor=DARK)

    assert radiance(rig, np.array([0.0, 0.0, 1.0])).max() == 0.0
    assert rig.key_irradiance()[0] == pytest.approx(9.0 * math.sin(math.radians(20.0)) ** 2)


def test_a_rougher_reflection_is_dimmer_at_the_light_and_brighter_beside_it() -> None:
    disc = DiscLight((0.0, 0.0, 1.0), radius_deg=10.0, softness_deg=2.0, radiance=(5.0, 5.0, 5.0))
    rig = LightRig(lights=(disc,), sky=DARK, horizon=DARK, floor=DARK)
    at, beside = np.array([[0.0, 0.0, 1.0]]), np.array([[math.sin(0.5), 0.0, math.cos(0.5)]])

    peaks = [reflection(rig, at, r)[0, 0] for r in (0.0, 0.3, 0.6, 1.0)]

    assert peaks == sorted(peaks, reverse=True)
    assert peaks[0] == 5.0 and peaks[-1] < 2.0
    assert reflection(rig, beside, 0.0)[0, 0] == 0.0
    assert reflection(rig, beside, 0.6)[0, 0] > 0.1


@pytest.mark.parametrize(
    ("light", "what"),
    [
        (DiscLight((0.0, 0.0, 0.0), 10.0, 1.0, (1.0, 1.0, 1.0)), "radius"),
        (DiscLight((0.0, 1.0, 0.0), 0.0, 1.0, (1.0, 1.0, 1.0)), "radius"),
        (DiscLight((0.0, float("nan"), 0.0), 10.0, 1.0, (1.0, 1.0, 1.0)), "finite"),
        (DiscLight((0.0, 1.0, 0.0), 10.0, 1.0, (float("inf"), 1.0, 1.0)), "finite"),
    ],
)
def test_a_light_that_cannot_be_is_refused(light: DiscLight, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        LightRig(lights=(light,))


def test_nine_lights_or_two_keys_are_refused() -> None:
    plain = DiscLight((0.0, 1.0, 0.0), 10.0, 1.0, (1.0, 1.0, 1.0))
    key = DiscLight((0.0, 1.0, 0.0), 10.0, 1.0, (1.0, 1.0, 1.0), shadow=True)

    with pytest.raises(ValueError, match="at most 8"):
        LightRig(lights=(plain,) * 9)
    with pytest.raises(ValueError, match="more than one light"):
        LightRig(lights=(key, key))


def test_cube_directions_point_out_of_their_faces() -> None:
    faces = cube_directions(8).mean((1, 2))

    assert np.abs(faces).argmax(1).tolist() == [0, 0, 1, 1, 2, 2]
    assert np.sign(faces[np.arange(6), [0, 0, 1, 1, 2, 2]]).tolist() == [1, -1, 1, -1, 1, -1]


def test_a_red_set_tints_the_light_and_leaves_its_brightness() -> None:
    backdrop = np.zeros((90, 160, 3), np.uint8)
    backdrop[:30] = (20, 20, 220)
    backdrop[30:] = (120, 120, 120)

    rig = rig_before(backdrop)

    studio = LightRig()
    luma = np.array([0.2126, 0.7152, 0.0722])
    assert rig.sky[0] > 1.5 * studio.sky[0]
    assert np.dot(rig.sky, luma) == pytest.approx(np.dot(studio.sky, luma))
    assert rig.horizon == pytest.approx(studio.horizon, rel=0.01)
    assert rig.lights == studio.lights
