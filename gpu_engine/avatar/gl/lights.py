"""The studio's light as a function of direction, and CPU references of the two maps baked from it each frame.

The environment is a vertical gradient (sky, horizon, floor) plus soft discs. The one light that casts shadows is left out of
it: the shader adds it directly, where the shadow map lets it through. Irradiance is the cosine integral
E(n)/pi = 1/pi * integral L(w) max(n.w, 0) dw; the reflection map is L filtered by the GGX lobe of a roughness with
view = normal (split-sum approximation: Karis, "Real Shading in Unreal Engine 4", SIGGRAPH 2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

MAX_LIGHTS = 8
IRRADIANCE_SAMPLES = 256
REFLECTION_SAMPLES = 64
LUMA = np.array([0.2126, 0.7152, 0.0722])
TINT = 0.6
"""How much of a backdrop's colour reaches the host."""


@dataclass(frozen=True, slots=True)
class DiscLight:
    """A round soft box seen from the host.

    Attributes:
        direction: towards the light, +x the host's left, +y up, +z to the viewer; need not be a unit vector.
        radius_deg: angular radius of the lit disc, over 0 and up to 90.
        softness_deg: width of its edge.
        radiance: linear RGB.
        shadow: casts the shadow map; at most one light does.
    """

    direction: tuple[float, float, float]
    radius_deg: float
    softness_deg: float
    radiance: tuple[float, float, float]
    shadow: bool = False

    @property
    def unit(self) -> F64:
        """float64[3] of length 1."""
        d = np.asarray(self.direction, np.float64)
        return d / np.linalg.norm(d)


@dataclass(frozen=True, slots=True)
class LightRig:
    """Everything that shines on the host; may change from frame to frame.

    The default is the studio the packs' baked light was made in; its exposure makes all three shipped hosts as bright on
    the GPU as the CPU renderer draws them.
    """

    lights: tuple[DiscLight, ...] = field(
        default=(
            DiscLight((-6.5, 5.0, 11.0), 17.0, 6.0, (10.4, 10.0, 9.6), shadow=True),
            DiscLight((8.5, 1.2, 11.0), 24.0, 10.0, (1.9, 1.95, 2.05)),
            DiscLight((9.0, 4.5, -9.0), 14.0, 5.0, (7.0, 7.2, 7.6)),
            DiscLight((-9.0, 4.5, -9.0), 14.0, 5.0, (5.2, 5.4, 5.7)),
        )
    )
    sky: tuple[float, float, float] = (0.40, 0.42, 0.46)
    horizon: tuple[float, float, float] = (0.30, 0.30, 0.31)
    floor: tuple[float, float, float] = (0.16, 0.145, 0.13)
    exposure: float = 0.52

    def __post_init__(self) -> None:
        if len(self.lights) > MAX_LIGHTS:
            raise ValueError(f"light rig of {len(self.lights)} lights: at most {MAX_LIGHTS}")
        if sum(light.shadow for light in self.lights) > 1:
            raise ValueError("light rig: more than one light casts the shadow map; keep the key light")
        for light in self.lights:
            if not np.isfinite([*light.direction, *light.radiance, light.radius_deg, light.softness_deg]).all():
                raise ValueError(f"light {light}: every number must be finite")
            if not 0 < light.radius_deg <= 90 or light.softness_deg < 0 or float(np.linalg.norm(light.direction)) < 1e-6:
                raise ValueError(f"light {light}: radius must be over 0 and up to 90 degrees, softness not negative")

    def packed(self) -> NDArray[np.float32]:
        """float32[2 * MAX_LIGHTS + 3, 4] as the shaders read it: (direction, cos inner), (radiance, cos outer), gradient."""
        table = np.zeros((2 * MAX_LIGHTS + 3, 4), np.float32)
        around = [light for light in self.lights if not light.shadow]
        for i, light in enumerate(around):
            inner, outer = _edges(light)
            table[i] = [*light.unit, inner]
            table[MAX_LIGHTS + i] = [*light.radiance, outer]
        table[2 * MAX_LIGHTS :, :3] = [self.sky, self.horizon, self.floor]
        table[2 * MAX_LIGHTS, 3] = len(around)
        table[2 * MAX_LIGHTS + 1, 3] = self.exposure
        return table

    @property
    def key(self) -> DiscLight | None:
        """The light that casts the shadow map."""
        return next((light for light in self.lights if light.shadow), None)

    def key_irradiance(self) -> F64:
        """Linear RGB float64[3]: irradiance / pi of the key light on a surface that faces it (a disc's is L sin^2 r)."""
        key = self.key
        if key is None:
            return np.zeros(3)
        return np.asarray(key.radiance, np.float64) * math.sin(math.radians(key.radius_deg)) ** 2


def rig_before(backdrop: NDArray[np.uint8], rig: LightRig | None = None) -> LightRig:
    """``rig`` (default: the studio's) with its gradient tinted by what stands behind the host.

    Args:
        backdrop: uint8[h, w, 3] BGR sRGB. Its upper, middle and lower third colour sky, horizon and floor; brightness stays
            the rig's own, because a dark set is not a dark studio.
    """
    rig = rig or LightRig()
    encoded = backdrop[::8, ::8, ::-1].astype(np.float64) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    tinted: list[tuple[float, float, float]] = []
    thirds = np.array_split(linear, 3)
    for base, third in zip((rig.sky, rig.horizon, rig.floor), thirds, strict=True):
        colour = third.reshape(-1, 3).mean(0) + 0.02
        hue = colour / float(colour @ LUMA)
        mixed = np.asarray(base) * (1 - TINT + TINT * hue)
        red, green, blue = (mixed * (np.asarray(base) @ LUMA) / (mixed @ LUMA)).tolist()
        tinted.append((red, green, blue))
    return replace(rig, sky=tinted[0], horizon=tinted[1], floor=tinted[2])


def _edges(light: DiscLight) -> tuple[float, float]:
    half = light.softness_deg / 2
    inner = math.cos(math.radians(max(light.radius_deg - half, 0.0)))
    outer = math.cos(math.radians(min(light.radius_deg + half, 179.0)))
    return inner, min(outer, inner - 1e-4)


def radiance(rig: LightRig, directions: F64) -> F64:
    """Linear RGB float64[..., 3] arriving from unit ``directions`` float64[..., 3], without the key light."""
    y = directions[..., 1:2]
    sky, horizon, floor = (np.asarray(c, np.float64) for c in (rig.sky, rig.horizon, rig.floor))
    out = np.where(y >= 0, horizon + (sky - horizon) * np.sqrt(np.abs(y)), horizon + (floor - horizon) * np.sqrt(np.abs(y)))
    for light in rig.lights:
        if light.shadow:
            continue
        inner, outer = _edges(light)
        t = np.clip((directions @ light.unit - outer) / (inner - outer), 0.0, 1.0)
        out = out + (t * t * (3 - 2 * t))[..., None] * np.asarray(light.radiance, np.float64)
    return np.asarray(out, np.float64)


def sphere_points(count: int) -> F64:
    """float64[count, 3], evenly spread unit vectors (Fibonacci lattice)."""
    i = np.arange(count) + 0.5
    z = 1 - 2 * i / count
    phi = i * math.pi * (3 - math.sqrt(5))
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], 1)


def irradiance(rig: LightRig, normals: F64, samples: int = IRRADIANCE_SAMPLES) -> F64:
    """E/pi, linear RGB float64[..., 3], for unit ``normals``; the same quadrature as the shader."""
    w = sphere_points(samples)
    cosine = np.clip(normals @ w.T, 0.0, None)
    return np.asarray(cosine @ radiance(rig, w) * (4.0 / samples), np.float64)


def _hammersley(count: int) -> F64:
    i = np.arange(count, dtype=np.uint32)
    bits = i.copy()
    bits = (bits << np.uint32(16)) | (bits >> np.uint32(16))
    for mask, shift in ((0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4), (0x00FF00FF, 8)):
        m, s = np.uint32(mask), np.uint32(shift)
        bits = ((bits & m) << s) | ((bits & ~m) >> s)
    return np.stack([(i + 0.5) / count, bits * 2.3283064365386963e-10], 1).astype(np.float64)


def reflection(rig: LightRig, directions: F64, roughness: float, samples: int = REFLECTION_SAMPLES) -> F64:
    """Radiance filtered by the GGX lobe of ``roughness`` about unit ``directions``; the same samples as the shader."""
    if roughness <= 0:
        return radiance(rig, directions)
    a = roughness * roughness
    u = _hammersley(samples)
    cos_h = np.sqrt((1 - u[:, 1]) / (1 + (a * a - 1) * u[:, 1]))
    sin_h = np.sqrt(1 - cos_h * cos_h)
    phi = 2 * math.pi * u[:, 0]
    flat = directions.reshape(-1, 3)
    up = np.where(np.abs(flat[:, 2:3]) < 0.999, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    tangent = np.cross(up, flat)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    bitangent = np.cross(flat, tangent)
    total, weight = np.zeros_like(flat), np.zeros((len(flat), 1))
    for c, s, p in zip(cos_h, sin_h, phi, strict=True):
        h = tangent * (s * math.cos(p)) + bitangent * (s * math.sin(p)) + flat * c
        light = 2 * (flat * h).sum(1, keepdims=True) * h - flat
        n_l = np.clip((flat * light).sum(1, keepdims=True), 0.0, None)
        total += radiance(rig, light) * n_l
        weight += n_l
    return np.asarray((total / np.maximum(weight, 1e-6)).reshape(directions.shape), np.float64)


def cube_directions(size: int) -> F64:
    """Unit vectors float64[6, size, size, 3] through texel centres of a cube map, faces +x -x +y -y +z -z (OpenGL order)."""
    t = (np.arange(size) + 0.5) / size * 2 - 1
    s, v = np.meshgrid(t, t)
    one = np.ones_like(s)
    faces = [(one, -v, -s), (-one, -v, s), (s, one, v), (s, -one, -v), (s, -v, one), (-s, -v, -one)]
    d = np.stack([np.stack(f, -1) for f in faces])
    return np.asarray(d / np.linalg.norm(d, axis=-1, keepdims=True), np.float64)
